// Ops whose gradients are not there, each with its reason: asking for one is an error with it.
#include "runtime/client/gradients/families.h"

namespace tensorfleet {

void RegisterMissingGradients(GradientRegistry& registry) {
  registry.AddMissing("_FusedMatMul", "only graph optimisers make this op; differentiate MatMul");
  registry.AddMissing("RemoteCall", "it is not supported; give a function's ops their devices");
  for (const char* op : {"StackPushV2", "StackPopV2"}) {
    registry.AddMissing(
        op, "values are followed only through stacks that are pushed and popped in one place each");
  }
  registry.AddMissing("TensorListConcatLists",
                      "no op takes two lists apart; stack the lists and concatenate the tensors");
  registry.AddMissing("TensorListPushBackBatch",
                      "no op takes the last elements off several lists; use TensorListPushBack");
  for (const char* op : {"RefSelect", "_SwitchN"}) {
    registry.AddMissing(op, "no front-end makes this op; use Switch and Merge");
  }
  for (const char* op :
       {"_Cluster", "_If", "_While", "_ReadVariablesOp", "_ParallelConcatUpdate"}) {
    registry.AddMissing(op, "only graph optimisers make this op");
  }
  for (const char* op :
       {"Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration"}) {
    registry.AddMissing(op, "it is not part of a loop that enters, goes round and exits");
  }
}

}  // namespace tensorfleet
