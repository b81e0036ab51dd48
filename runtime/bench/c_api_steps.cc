// Steps by TensorFlow's C interface, on any library that has it:
//
//   c_api_steps LIBRARY [STEPS]
//
// An empty step (one scalar fed and fetched through an Identity) and a chain of 1,000 additions to
// a scalar, in a session of this process. For a comparison run it for both libraries, one after the
// other; runtime/bench/README.md has the figures.

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"

namespace {

void* library = nullptr;

// The function of this name in the library.
template <typename Function>
Function* Find(const char* name, Function*) {
  void* found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "the library has no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}
#define CALL(name) Find(#name, &name)

void Check(TF_Status* status) {
  if (CALL(TF_GetCode)(status) == TF_OK) return;
  std::fprintf(stderr, "%s\n", CALL(TF_Message)(status));
  std::exit(1);
}

TF_Operation* Add(TF_Graph* graph, const char* op, const std::string& name,
                  const std::vector<TF_Operation*>& inputs, TF_Status* status) {
  TF_OperationDescription* description = CALL(TF_NewOperation)(graph, op, name.c_str());
  for (TF_Operation* input : inputs) CALL(TF_AddInput)(description, {input, 0});
  if (inputs.empty()) CALL(TF_SetAttrType)(description, "dtype", TF_FLOAT);
  TF_Operation* made = CALL(TF_FinishOperation)(description, status);
  Check(status);
  return made;
}

// Microseconds of one step, the least of five rounds.
double Time(TF_Session* session, TF_Output input, TF_Tensor* value, TF_Output output, int steps,
            TF_Status* status) {
  const auto run = CALL(TF_SessionRun);
  const auto free_tensor = CALL(TF_DeleteTensor);
  double least = 1e30;
  for (int round = 0; round < 6; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) {
      TF_Tensor* result = nullptr;
      run(session, nullptr, &input, &value, 1, &output, &result, 1, nullptr, 0, nullptr, status);
      if (result == nullptr) Check(status);
      free_tensor(result);
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    // The first round prepares the step.
    if (round > 0 && took.count() / steps < least) least = took.count() / steps;
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: c_api_steps LIBRARY [STEPS]\n");
    return 2;
  }
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const int steps = argc > 2 ? std::atoi(argv[2]) : 2000;
  TF_Status* status = CALL(TF_NewStatus)();
  TF_Graph* graph = CALL(TF_NewGraph)();
  TF_Operation* x = Add(graph, "Placeholder", "x", {}, status);
  TF_Operation* same = Add(graph, "Identity", "same", {x}, status);
  TF_Operation* last = x;
  for (int i = 0; i < 1000; ++i) {
    last = Add(graph, "AddV2", "add" + std::to_string(i), {last, x}, status);
  }
  TF_Session* session = CALL(TF_NewSession)(graph, CALL(TF_NewSessionOptions)(), status);
  Check(status);
  TF_Tensor* value = CALL(TF_AllocateTensor)(TF_FLOAT, nullptr, 0, sizeof(float));
  const float one = 1;
  std::memcpy(CALL(TF_TensorData)(value), &one, sizeof(one));
  std::printf("%s: empty step %.2f us, 1,000 additions %.1f us\n", argv[1],
              Time(session, {x, 0}, value, {same, 0}, steps, status),
              Time(session, {x, 0}, value, {last, 0}, steps / 10 + 1, status));
  std::fflush(stdout);
  _Exit(0);
}
