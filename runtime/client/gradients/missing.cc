// Ops whose gradients are not there, each with its reason: asking for one is an error with it.
#include "runtime/client/gradients/families.h"

namespace tensorfleet {

void RegisterMissingGradients(GradientRegistry& registry) {
  registry.AddMissing("Lgamma", "it needs the op Digamma, which there is no kernel for");
  for (const char* op : {"Qr", "Cholesky", "MatrixInverse", "MatrixDeterminant", "MatrixSolve",
                         "MatrixTriangularSolve"}) {
    registry.AddMissing(op, "gradients of matrix decompositions and equations are not written");
  }
  registry.AddMissing("DenseBincount", "sum the weights with UnsortedSegmentSum, which has one");
  for (const char* op : {"TensorScatterMax", "TensorScatterMin"}) {
    registry.AddMissing(op, "which elements won is not kept; compare and select in the graph");
  }
  registry.AddMissing("_FusedMatMul", "only graph optimisers make this op; differentiate MatMul");
  for (const char* op :
       {"PartitionedCall", "StatefulPartitionedCall", "If", "_If", "StatelessIf", "While", "_While",
        "StatelessWhile", "Case", "StatelessCase", "RemoteCall"}) {
    registry.AddMissing(op,
                        "functions are not differentiated; build the loop or branch of Enter, "
                        "Switch, Merge and Exit, or call the function's body in the graph");
  }
  for (const char* op : {"StackPushV2", "StackPopV2"}) {
    registry.AddMissing(op, "values that pass through a stack cannot be followed");
  }
  for (const char* op :
       {"TensorArrayGradV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3",
        "TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3"}) {
    registry.AddMissing(op, "arrays are not differentiated; stack values with Pack and Unpack");
  }
  for (const char* op : {"RefSelect", "_SwitchN"}) {
    registry.AddMissing(op, "no front-end makes this op; use Switch and Merge");
  }
  for (const char* op : {"_ReadVariablesOp", "_ParallelConcatUpdate"}) {
    registry.AddMissing(op, "only graph optimisers make this op");
  }
  for (const char* op :
       {"Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration"}) {
    registry.AddMissing(op, "it is not part of a loop that enters, goes round and exits");
  }
}

}  // namespace tensorfleet
