#include "runtime/base/cancellation.h"

namespace tensorfleet {

CancellationManager::CancellationManager(CancellationManager* parent) : parent_(parent) {
  if (parent_ == nullptr) return;
  parent_token_ = parent_->Register([this] { StartCancel(parent_->status()); });
  if (parent_token_ < 0) StartCancel(parent_->status());
}

CancellationManager::~CancellationManager() {
  if (parent_ != nullptr && parent_token_ >= 0) parent_->Deregister(parent_token_);
}

void CancellationManager::StartCancel(Status why) {
  absl::flat_hash_map<Token, std::function<void()>> callbacks;
  {
    MutexLock lock(&mu_);
    if (cancelled_.load(std::memory_order_relaxed)) return;
    why_ = std::move(why);
    cancelled_.store(true, std::memory_order_release);
    running_callbacks_ = true;
    callbacks.swap(callbacks_);
  }
  for (auto& [token, callback] : callbacks) callback();
  MutexLock lock(&mu_);
  running_callbacks_ = false;
  callbacks_done_.NotifyAll();
}

Status CancellationManager::status() const {
  MutexLock lock(&mu_);
  return why_;
}

CancellationManager::Token CancellationManager::Register(std::function<void()> callback) {
  MutexLock lock(&mu_);
  if (cancelled_.load(std::memory_order_relaxed)) return -1;
  const Token token = next_token_++;
  callbacks_.emplace(token, std::move(callback));
  return token;
}

bool CancellationManager::Deregister(Token token) {
  MutexLock lock(&mu_);
  if (callbacks_.erase(token) > 0) return true;
  while (running_callbacks_) callbacks_done_.Wait(&mu_);
  return false;
}

bool CancellationManager::TryDeregister(Token token) {
  MutexLock lock(&mu_);
  return callbacks_.erase(token) > 0;
}

}  // namespace tensorfleet
