// Where an op is: the files of its schema, its kernels and their tests, from the root of the
// sources.
#pragma once

#include <string>
#include <vector>

namespace tensorfleet::cli {

struct OpFiles {
  std::vector<std::string> schema;
  std::vector<std::string> kernels;
  // Those in the folders of the kernels. What an op computes is also compared with TensorFlow, by
  // the op's line in runtime/kernels/optest.
  std::vector<std::string> tests;
};

// Empty lists for what is no op.
OpFiles FilesOf(const std::string& op);

}  // namespace tensorfleet::cli
