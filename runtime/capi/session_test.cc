#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "runtime/capi/testing/c_graph.h"

namespace tensorfleet::capi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// One that nobody listens on now.
int FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

// A field of a message that holds bytes: fewer than 128.
std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// A ServerDef of a cluster with the one task "worker" 0, for gRPC.
std::string ServerDefAt(const std::string& address) {
  const std::string job = Field(1, "worker") + Field(2, Field(2, address));
  return Field(1, Field(1, job)) + Field(2, "worker") + Field(5, "grpc");
}

class CSession : public ::testing::Test {
 protected:
  const Owned<TF_Graph> graph_{TF_NewGraph()};
  Outcome outcome_;
};

TEST_F(CSession, RunsSteps) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* sum = Binary(graph_.get(), "AddV2", "sum", Out(x), Out(x));
  const Owned<TF_Session> session = NewSession(graph_.get());
  const Owned<TF_Tensor> value = FloatVector({1, 2});
  EXPECT_THAT(FloatsOf(RunOne(session.get(), {Out(x)}, {value.get()}, Out(sum), outcome_).get()),
              ElementsAre(2, 4));
  ASSERT_TRUE(IsOk(outcome_));
  // What is added later is sent with the next step.
  TF_Operation* neg = Unary(graph_.get(), "Neg", "neg", Out(sum));
  EXPECT_THAT(FloatsOf(RunOne(session.get(), {Out(x)}, {value.get()}, Out(neg), outcome_).get()),
              ElementsAre(-2, -4));
  ASSERT_TRUE(IsOk(outcome_));
}

