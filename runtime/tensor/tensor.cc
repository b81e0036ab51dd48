#include "runtime/tensor/tensor.h"

#include <Eigen/Core>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/escaping.h"
#include "runtime/tensor/memory_account.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

// Elements with constructors live in a buffer that destroys them.
template <typename T>
class ObjectBuffer final : public Buffer {
 public:
  static StatusOr<BufferRef> Make(int64_t count) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    MemoryAccount* const account = bytes > kWorthCharging ? MemoryAccount::Current() : nullptr;
    if (account != nullptr) TFLEET_RETURN_IF_ERROR(account->Charge(bytes));
    std::unique_ptr<T[]> objects(new (std::nothrow) T[count]);
    auto* buffer =
        objects ? new (std::nothrow) ObjectBuffer(std::move(objects), count, account) : nullptr;
    if (buffer != nullptr) return BufferRef::Adopt(buffer);
    if (account != nullptr) account->Refund(bytes);
    return RefuseTensor(ResourceExhausted("out of memory allocating ", bytes, " bytes"));
  }

 private:
  static constexpr int64_t kWorthCharging = 1024;
  ObjectBuffer(std::unique_ptr<T[]> objects, int64_t count, MemoryAccount* account)
      : Buffer(objects.get(), count * sizeof(T)), objects_(std::move(objects)), account_(account) {}
  void Destroy() override {
    MemoryAccount* const account = account_;
    const int64_t bytes = static_cast<int64_t>(size());
    delete this;
    if (account != nullptr) account->Refund(bytes);
  }
  const std::unique_ptr<T[]> objects_;
  MemoryAccount* const account_;
};

StatusOr<BufferRef> MakeObjectBuffer(DType dtype, int64_t count) {
  switch (dtype) {
    case DType::kString:
      return ObjectBuffer<std::string>::Make(count);
    case DType::kResource:
      return ObjectBuffer<ResourceHandle>::Make(count);
    case DType::kVariant:
      return ObjectBuffer<Variant>::Make(count);
    default:
      return Internal("elements of type ", DTypeName(dtype), " are no objects");
  }
}

template <typename T>
std::string FormatElement(const T& v) {
  return absl::StrCat(v);
}

// As few digits as give the number back: `digits` are always kept, `all` always suffice.
std::string FormatFloating(double v, bool comes_back(double, const char*), int digits, int all) {
  if (v != v) return "nan";
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, v);
  if (!comes_back(v, text)) std::snprintf(text, sizeof(text), "%.*g", all, v);
  return text;
}
std::string FormatElement(float v) {
  return FormatFloating(
      v,
      [](double x, const char* text) {
        return std::strtof(text, nullptr) == static_cast<float>(x);
      },
      6, 9);
}
std::string FormatElement(double v) {
  return FormatFloating(
      v, [](double x, const char* text) { return std::strtod(text, nullptr) == x; }, 15, 17);
}
std::string FormatElement(bool v) { return v ? "1" : "0"; }
std::string FormatElement(int8_t v) { return absl::StrCat(static_cast<int>(v)); }
std::string FormatElement(uint8_t v) { return absl::StrCat(static_cast<int>(v)); }
std::string FormatElement(const std::string& v) { return absl::CEscape(v); }
std::string FormatElement(Eigen::half v) { return FormatElement(static_cast<float>(v)); }
std::string FormatElement(Eigen::bfloat16 v) { return FormatElement(static_cast<float>(v)); }
template <typename T>
std::string FormatElement(const std::complex<T>& v) {
  return absl::StrCat("(", FormatElement(v.real()), ",", FormatElement(v.imag()), ")");
}
std::string FormatElement(QInt8 v) { return absl::StrCat(static_cast<int>(v.value)); }
std::string FormatElement(QUInt8 v) { return absl::StrCat(static_cast<int>(v.value)); }
std::string FormatElement(QInt16 v) { return absl::StrCat(v.value); }
std::string FormatElement(QUInt16 v) { return absl::StrCat(v.value); }
std::string FormatElement(QInt32 v) { return absl::StrCat(v.value); }
std::string FormatElement(Int4 v) { return absl::StrCat(static_cast<int>(v.value)); }
std::string FormatElement(UInt4 v) { return absl::StrCat(static_cast<int>(v.value)); }
std::string FormatElement(Float8E5M2 v) { return absl::StrCat("0x", absl::Hex(v.bits)); }
std::string FormatElement(Float8E4M3FN v) { return absl::StrCat("0x", absl::Hex(v.bits)); }
std::string FormatElement(const ResourceHandle& v) {
  return absl::StrCat("<resource ", v.container, "/", v.name, ">");
}
std::string FormatElement(const Variant& v) {
  return v.is_empty() ? "<empty variant>" : absl::StrCat("<variant ", v.value()->TypeName(), ">");
}

