// Measures a TFJob operator against a real API server, from outside: ours or another one. See
// README.md.
//
//   operator-bench [--kubeconfig F] plain JOBS        the objects of JOBS jobs, by a plain client
//   operator-bench [--kubeconfig F] burst JOBS [PID]  JOBS TFJobs at once; time until all exist
//   operator-bench [--kubeconfig F] latency JOBS      one after the other; time to its first pod
//   operator-bench [--kubeconfig F] takeover SIGNAL PID   ends a leader; time to the first pod of a
//                                                     job that is made at that instant
//   operator-bench [--kubeconfig F] fair JOBS         as burst, with a single further job behind it
//   operator-bench [--kubeconfig F] finished JOBS     JOBS finished TFJobs, as they stay behind
//   operator-bench [--kubeconfig F] finish            lets all pods run and succeed
//   operator-bench [--kubeconfig F] clean             deletes what the others made

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "operator/k8s/client.h"
#include "operator/k8s/connect/http_transport.h"
#include "operator/k8s/watch/splitter.h"
#include "operator/k8s/watch/watch_event.h"
#include "runtime/base/mutex.h"

namespace tensorfleet {
namespace {

using nlohmann::json;
using Time = std::chrono::steady_clock::time_point;

constexpr int kReplicas = 5;
constexpr int kParallel = 32;
constexpr char kNamespace[] = "default";
constexpr char kLabel[] = "fleet-bench";

Time Now() { return std::chrono::steady_clock::now(); }
double Seconds(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }

std::string Tfjobs() { return k8s::CollectionPath("kubeflow.org/v1", kNamespace, "tfjobs"); }
std::string Pods() { return k8s::CollectionPath("v1", kNamespace, "pods"); }
std::string Services() { return k8s::CollectionPath("v1", kNamespace, "services"); }

json Template() {
  return {{"metadata", {{"labels", {{kLabel, "1"}}}}},
          {"spec",
           {{"containers", json::array({{{"name", "tensorflow"},
                                         {"image", "train:1"},
                                         {"command", json::array({"python", "train.py"})}}})}}}};
}

json Job(const std::string& name) {
  return {
      {"apiVersion", "kubeflow.org/v1"},
      {"kind", "TFJob"},
      {"metadata", {{"name", name}, {"labels", {{kLabel, "1"}}}}},
      {"spec",
       {{"runPolicy", json::object()},
        {"tfReplicaSpecs", {{"Worker", {{"replicas", kReplicas}, {"template", Template()}}}}}}}};
}

// A pod and a service like those that an operator makes, but of nobody.
json PlainPod(const std::string& name) {
  json pod = Template();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = name;
  json& container = pod["spec"]["containers"][0];
  container["ports"] = json::array({{{"name", "tfjob-port"}, {"containerPort", 2222}}});
  container["env"] = json::array({{{"name", "TF_CONFIG"}, {"value", std::string(400, 'x')}}});
  return pod;
}
json PlainService(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", name}, {"labels", {{kLabel, "1"}}}}},
          {"spec",
           {{"clusterIP", "None"},
            {"selector", {{"training.kubeflow.org/job-name", name}}},
            {"ports", json::array({{{"name", "tfjob-port"}, {"port", 2222}}})}}}};
}

// Counts and times what appears in a collection, from a watch of its own.
class Watcher {
 public:
  Watcher(k8s::Client* client, std::string collection)
      : client_(client), collection_(std::move(collection)) {
    const auto list = client_->Get(collection_ + "?limit=1");
    const json parsed = json::parse(list.value_or("{}"), nullptr, false);
    version_ = parsed.value("/metadata/resourceVersion"_json_pointer, "");
    thread_ = std::thread([this] { Run(); });
  }
  ~Watcher() {
    cancel_.StartCancel();
    thread_.join();
  }
  int added() const { return added_; }
  bool WaitForAdded(int count, std::chrono::seconds limit) {
    const Time end = Now() + limit;
    MutexLock lock(&mu_);
    while (added_ < count && changed_.WaitUntil(&mu_, end)) {
    }
    return added_ >= count;
  }
  // When the first object whose name begins with `prefix` appeared.
  std::optional<Time> WaitForFirst(const std::string& prefix, std::chrono::seconds limit) {
    const Time end = Now() + limit;
    MutexLock lock(&mu_);
    while (true) {
      const auto it = first_.lower_bound(prefix);
      if (it != first_.end() && it->first.compare(0, prefix.size(), prefix) == 0) return it->second;
      if (!changed_.WaitUntil(&mu_, end)) return std::nullopt;
    }
  }

