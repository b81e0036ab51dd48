#include "runtime/cli/limit_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/base/memory_limit.h"
#include "runtime/tensor/buffer.h"

namespace tensorfleet::cli {
namespace {

constexpr char kGroup[] = "Limits (0: none; bytes also as 512MiB, 4GiB)";

}  // namespace

void LimitFlags::AddTo(CLI::App* command) {
  const auto bytes = [command](const char* flag, uint64_t* value, const char* help) {
    command->add_option(flag, *value, help)
        ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
        ->group(kGroup);
  };
  bytes("--max_memory", &memory,
        "Memory of the process, from which on large tensors are refused; not given: that of the "
        "machine or the container, less a reserve");
  bytes("--max_tensor_bytes", &tensor_bytes,
        "Bytes of one tensor; not given: 64GiB, and no more than --max_memory");
  bytes("--max_step_bytes", &step_bytes, "Bytes of the tensors of one step on this task");
  bytes("--max_session_bytes", &session_bytes,
        "Bytes of the tensors that a session's steps hold and leave behind on this task");
  const auto number = [command](const char* flag, int64_t* value, const char* help) {
    command->add_option(flag, *value, help)
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->group(kGroup);
  };
  number("--max_graph_nodes", &limits.graph_nodes, "Nodes of a session's graph, with functions");
  number("--max_sessions", &limits.sessions, "Sessions open at once");
  number("--max_steps", &limits.steps, "Steps running at once");
  command
      ->add_option("--forbid_ops", forbid_ops,
                   "Ops that are refused with the graph that has them, by name or group: files "
                   "(read or write files), network (can reach other hosts: the same ones, as a "
                   "path may be https://); as in ReadFile,PyFunc")
      ->group(kGroup);
}

StatusOr<Limits> LimitFlags::Apply(const OpRegistry& ops) const {
  Limits applied = limits;
  applied.step_bytes = static_cast<int64_t>(step_bytes);
  applied.session_bytes = static_cast<int64_t>(session_bytes);
  StatusOr<ForbiddenOps> forbidden = ForbiddenOps::Parse(forbid_ops, ops);
  if (!forbidden.ok()) return Prefixed("--forbid_ops: ", forbidden.status());
  applied.forbidden = *std::move(forbidden);
  if (memory > 0) SetMemoryLimit(memory);
  SetMaxHostBufferBytes(tensor_bytes > 0 ? tensor_bytes
                                         : std::min(MaxHostBufferBytes(), MemoryLimit()));
  LogInfo("Limits", {{"memory_bytes", MemoryLimit()}, {"tensor_bytes", MaxHostBufferBytes()}});
  return applied;
}

}  // namespace tensorfleet::cli
