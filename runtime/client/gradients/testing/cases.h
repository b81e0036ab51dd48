// The table of gradient tests: for each op with a gradient, small graphs that use it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/client/scope.h"

namespace tensorfleet {

struct GradientCase {
  std::string op;             // the op whose gradient this checks
  std::vector<Shape> shapes;  // of the arguments, all of one floating type
  std::function<std::vector<Output>(const Scope& scope, const std::vector<Output>& x)> build;
  // Arguments are drawn from here; away from places where the op has no derivative.
  double low = -2;
  double high = 2;
  std::string note = {};    // which of several cases of one op this is
  bool needs_rank = false;  // no gradient of arguments whose rank is unknown
};

inline std::ostream& operator<<(std::ostream& os, const GradientCase& c) {
  return os << c.op << (c.note.empty() ? "" : " " + c.note);
}

// By family, as the gradient functions are.
std::vector<GradientCase> UnaryCases();
std::vector<GradientCase> BinaryCases();
std::vector<GradientCase> LinearAlgebraCases();
std::vector<GradientCase> MatrixCases();
std::vector<GradientCase> ReductionCases();
std::vector<GradientCase> ArrayCases();
std::vector<GradientCase> PickCases();
std::vector<GradientCase> NnCases();
std::vector<GradientCase> SegmentCases();
std::vector<GradientCase> TensorArrayCases();
std::vector<GradientCase> TensorListCases();
std::vector<GradientCase> WindowCases();

}  // namespace tensorfleet
