// Rows of the table of lowering_test.cc that fill files of their own.
#pragma once

#include <vector>

#include "runtime/pjrt/testing/compiled_test.h"

namespace tensorfleet::pjrt {

// Functions of floats and bits, and their gradients.
void AddFunctionCases(std::vector<NodeCase>* cases);
void AddEinsumCases(std::vector<NodeCase>* cases);
// Ops that move elements, and images of another size.
void AddSpaceCases(std::vector<NodeCase>* cases);

}  // namespace tensorfleet::pjrt
