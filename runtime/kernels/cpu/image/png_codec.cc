// PNG, by libpng.
#include <csetjmp>
#include <cstring>
#include <vector>

#include <png.h>

#include "runtime/kernels/cpu/image/codecs.h"

namespace tensorfleet::cpu {
namespace {

// Both directions keep what went wrong; the library then jumps back to Guarded.
struct Fault {
  char message[160] = "damaged";
};
void OnError(png_structp png, png_const_charp message) {
  auto* fault = static_cast<Fault*>(png_get_error_ptr(png));
  std::strncpy(fault->message, message, sizeof fault->message - 1);
  png_longjmp(png, 1);
}
void OnWarning(png_structp, png_const_charp) {}

// Whether `work` came to its end; else the library has called OnError. `work` must not own
// anything: it is left by a jump.
template <typename Work>
bool Guarded(png_structp png, Work work) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  work();
  return true;
}

class Reader {
 public:
  explicit Reader(absl::string_view contents) : rest_(contents) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &fault_, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  StatusOr<Tensor> Read(int channels, DType type, const CancellationManager* step) {
    if (info_ == nullptr) return ResourceExhausted("no memory for a PNG decoder");
    is_wide_ = type == DType::kUInt16;
    if (!Guarded(png_, [&] { ReadHeader(); })) return Damaged();
    TFLEET_RETURN_IF_ERROR(CheckImageSize("PNG", height_, width_, 4));
    if (!Guarded(png_, [&] { Transform(channels); })) return Damaged();
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(type, {height_, width_, channels_}));
    const int64_t row = width_ * channels_ * (is_wide_ ? 2 : 1);
    // What is read has as many bytes a pixel as the tensor; but 8 bits that shall be 16 have half.
    auto* const bytes = static_cast<uint8_t*>(out.mutable_raw());
    if (static_cast<int64_t>(png_get_rowbytes(png_, info_)) != (widens_ ? row / 2 : row)) {
      return InvalidArgument("Invalid PNG data: rows of an unexpected length");
    }
    for (int pass = 0; pass < passes_; ++pass) {
      for (int64_t y = 0; y < height_; ++y) {
        if (step != nullptr && step->is_cancelled()) return step->status();
        uint8_t* const to = bytes + y * row;
        if (!Guarded(png_, [&] { png_read_row(png_, to, nullptr); })) return Damaged();
      }
    }
    if (!Guarded(png_, [&] { png_read_end(png_, info_); })) return Damaged();
    if (widens_) Widen(out, row / 2);
    return out;
  }

 private:
  Status Damaged() const { return InvalidArgument("Invalid PNG data: ", fault_.message); }

  static void Fetch(png_structp png, png_bytep to, png_size_t size) {
    auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
    if (size > reader->rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(to, reader->rest_.data(), size);
    reader->rest_.remove_prefix(size);
  }

  void ReadHeader() {
    png_set_read_fn(png_, this, &Reader::Fetch);
    // What is not looked at needs no memory.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_read_info(png_, info_);
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
  }

  // Asks the library for `channels` of 8 or 16 bits.
  void Transform(int channels) {
    const int bits = png_get_bit_depth(png_, info_), color = png_get_color_type(png_, info_);
    const bool has_transparency = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
    const bool is_palette = color == PNG_COLOR_TYPE_PALETTE;
    const bool is_grey = (color & PNG_COLOR_MASK_COLOR) == 0;
    channels_ = channels;
    if (channels_ == 0) {
      channels_ = is_palette ? (has_transparency ? 4 : 3) : png_get_channels(png_, info_);
    }
    const bool wants_alpha = channels_ % 2 == 0, wants_grey = channels_ < 3;
    if (wants_alpha && !has_alpha) {
      if (has_transparency) {
        png_set_tRNS_to_alpha(png_);
      } else {
        png_set_add_alpha(png_, (1u << bits) - 1, PNG_FILLER_AFTER);
      }
    } else if (!wants_alpha && (has_alpha || has_transparency)) {
      png_set_strip_alpha(png_);
    }
    if (bits > 8 && !is_wide_) png_set_strip_16(png_);
    widens_ = bits <= 8 && is_wide_;
    png_set_packing(png_);
    passes_ = png_set_interlace_handling(png_);
    if (is_wide_) png_set_swap(png_);
    if (is_palette) png_set_palette_to_rgb(png_);
    if (is_grey && bits < 8) png_set_expand_gray_1_2_4_to_8(png_);
    // TensorFlow's weights of red and green; blue has the rest.
    if (wants_grey && !is_grey) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (!wants_grey && is_grey) png_set_gray_to_rgb(png_);
    png_read_update_info(png_, info_);
  }

  // Rows of bytes, each in the first half of its place, become rows of 16-bit numbers.
  void Widen(Tensor& out, int64_t values) const {
    auto* const bytes = static_cast<uint8_t*>(out.mutable_raw());
    for (int64_t y = 0; y < height_; ++y) {
      uint8_t* const row = bytes + y * values * 2;
      for (int64_t i = values - 1; i >= 0; --i) row[2 * i] = row[2 * i + 1] = row[i];
    }
  }

  Fault fault_;
  absl::string_view rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int64_t width_ = 0, height_ = 0;
  int channels_ = 0, passes_ = 1;
  bool is_wide_ = false, widens_ = false;
};

class Writer {
 public:
  Writer() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &fault_, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~Writer() { png_destroy_write_struct(&png_, &info_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  StatusOr<std::string> Write(const uint8_t* pixels, bool is_wide, int64_t height, int64_t width,
                              int64_t channels, int compression) {
    if (info_ == nullptr) return ResourceExhausted("no memory for a PNG encoder");
    constexpr int kColors[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                               PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    const bool written = Guarded(png_, [&] {
      png_set_write_fn(png_, this, &Writer::Append, nullptr);
      png_set_compression_level(png_, compression);
      png_set_compression_mem_level(png_, 9);  // MAX_MEM_LEVEL of zlib
      png_set_IHDR(png_, info_, width, height, is_wide ? 16 : 8, kColors[channels],
                   PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      if (is_wide) png_set_swap(png_);
      const int64_t row = width * channels * (is_wide ? 2 : 1);
      for (int64_t y = 0; y < height; ++y) png_write_row(png_, pixels + y * row);
      png_write_end(png_, nullptr);
    });
    if (!written) return InvalidArgument("the image cannot be written as PNG: ", fault_.message);
    return std::move(out_);
  }

 private:
  static void Append(png_structp png, png_bytep bytes, png_size_t size) {
    auto* writer = static_cast<Writer*>(png_get_io_ptr(png));
    writer->out_.append(reinterpret_cast<const char*>(bytes), size);
  }

  Fault fault_;
  std::string out_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

StatusOr<Tensor> DecodePng(absl::string_view contents, int channels, DType type,
                           const CancellationManager* step) {
  return Reader(contents).Read(channels, type, step);
}

StatusOr<std::string> EncodePng(const void* pixels, DType type, int64_t height, int64_t width,
                                int64_t channels, int compression) {
  return Writer().Write(static_cast<const uint8_t*>(pixels), type == DType::kUInt16, height, width,
                        channels, compression);
}

}  // namespace tensorfleet::cpu
