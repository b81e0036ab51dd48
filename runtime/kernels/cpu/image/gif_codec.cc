// GIF, by giflib.
#include <algorithm>
#include <cstring>
#include <memory>

#include <gif_lib.h>

#include "runtime/kernels/cpu/image/codecs.h"

namespace tensorfleet::cpu {
namespace {

int Fetch(GifFileType* gif, GifByteType* to, int size) {
  auto* rest = static_cast<absl::string_view*>(gif->UserData);
  const size_t n = std::min<size_t>(static_cast<size_t>(size), rest->size());
  std::memcpy(to, rest->data(), n);
  rest->remove_prefix(n);
  return static_cast<int>(n);
}

struct CloseGif {
  void operator()(GifFileType* gif) const {
    int error = 0;
    DGifCloseFile(gif, &error);
  }
};

// The index that leaves a pixel as it was, or -1.
int TransparentIndex(GifFileType* gif, int frame) {
  GraphicsControlBlock control;
  if (DGifSavedExtensionToGCB(gif, frame, &control) != GIF_OK) return NO_TRANSPARENT_COLOR;
  return control.TransparentColor;
}

// Draws a frame over what was there before it.
Status Draw(GifFileType* gif, int frame, int64_t height, int64_t width, uint8_t* canvas) {
  const SavedImage& image = gif->SavedImages[frame];
  const GifImageDesc& place = image.ImageDesc;
  const ColorMapObject* const colors = place.ColorMap ? place.ColorMap : gif->SColorMap;
  if (colors == nullptr) {
    return InvalidArgument("Invalid GIF data: missing color map for frame ", frame);
  }
  const int transparent = TransparentIndex(gif, frame);
  const int64_t bottom = std::min<int64_t>(int64_t{place.Top} + place.Height, height);
  const int64_t right = std::min<int64_t>(int64_t{place.Left} + place.Width, width);
  for (int64_t y = std::max(0, place.Top); y < bottom; ++y) {
    for (int64_t x = std::max(0, place.Left); x < right; ++x) {
      const int index = image.RasterBits[(y - place.Top) * place.Width + (x - place.Left)];
      if (index == transparent) continue;
      if (index >= colors->ColorCount) {
        return InvalidArgument("Invalid GIF data: found color index ", index,
                               " outside of the color map of ", colors->ColorCount);
      }
      uint8_t* const to = canvas + (y * width + x) * 3;
      to[0] = colors->Colors[index].Red;
      to[1] = colors->Colors[index].Green;
      to[2] = colors->Colors[index].Blue;
    }
  }
  return OkStatus();
}

// giflib takes memory for each frame as its header says, before it has read any of it: the headers
// are looked at first. Errors: InvalidArgument.
Status CheckFrames(absl::string_view contents) {
  absl::string_view rest = contents;
  int error = 0;
  const std::unique_ptr<GifFileType, CloseGif> gif(DGifOpen(&rest, &Fetch, &error));
  if (gif == nullptr) return InvalidArgument("Invalid GIF data: failed to open the gif file");
  int64_t values = 0;
  GifRecordType record = UNDEFINED_RECORD_TYPE;
  while (record != TERMINATE_RECORD_TYPE) {
    if (DGifGetRecordType(gif.get(), &record) != GIF_OK) return OkStatus();  // cut off
    if (record == IMAGE_DESC_RECORD_TYPE) {
      if (DGifGetImageDesc(gif.get()) != GIF_OK) return OkStatus();
      const int64_t height = gif->Image.Height, width = gif->Image.Width;
      TFLEET_RETURN_IF_ERROR(CheckImageSize("GIF", height, width, 3));
      values += height * width * 3;
      if (values >= kMostImageValues) {
        return InvalidArgument("the frames of the GIF image have ", values,
                               " values or more: there must be fewer than ", kMostImageValues);
      }
      int size = 0;
      GifByteType* block = nullptr;
      if (DGifGetCode(gif.get(), &size, &block) != GIF_OK) return OkStatus();
      while (block != nullptr) {
        if (DGifGetCodeNext(gif.get(), &block) != GIF_OK) return OkStatus();
      }
    } else if (record == EXTENSION_RECORD_TYPE) {
      int code = 0;
      GifByteType* block = nullptr;
      if (DGifGetExtension(gif.get(), &code, &block) != GIF_OK) return OkStatus();
      while (block != nullptr) {
        if (DGifGetExtensionNext(gif.get(), &block) != GIF_OK) return OkStatus();
      }
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Tensor> DecodeGif(absl::string_view contents, int64_t most_frames, int64_t* frames,
                           const CancellationManager* step) {
  TFLEET_RETURN_IF_ERROR(CheckFrames(contents));
  absl::string_view rest = contents;
  int error = 0;
  const std::unique_ptr<GifFileType, CloseGif> gif(DGifOpen(&rest, &Fetch, &error));
  if (gif == nullptr) return InvalidArgument("Invalid GIF data: failed to open the gif file");
  const bool is_whole = DGifSlurp(gif.get()) == GIF_OK;
  // Of a file that ends too early, the frames that are whole count.
  int64_t count = gif->ImageCount;
  while (!is_whole && count > 0 && gif->SavedImages[count - 1].RasterBits == nullptr) --count;
  if (!is_whole && count > 0) --count;
  if (count <= 0 || gif->SavedImages == nullptr) {
    const char* const why = GifErrorString(gif->Error);
    return InvalidArgument("Invalid GIF data: ", why != nullptr ? why : "it has no frames");
  }
  *frames = count;
  count = std::min(count, most_frames);
  int64_t height = 0, width = 0;
  for (int64_t k = 0; k < *frames; ++k) {
    height = std::max<int64_t>(height, gif->SavedImages[k].ImageDesc.Height);
    width = std::max<int64_t>(width, gif->SavedImages[k].ImageDesc.Width);
  }
  TFLEET_RETURN_IF_ERROR(CheckImageSize("GIF", height, width, 3));
  if (height * width * 3 * count >= kMostImageValues) {
    return InvalidArgument("the GIF image has ", count, " frames of ", height, " x ", width,
                           " pixels: too many");
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kUInt8, {count, height, width, 3}));
  uint8_t* canvas = out.mutable_values<uint8_t>().data();
  const int64_t size = height * width * 3;
  std::fill(canvas, canvas + size, 0);
  for (int64_t k = 0; k < count; ++k, canvas += size) {
    if (step != nullptr && step->is_cancelled()) return step->status();
    if (k > 0) std::copy(canvas - size, canvas, canvas);
    TFLEET_RETURN_IF_ERROR(Draw(gif.get(), static_cast<int>(k), height, width, canvas));
  }
  return out;
}

}  // namespace tensorfleet::cpu
