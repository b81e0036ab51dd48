// How a session prepares a graph for a signature: cuts it out of its own on a pool thread, then
// registers each piece with its worker, all at the same time.

#include <atomic>

#include "runtime/base/contain.h"
#include "runtime/base/log.h"
#include "runtime/graph/graph_import.h"
#include "runtime/place/partition.h"
#include "runtime/session/master/for_tensorflow.h"
#include "runtime/session/master/master_session.h"
#include "runtime/session/master/reply_keys.h"
#include "runtime/session/master/step_errors.h"

namespace tensorfleet {
void MasterSession::Compile(std::shared_ptr<PreparedGraph> graph, FeedStyle style,
                            std::vector<std::pair<std::string, std::string>> connections) {
  options_.compile_pool->Schedule([self = shared_from_this(), graph = std::move(graph), style,
                                   connections = std::move(connections)] {
    StatusOr<SessionGraph::Cut> cut = Contained([&] {
      return self->graph_.CutFor(graph->signature(), style, connections, *graph->cancellation());
    });
    if (cut.ok()) {
      self->Register(graph, *std::move(cut));
    } else {
      graph->SetReady(cut.status(), {});
    }
  });
}

void MasterSession::Register(std::shared_ptr<PreparedGraph> graph, SessionGraph::Cut cut) {
  // Lives until the last worker has answered.
  struct Registration {
    std::shared_ptr<MasterSession> session;
    std::shared_ptr<PreparedGraph> graph;
    PreparedGraph::Contents contents;
    StepErrors errors;
    std::atomic<size_t> pending;
    void OneLess() {
      if (pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      graph->SetReady(errors.Merged(), std::move(contents));
    }
  };
  auto registration = std::make_shared<Registration>();
  registration->session = shared_from_this();
  registration->graph = std::move(graph);
  registration->contents = std::move(cut.contents);
  std::vector<PreparedGraph::Part>& parts = registration->contents.parts;
  registration->pending = parts.size() + 1;
  const SessionTask* own = nullptr;
  for (const SessionTask& task : options_.tasks) {
    if (task.is_local) own = &task;
  }
  bool has_own_part = false;
  for (const std::string& task : cut.tasks) has_own_part |= task == own->name;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const SessionTask& task : options_.tasks) {
      if (task.name == cut.tasks[i]) parts[i].task = &task;
    }
    if (parts[i].task == nullptr) {
      registration->errors.Add(
          Internal("nodes were placed on ", cut.tasks[i], ", which this session does not use"));
      registration->OneLess();
      continue;
    }
    RegisterGraphArgs args;
    args.session_handle = handle();
    args.config = options_.config;
    args.collective_graph_key = registration->contents.collective_graph_key;
    if (parts[i].task->is_local) {
      args.graph = std::move(parts[i].graph);
    } else {
      if (has_own_part && parts[i].task->is_ours) {
        parts[i].reply_keys = ReplyKeys(*parts[i].graph, own->name);
      }
      ExportOptions options;
      options.strip_default_attrs = true;
      ExportGraphDef(*parts[i].graph, options, &args.graph_def);
      *args.graph_def.mutable_library() = UsedFunctions(*parts[i].graph);
      if (!parts[i].task->is_ours) PrepareForTensorFlow(&args.graph_def);
      parts[i].graph = nullptr;
    }
    CallOptions call;
    call.cancellation = registration->graph->cancellation();
    const bool name_task = options_.name_tasks_in_errors && !parts[i].task->is_local;
    parts[i].task->worker->RegisterGraph(
        call, std::move(args), [registration, i, name_task](StatusOr<std::string> graph_handle) {
          const MasterSession& session = *registration->session;
          PreparedGraph::Part& part = registration->contents.parts[i];
          if (graph_handle.ok()) {
            part.registration = std::make_unique<GraphRegistration>(
                part.task->worker, session.handle(), *std::move(graph_handle), session.closing_);
          } else {
            Status status = graph_handle.status();
            if (absl::IsCancelled(status) && registration->graph->cancellation()->is_cancelled()) {
              status = MarkDerived(std::move(status));
            }
            registration->errors.Add(
                name_task ? Prefixed(absl::StrCat("From ", part.task->name, ":\n"), status)
                          : status);
          }
          registration->OneLess();
        });
  }
  registration->OneLess();
}

}  // namespace tensorfleet
