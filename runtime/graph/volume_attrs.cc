#include "runtime/graph/volume_attrs.h"

#include <algorithm>

namespace tensorfleet {
namespace {

Status ReadNumbers(const tensorflow::NodeDef& node, absl::string_view name, int channel_axis,
                   std::array<int64_t, 5>* numbers) {
  if (FindAttr(node, name) == nullptr) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                          GetAttr<std::vector<int64_t>>(node, name));
  if (values.size() != numbers->size()) {
    return InvalidArgument("Sliding window ", name, " field must specify 5 dimensions, not ",
                           values.size());
  }
  for (const int64_t value : values) {
    if (value < 1) {
      return InvalidArgument("Sliding window ", name, " must be > 0 in each dimension, but got ",
                             value);
    }
  }
  if (values[0] != 1 || values[channel_axis] != 1) {
    return InvalidArgument(node.op(), " does not support ", name,
                           " in the batch and depth dimensions.");
  }
  std::copy(values.begin(), values.end(), numbers->begin());
  return OkStatus();
}

}  // namespace

StatusOr<VolumeAttrs> ReadVolumeAttrs(const tensorflow::NodeDef& node) {
  VolumeAttrs attrs;
  TFLEET_ASSIGN_OR_RETURN(const std::string format,
                          GetAttrOr<std::string>(node, "data_format", "NDHWC"));
  if (format != "NDHWC" && format != "NCDHW") {
    return InvalidArgument("data_format ", format, " of ", node.op(),
                           " is neither NDHWC nor NCDHW");
  }
  attrs.channels_first = format == "NCDHW";
  const int channels = attrs.channel_axis();
  TFLEET_RETURN_IF_ERROR(ReadNumbers(node, "strides", channels, &attrs.strides));
  TFLEET_RETURN_IF_ERROR(ReadNumbers(node, "ksize", channels, &attrs.ksize));
  TFLEET_RETURN_IF_ERROR(ReadNumbers(node, "dilations", channels, &attrs.dilations));
  TFLEET_ASSIGN_OR_RETURN(const std::string padding, GetAttr<std::string>(node, "padding"));
  TFLEET_ASSIGN_OR_RETURN(attrs.padding, PaddingFromName(padding));
  if (attrs.padding == Padding::kExplicit) {
    return InvalidArgument(node.op(), " takes padding SAME or VALID");
  }
  return attrs;
}

}  // namespace tensorfleet