 private:
  // The API server ends the watch of a client that does not keep up: it goes on from where it was.
  void Run() {
    while (!cancel_.is_cancelled()) {
      const std::string path = absl::StrCat(collection_, "?watch=true&resourceVersion=", version_);
      k8s::LineSplitter lines;
      const Status status = client_->Read(
          path, std::chrono::seconds(3600),
          [&](absl::string_view data) {
            return lines.Feed(data, [&](absl::string_view line) { return OnLine(line); }).ok();
          },
          &cancel_);
      if (!status.ok() && !cancel_.is_cancelled()) {
        std::fprintf(stderr, "watch ended: %s\n", status.ToString().c_str());
        return;
      }
    }
  }
  // The value of a field of the metadata, which are near the beginning; a whole parse would cost
  // the machine under test its time.
  static std::string MetadataField(absl::string_view object, absl::string_view field) {
    const std::string key = absl::StrCat("\"", field, "\":\"");
    const size_t begin = object.find(key);
    if (begin == absl::string_view::npos) return "";
    const size_t end = object.find('"', begin + key.size());
    return std::string(object.substr(begin + key.size(), end - begin - key.size()));
  }
  Status OnLine(absl::string_view line) {
    TFLEET_ASSIGN_OR_RETURN(const k8s::WatchEvent event, k8s::SplitWatchEvent(line));
    if (event.type == k8s::WatchEventType::kError) return Internal(event.object);
    version_ = MetadataField(event.object, "resourceVersion");
    if (event.type != k8s::WatchEventType::kAdded) return OkStatus();
    MutexLock lock(&mu_);
    if (first_.emplace(MetadataField(event.object, "name"), Now()).second) ++added_;
    changed_.NotifyAll();
    return OkStatus();
  }

