#include "runtime/graph/window_attrs.h"

#include <algorithm>

namespace tensorfleet {
namespace {

Status ReadNumbers(const tensorflow::NodeDef& node, absl::string_view name,
                   std::array<int64_t, 4>* numbers) {
  if (FindAttr(node, name) == nullptr) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                          GetAttr<std::vector<int64_t>>(node, name));
  TFLEET_ASSIGN_OR_RETURN(*numbers, WindowNumbers(name, values));
  return OkStatus();
}

Status ReadPaddings(const tensorflow::NodeDef& node, WindowAttrs* attrs) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings,
                          GetAttrOr<std::vector<int64_t>>(node, "explicit_paddings", {}));
  if (attrs->padding != Padding::kExplicit) {
    if (paddings.empty()) return OkStatus();
    return InvalidArgument(
        "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
  }
  if (paddings.size() != attrs->paddings.size()) {
    return InvalidArgument("explicit_paddings attribute must contain 8 values, but got: ",
                           paddings.size());
  }
  std::copy(paddings.begin(), paddings.end(), attrs->paddings.begin());
  for (const int axis : {0, attrs->channel_axis()}) {
    if (paddings[2 * axis] != 0 || paddings[2 * axis + 1] != 0) {
      return InvalidArgument(
          "Nonzero explicit padding in the batch or depth dimensions is not supported");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::array<int64_t, 4>> WindowNumbers(absl::string_view name,
                                               absl::Span<const int64_t> values) {
  std::array<int64_t, 4> numbers;
  if (values.size() != numbers.size()) {
    return InvalidArgument("Sliding window ", name, " field must specify 4 dimensions, not ",
                           values.size());
  }
  std::copy(values.begin(), values.end(), numbers.begin());
  for (const int64_t number : numbers) {
    if (number < 1) {
      return InvalidArgument("Sliding window ", name, " must be > 0 in each dimension, but got ",
                             number);
    }
  }
  return numbers;
}

StatusOr<Window> WindowAttrs::AlongSpace(int i, int64_t input, int64_t size) const {
  const int axis = space_axis(i);
  return MakeWindow(input, size, dilations[axis], strides[axis], padding, paddings[2 * axis],
                    paddings[2 * axis + 1]);
}

StatusOr<WindowAttrs> ReadWindowAttrs(const tensorflow::NodeDef& node) {
  WindowAttrs attrs;
  TFLEET_ASSIGN_OR_RETURN(const std::string format,
                          GetAttrOr<std::string>(node, "data_format", "NHWC"));
  if (format != "NHWC" && format != "NCHW") {
    return Unimplemented("data_format ", format, " of ", node.op(),
                         " is not supported; use NHWC or NCHW");
  }
  attrs.channels_first = format == "NCHW";
  TFLEET_RETURN_IF_ERROR(ReadNumbers(node, "strides", &attrs.strides));
  TFLEET_RETURN_IF_ERROR(ReadNumbers(node, "ksize", &attrs.ksize));
  TFLEET_RETURN_IF_ERROR(ReadNumbers(node, "dilations", &attrs.dilations));
  if (attrs.dilations[0] != 1 || attrs.dilations[attrs.channel_axis()] != 1) {
    return Unimplemented(
        "Current implementation does not yet support dilations in the batch and depth dimensions.");
  }
  TFLEET_ASSIGN_OR_RETURN(const std::string padding, GetAttr<std::string>(node, "padding"));
  TFLEET_ASSIGN_OR_RETURN(attrs.padding, PaddingFromName(padding));
  TFLEET_RETURN_IF_ERROR(ReadPaddings(node, &attrs));
  return attrs;
}

}  // namespace tensorfleet
