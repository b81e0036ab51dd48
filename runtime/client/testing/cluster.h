// Servers of one cluster inside a test's process, on free ports of this machine.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "proto/config.pb.h"
#include "runtime/client/session.h"
#include "runtime/rpc/server.h"
#include "runtime/session/cluster/cluster_spec.h"

namespace tensorfleet::testing_client {

// Addresses that nobody listens on.
ClusterSpec LocalCluster(const std::map<std::string, int>& tasks_by_job);

class TestCluster {
 public:
  // Starts all servers unless told otherwise.
  explicit TestCluster(const std::map<std::string, int>& tasks_by_job, bool start = true);
  void Start(const std::string& job, int task);

  // A session at this task's server, whose calls give up after half a minute.
  std::unique_ptr<Session> Open(const std::string& job, int task = 0,
                                tensorflow::ConfigProto config = {}) const;

 private:
  const ClusterSpec spec_;
  std::map<std::pair<std::string, int>, std::unique_ptr<rpc::Server>> servers_;
};

}  // namespace tensorfleet::testing_client
