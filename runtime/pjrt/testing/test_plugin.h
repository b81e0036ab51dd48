// The plug-ins that tests use, where `./dev setup --accelerators` has fetched them.
#pragma once

#include <string>
#include <vector>

namespace tensorfleet::pjrt {

// Paths of the plug-ins for CPUs, older first; empty without them: such a test skips, in words.
// TENSORFLEET_TEST_PLUGINS=PATH[,PATH] names others, a GPU's for one.
std::vector<std::string> TestPlugins();

}  // namespace tensorfleet::pjrt
