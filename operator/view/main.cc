// tensorfleet-view: what `tensorfleet top` and `tensorfleet ui` start.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "absl/strings/str_join.h"
#include "operator/k8s/connect/http_transport.h"
#include "operator/view/job_reader.h"
#include "operator/view/top_table.h"
#include "operator/view/ui_server.h"

namespace tensorfleet::view {
namespace {

constexpr int kWrongUse = 2;

struct Flags {
  std::string kubeconfig, context, ns;
  // top
  std::string job;
  double interval = 2;
  int count = 0;  // 0: until the job has ended
  int tasks = 40;
  // ui
  UiOptions ui;
  bool all_namespaces = false;
};

int Fail(const char* command, const Status& status) {
  std::fprintf(stderr, "tensorfleet %s: %s\n", command, std::string(status.message()).c_str());
  return 1;
}

// The client and what it stands on.
struct Cluster {
  k8s::ClusterConfig config;
  std::unique_ptr<k8s::Transport> transport;
  std::unique_ptr<k8s::Client> client;
};

StatusOr<Cluster> Connect(const Flags& flags) {
  Cluster cluster;
  TFLEET_ASSIGN_OR_RETURN(cluster.config,
                          k8s::FindClusterConfig(flags.kubeconfig, flags.context, Clock::Real()));
  k8s::HttpTransportOptions options;
  options.user_agent = "tensorfleet-view";
  TFLEET_ASSIGN_OR_RETURN(cluster.transport, k8s::MakeHttpTransport(cluster.config, options));
  k8s::ClientOptions client;
  client.request_time = std::chrono::seconds(10);
  client.max_retries = 2;
  cluster.client = std::make_unique<k8s::Client>(cluster.transport.get(), nullptr, client);
  return cluster;
}

std::string NamespaceOf(const Flags& flags, const Cluster& cluster) {
  if (!flags.ns.empty()) return flags.ns;
  return cluster.config.namespace_.empty() ? "default" : cluster.config.namespace_;
}

int Top(const Flags& flags) {
  const StatusOr<Cluster> cluster = Connect(flags);
  if (!cluster.ok()) return Fail("top", cluster.status());
  JobReader reader(cluster->client.get());
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  const std::string ns = NamespaceOf(flags, *cluster);
  for (int shown = 1;; ++shown) {
    const StatusOr<JobFacts> job = reader.Read(ns, flags.job);
    if (!job.ok()) return Fail("top", job.status());
    const std::vector<std::string> lines =
        TopTable(*job, Now(), static_cast<size_t>(std::max(1, flags.tasks)));
    // On a terminal each table takes the place of the last one.
    std::cout << (is_terminal ? "\033[H\033[2J"
                  : shown > 1 ? "\n"
                              : "")
              << absl::StrJoin(lines, "\n") << "\n"
              << std::flush;
    if (!std::cout || !job->ended.empty() || shown == flags.count) return 0;
    usleep(static_cast<useconds_t>(flags.interval * 1e6));
  }
}

int Ui(const Flags& flags) {
  const StatusOr<Cluster> cluster = Connect(flags);
  if (!cluster.ok()) return Fail("ui", cluster.status());
  // Before threads begin, so that all of them leave the signals to this one.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  JobReader reader(cluster->client.get());
  UiOptions options = flags.ui;
  options.ns = flags.all_namespaces ? "" : NamespaceOf(flags, *cluster);
  const auto ui = UiServer::Start(options, &reader);
  if (!ui.ok()) return Fail("ui", ui.status());
  const bool is_v6 = options.address.find(':') != std::string::npos;
  std::cout << "http://" << (is_v6 ? "[" : "") << options.address << (is_v6 ? "]" : "") << ":"
            << (*ui)->port() << "/  (Ctrl-C ends it)" << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}

void AddClusterFlags(CLI::App* command, Flags* flags) {
  command->add_option("--kubeconfig", flags->kubeconfig,
                      "file that says where the API server is (default: KUBECONFIG, the pod's own "
                      "account, ~/.kube/config)");
  command->add_option("--context", flags->context,
                      "context of that file (default: its current one)");
  command->add_option("-n,--namespace", flags->ns, "namespace (default: the context's)");
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Shows TFJobs of a cluster.", "tensorfleet");
  app.require_subcommand(1);
  CLI::App* top = app.add_subcommand(
      "top",
      "A TFJob's tasks in the terminal: state, node, steps, bytes sent, how many tensors others "
      "wait for, memory. Numbers come from each server's metrics through the API server (it takes "
      "`get` on pods/proxy).");
  top->add_option("job", flags.job, "name of the TFJob")->required();
  AddClusterFlags(top, &flags);
  top->add_option("--interval", flags.interval, "seconds between two tables")
      ->capture_default_str()
      ->check(CLI::Range(0.2, 3600.0));
  top->add_option("--count", flags.count, "tables to show; 0: until the job has ended")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  top->add_option("--tasks", flags.tasks, "tasks to show; the rest are counted")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  CLI::App* ui = app.add_subcommand(
      "ui",
      "Pages in a browser: a list of TFJobs, and of each its timeline, tasks with their numbers, "
      "loss and accuracy as its log tells them, and logs. Read-only; the cluster is asked with "
      "your own credentials, so listen where nobody else comes.");
  AddClusterFlags(ui, &flags);
  ui->add_flag("-A,--all-namespaces", flags.all_namespaces, "jobs of all namespaces");
  ui->add_option("--address", flags.ui.address,
                 "address to listen on; whoever reaches it sees what you may see")
      ->capture_default_str();
  ui->add_option("--port", flags.ui.port, "port to listen on; 0: any")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUse;
  }
  return top->parsed() ? Top(flags) : Ui(flags);
}

}  // namespace
}  // namespace tensorfleet::view

int main(int argc, char** argv) { return tensorfleet::view::Main(argc, argv); }
