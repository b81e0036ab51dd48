#include "operator/controller/parallel_runner.h"

#include <pthread.h>

namespace tensorfleet::controller {

ParallelRunner::ParallelRunner(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Loop(); });
    pthread_setname_np(threads_.back().native_handle(), "requests");
  }
}

ParallelRunner::~ParallelRunner() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    has_work_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ParallelRunner::RunOne(Batch* batch) {
  const size_t index = batch->next++;
  if (batch->next == batch->tasks.size()) batches_.remove(batch);
  Task task = std::move(batch->tasks[index]);
  mu_.Unlock();
  task();
  task = nullptr;
  mu_.Lock();
  if (--batch->unfinished == 0) batch->done.NotifyAll();
}

void ParallelRunner::Run(std::vector<Task> tasks) {
  if (tasks.empty()) return;
  if (tasks.size() == 1) {
    tasks[0]();
    return;
  }
  Batch batch;
  batch.tasks = std::move(tasks);
  MutexLock lock(&mu_);
  batch.unfinished = batch.tasks.size();
  batches_.push_back(&batch);
  for (size_t i = 1; i < batch.tasks.size() && i <= threads_.size(); ++i) has_work_.NotifyOne();
  while (batch.next < batch.tasks.size()) RunOne(&batch);
  while (batch.unfinished > 0) batch.done.Wait(&mu_);
}

void ParallelRunner::Loop() {
  MutexLock lock(&mu_);
  while (true) {
    while (batches_.empty() && !stopping_) has_work_.Wait(&mu_);
    if (batches_.empty()) return;
    Batch* batch = batches_.front();
    // To the end of the row: the others' turn comes before its next task.
    batches_.splice(batches_.end(), batches_, batches_.begin());
    RunOne(batch);
  }
}

}  // namespace tensorfleet::controller