template <typename T>
std::vector<std::string> FormatSome(const Tensor& t, int64_t count) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(FormatElement(t.values<T>()[i]));
  return out;
}

std::vector<std::string> FormatElements(const Tensor& t, int64_t count) {
  switch (t.dtype()) {
    case DType::kFloat:
      return FormatSome<float>(t, count);
    case DType::kDouble:
      return FormatSome<double>(t, count);
    case DType::kInt32:
      return FormatSome<int32_t>(t, count);
    case DType::kUInt8:
      return FormatSome<uint8_t>(t, count);
    case DType::kInt16:
      return FormatSome<int16_t>(t, count);
    case DType::kInt8:
      return FormatSome<int8_t>(t, count);
    case DType::kString:
      return FormatSome<std::string>(t, count);
    case DType::kComplex64:
      return FormatSome<std::complex<float>>(t, count);
    case DType::kInt64:
      return FormatSome<int64_t>(t, count);
    case DType::kBool:
      return FormatSome<bool>(t, count);
    case DType::kQInt8:
      return FormatSome<QInt8>(t, count);
    case DType::kQUInt8:
      return FormatSome<QUInt8>(t, count);
    case DType::kQInt32:
      return FormatSome<QInt32>(t, count);
    case DType::kBFloat16:
      return FormatSome<Eigen::bfloat16>(t, count);
    case DType::kQInt16:
      return FormatSome<QInt16>(t, count);
    case DType::kQUInt16:
      return FormatSome<QUInt16>(t, count);
    case DType::kUInt16:
      return FormatSome<uint16_t>(t, count);
    case DType::kComplex128:
      return FormatSome<std::complex<double>>(t, count);
    case DType::kHalf:
      return FormatSome<Eigen::half>(t, count);
    case DType::kResource:
      return FormatSome<ResourceHandle>(t, count);
    case DType::kVariant:
      return FormatSome<Variant>(t, count);
    case DType::kUInt32:
      return FormatSome<uint32_t>(t, count);
    case DType::kUInt64:
      return FormatSome<uint64_t>(t, count);
    case DType::kFloat8E5M2:
      return FormatSome<Float8E5M2>(t, count);
    case DType::kFloat8E4M3FN:
      return FormatSome<Float8E4M3FN>(t, count);
    case DType::kInt4:
      return FormatSome<Int4>(t, count);
    case DType::kUInt4:
      return FormatSome<UInt4>(t, count);
    case DType::kInvalid:
      break;
  }
  return {};
}

// Appends the elements from `*next` on, rows of the last axis separated by blanks, rows of outer
// axes in brackets. A row that is cut short says so, the outermost excepted.
void AppendNested(const std::vector<std::string>& elements, absl::Span<const int64_t> dims,
                  bool outermost, size_t* next, std::string* out) {
  if (dims.size() <= 1) {
    const int64_t count = dims.empty() ? 1 : dims[0];
    for (int64_t i = 0; i < count; ++i) {
      if (*next == elements.size()) {
        if (!outermost) *out += "...";
        return;
      }
      if (i > 0) out->push_back(' ');
      *out += elements[(*next)++];
    }
    return;
  }
  for (int64_t i = 0; i < dims[0] && *next < elements.size(); ++i) {
    out->push_back('[');
    AppendNested(elements, dims.subspan(1), false, next, out);
    out->push_back(']');
  }
}

}  // namespace

StatusOr<Tensor> Tensor::Allocate(DType dtype, const Shape& shape) {
  const size_t element = ElementSize(dtype);
  if (element == 0 || IsRef(dtype)) {
    return InvalidArgument("cannot allocate a tensor of type ", DTypeName(dtype));
  }
  TFLEET_RETURN_IF_ERROR(CheckSize(dtype, shape));
  const size_t bytes = element * shape.num_elements();
  // Made in its place: moving what has just been written waits for those stores.
  StatusOr<Tensor> made(absl::in_place);
  Tensor& t = *made;
  if (IsPlainData(dtype)) {
    TFLEET_ASSIGN_OR_RETURN(t.buffer_, AllocateHostBuffer(bytes));
  } else {
    TFLEET_ASSIGN_OR_RETURN(t.buffer_, MakeObjectBuffer(dtype, shape.num_elements()));
  }
  t.dtype_ = dtype;
  // Cheaper than assigning it: see execute/propagate.cc.
  std::destroy_at(&t.shape_);
  std::construct_at(&t.shape_, shape);
  return made;
}

