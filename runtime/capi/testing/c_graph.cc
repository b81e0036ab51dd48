#include "runtime/capi/testing/c_graph.h"

#include <cstring>

namespace tensorfleet::capi {

void Deleter::operator()(TF_Session* s) const {
  Outcome outcome;
  TF_DeleteSession(s, outcome);
}

::testing::AssertionResult IsOk(const Outcome& outcome) {
  if (outcome.code() == TF_OK) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << outcome.code() << ": " << outcome.message();
}

std::string TextOf(const TF_Buffer* buffer) {
  return std::string(static_cast<const char*>(buffer->data), buffer->length);
}

namespace {

template <typename T>
Owned<TF_Tensor> Filled(TF_DataType type, const std::vector<int64_t>& dims,
                        const std::vector<T>& values) {
  Owned<TF_Tensor> tensor(TF_AllocateTensor(type, dims.data(), static_cast<int>(dims.size()),
                                            values.size() * sizeof(T)));
  if (tensor != nullptr && !values.empty()) {
    std::memcpy(TF_TensorData(tensor.get()), values.data(), values.size() * sizeof(T));
  }
  return tensor;
}

TF_Operation* Finish(TF_OperationDescription* description) {
  Outcome outcome;
  TF_Operation* operation = TF_FinishOperation(description, outcome);
  EXPECT_TRUE(IsOk(outcome));
  return operation;
}

}  // namespace

Owned<TF_Tensor> FloatVector(const std::vector<float>& values) {
  return Filled(TF_FLOAT, {static_cast<int64_t>(values.size())}, values);
}

Owned<TF_Tensor> FloatScalar(float value) { return Filled<float>(TF_FLOAT, {}, {value}); }

Owned<TF_Tensor> Int32Vector(const std::vector<int32_t>& values) {
  return Filled(TF_INT32, {static_cast<int64_t>(values.size())}, values);
}

Owned<TF_Tensor> StringVector(const std::vector<std::string>& values) {
  const int64_t dims[] = {static_cast<int64_t>(values.size())};
  // The strings' texts are freed with the memory of the tensor.
  auto* strings = new TF_TString[values.size()];
  for (size_t i = 0; i < values.size(); ++i) {
    TF_StringInit(strings + i);
    TF_StringCopy(strings + i, values[i].data(), values[i].size());
  }
  return Owned<TF_Tensor>(TF_NewTensor(
      TF_STRING, dims, 1, strings, values.size() * sizeof(TF_TString),
      [](void* data, size_t length, void*) {
        auto* all = static_cast<TF_TString*>(data);
        for (size_t i = 0; i < length / sizeof(TF_TString); ++i) TF_StringDealloc(all + i);
        delete[] all;
      },
      nullptr));
}

std::vector<float> FloatsOf(const TF_Tensor* tensor) {
  if (tensor == nullptr || TF_TensorType(tensor) != TF_FLOAT) return {};
  const auto* values = static_cast<const float*>(TF_TensorData(tensor));
  return {values, values + TF_TensorElementCount(tensor)};
}

std::vector<std::string> StringsOf(const TF_Tensor* tensor) {
  std::vector<std::string> texts;
  if (tensor == nullptr || TF_TensorType(tensor) != TF_STRING) return texts;
  const auto* strings = static_cast<const TF_TString*>(TF_TensorData(tensor));
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i) {
    texts.emplace_back(TF_StringGetDataPointer(strings + i), TF_StringGetSize(strings + i));
  }
  return texts;
}

TF_Operation* Placeholder(TF_Graph* graph, const char* name, TF_DataType type) {
  TF_OperationDescription* description = TF_NewOperation(graph, "Placeholder", name);
  TF_SetAttrType(description, "dtype", type);
  return Finish(description);
}

TF_Operation* Constant(TF_Graph* graph, const char* name, TF_Tensor* value) {
  TF_OperationDescription* description = TF_NewOperation(graph, "Const", name);
  Outcome outcome;
  TF_SetAttrTensor(description, "value", value, outcome);
  EXPECT_TRUE(IsOk(outcome));
  TF_SetAttrType(description, "dtype", TF_TensorType(value));
  return Finish(description);
}

TF_Operation* Unary(TF_Graph* graph, const char* op, const char* name, TF_Output x) {
  TF_OperationDescription* description = TF_NewOperation(graph, op, name);
  TF_AddInput(description, x);
  return Finish(description);
}

TF_Operation* Binary(TF_Graph* graph, const char* op, const char* name, TF_Output x, TF_Output y) {
  TF_OperationDescription* description = TF_NewOperation(graph, op, name);
  TF_AddInput(description, x);
  TF_AddInput(description, y);
  return Finish(description);
}

Owned<TF_Tensor> RunOne(TF_Session* session, const std::vector<TF_Output>& inputs,
                        const std::vector<TF_Tensor*>& values, TF_Output output, Outcome& outcome) {
  TF_Tensor* result = nullptr;
  TF_SessionRun(session, nullptr, inputs.data(), values.data(), static_cast<int>(inputs.size()),
                &output, &result, 1, nullptr, 0, nullptr, outcome);
  return Owned<TF_Tensor>(result);
}

Owned<TF_Session> NewSession(TF_Graph* graph, const char* target) {
  Outcome outcome;
  Owned<TF_SessionOptions> options(TF_NewSessionOptions());
  TF_SetTarget(options.get(), target);
  Owned<TF_Session> session(TF_NewSession(graph, options.get(), outcome));
  EXPECT_TRUE(IsOk(outcome));
  return session;
}

}  // namespace tensorfleet::capi
