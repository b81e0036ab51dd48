#include "runtime/kernels/portable/print_listeners.h"

#include <vector>

#include "runtime/base/mutex.h"

namespace tensorfleet::portable {
namespace {

struct Listeners {
  Mutex mu;
  std::vector<PrintListener> all ABSL_GUARDED_BY(mu);
};

// Leaked on purpose: steps may print while static objects are destroyed.
Listeners& TheListeners() {
  static auto* listeners = new Listeners;
  return *listeners;
}

}  // namespace

void AddPrintListener(PrintListener listener) {
  Listeners& listeners = TheListeners();
  MutexLock lock(&listeners.mu);
  listeners.all.push_back(listener);
}

bool TellPrintListeners(const std::string& text) {
  Listeners& listeners = TheListeners();
  std::vector<PrintListener> all;
  {
    MutexLock lock(&listeners.mu);
    all = listeners.all;
  }
  for (const PrintListener listener : all) listener(text.c_str());
  return !all.empty();
}

}  // namespace tensorfleet::portable