StatusOr<Tensor> Tensor::Allocate(DType dtype, std::initializer_list<int64_t> dims) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return Allocate(dtype, shape);
}

Status Tensor::CheckSize(DType dtype, const Shape& shape) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(shape.extent()), ElementSize(dtype), &bytes) ||
      bytes > MaxHostBufferBytes()) {
    return RefuseTensor(
        ResourceExhausted("a tensor of type ", DTypeName(dtype), " and shape ", shape.ToString(),
                          " is over the limit of ", MaxHostBufferBytes(), " bytes for one tensor",
                          shape.num_elements() == 0 ? " (counted without its zeros)" : ""));
  }
  return OkStatus();
}

StatusOr<Tensor> Tensor::Zeros(DType dtype, const Shape& shape) {
  TFLEET_ASSIGN_OR_RETURN(Tensor t, Allocate(dtype, shape));
  if (IsPlainData(dtype)) std::memset(t.mutable_raw(), 0, t.bytes());
  return t;
}

StatusOr<Tensor> Tensor::Zeros(DType dtype, std::initializer_list<int64_t> dims) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return Zeros(dtype, shape);
}

Tensor Tensor::FromBuffer(DType dtype, const Shape& shape, BufferRef buffer) {
  TFLEET_CHECK(IsPlainData(dtype));
  TFLEET_CHECK(buffer && buffer->size() >= ElementSize(dtype) * shape.num_elements());
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.buffer_ = std::move(buffer);
  return t;
}

size_t Tensor::total_bytes() const {
  size_t total = bytes();
  if (dtype_ == DType::kString) {
    for (const std::string& s : values<std::string>()) total += s.size();
  }
  return total;
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  TFLEET_CHECK(shape.num_elements() == num_elements());
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::Flat() const { return Reshaped(*Shape::Make({num_elements()})); }

Tensor Tensor::BitcastTo(DType dtype) const {
  TFLEET_CHECK(IsPlainData(dtype_) && ElementSize(dtype) == ElementSize(dtype_));
  Tensor t = *this;
  t.dtype_ = dtype;
  return t;
}

Tensor Tensor::Rows(int64_t begin, int64_t end) const {
  TFLEET_CHECK(rank() >= 1 && 0 <= begin && begin <= end && end <= dim(0));
  const Shape row = shape_.SubShape(1, rank());
  Tensor t = *this;
  t.offset_ += begin * row.num_elements() * ElementSize(dtype_);
  StatusOr<Shape> shape = shape_.WithDim(0, end - begin);
  TFLEET_CHECK(shape.ok());
  t.shape_ = *std::move(shape);
  return t;
}

StatusOr<Tensor> Tensor::Clone() const {
  TFLEET_ASSIGN_OR_RETURN(Tensor copy, Allocate(dtype_, shape_));
  switch (dtype_) {
    case DType::kString:
      std::copy_n(values<std::string>().begin(), num_elements(),
                  copy.mutable_values<std::string>().begin());
      break;
    case DType::kResource:
      std::copy_n(values<ResourceHandle>().begin(), num_elements(),
                  copy.mutable_values<ResourceHandle>().begin());
      break;
    case DType::kVariant:
      std::copy_n(values<Variant>().begin(), num_elements(),
                  copy.mutable_values<Variant>().begin());
      break;
    default:
      std::memcpy(copy.mutable_raw(), raw(), bytes());
  }
  return copy;
}

std::string Tensor::ToString(int max_elements) const {
  if (!is_valid()) return "<no tensor>";
  std::string out = absl::StrCat(DTypeName(dtype_), " ", shape_.ToString(), ":");
  for (const std::string& e :
       FormatElements(*this, std::min<int64_t>(num_elements(), max_elements))) {
    absl::StrAppend(&out, " ", e);
  }
  if (num_elements() > max_elements) out += " ...";
  return out;
}

std::string Tensor::SummarizeValues(int64_t max_elements) const {
  if (max_elements < 0) max_elements = num_elements();
  const int64_t count = std::min<int64_t>(num_elements(), max_elements);
  const std::vector<std::string> elements = FormatElements(*this, count);
  std::string out;
  size_t next = 0;
  AppendNested(elements, shape_.dims(), /*outermost=*/true, &next, &out);
  if (count < num_elements()) out += "...";
  return out;
}

}  // namespace tensorfleet
