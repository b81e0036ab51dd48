// A reader: takes names of files, or other work, from a queue, one at a time, and gives the records
// that it finds there. Thread-safe: reads take turns.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/portable/queue.h"
#include "runtime/kernels/portable/readers/record_source.h"

namespace tensorfleet::portable {

class Reader final : public Resource {
 public:
  struct Records {
    std::vector<std::string> keys, values;
  };
  using Done = std::function<void(Status, Records)>;

  Reader(std::string name, std::unique_ptr<RecordSource> source);
  std::string DebugString() const override { return absl::StrCat("Reader ", name_); }

  // At least one record, or up to `most` of one file. Files are read on the threads that wait for
  // them (io_kernel.h); while the queue is empty no thread waits. Errors: the queue's (OutOfRange
  // once it is closed and empty) and the files'.
  void Read(KernelContext& ctx, ResourceRef<Queue> queue, int64_t most, Done done);

  int64_t records_produced() const;
  int64_t work_completed() const;
  // As if it had read nothing.
  void Reset();
  // A serialized ReaderBaseState. Errors: Unimplemented for kinds whose state is more than that.
  StatusOr<std::string> Save() const;
  // Errors: as Save; InvalidArgument.
  Status Restore(const std::string& state);

 private:
  struct Request {
    KernelContext* ctx;
    ResourceRef<Queue> queue;
    int64_t most;
    Done done;
  };

  // The first request goes on; on a thread that may wait for files.
  void Continue();
  // Reads what can be read without new work. True when the request is over.
  bool ReadSome(const Request& request, Records* records, Status* status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeWork(const Request& request);
  void Begin(const std::string& work);
  // Starts with `work`. Errors: the source's.
  Status Start(const std::string& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(Status status, Records records);
  Status CheckCanBeSaved() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The first request, which stays where it is until it is finished.
  Request& Front() const {
    MutexLock lock(&line_mu_);
    return const_cast<Request&>(requests_.front());
  }

  const std::string name_;
  mutable Mutex line_mu_;
  std::deque<Request> requests_ ABSL_GUARDED_BY(line_mu_);
  mutable Mutex mu_;  // held while a file is read
  const std::unique_ptr<RecordSource> source_ ABSL_PT_GUARDED_BY(mu_);
  bool has_work_ ABSL_GUARDED_BY(mu_) = false;
  std::string work_ ABSL_GUARDED_BY(mu_);
  int64_t started_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t finished_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t produced_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet::portable
