// What the files of a training job hold, as text for people: `tensorfleet inspect`.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "runtime/base/status.h"

namespace tensorfleet::cli {

struct InspectOptions {
  std::string tensor;         // of a checkpoint: its values instead of the list
  int64_t max_elements = 20;  // of those values
};

// A directory stands for its latest checkpoint; a path for the checkpoint, V2 or V1, that it is the
// prefix or the index of, for an event file, or for a MetaGraphDef. Errors: NotFound and
// InvalidArgument, saying what there may be; DataLoss for a damaged file, after what could be read.
Status Inspect(const std::string& path, const InspectOptions& options, std::ostream& out);

}  // namespace tensorfleet::cli
