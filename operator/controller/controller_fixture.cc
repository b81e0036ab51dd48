#include "operator/controller/controller_fixture.h"

#include <algorithm>
#include <thread>

namespace tensorfleet::controller {

ControllerTest::Process::Process(k8s::Transport* transport, ControllerOptions options)
    : client(transport, nullptr,
             {.request_time = std::chrono::seconds(10), .max_retries = 3, .cancel = &cancel}),
      events(&client, Clock::Real(), {"tfjob-controller", 1000, 1000, nullptr, 20000, 64}),
      controller(&client, &events, Clock::Real(), std::move(options)) {
  controller.StartInformers();
  starter = std::thread([this] { (void)controller.StartWorkers(&cancel); });
}

ControllerTest::Process::~Process() {
  cancel.StartCancel();
  starter.join();
  controller.Stop();
}

ControllerOptions ControllerTest::Options() {
  ControllerOptions options;
  options.informers.ns = ns();
  options.threads = 4;
  options.parallel_requests = 8;
  options.status_delay = std::chrono::milliseconds(500);
  return options;
}

void ControllerTest::SetUp() {
  if (fake() == nullptr && !client().Get("/apis/kubeflow.org/v1").ok()) {
    GTEST_SKIP() << "the API server has no TFJobs: kubectl apply -f deploy/crd/tfjob.yaml first";
  }
  StartController();
}

void ControllerTest::StartController() {
  process_ = std::make_unique<Process>(&transport(), Options());
}

Json ControllerTest::Job(const std::string& name, const std::map<std::string, int>& replicas,
                         const Json& spec) {
  Json job = {{"apiVersion", "kubeflow.org/v1"}, {"kind", "TFJob"}, {"metadata", {{"name", name}}}};
  for (const auto& [type, count] : replicas) {
    job["spec"]["tfReplicaSpecs"][type] = {
        {"replicas", count},
        {"template",
         {{"spec",
           {{"containers", Json::array({{{"name", "tensorflow"}, {"image", "train:1"}}})}}}}}};
  }
  job["spec"]["runPolicy"] = Json::object();
  job["spec"].merge_patch(spec);
  return job;
}

Json ControllerTest::Submit(const std::string& name, const std::map<std::string, int>& replicas,
                            const Json& spec) {
  return MustCreate(Jobs(), Job(name, replicas, spec));
}

Json ControllerTest::Read(const std::string& path) {
  const auto text = client().Get(path);
  return text.ok() ? Json::parse(*text) : Json();
}

std::vector<std::string> ControllerTest::NamesIn(const std::string& collection) {
  std::vector<std::string> names;
  const Json list = Read(collection);
  for (const Json& item : list["items"]) names.push_back(item["metadata"]["name"]);
  std::sort(names.begin(), names.end());
  return names;
}

bool ControllerTest::HasPods(const std::vector<std::string>& names) {
  const bool has = Eventually([&] { return NamesIn(Pods()) == names; });
  EXPECT_TRUE(has) << "pods are " << Json(NamesIn(Pods()));
  return has;
}

bool ControllerTest::HasServices(const std::vector<std::string>& names) {
  const bool has = Eventually([&] { return NamesIn(Services()) == names; });
  EXPECT_TRUE(has) << "services are " << Json(NamesIn(Services()));
  return has;
}

void ControllerTest::Patch(const std::string& path, const Json& patch) {
  const auto patched = client().MergePatch(path, patch.dump());
  EXPECT_TRUE(patched.ok()) << patched.status();
}

void ControllerTest::SetPhase(const std::string& pod, const std::string& phase,
                              std::optional<int> exit_code) {
  Json status = {{"phase", phase}};
  const std::string now = "2024-01-05T22:58:20Z";
  if (phase == "Running") {
    status["conditions"] =
        Json::array({{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", now}}});
    status["containerStatuses"] = Json::array({{{"name", "tensorflow"},
                                                {"image", "train:1"},
                                                {"imageID", ""},
                                                {"ready", true},
                                                {"restartCount", 0},
                                                {"state", {{"running", {{"startedAt", now}}}}}}});
  }
  if (phase == "Succeeded" || phase == "Failed") {
    const int code = exit_code.value_or(phase == "Failed" ? 1 : 0);
    status["containerStatuses"] =
        Json::array({{{"name", "tensorflow"},
                      {"image", "train:1"},
                      {"imageID", ""},
                      {"ready", false},
                      {"restartCount", 0},
                      {"state",
                       {{"terminated",
                         {{"exitCode", code}, {"reason", code == 0 ? "Completed" : "Error"}}}}}}});
  }
  Patch(Pods() + "/" + pod + "/status", {{"status", status}});
}

void ControllerTest::RemovePod(const std::string& pod) {
  k8s::DeleteOptions now;
  now.grace_seconds = 0;
  (void)client().Delete(Pods() + "/" + pod, now);
}

std::string ControllerTest::ConditionStatus(const std::string& job, const std::string& type) {
  const Json object = ReadJob(job);
  if (!object.is_object() || !object.contains("status")) return "";
  for (const Json& condition : object["status"].value("conditions", Json::array())) {
    if (condition["type"] == type) return condition["status"];
  }
  return "";
}

bool ControllerTest::Becomes(const std::string& job, const std::string& type,
                             const std::string& status) {
  const bool does = Eventually([&] { return ConditionStatus(job, type) == status; });
  EXPECT_TRUE(does) << type << " of " << job << " is not " << status << ": "
                    << ReadJob(job)["status"].dump(1);
  return does;
}

void ControllerTest::Settle(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

}  // namespace tensorfleet::controller
