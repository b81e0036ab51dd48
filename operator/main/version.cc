#include "operator/main/version.h"

#include "absl/strings/str_cat.h"

namespace tensorfleet::operator_main {

absl::string_view Version() { return TENSORFLEET_VERSION; }

std::string BuildDescription() {
#ifdef NDEBUG
  const char* const kind = "release";
#else
  const char* const kind = "debug";
#endif
  return absl::StrCat("tensorfleet-operator ", Version(), "\ncommit ", TENSORFLEET_COMMIT,
                      "\ncompiler ", __VERSION__, "\nbuild ", kind,
                      "\nTFJob API kubeflow.org/v1\n");
}

}  // namespace tensorfleet::operator_main
