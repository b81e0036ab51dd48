// Small graphs by functions of C, for tests that see nothing else of the library.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"

namespace tensorfleet::capi {

struct Deleter {
  void operator()(TF_Status* s) const { TF_DeleteStatus(s); }
  void operator()(TF_Buffer* b) const { TF_DeleteBuffer(b); }
  void operator()(TF_Tensor* t) const { TF_DeleteTensor(t); }
  void operator()(TF_Graph* g) const { TF_DeleteGraph(g); }
  void operator()(TF_SessionOptions* o) const { TF_DeleteSessionOptions(o); }
  void operator()(TF_ImportGraphDefOptions* o) const { TF_DeleteImportGraphDefOptions(o); }
  void operator()(TF_ImportGraphDefResults* r) const { TF_DeleteImportGraphDefResults(r); }
  void operator()(TF_DeviceList* l) const { TF_DeleteDeviceList(l); }
  void operator()(TF_Function* f) const { TF_DeleteFunction(f); }
  void operator()(TF_Server* s) const { TF_DeleteServer(s); }
  void operator()(TF_Session* s) const;
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

// A status that a test gives to calls: EXPECT_TRUE(ok(status)) shows its message.
class Outcome {
 public:
  Outcome() : status_(TF_NewStatus()) {}
  operator TF_Status*() { return status_.get(); }
  TF_Code code() const { return TF_GetCode(status_.get()); }
  std::string message() const { return TF_Message(status_.get()); }

 private:
  Owned<TF_Status> status_;
};
::testing::AssertionResult IsOk(const Outcome& outcome);

std::string TextOf(const TF_Buffer* buffer);

Owned<TF_Tensor> FloatVector(const std::vector<float>& values);
Owned<TF_Tensor> FloatScalar(float value);
Owned<TF_Tensor> Int32Vector(const std::vector<int32_t>& values);
Owned<TF_Tensor> StringVector(const std::vector<std::string>& values);
std::vector<float> FloatsOf(const TF_Tensor* tensor);
std::vector<std::string> StringsOf(const TF_Tensor* tensor);

// Operations; a failure fails the test and gives NULL.
TF_Operation* Placeholder(TF_Graph* graph, const char* name, TF_DataType type = TF_FLOAT);
TF_Operation* Constant(TF_Graph* graph, const char* name, TF_Tensor* value);
TF_Operation* Unary(TF_Graph* graph, const char* op, const char* name, TF_Output x);
TF_Operation* Binary(TF_Graph* graph, const char* op, const char* name, TF_Output x, TF_Output y);
inline TF_Output Out(TF_Operation* operation, int index = 0) { return {operation, index}; }

// One step with one fetch.
Owned<TF_Tensor> RunOne(TF_Session* session, const std::vector<TF_Output>& inputs,
                        const std::vector<TF_Tensor*>& values, TF_Output output, Outcome& outcome);
Owned<TF_Session> NewSession(TF_Graph* graph, const char* target = "");

}  // namespace tensorfleet::capi
