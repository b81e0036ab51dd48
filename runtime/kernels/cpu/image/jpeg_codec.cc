// JPEG, by libjpeg-turbo.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <jpeglib.h>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cpu/image/codecs.h"

namespace tensorfleet::cpu {
namespace {

// The library calls Leave for an error, which jumps back to Guarded.
struct Faults {
  jpeg_error_mgr base;  // first: the library knows only this
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX] = "damaged";
};
void Leave(j_common_ptr codec) {
  auto* faults = reinterpret_cast<Faults*>(codec->err);
  codec->err->format_message(codec, faults->message);
  std::longjmp(faults->back, 1);
}
void Ignore(j_common_ptr, int) {}
void IgnoreText(j_common_ptr) {}
jpeg_error_mgr* Prepare(Faults* faults) {
  jpeg_std_error(&faults->base);
  faults->base.error_exit = Leave;
  faults->base.emit_message = Ignore;
  faults->base.output_message = IgnoreText;
  return &faults->base;
}

// Whether `work` came to its end. It must not own anything: it is left by a jump.
template <typename Work>
bool Guarded(Faults& faults, Work work) {
  if (setjmp(faults.back) != 0) return false;
  work();
  return true;
}

void Nothing(j_decompress_ptr) {}
boolean NoMore(j_decompress_ptr) { return FALSE; }
// Ends a file that is cut off.
boolean EndHere(j_decompress_ptr codec) {
  static const JOCTET kEnd[] = {0xff, JPEG_EOI};
  codec->src->next_input_byte = kEnd;
  codec->src->bytes_in_buffer = sizeof kEnd;
  return TRUE;
}
void SkipBytes(j_decompress_ptr codec, long n) {  // NOLINT(google-runtime-int): the library's type
  if (n <= 0) return;
  const size_t have = codec->src->bytes_in_buffer;
  const size_t skipped = std::min(have, static_cast<size_t>(n));
  codec->src->next_input_byte += skipped;
  codec->src->bytes_in_buffer -= skipped;
}

class Reader {
 public:
  Reader(absl::string_view contents, const JpegDecoding& options) : options_(options) {
    codec_.err = Prepare(&faults_);
    is_made_ = Guarded(faults_, [this] { jpeg_create_decompress(&codec_); });
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(contents.data());
    source_.bytes_in_buffer = contents.size();
    source_.init_source = Nothing;
    source_.fill_input_buffer = options.recovers_truncated ? EndHere : NoMore;
    source_.skip_input_data = SkipBytes;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = Nothing;
    if (is_made_) codec_.src = &source_;
  }
  ~Reader() { jpeg_destroy_decompress(&codec_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  StatusOr<JpegShape> ReadShape() {
    TFLEET_RETURN_IF_ERROR(ReadHeader());
    return JpegShape{codec_.image_height, codec_.image_width, codec_.num_components};
  }

  StatusOr<Tensor> Read(const CancellationManager* step) {
    TFLEET_RETURN_IF_ERROR(ReadHeader());
    TFLEET_RETURN_IF_ERROR(CheckImageSize("JPEG", codec_.image_height, codec_.image_width, 4));
    channels_ = options_.channels != 0 ? options_.channels : std::min(codec_.num_components, 3);
    bool is_ready = false;
    if (!Guarded(faults_, [&] { is_ready = Start(); })) return Damaged();
    if (!is_ready) return Truncated();
    const int64_t full_width = codec_.output_width, full_height = codec_.output_height;
    crop_ = {0, 0, full_height, full_width};
    if (options_.crops) {
      crop_ = {options_.crop_y, options_.crop_x, options_.crop_height, options_.crop_width};
      if (crop_.y < 0 || crop_.x < 0 || crop_.height <= 0 || crop_.width <= 0 ||
          crop_.height > full_height || crop_.y > full_height - crop_.height ||
          crop_.width > full_width || crop_.x > full_width - crop_.width) {
        return InvalidArgument("Invalid JPEG data or crop window: the window of ", crop_.height,
                               " x ", crop_.width, " at ", crop_.y, ", ", crop_.x,
                               " is not within the image of ", full_height, " x ", full_width);
      }
      if (!Guarded(faults_, [&] { CropColumns(); })) return Damaged();
    }
    TFLEET_ASSIGN_OR_RETURN(
        Tensor out, Tensor::Allocate(DType::kUInt8, {crop_.height, crop_.width, channels_}));
    row_.resize(static_cast<size_t>(codec_.output_width) * codec_.output_components);
    uint8_t* to = out.mutable_values<uint8_t>().data();
    int64_t read = 0;
    const bool is_whole = Guarded(faults_, [&] { ReadRows(to, step, &read); });
    if (step != nullptr && step->is_cancelled()) return step->status();
    if (!is_whole && !options_.recovers_truncated) return Damaged();
    if (read < crop_.height) {
      // Lines that are not there are black.
      if (!options_.recovers_truncated ||
          static_cast<float>(read) / static_cast<float>(crop_.height) <
              options_.acceptable_fraction) {
        return Truncated();
      }
      const int64_t row = crop_.width * channels_;
      std::fill(to + read * row, to + crop_.height * row, 0);
    }
    return out;
  }

 private:
  struct Crop {
    int64_t y = 0, x = 0, height = 0, width = 0;
  };

  Status Damaged() const { return InvalidArgument("Invalid JPEG data: ", faults_.message); }
  static Status Truncated() {
    return InvalidArgument("Invalid JPEG data: the file ends too early");
  }

  Status ReadHeader() {
    if (!is_made_) return ResourceExhausted("no memory for a JPEG decoder");
    int found = JPEG_SUSPENDED;
    if (!Guarded(faults_, [&] { found = jpeg_read_header(&codec_, TRUE); })) return Damaged();
    return found == JPEG_HEADER_OK ? OkStatus() : Truncated();
  }

  // Whether there was enough of the file.
  bool Start() {
    const bool is_cmyk = codec_.jpeg_color_space == JCS_CMYK || codec_.jpeg_color_space == JCS_YCCK;
    codec_.out_color_space = channels_ == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
    codec_.do_fancy_upsampling = options_.fancy_upscaling ? TRUE : FALSE;
    codec_.scale_num = 1;
    codec_.scale_denom = static_cast<unsigned>(options_.ratio);
    codec_.dct_method = options_.is_fast ? JDCT_IFAST : JDCT_ISLOW;
    return jpeg_start_decompress(&codec_) == TRUE;
  }

  // The library leaves out whole blocks only; what is to the left of the window remains.
  void CropColumns() {
    JDIMENSION x = static_cast<JDIMENSION>(crop_.x), width = static_cast<JDIMENSION>(crop_.width);
    jpeg_crop_scanline(&codec_, &x, &width);
    left_ = crop_.x - x;
    jpeg_skip_scanlines(&codec_, static_cast<JDIMENSION>(crop_.y));
  }

  void ReadRows(uint8_t* to, const CancellationManager* step, int64_t* read) {
    const bool is_direct = codec_.output_components == channels_ && left_ == 0 &&
                           static_cast<int64_t>(codec_.output_width) == crop_.width;
    const int64_t bytes = crop_.width * channels_;
    for (; *read < crop_.height; ++*read, to += bytes) {
      if (step != nullptr && step->is_cancelled()) return;
      JSAMPROW row = is_direct ? to : row_.data();
      if (jpeg_read_scanlines(&codec_, &row, 1) != 1) return;
      if (codec_.output_components == channels_) {
        if (!is_direct) std::memcpy(to, row_.data() + left_ * channels_, bytes);
      } else {
        FromCmyk(row_.data() + left_ * 4, to);
      }
    }
  }

  void FromCmyk(const uint8_t* from, uint8_t* to) const {
    // Adobe's programs write what is left of the light, others what is taken away.
    const bool is_inverted = codec_.saw_Adobe_marker == TRUE;
    for (int64_t x = 0; x < crop_.width; ++x, from += 4, to += 3) {
      for (int i = 0; i < 3; ++i) {
        to[i] = static_cast<uint8_t>(is_inverted ? from[3] * from[i] / 255
                                                 : (255 - from[3]) * (255 - from[i]) / 255);
      }
    }
  }

  const JpegDecoding& options_;
  Faults faults_;
  jpeg_decompress_struct codec_{};
  jpeg_source_mgr source_{};
  bool is_made_ = false;
  int channels_ = 0;
  Crop crop_;
  int64_t left_ = 0;
  std::vector<uint8_t> row_;
};

class Writer {
 public:
  Writer() {
    codec_.err = Prepare(&faults_);
    is_made_ = Guarded(faults_, [this] { jpeg_create_compress(&codec_); });
  }
  ~Writer() {
    jpeg_destroy_compress(&codec_);
    std::free(bytes_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  StatusOr<std::string> Write(const uint8_t* pixels, int64_t height, int64_t width,
                              int64_t channels, const JpegEncoding& options) {
    if (!is_made_) return ResourceExhausted("no memory for a JPEG encoder");
    const std::string marker = MarkerOf(options);
    if (!Guarded(faults_, [&] {
          jpeg_mem_dest(&codec_, &bytes_, &size_);
          Configure(height, width, channels, options);
          jpeg_start_compress(&codec_, TRUE);
          if (!marker.empty()) {
            jpeg_write_marker(&codec_, JPEG_APP0 + 1,
                              reinterpret_cast<const JOCTET*>(marker.data()),
                              static_cast<unsigned>(marker.size()));
          }
          for (int64_t y = 0; y < height; ++y) {
            JSAMPROW row = const_cast<JSAMPROW>(pixels + y * width * channels);
            jpeg_write_scanlines(&codec_, &row, 1);
          }
          jpeg_finish_compress(&codec_);
        })) {
      return InvalidArgument("JPEG encoding failed: ", faults_.message);
    }
    return std::string(reinterpret_cast<const char*>(bytes_), size_);
  }

 private:
  static std::string MarkerOf(const JpegEncoding& options) {
    if (options.xmp_metadata.empty()) return "";
    return absl::StrCat(absl::string_view("http://ns.adobe.com/xap/1.0/\0", 29),
                        options.xmp_metadata);
  }

  void Configure(int64_t height, int64_t width, int64_t channels, const JpegEncoding& options) {
    codec_.image_height = static_cast<JDIMENSION>(height);
    codec_.image_width = static_cast<JDIMENSION>(width);
    codec_.input_components = static_cast<int>(channels);
    codec_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&codec_);
    codec_.optimize_coding = options.optimizes_size ? TRUE : FALSE;
    codec_.density_unit = static_cast<UINT8>(options.density_unit);
    codec_.X_density = static_cast<UINT16>(options.x_density);
    codec_.Y_density = static_cast<UINT16>(options.y_density);
    if (!options.downsamples_chroma) {
      for (int i = 0; i < codec_.num_components; ++i) {
        codec_.comp_info[i].h_samp_factor = codec_.comp_info[i].v_samp_factor = 1;
      }
    }
    jpeg_set_quality(&codec_, options.quality, TRUE);
    if (options.is_progressive) jpeg_simple_progression(&codec_);
  }

  Faults faults_;
  jpeg_compress_struct codec_{};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;  // NOLINT(google-runtime-int): the library's type
  bool is_made_ = false;
};

}  // namespace

StatusOr<Tensor> DecodeJpeg(absl::string_view contents, const JpegDecoding& options,
                            const CancellationManager* step) {
  return Reader(contents, options).Read(step);
}

StatusOr<JpegShape> ReadJpegShape(absl::string_view contents) {
  const JpegDecoding options;
  return Reader(contents, options).ReadShape();
}

StatusOr<std::string> EncodeJpeg(const uint8_t* pixels, int64_t height, int64_t width,
                                 int64_t channels, const JpegEncoding& options) {
  constexpr size_t kMarkerBytes = 65533 - 29;
  if (height > JPEG_MAX_DIMENSION || width > JPEG_MAX_DIMENSION) {
    return InvalidArgument("an image of ", height, " x ", width,
                           " is too large for JPEG: ", JPEG_MAX_DIMENSION, " is the most");
  }
  if (options.xmp_metadata.size() > kMarkerBytes) {
    return InvalidArgument("xmp_metadata has ", options.xmp_metadata.size(), " bytes, ",
                           kMarkerBytes, " are the most");
  }
  return Writer().Write(pixels, height, width, channels, options);
}

}  // namespace tensorfleet::cpu
