#include "runtime/pjrt/variable_locks.h"

#include <algorithm>

namespace tensorfleet::pjrt {

void VariableLocks::Acquire(std::vector<Variable*>* variables, std::function<void()> then) {
  std::sort(variables->begin(), variables->end(), std::less<Variable*>());
  variables->erase(std::unique(variables->begin(), variables->end()), variables->end());
  AcquireFrom(0, variables, std::move(then));
}

void VariableLocks::AcquireFrom(size_t next, std::vector<Variable*>* variables,
                                std::function<void()> then) {
  {
    MutexLock lock(&mu_);
    for (; next < variables->size(); ++next) {
      const auto [it, is_free] = held_.try_emplace((*variables)[next]);
      if (is_free) continue;
      // Whoever releases it hands it over.
      it->second.push_back([this, next, variables, then = std::move(then)]() mutable {
        AcquireFrom(next + 1, variables, std::move(then));
      });
      return;
    }
  }
  then();
}

void VariableLocks::Release(absl::Span<Variable* const> variables) {
  std::vector<std::function<void()>> heirs;
  {
    MutexLock lock(&mu_);
    for (Variable* variable : variables) {
      const auto it = held_.find(variable);
      if (it->second.empty()) {
        held_.erase(it);
      } else {
        heirs.push_back(std::move(it->second.front()));
        it->second.pop_front();
      }
    }
  }
  for (const std::function<void()>& heir : heirs) heir();
}

}  // namespace tensorfleet::pjrt