TEST_F(CSession, PassesStringsOn) {
  TF_Operation* x = Placeholder(graph_.get(), "x", TF_STRING);
  TF_Operation* y = Unary(graph_.get(), "Identity", "y", Out(x));
  const Owned<TF_Session> session = NewSession(graph_.get());
  const std::string text(100, 'l');
  const Owned<TF_Tensor> value = StringVector({"short", text, ""});
  const Owned<TF_Tensor> got = RunOne(session.get(), {Out(x)}, {value.get()}, Out(y), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_THAT(StringsOf(got.get()), ElementsAre("short", text, ""));
}

TEST_F(CSession, FetchesFedBytesWithoutACopy) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* y = Unary(graph_.get(), "Identity", "y", Out(x));
  const Owned<TF_Session> session = NewSession(graph_.get());
  const Owned<TF_Tensor> value = FloatVector({1, 2});
  const Owned<TF_Tensor> got = RunOne(session.get(), {Out(x)}, {value.get()}, Out(y), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(TF_TensorData(got.get()), TF_TensorData(value.get()));
}

TEST_F(CSession, KeepsVariables) {
  TF_OperationDescription* description = TF_NewOperation(graph_.get(), "VarHandleOp", "v");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_SetAttrShape(description, "shape", nullptr, 0);
  TF_Operation* variable = TF_FinishOperation(description, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  const Owned<TF_Tensor> one = FloatScalar(1);
  TF_Operation* constant = Constant(graph_.get(), "one", one.get());
  TF_Operation* assign =
      Binary(graph_.get(), "AssignVariableOp", "assign", Out(variable), Out(constant));
  TF_Operation* add =
      Binary(graph_.get(), "AssignAddVariableOp", "add", Out(variable), Out(constant));
  description = TF_NewOperation(graph_.get(), "ReadVariableOp", "read");
  TF_AddInput(description, Out(variable));
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Operation* read = TF_FinishOperation(description, outcome_);
  const Owned<TF_Session> session = NewSession(graph_.get());
  for (const TF_Operation* target : {assign, add, add}) {
    TF_SessionRun(session.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, &target, 1,
                  nullptr, outcome_);
    ASSERT_TRUE(IsOk(outcome_));
  }
  EXPECT_THAT(FloatsOf(RunOne(session.get(), {}, {}, Out(read), outcome_).get()), ElementsAre(3));
  // A handle can be fetched and fed again.
  const Owned<TF_Tensor> handle = RunOne(session.get(), {}, {}, Out(variable), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(TF_TensorType(handle.get()), TF_RESOURCE);
  EXPECT_THAT(
      FloatsOf(RunOne(session.get(), {Out(variable)}, {handle.get()}, Out(read), outcome_).get()),
      ElementsAre(3));
}

TEST_F(CSession, GivesErrorsAndNoOutputs) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* neg = Unary(graph_.get(), "Neg", "neg", Out(x));
  const Owned<TF_Session> session = NewSession(graph_.get());
  EXPECT_EQ(RunOne(session.get(), {}, {}, Out(neg), outcome_), nullptr);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  EXPECT_THAT(outcome_.message(), HasSubstr("x"));
  const TF_Output output = Out(neg);
  TF_SessionRun(session.get(), nullptr, nullptr, nullptr, 0, &output, nullptr, 1, nullptr, 0,
                nullptr, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  TF_SessionRun(session.get(), nullptr, &output, nullptr, 1, nullptr, nullptr, 0, nullptr, 0,
                nullptr, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST_F(CSession, OutlivesItsGraph) {
  TF_Graph* graph = TF_NewGraph();
  const Owned<TF_Tensor> one = FloatVector({1});
  TF_Operation* constant = Constant(graph, "one", one.get());
  const Owned<TF_Session> session = NewSession(graph);
  TF_DeleteGraph(graph);
  EXPECT_THAT(FloatsOf(RunOne(session.get(), {}, {}, Out(constant), outcome_).get()),
              ElementsAre(1));
}

TEST_F(CSession, RunsNothingAfterItWasClosed) {
  const Owned<TF_Tensor> one = FloatVector({1});
  TF_Operation* constant = Constant(graph_.get(), "one", one.get());
  const Owned<TF_Session> session = NewSession(graph_.get());
  TF_CloseSession(session.get(), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  RunOne(session.get(), {}, {}, Out(constant), outcome_);
  EXPECT_NE(outcome_.code(), TF_OK);
}

TEST_F(CSession, TakesPartialRuns) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* y = Placeholder(graph_.get(), "y");
  TF_Operation* first = Unary(graph_.get(), "Neg", "first", Out(x));
  TF_Operation* second = Binary(graph_.get(), "AddV2", "second", Out(first), Out(y));
  const Owned<TF_Session> session = NewSession(graph_.get());
  const TF_Output inputs[] = {Out(x), Out(y)}, outputs[] = {Out(first), Out(second)};
  const char* handle = nullptr;
  TF_SessionPRunSetup(session.get(), inputs, 2, outputs, 2, nullptr, 0, &handle, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  const Owned<TF_Tensor> two = FloatVector({2}), five = FloatVector({5});
  TF_Tensor* value = two.get();
  TF_Tensor* got = nullptr;
  TF_SessionPRun(session.get(), handle, inputs, &value, 1, outputs, &got, 1, nullptr, 0, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_THAT(FloatsOf(Owned<TF_Tensor>(got).get()), ElementsAre(-2));
  value = five.get();
  TF_SessionPRun(session.get(), handle, inputs + 1, &value, 1, outputs + 1, &got, 1, nullptr, 0,
                 outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_THAT(FloatsOf(Owned<TF_Tensor>(got).get()), ElementsAre(3));
  // It is over.
  TF_SessionPRun(session.get(), handle, inputs, &value, 1, outputs, &got, 1, nullptr, 0, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  TF_DeletePRunHandle(handle);
}

TEST_F(CSession, GivesWhatIsPrintedToListeners) {
  static std::string heard;
  TF_RegisterLogListener([](const char* text) { heard = text; });
  TF_Operation* text = Placeholder(graph_.get(), "text", TF_STRING);
  TF_OperationDescription* description = TF_NewOperation(graph_.get(), "PrintV2", "print");
  TF_AddInput(description, Out(text));
  const TF_Operation* print = TF_FinishOperation(description, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  const Owned<TF_Session> session = NewSession(graph_.get());
  TF_Tensor* hello = TF_AllocateTensor(TF_STRING, nullptr, 0, sizeof(TF_TString));
  const Owned<TF_Tensor> owner(hello);
  TF_StringCopy(static_cast<TF_TString*>(TF_TensorData(hello)), "hello", 5);
  const TF_Output input = Out(text);
  TF_SessionRun(session.get(), nullptr, &input, &hello, 1, nullptr, nullptr, 0, &print, 1, nullptr,
                outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(heard, "hello\n");
}

TEST_F(CSession, ListsDevices) {
  const Owned<TF_Session> session = NewSession(graph_.get());
  const Owned<TF_DeviceList> devices(TF_SessionListDevices(session.get(), outcome_));
  ASSERT_TRUE(IsOk(outcome_));
  ASSERT_EQ(TF_DeviceListCount(devices.get()), 1);
  EXPECT_STREQ(TF_DeviceListName(devices.get(), 0, outcome_),
               "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_STREQ(TF_DeviceListType(devices.get(), 0, outcome_), "CPU");
  EXPECT_GT(TF_DeviceListMemoryBytes(devices.get(), 0, outcome_), 0);
  EXPECT_EQ(TF_DeviceListName(devices.get(), 1, outcome_), nullptr);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST_F(CSession, RefusesTargetsThatItDoesNotKnow) {
  const Owned<TF_SessionOptions> options(TF_NewSessionOptions());
  TF_SetTarget(options.get(), "tpu://somewhere");
  EXPECT_EQ(TF_NewSession(graph_.get(), options.get(), outcome_), nullptr);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  TF_SetConfig(options.get(), "\xff\xff", 2, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST_F(CSession, RunsOnAServer) {
  const std::string def = ServerDefAt("localhost:" + std::to_string(FreePort()));
  const Owned<TF_Server> server(TF_NewServer(def.data(), def.size(), outcome_));
  ASSERT_TRUE(IsOk(outcome_));
  TF_ServerStart(server.get(), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_THAT(TF_ServerTarget(server.get()), StartsWith("grpc://"));
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* neg = Unary(graph_.get(), "Neg", "neg", Out(x));
  {
    const Owned<TF_Session> session = NewSession(graph_.get(), TF_ServerTarget(server.get()));
    const Owned<TF_Tensor> value = FloatVector({1, 2});
    EXPECT_THAT(FloatsOf(RunOne(session.get(), {Out(x)}, {value.get()}, Out(neg), outcome_).get()),
                ElementsAre(-1, -2));
    ASSERT_TRUE(IsOk(outcome_));
  }
  TF_ServerStop(server.get(), outcome_);
  EXPECT_TRUE(IsOk(outcome_));
  TF_ServerJoin(server.get(), outcome_);
  EXPECT_TRUE(IsOk(outcome_));
}

}  // namespace
}  // namespace tensorfleet::capi
