#include "runtime/kernels/portable/readers/reader.h"

#include <utility>

#include "proto/reader_base.pb.h"
#include "runtime/base/contain.h"
#include "runtime/io/io_interest.h"
#include "runtime/kernels/portable/io_kernel.h"

namespace tensorfleet::portable {

Reader::Reader(std::string name, std::unique_ptr<RecordSource> source)
    : name_(std::move(name)), source_(std::move(source)) {}

void Reader::Read(KernelContext& ctx, ResourceRef<Queue> queue, int64_t most, Done done) {
  bool is_first = false;
  {
    MutexLock lock(&line_mu_);
    is_first = requests_.empty();
    requests_.push_back({&ctx, std::move(queue), most, std::move(done)});
  }
  if (is_first) Continue();
}

void Reader::Continue() {
  RunOnIoThread([self = ResourceRef<Reader>(this)] {
    const Request& request = self->Front();
    Records records;
    Status status;
    bool is_over = false;
    {
      const ScopedIoInterest interest(request.ctx->step().cancellation);
      const Status contained = Contained([&] {
        MutexLock lock(&self->mu_);
        is_over = self->ReadSome(request, &records, &status);
        return OkStatus();
      });
      if (!contained.ok()) {
        is_over = true;
        status = contained;
      }
    }
    if (is_over) {
      self->Finish(std::move(status), std::move(records));
    } else {
      self->TakeWork(request);
    }
  });
}

bool Reader::ReadSome(const Request& request, Records* records, Status* status) {
  *status = CheckCancelled(*request.ctx);
  if (!status->ok() || request.most < 1) return true;
  while (has_work_) {
    std::string key, value;
    const StatusOr<bool> is_there = source_->Next(&key, &value);
    if (!is_there.ok()) {
      *status = is_there.status();
      return true;
    }
    if (!*is_there) {
      FinishWork();
      break;
    }
    ++produced_;
    records->keys.push_back(std::move(key));
    records->values.push_back(std::move(value));
    if (source_->IsOver()) FinishWork();
    if (static_cast<int64_t>(records->keys.size()) == request.most) break;
  }
  return !records->keys.empty();
}

void Reader::FinishWork() {
  has_work_ = false;
  ++finished_;
}

void Reader::TakeWork(const Request& request) {
  const Queue::Caller caller{request.ctx->step().cancellation, &request.ctx->step().device->pool()};
  const ResourceRef<Queue> queue = request.queue;
  queue->Dequeue(caller, [self = ResourceRef<Reader>(this)](Status status, QueueTuple tuple) {
    if (!status.ok()) return self->Finish(std::move(status), {});
    if (tuple.size() != 1 || tuple[0].dtype() != DType::kString || tuple[0].num_elements() != 1) {
      return self->Finish(
          InvalidArgument("the elements of a reader's queue must be scalar strings"), {});
    }
    self->Begin(tuple[0].values<std::string>()[0]);
  });
}

void Reader::Begin(const std::string& work) {
  RunOnIoThread([self = ResourceRef<Reader>(this), work] {
    Status status;
    {
      const ScopedIoInterest interest(self->Front().ctx->step().cancellation);
      status = Contained([&] {
        MutexLock lock(&self->mu_);
        return self->Start(work);
      });
    }
    if (status.ok()) {
      self->Continue();
    } else {
      self->Finish(std::move(status), {});
    }
  });
}

Status Reader::Start(const std::string& work) {
  TFLEET_RETURN_IF_ERROR(source_->Start(work));
  has_work_ = true;
  work_ = work;
  ++started_;
  return OkStatus();
}

void Reader::Finish(Status status, Records records) {
  const ResourceRef<Reader> self(this);
  Done done;
  bool has_next = false;
  {
    MutexLock lock(&line_mu_);
    done = std::move(requests_.front().done);
    requests_.pop_front();
    has_next = !requests_.empty();
  }
  if (has_next) Continue();
  done(std::move(status), std::move(records));
}

int64_t Reader::records_produced() const {
  MutexLock lock(&mu_);
  return produced_;
}

int64_t Reader::work_completed() const {
  MutexLock lock(&mu_);
  return finished_;
}

void Reader::Reset() {
  MutexLock lock(&mu_);
  has_work_ = false;
  started_ = finished_ = produced_ = 0;
  work_.clear();
}

Status Reader::CheckCanBeSaved() const {
  if (source_->CanBeSaved()) return OkStatus();
  return Unimplemented("the state of reader '", name_, "' can't be saved or restored");
}

StatusOr<std::string> Reader::Save() const {
  MutexLock lock(&mu_);
  TFLEET_RETURN_IF_ERROR(CheckCanBeSaved());
  tensorflow::ReaderBaseState state;
  state.set_work_started(started_);
  state.set_work_finished(finished_);
  state.set_num_records_produced(produced_);
  state.set_current_work(work_);
  return state.SerializeAsString();
}

Status Reader::Restore(const std::string& bytes) {
  MutexLock lock(&mu_);
  TFLEET_RETURN_IF_ERROR(CheckCanBeSaved());
  tensorflow::ReaderBaseState state;
  if (!state.ParseFromString(bytes)) {
    return InvalidArgument("Could not parse state for ", name_, ": ", bytes.size(), " bytes");
  }
  if (state.work_started() < 0 || state.work_finished() < 0 || state.num_records_produced() < 0 ||
      state.work_started() < state.work_finished()) {
    return InvalidArgument("Unexpected state for ", name_, ": ", state.work_started(), " started, ",
                           state.work_finished(), " finished");
  }
  started_ = state.work_started();
  finished_ = state.work_finished();
  produced_ = state.num_records_produced();
  work_ = state.current_work();
  has_work_ = started_ > finished_;
  return has_work_ ? source_->Start(work_) : OkStatus();
}

}  // namespace tensorfleet::portable
