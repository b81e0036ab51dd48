#include "runtime/tensor/einsum.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "absl/strings/str_split.h"

namespace tensorfleet {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& equation) : equation_(equation) { numbers_.fill(-1); }

  Status Parse(absl::string_view text, std::vector<int>* labels) {
    bool has_ellipsis = false;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text.substr(i, 3) == "...") {
        if (has_ellipsis) return Wrong("has more than one ellipsis in a subscript");
        has_ellipsis = true;
        labels->push_back(EinsumEquation::kEllipsis);
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
        int& number = numbers_[static_cast<unsigned char>(text[i])];
        if (number < 0) number = count_++;
        labels->push_back(number);
      } else {
        return Wrong("has a character that is neither a letter nor part of an ellipsis");
      }
    }
    return OkStatus();
  }
  Status Wrong(absl::string_view what) const {
    return InvalidArgument("Einsum equation '", equation_, "' ", what);
  }
  int count() const { return count_; }

 private:
  const std::string& equation_;
  std::array<int, 256> numbers_;
  int count_ = 0;
};

bool Contains(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

StatusOr<EinsumEquation> ParseEinsum(const std::string& equation) {
  Parser parser(equation);
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return parser.Wrong("must have exactly one '->'");
  EinsumEquation parsed;
  for (const absl::string_view input : absl::StrSplit(sides[0], ',')) {
    TFLEET_RETURN_IF_ERROR(parser.Parse(input, &parsed.inputs.emplace_back()));
  }
  if (parsed.inputs.size() > 2) return parser.Wrong("has more than two inputs");
  const int known = parser.count();
  TFLEET_RETURN_IF_ERROR(parser.Parse(sides[1], &parsed.output));
  if (parser.count() != known) {
    return parser.Wrong("has a label in the output that is in no input");
  }
  const bool input_has_ellipsis =
      std::any_of(parsed.inputs.begin(), parsed.inputs.end(),
                  [](const auto& labels) { return Contains(labels, EinsumEquation::kEllipsis); });
  if (Contains(parsed.output, EinsumEquation::kEllipsis) && !input_has_ellipsis) {
    return parser.Wrong("has an ellipsis in the output but in no input");
  }
  parsed.num_labels = parser.count();
  return parsed;
}

StatusOr<EinsumLabels> LabelDimensions(const EinsumEquation& equation,
                                       absl::Span<const absl::Span<const int64_t>> shapes) {
  EinsumLabels found;
  found.sizes.assign(equation.num_labels, -1);
  int widest = 0;  // how many dimensions an ellipsis stands for at most
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<int>& subscripts = equation.inputs[i];
    const bool has_ellipsis = Contains(subscripts, EinsumEquation::kEllipsis);
    const int plain = static_cast<int>(subscripts.size()) - (has_ellipsis ? 1 : 0);
    const int covered = static_cast<int>(shapes[i].size()) - plain;
    if (has_ellipsis ? covered < 0 : covered != 0) {
      return InvalidArgument("Expected input ", i, " to have rank ",
                             has_ellipsis ? "at least " : "", plain,
                             " but got: ", shapes[i].size());
    }
    if (has_ellipsis) widest = std::max(widest, covered);
  }
  found.sizes.resize(equation.num_labels + widest, -1);
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<int>& labels = found.inputs.emplace_back();
    const int plain = static_cast<int>(equation.inputs[i].size()) - 1;
    for (const int subscript : equation.inputs[i]) {
      if (subscript != EinsumEquation::kEllipsis) {
        labels.push_back(subscript);
        continue;
      }
      for (int d = static_cast<int>(shapes[i].size()) - plain - 1; d >= 0; --d) {
        labels.push_back(equation.num_labels + d);
      }
    }
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      int64_t& size = found.sizes[labels[d]];
      const int64_t here = shapes[i][d];
      const bool broadcasts = labels[d] >= equation.num_labels;
      if (here < 0) {
        if (broadcasts && size == 1) size = here;
      } else if (size < 0 || (broadcasts && size == 1)) {
        size = here;
      } else if (size != here && !(broadcasts && here == 1)) {
        return InvalidArgument("Expected dimension ", size, " at axis ", d, " of input ", i,
                               " but got dimension ", here);
      }
    }
  }
  for (const int subscript : equation.output) {
    if (subscript != EinsumEquation::kEllipsis) {
      found.output.push_back(subscript);
      continue;
    }
    for (int d = widest - 1; d >= 0; --d) found.output.push_back(equation.num_labels + d);
  }
  return found;
}

}  // namespace tensorfleet
