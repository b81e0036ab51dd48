// Gives every node a device. Nodes that must share one (colocation, references, resource handles)
// form a group; the first rule of a list that has an opinion on a group decides
// (placement_rules.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

// Where a node goes that nothing ties to a place.
enum class DefaultPlacement {
  // What holds state that outlives a step (variables, queues, tables) goes to task 0 of the first
  // job as below; all else goes where it costs least to have it (neighbours.h).
  kAuto,
  // Task 0 of the cluster's first job, whichever server is asked: unplaced variables are shared by
  // all sessions of a cluster. The client's task when task 0 has no device in the list (it may be
  // filtered out).
  kFirstJobTaskZero,
  // The task of the client device, as TensorFlow 2.15 does.
  kMasterTask,
};

struct PlacementOptions {
  // Devices that may be used: all tasks' of the session, filters applied.
  std::vector<DeviceAttributes> devices;
  std::string client_device;  // full name of the master's first local device
  DefaultPlacement default_placement = DefaultPlacement::kAuto;
  std::string first_job;  // of the ClusterSpec, in its order; not used by kMasterTask
  // Use another device of the same task when the requested one does not exist or cannot run the op.
  bool allow_soft_placement = false;
  const KernelRegistry* kernels = nullptr;  // which ops run on which type of device; required
  // Calls of functions may take resources of several tasks, since they will be expanded (rewrite.h)
  // before they run. True while a session's whole graph is placed, false for what is left in a
  // step.
  bool calls_are_expanded = false;
  // Gets one line "NAME: (OP): DEVICE" for every node when set (log_device_placement).
  std::function<void(const std::string& line)> log;
};

// Sets the assigned device of every node. A node that has one already keeps it, and draws its group
// there. Near-linear in nodes and edges. On an error no assignment is changed. Errors:
// InvalidArgument, text of tf-protocol.md, B.3, for a device that is not there or has no kernel;
// InvalidArgument naming both nodes when two that must share a device ask for different ones.
Status Place(const PlacementOptions& options, Graph* graph);

// Takes the assigned devices away again, except from nodes that hold state between steps
// (variables, queues, ...). Call it before a grown graph is placed anew: new consumers may draw
// stateless nodes elsewhere.
void ForgetStatelessPlacement(Graph* graph);

}  // namespace tensorfleet