  k8s::Client* const client_;
  const std::string collection_;
  std::string version_;
  CancellationManager cancel_;
  Mutex mu_;
  CondVar changed_;
  std::atomic<int> added_{0};
  std::map<std::string, Time> first_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

// Runs work(0..count-1) on `threads` threads.
template <typename Work>
void InParallel(int count, int threads, Work work) {
  std::atomic<int> next{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : all) thread.join();
}

void MustCreate(k8s::Client& client, const std::string& collection, const json& object) {
  const auto made = client.Create(collection, object.dump());
  if (!made.ok()) std::fprintf(stderr, "%s\n", made.status().ToString().c_str());
}

// "VmRSS", "VmHWM" in KiB, and processor seconds, of another process.
void PrintProcess(int pid, const char* when) {
  if (pid <= 0) return;
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string line, rss, peak;
  while (std::getline(status, line)) {
    if (line.rfind("VmRSS:", 0) == 0) rss = line.substr(6);
    if (line.rfind("VmHWM:", 0) == 0) peak = line.substr(6);
  }
  std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
  std::getline(stat, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  std::printf("%s: operator RSS%s, peak%s, CPU %.2f s\n", when, rss.c_str(), peak.c_str(),
              (user + system) / 100);
}

int Plain(k8s::Client& client, int jobs) {
  const Time begin = Now();
  InParallel(jobs * kReplicas * 2, kParallel, [&](int i) {
    const std::string name = absl::StrCat("plain-", i / 2);
    if (i % 2 == 0) {
      MustCreate(client, Services(), PlainService(name));
    } else {
      MustCreate(client, Pods(), PlainPod(name));
    }
  });
  const double took = Seconds(begin, Now());
  std::printf("plain client: %d objects in %.2f s, %.0f/s\n", jobs * kReplicas * 2, took,
              jobs * kReplicas * 2 / took);
  return 0;
}

int Burst(k8s::Client& client, int jobs, int pid, bool with_single) {
  PrintProcess(pid, "before");
  Watcher pods(&client, Pods()), services(&client, Services());
  const Time begin = Now();
  std::thread submit([&] {
    InParallel(jobs, kParallel,
               [&](int i) { MustCreate(client, Tfjobs(), Job(absl::StrCat("burst-", i))); });
  });
  if (with_single) {
    submit.join();
    submit = std::thread();
    const double submitted = Seconds(begin, Now());
    const Time asked = Now();
    const int before = pods.added();
    MustCreate(client, Tfjobs(), Job("single"));
    const Time created = Now();
    const auto first = pods.WaitForFirst("single-", std::chrono::seconds(300));
    if (!first) return 1;
    std::printf(
        "single job after %.2f s, %d of %d pods there: created in %.1f ms, first pod %.1f ms "
        "later\n",
        submitted, before, jobs * kReplicas, Seconds(asked, created) * 1e3,
        Seconds(created, *first) * 1e3);
    ++jobs;
  }
  const bool all = pods.WaitForAdded(jobs * kReplicas, std::chrono::seconds(900)) &&
                   services.WaitForAdded(jobs * kReplicas, std::chrono::seconds(900));
  const double took = Seconds(begin, Now());
  if (submit.joinable()) submit.join();
  std::printf("%s: %d pods and %d services of %d jobs in %.2f s, %.0f/s\n",
              all ? "burst" : "INCOMPLETE", pods.added(), services.added(), jobs, took,
              (pods.added() + services.added()) / took);
  PrintProcess(pid, "after");
  return all ? 0 : 1;
}

// Of names that no other run has.
std::string RunId() {
  return absl::StrCat(absl::Hex(std::chrono::system_clock::now().time_since_epoch().count() >> 20));
}

int Latency(k8s::Client& client, int jobs) {
  Watcher pods(&client, Pods());
  std::vector<double> times;
  const std::string run = RunId();
  for (int i = 0; i < jobs; ++i) {
    const std::string name = absl::StrCat("latency-", run, "-", i, "x");
    MustCreate(client, Tfjobs(), Job(name));
    const Time created = Now();
    const auto first = pods.WaitForFirst(name + "-", std::chrono::seconds(60));
    if (!first) return 1;
    times.push_back(Seconds(created, *first) * 1e3);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  std::sort(times.begin(), times.end());
  std::printf("first pod after the job: median %.1f ms, p95 %.1f ms, max %.1f ms (%d jobs)\n",
              times[times.size() / 2], times[times.size() * 95 / 100], times.back(), jobs);
  return 0;
}

int Takeover(k8s::Client& client, int signal, int pid) {
  Watcher pods(&client, Pods());
  const std::string name = absl::StrCat("takeover-", RunId());
  const Time begin = Now();
  if (kill(pid, signal) != 0) {
    std::perror("kill");
    return 1;
  }
  MustCreate(client, Tfjobs(), Job(name));
  const auto first = pods.WaitForFirst(name + "-", std::chrono::seconds(120));
  if (!first) return 1;
  std::printf("takeover after signal %d: first pod after %.2f s\n", signal, Seconds(begin, *first));
  return 0;
}

// Finished jobs, as they stay behind in a cluster.
int Finished(k8s::Client& client, int jobs) {
  InParallel(jobs, kParallel, [&](int i) {
    const std::string name = absl::StrCat("finished-", i);
    json job = Job(name);
    job["spec"]["runPolicy"]["suspend"] = true;
    MustCreate(client, Tfjobs(), job);
    const json status = {
        {"status",
         {{"completionTime", "2024-01-05T22:58:20Z"},
          {"startTime", "2024-01-05T22:50:20Z"},
          {"conditions",
           json::array(
               {{{"type", "Created"}, {"status", "True"}, {"reason", "TFJobCreated"}},
                {{"type", "Succeeded"}, {"status", "True"}, {"reason", "TFJobSucceeded"}}})}}}};
    (void)client.MergePatch(Tfjobs() + "/" + name + "/status", status.dump());
  });
  std::printf("%d finished jobs\n", jobs);
  return 0;
}

int Clean(k8s::Client& client) {
  for (const std::string& collection : {Tfjobs(), Pods(), Services()}) {
    while (true) {
      const auto list = client.Get(absl::StrCat(
          collection, "?limit=500&labelSelector=", collection == Services() ? "" : kLabel));
      const json parsed = json::parse(list.value_or("{}"), nullptr, false);
      std::vector<std::string> names;
      for (const json& item : parsed.value("items", json::array())) {
        const std::string name = item["metadata"]["name"];
        if (name != "kubernetes") names.push_back(name);
      }
      if (names.empty()) break;
      k8s::DeleteOptions now;
      now.grace_seconds = 0;
      InParallel(static_cast<int>(names.size()), kParallel,
                 [&](int i) { (void)client.Delete(collection + "/" + names[i], now); });
    }
  }
  return 0;
}

// The kubelet's part: all pods run, and a while later have succeeded.
int Finish(k8s::Client& client) {
  std::vector<std::string> names;
  const auto list = client.Get(absl::StrCat(Pods(), "?labelSelector=", kLabel));
  const json parsed = json::parse(list.value_or("{}"), nullptr, false);
  for (const json& item : parsed.value("items", json::array())) {
    names.push_back(item["metadata"]["name"]);
  }
  const auto set = [&](const char* phase, const char* ready, const json& state) {
    const json status = {
        {"status",
         {{"phase", phase},
          {"conditions", json::array({{{"type", "Ready"},
                                       {"status", ready},
                                       {"lastTransitionTime", "2024-01-05T22:58:20Z"}}})},
          {"containerStatuses", json::array({{{"name", "tensorflow"},
                                              {"image", "train:1"},
                                              {"imageID", ""},
                                              {"ready", *ready == 'T'},
                                              {"restartCount", 0},
                                              {"state", state}}})}}}};
    InParallel(static_cast<int>(names.size()), kParallel, [&](int i) {
      (void)client.MergePatch(Pods() + "/" + names[i] + "/status", status.dump());
    });
  };
  set("Running", "True", {{"running", json::object()}});
  std::this_thread::sleep_for(std::chrono::seconds(3));
  set("Succeeded", "False", {{"terminated", {{"exitCode", 0}, {"reason", "Completed"}}}});
  std::printf("%zu pods have run and succeeded\n", names.size());
  return 0;
}

int Main(std::vector<std::string> args) {
  std::string kubeconfig;
  if (args.size() >= 2 && args[0] == "--kubeconfig") {
    kubeconfig = args[1];
    args.erase(args.begin(), args.begin() + 2);
  }
  int count = 0, pid = 0;
  const std::string what = args.empty() ? "" : args[0];
  if (args.size() > 1 && !absl::SimpleAtoi(args[1], &count)) return 2;
  if (args.size() > 2 && !absl::SimpleAtoi(args[2], &pid)) return 2;
  const auto config = k8s::FindClusterConfig(kubeconfig, "", Clock::Real());
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", config.status().ToString().c_str());
    return 1;
  }
  auto transport = k8s::MakeHttpTransport(*config);
  if (!transport.ok()) return 1;
  k8s::Client client(transport->get(), nullptr);
  if (what == "plain") return Plain(client, count);
  if (what == "burst") return Burst(client, count, pid, false);
  if (what == "fair") return Burst(client, count, pid, true);
  if (what == "latency") return Latency(client, count);
  if (what == "takeover") return Takeover(client, count, pid);
  if (what == "finished") return Finished(client, count);
  if (what == "finish") return Finish(client);
  if (what == "clean") return Clean(client);
  std::fprintf(stderr,
               "usage: operator-bench [--kubeconfig FILE] "
               "plain|burst|fair|latency|takeover|finished|finish|clean "
               "[JOBS|SIGNAL [PID]]\n");
  return 2;
}

}  // namespace
}  // namespace tensorfleet

int main(int argc, char** argv) { return tensorfleet::Main({argv + 1, argv + argc}); }
