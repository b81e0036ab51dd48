#include "runtime/client/testing/cluster.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/check.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet::testing_client {

ClusterSpec LocalCluster(const std::map<std::string, int>& tasks_by_job) {
  std::vector<int> sockets;  // all held until the last is chosen
  std::vector<ClusterSpec::Job> jobs;
  for (const auto& [name, count] : tasks_by_job) {
    ClusterSpec::Job job;
    job.name = name;
    for (int task = 0; task < count; ++task) {
      sockets.push_back(::socket(AF_INET, SOCK_STREAM, 0));
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof(address);
      auto* const any = reinterpret_cast<sockaddr*>(&address);
      TFLEET_CHECK(::bind(sockets.back(), any, size) == 0);
      TFLEET_CHECK(::getsockname(sockets.back(), any, &size) == 0);
      job.tasks[task] = absl::StrCat("localhost:", ntohs(address.sin_port));
    }
    jobs.push_back(std::move(job));
  }
  for (const int socket : sockets) ::close(socket);
  return ClusterSpec::Make(std::move(jobs)).value();
}

TestCluster::TestCluster(const std::map<std::string, int>& tasks_by_job, bool start)
    : spec_(LocalCluster(tasks_by_job)) {
  if (!start) return;
  for (const auto& [job, count] : tasks_by_job) {
    for (int task = 0; task < count; ++task) Start(job, task);
  }
}

void TestCluster::Start(const std::string& job, int task) {
  rpc::ServerOptions options;
  options.cluster = spec_;
  options.job = job;
  options.task = task;
  options.ops = &BuiltinOps();
  options.kernels = &CpuKernels();
  options.compute_threads = 2;
  servers_[{job, task}] = rpc::Server::Start(std::move(options)).value();
}

std::unique_ptr<Session> TestCluster::Open(const std::string& job, int task,
                                           tensorflow::ConfigProto config) const {
  config.set_operation_timeout_in_ms(30'000);
  return Session::Open(absl::StrCat("grpc://", spec_.Address(job, task).value()), config).value();
}

}  // namespace tensorfleet::testing_client
