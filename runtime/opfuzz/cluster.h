// Some tasks in this process, without a network between them: a master at the first, a worker at
// each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/session/master/master.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet::opfuzz {

class Cluster {
 public:
  Cluster(int num_tasks, const KernelRegistry* kernels);
  ~Cluster();

  Master& master() { return *master_; }
  Worker& worker() { return *workers_[0]; }  // of the master's task
  const std::vector<std::string>& devices() const { return devices_; }

 private:
  class Neighbours : public Peers {
   public:
    std::shared_ptr<WorkerInterface> Worker(const std::string& address) override {
      return workers[address];
    }
    // There is one master, which is alive as long as anybody asks.
    void AskForSession(const CallOptions&, const std::string&, const std::string&,
                       WorkerInterface::Done done) override {
      done(OkStatus());
    }
    std::map<std::string, std::shared_ptr<WorkerInterface>> workers;
  };
  // What comes later goes first.
  TimerQueue timers_;
  Neighbours peers_;
  std::vector<std::shared_ptr<Worker>> workers_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<ThreadPool> pool_, compile_pool_;
  std::vector<std::string> devices_;
};

}  // namespace tensorfleet::opfuzz
