#include "runtime/data/threads.h"

#include <pthread.h>

#include <chrono>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/contain.h"
#include "runtime/base/flush_denormals.h"
#include "runtime/base/log.h"

namespace tensorfleet::data {
namespace {

constexpr std::chrono::seconds kKeepIdle{5};
// What needs more is refused: a hostile graph must not take all the threads that the system has.
constexpr int64_t kMostThreads = 4096;

class Threads {
 public:
  Status Run(std::function<void()> work) {
    MutexLock lock(&mu_);
    if (threads_ >= kMostThreads && idle_ <= static_cast<int64_t>(work_.size())) {
      return ResourceExhausted("data sets use ", threads_, " threads already");
    }
    work_.push_back(std::move(work));
    if (idle_ >= static_cast<int64_t>(work_.size())) {
      has_work_.NotifyOne();
      return OkStatus();
    }
    try {
      std::thread([this] { Loop(); }).detach();
    } catch (const std::system_error& error) {
      work_.pop_back();
      return ResourceExhausted("no thread for a data set's work: ", error.what(), " (", threads_,
                               " exist)");
    }
    ++threads_;
    return OkStatus();
  }

  int64_t size() const {
    MutexLock lock(&mu_);
    return threads_;
  }

 private:
  void Loop() {
    pthread_setname_np(pthread_self(), "data");
    const ScopedFlushDenormals flush;
    MutexLock lock(&mu_);
    while (true) {
      if (work_.empty()) {
        ++idle_;
        const auto until = std::chrono::steady_clock::now() + kKeepIdle;
        while (work_.empty() && has_work_.WaitUntil(&mu_, until)) {
        }
        --idle_;
        if (work_.empty()) break;
      }
      {
        std::function<void()> work = std::move(work_.front());
        work_.pop_front();
        mu_.Unlock();
        const Status thrown = Contained(work);
        if (!thrown.ok()) LogError("A data set's work threw", {{"error", thrown.ToString()}});
        work = nullptr;  // what it holds goes before the lock is taken
        mu_.Lock();
      }
    }
    --threads_;
  }

  mutable Mutex mu_;
  CondVar has_work_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  int64_t idle_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t threads_ ABSL_GUARDED_BY(mu_) = 0;
};

// Never destroyed: threads may run until the end of the process.
Threads& AllThreads() {
  static auto* const threads = new Threads;
  return *threads;
}

}  // namespace

Status RunOnDataThread(std::function<void()> work) { return AllThreads().Run(std::move(work)); }
int64_t NumDataThreads() { return AllThreads().size(); }

Status Background::Start(std::function<void()> work) {
  auto over = std::make_shared<Notification>();
  TFLEET_RETURN_IF_ERROR(RunOnDataThread([work = std::move(work), over]() mutable {
    // Told whatever happens, and after what the work holds is gone.
    struct Teller {
      Notification* over;
      ~Teller() { over->Notify(); }
    } teller{over.get()};
    std::function<void()> mine = std::move(work);
    mine();
  }));
  over_ = std::move(over);
  return OkStatus();
}

void Background::Join() {
  if (over_ != nullptr) over_->Wait();
}

}  // namespace tensorfleet::data
