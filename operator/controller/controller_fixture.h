// For tests of the whole loop: a controller against an API server, and the parts of the user and of
// the kubelet played by the test.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "operator/controller/controller.h"
#include "operator/testing/api_fixture.h"

namespace tensorfleet::controller {

using tensorfleet::testing::Json;

class ControllerTest : public tensorfleet::testing::ApiFixture {
 protected:
  // One controller process: its client, recorder and loop. Destroying it is a clean exit.
  struct Process {
    Process(k8s::Transport* transport, ControllerOptions options);
    ~Process();
    CancellationManager cancel;
    k8s::Client client;
    k8s::EventRecorder events;
    Controller controller;
    std::thread starter;
  };

  ControllerOptions Options();
  void SetUp() override;
  void StartController();
  void StopController() { process_.reset(); }

  // A TFJob of `replicas`, such as {{"Worker", 2}}, with `spec` merged over it.
  Json Job(const std::string& name, const std::map<std::string, int>& replicas,
           const Json& spec = Json::object());
  Json Submit(const std::string& name, const std::map<std::string, int>& replicas,
              const Json& spec = Json::object());

  std::string Jobs() const { return k8s::CollectionPath("kubeflow.org/v1", ns(), "tfjobs"); }
  std::string Pods() const { return k8s::CollectionPath("v1", ns(), "pods"); }
  std::string Services() const { return k8s::CollectionPath("v1", ns(), "services"); }

  // The object, or null when there is none.
  Json Read(const std::string& path);
  Json ReadJob(const std::string& name) { return Read(Jobs() + "/" + name); }
  std::vector<std::string> NamesIn(const std::string& collection);
  bool HasPods(const std::vector<std::string>& names);
  bool HasServices(const std::vector<std::string>& names);

  // The kubelet's part.
  void SetPhase(const std::string& pod, const std::string& phase,
                std::optional<int> exit_code = std::nullopt);
  void Patch(const std::string& path, const Json& patch);
  // Removes a pod as the kubelet does once its containers have stopped.
  void RemovePod(const std::string& pod);

  // Whether condition `type` of the job has `status` within the time limit.
  bool Becomes(const std::string& job, const std::string& type, const std::string& status = "True");
  std::string ConditionStatus(const std::string& job, const std::string& type);
  // Lets the controller do whatever it still wants to do.
  void Settle(std::chrono::milliseconds time = std::chrono::milliseconds(150));

  std::unique_ptr<Process> process_;
};

}  // namespace tensorfleet::controller
