// tensorfleet-operator: see --help and operator/docs.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "operator/api/fields/schema.h"
#include "operator/k8s/connect/http_transport.h"
#include "operator/main/dry_run.h"
#include "operator/main/flags.h"
#include "operator/main/operator_process.h"
#include "operator/main/self_check.h"
#include "operator/main/version.h"
#include "runtime/base/clock.h"

namespace tensorfleet::operator_main {
namespace {

int Fail(const Status& status) {
  std::fprintf(stderr, "tensorfleet-operator: %s\n", std::string(status.message()).c_str());
  return 1;
}

int PrintDryRun(const Flags& flags) {
  std::stringstream text;
  if (flags.dry_run == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream file(flags.dry_run);
    text << file.rdbuf();
    if (!file) return Fail(NotFound("cannot read ", flags.dry_run));
  }
  plan::Options options;
  options.gang_scheduler_name = flags.gang_scheduler_name;
  if (const char* domain = std::getenv("CUSTOM_CLUSTER_DOMAIN")) options.cluster_domain = domain;
  const auto printed =
      DryRun(text.str(), options, absl::FromUnixNanos(Clock::Real()->NowUnixNanos()));
  if (!printed.ok()) return Fail(Prefixed(flags.dry_run + ": ", printed.status()));
  std::fputs(printed->c_str(), stdout);
  return 0;
}

// How long a new installation may take until its webhook is known to the API server.
constexpr std::chrono::seconds kSelfCheckPatience{30};

int RunSelfCheck(const Flags& flags) {
  const auto config = k8s::FindClusterConfig(flags.kubeconfig, flags.context, Clock::Real());
  if (!config.ok()) return Fail(config.status());
  const auto transport = k8s::MakeHttpTransport(*config);
  if (!transport.ok()) return Fail(transport.status());
  k8s::Client client(transport->get(), nullptr);
  std::string ns = flags.ns.empty() ? config->namespace_ : flags.ns;
  if (ns.empty()) ns = "default";
  const bool webhook = flags.webhook != "false";
  const Status checked = SelfCheckWithin(client, ns, webhook, kSelfCheckPatience);
  if (!checked.ok()) return Fail(checked);
  std::printf("TFJobs are taken in namespace %s%s\n", ns.c_str(),
              webhook ? ", and bad ones refused" : "");
  return 0;
}

int Main(const std::vector<std::string>& args) {
  const auto flags = ParseFlags(args);
  if (!flags.ok()) return Fail(flags.status());
  if (flags->help) {
    std::fputs(FlagsHelp().c_str(), stdout);
    return 0;
  }
  if (flags->version) {
    std::fputs(BuildDescription().c_str(), stdout);
    return 0;
  }
  if (flags->print_crd) {
    std::fputs(api::CrdYaml().c_str(), stdout);
    return 0;
  }
  if (!flags->dry_run.empty()) return PrintDryRun(*flags);
  if (flags->self_check) return RunSelfCheck(*flags);
  return RunOperator(*flags);
}

}  // namespace
}  // namespace tensorfleet::operator_main

int main(int argc, char** argv) {
  return tensorfleet::operator_main::Main(std::vector<std::string>(argv + 1, argv + argc));
}
