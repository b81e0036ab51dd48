/* What a C program of somebody else does with the installed library: 2 + 3, by a graph. */
#include <stdio.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

static TF_Operation* Constant(TF_Graph* graph, const char* name, float value, TF_Status* status) {
  TF_Tensor* tensor = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(value));
  memcpy(TF_TensorData(tensor), &value, sizeof(value));
  TF_OperationDescription* description = TF_NewOperation(graph, "Const", name);
  TF_SetAttrTensor(description, "value", tensor, status);
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_DeleteTensor(tensor);
  return TF_FinishOperation(description, status);
}

int main(void) {
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Output a = {Constant(graph, "a", 2, status), 0};
  TF_Output b = {Constant(graph, "b", 3, status), 0};
  TF_OperationDescription* description = TF_NewOperation(graph, "AddV2", "sum");
  TF_AddInput(description, a);
  TF_AddInput(description, b);
  TF_Output sum = {TF_FinishOperation(description, status), 0};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &sum, &result, 1, NULL, 0, NULL, status);
  if (TF_GetCode(status) != TF_OK) {
    fprintf(stderr, "%s\n", TF_Message(status));
    return 1;
  }
  printf("sum: %g, version %s\n", *(const float*)TF_TensorData(result), TF_Version());
  TF_DeleteTensor(result);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
