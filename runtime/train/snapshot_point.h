// Lets training go on while a checkpoint's bytes go out. The op that saves freezes the values when
// it begins and is done when the files are; a step that runs beside it needs to know the first
// moment, not the second. So the reads of what is saved get nodes of their own, and once all of
// them have run, the number of the save goes into a queue of the task that waits for it.
//
// A saving step feeds `number` and runs `passed`; meanwhile another step fetches `await` until that
// number comes. Numbers of saves that failed may come before it. `release`, fed in the same way,
// hands out a number whatever has become of its save. The last two run on `device` alone, whoever
// else is lost.
#pragma once

#include <optional>
#include <string>

#include "proto/checkpoint.pb.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::train {

struct SnapshotPoint {
  std::string number;   // a placeholder: int64
  std::string passed;   // an op
  std::string await;    // a tensor: int64
  std::string release;  // an op
};

// Adds it to a graph whose nodes have their devices. Nothing when the saver's nodes are of another
// make than SaveV2 with inputs that are in the graph: such a save must not run beside steps.
// Errors: those of malformed attributes.
StatusOr<std::optional<SnapshotPoint>> AddSnapshotPoint(const tensorflow::SaverDef& saver,
                                                        const std::string& device,
                                                        tensorflow::GraphDef* graph);

}  // namespace tensorfleet::train
