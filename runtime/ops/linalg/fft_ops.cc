// Fourier transforms over the last one to three dimensions. Kernels:
// runtime/kernels/cpu/linalg/fft.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

template <int kRank>
Status Unchanged(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, kRank));
  return shapes::Unchanged(ctx);
}

template <int kRank, bool kInverse>
Status RealShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, kRank));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  const PartialShape& lengths = ctx.input(1);
  if (lengths.has_rank() && lengths.has_dim(0) && lengths.dim(0) != kRank) {
    return InvalidArgument("fft_length must have shape [", kRank, "], got ", lengths.ToString());
  }
  PartialShape out = ctx.input(0);
  if (!out.has_rank()) return OkStatus();
  const auto known = shapes::ConstantIntegers(ctx, 1);
  for (int i = 0; i < kRank; ++i) {
    int64_t length = known ? (*known)[i] : PartialShape::kUnknownDim;
    if (known && length < 0) return InvalidArgument("fft_length is negative: ", length);
    if (!kInverse && i == kRank - 1 && length > 0) length = length / 2 + 1;
    out.set_dim(out.rank() - kRank + i, length);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterFftOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("FFT")
              .Input("input: Tcomplex")
              .Output("output: Tcomplex")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape(Unchanged<1>)
              .Doc("The Fourier transform over the last dimension."));
  ops.Add(OpSchemaBuilder("FFT2D")
              .Input("input: Tcomplex")
              .Output("output: Tcomplex")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape(Unchanged<2>)
              .Doc("The Fourier transform over the last two dimensions."));
  ops.Add(OpSchemaBuilder("FFT3D")
              .Input("input: Tcomplex")
              .Output("output: Tcomplex")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape(Unchanged<3>)
              .Doc("The Fourier transform over the last three dimensions."));
  ops.Add(OpSchemaBuilder("IFFT")
              .Input("input: Tcomplex")
              .Output("output: Tcomplex")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape(Unchanged<1>)
              .Doc("The inverse of FFT."));
  ops.Add(OpSchemaBuilder("IFFT2D")
              .Input("input: Tcomplex")
              .Output("output: Tcomplex")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape(Unchanged<2>)
              .Doc("The inverse of FFT2D."));
  ops.Add(OpSchemaBuilder("IFFT3D")
              .Input("input: Tcomplex")
              .Output("output: Tcomplex")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape(Unchanged<3>)
              .Doc("The inverse of FFT3D."));
  ops.Add(OpSchemaBuilder("IRFFT")
              .Input("input: Tcomplex")
              .Input("fft_length: int32")
              .Output("output: Treal")
              .Attr("Treal: {float, double} = DT_FLOAT")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape((RealShape<1, true>))
              .Doc("The inverse of RFFT, to fft_length real numbers."));
  ops.Add(OpSchemaBuilder("IRFFT2D")
              .Input("input: Tcomplex")
              .Input("fft_length: int32")
              .Output("output: Treal")
              .Attr("Treal: {float, double} = DT_FLOAT")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape((RealShape<2, true>))
              .Doc("The inverse of RFFT2D."));
  ops.Add(OpSchemaBuilder("IRFFT3D")
              .Input("input: Tcomplex")
              .Input("fft_length: int32")
              .Output("output: Treal")
              .Attr("Treal: {float, double} = DT_FLOAT")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape((RealShape<3, true>))
              .Doc("The inverse of RFFT3D."));
  ops.Add(OpSchemaBuilder("RFFT")
              .Input("input: Treal")
              .Input("fft_length: int32")
              .Output("output: Tcomplex")
              .Attr("Treal: {float, double} = DT_FLOAT")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape((RealShape<1, false>))
              .Doc("The Fourier transform of real numbers over the last dimension: its first "
                   "fft_length / 2 + 1 numbers."));
  ops.Add(OpSchemaBuilder("RFFT2D")
              .Input("input: Treal")
              .Input("fft_length: int32")
              .Output("output: Tcomplex")
              .Attr("Treal: {float, double} = DT_FLOAT")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape((RealShape<2, false>))
              .Doc("The Fourier transform of real numbers over the last two dimensions."));
  ops.Add(OpSchemaBuilder("RFFT3D")
              .Input("input: Treal")
              .Input("fft_length: int32")
              .Output("output: Tcomplex")
              .Attr("Treal: {float, double} = DT_FLOAT")
              .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
              .Shape((RealShape<3, false>))
              .Doc("The Fourier transform of real numbers over the last three dimensions."));
}

}  // namespace tensorfleet
