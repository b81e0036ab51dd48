#include "runtime/opfuzz/cluster.h"

#include "absl/strings/str_cat.h"
#include "runtime/ops/all.h"

namespace tensorfleet::opfuzz {

Cluster::Cluster(int num_tasks, const KernelRegistry* kernels)
    : pool_(std::make_unique<ThreadPool>("compute", 2)),
      compile_pool_(std::make_unique<ThreadPool>("compile", 1)) {
  ClusterSpec::Job job{"worker", {}};
  for (int i = 0; i < num_tasks; ++i) job.tasks[i] = absl::StrCat("localhost:", i + 1);
  const StatusOr<ClusterSpec> spec = ClusterSpec::Make({job});
  TFLEET_CHECK(spec.ok());
  for (int i = 0; i < num_tasks; ++i) {
    Worker::Options options;
    options.task = absl::StrCat("/job:worker/replica:0/task:", i);
    options.cluster = *spec;
    options.pool = pool_.get();
    options.peers = &peers_;
    options.ops = &BuiltinOps();
    options.kernels = kernels;
    devices_.push_back(absl::StrCat(options.task, "/device:CPU:0"));
    workers_.push_back(std::make_shared<Worker>(std::move(options)));
    peers_.workers[job.tasks[i]] = workers_.back();
  }
  Master::Options options;
  options.worker = workers_[0].get();
  options.cluster = *spec;
  options.peers = &peers_;
  options.timers = &timers_;
  options.compile_pool = compile_pool_.get();
  master_ = std::make_unique<Master>(std::move(options));
}

Cluster::~Cluster() = default;

}  // namespace tensorfleet::opfuzz
