// What a master asks of workers that are its kind, and of TensorFlow's.

#include "runtime/session/cluster/device_attributes.h"
#include "runtime/session/testing/one_task.h"
#include "runtime/session/testing/stub_worker.h"

namespace tensorfleet {
namespace {

// Takes graphs and fails their steps, once it has noted what they were to return.
class FarWorker final : public StubWorker {
 public:
  explicit FarWorker(const std::string& cpu_description) {
    device_.name = "/job:far/replica:0/task:0/device:CPU:0";
    device_.type = "CPU";
    device_.incarnation = 7;
    device_.description = cpu_description;
    device_.parsed = DeviceName::Parse(device_.name).value();
  }
  void GetStatus(const CallOptions&, DoneWith<std::vector<DeviceAttributes>> done) override {
    done(std::vector<DeviceAttributes>{device_});
  }
  void CreateWorkerSession(const CallOptions&, const tensorflow::CreateWorkerSessionRequest&,
                           Done done) override {
    done(OkStatus());
  }
  void DeleteWorkerSession(const CallOptions&, const std::string&, Done done) override {
    done(OkStatus());
  }
  void RegisterGraph(const CallOptions&, RegisterGraphArgs, DoneWith<std::string> done) override {
    done("graph");
  }
  void DeregisterGraph(const CallOptions&, const tensorflow::DeregisterGraphRequest&,
                       Done done) override {
    done(OkStatus());
  }
  void RunGraph(const CallOptions&, RunGraphArgs* args, RunGraphResult*, Done done) override {
    asked_to_return = args->recv_keys;
    done(Unavailable("noted"));
  }
  void CleanupGraph(const CallOptions&, int64_t, Done done) override { done(OkStatus()); }
  void RecvTensor(const CallOptions&, const RecvTensorArgs&, RecvTensorResult*,
                  Done done) override {
    done(Unavailable("noted"));
  }

  std::vector<std::string> asked_to_return;

 private:
  DeviceAttributes device_;
};

class OnePeer final : public Peers {
 public:
  explicit OnePeer(std::shared_ptr<WorkerInterface> worker) : worker_(std::move(worker)) {}
  std::shared_ptr<WorkerInterface> Worker(const std::string&) override { return worker_; }
  void AskForSession(const CallOptions&, const std::string&, const std::string&,
                     WorkerInterface::Done done) override {
    done(OkStatus());
  }

 private:
  const std::shared_ptr<WorkerInterface> worker_;
};

// What a far worker whose CPU says this is asked to return when a client fetches its variable.
std::vector<std::string> AskedToReturn(const std::string& cpu_description) {
  const auto far = std::make_shared<FarWorker>(cpu_description);
  OnePeer peers(far);
  const ClusterSpec cluster =
      ClusterSpec::Make({{"local", {{0, "here:1"}}}, {"far", {{0, "there:1"}}}}).value();
  Master::Options master;
  master.peers = &peers;
  master.cluster = cluster;
  Worker::Options worker;
  worker.peers = &peers;
  worker.cluster = cluster;
  OneTask task(std::move(master), std::move(worker));
  const auto client = task.Open(GraphOf(R"(
    node { name: "var" op: "VariableV2" device: "/job:far"
           attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape {} } } })"));
  EXPECT_EQ(RunStep(*client, {"var:0"}, /*feed_x=*/false).code(), absl::StatusCode::kUnavailable);
  return far->asked_to_return;
}

TEST(ReplyKeys, AreAskedOfAServerThatSaysThatItIsOurs) {
  EXPECT_EQ(AskedToReturn(kOurCpu).size(), 1);
}

TEST(ReplyKeys, AreNotAskedOfTensorFlowsServersWhichRefuseThem) {
  EXPECT_EQ(AskedToReturn(""), std::vector<std::string>());
}

TEST(ReplyKeys, AWorkerTellsOthersThatItIsOurs) {
  OneTask task;
  EXPECT_TRUE(IsOurServer(task.worker().devices()));
}

}  // namespace
}  // namespace tensorfleet
