#include "runtime/train/session/event_writer.h"

#include <unistd.h>

#include "absl/strings/str_format.h"
#include "runtime/io/file_system.h"
#include "runtime/train/checkpoint/checkpoint_state.h"

namespace tensorfleet::train {
namespace {

std::string HostName() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace

StatusOr<std::unique_ptr<EventWriter>> EventWriter::Open(const std::string& directory,
                                                         const Clock* clock) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath dir, ResolvePath(directory));
  TFLEET_RETURN_IF_ERROR(dir.file_system->CreateDirs(dir.path));
  const std::string base =
      absl::StrFormat("events.out.tfevents.%010d.%s.%d", clock->NowUnixNanos() / 1'000'000'000,
                      HostName(), ::getpid());
  // A second writer within the same second gets a name of its own.
  std::string path = JoinPath(dir.path, base);
  for (int i = 1; dir.file_system->Exists(path); ++i) {
    path = JoinPath(dir.path, absl::StrCat(base, ".", i));
  }
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RecordWriter> file,
                          RecordWriter::Open(dir.file_system, path));
  std::unique_ptr<EventWriter> writer(new EventWriter(std::move(file), path, clock));
  tensorflow::Event version;
  version.set_file_version("brain.Event:2");
  version.mutable_source_metadata()->set_writer("tensorfleet");
  TFLEET_RETURN_IF_ERROR(writer->Add(std::move(version)));
  return writer;
}

Status EventWriter::Add(tensorflow::Event event) {
  event.set_wall_time(static_cast<double>(clock_->NowUnixNanos()) * 1e-9);
  return file_->Write(event.SerializeAsString());
}

Status EventWriter::AddSummary(const std::string& serialized, int64_t step) {
  tensorflow::Event event;
  event.set_step(step);
  if (!event.mutable_summary()->ParseFromString(serialized)) {
    return InvalidArgument("a summary tensor holds something that is no Summary");
  }
  return Add(std::move(event));
}

Status EventWriter::AddScalar(const std::string& tag, float value, int64_t step) {
  tensorflow::Event event;
  event.set_step(step);
  tensorflow::Summary::Value* entry = event.mutable_summary()->add_value();
  entry->set_tag(tag);
  entry->set_simple_value(value);
  return Add(std::move(event));
}

Status EventWriter::AddGraph(const tensorflow::MetaGraphDef& meta,
                             const tensorflow::GraphDef& placed) {
  tensorflow::Event graph;
  graph.set_graph_def(placed.SerializeAsString());
  TFLEET_RETURN_IF_ERROR(Add(std::move(graph)));
  tensorflow::Event event;
  event.set_meta_graph_def(meta.SerializeAsString());
  return Add(std::move(event));
}

Status EventWriter::AddSession(tensorflow::SessionLog::SessionStatus status, int64_t step,
                               const std::string& checkpoint) {
  tensorflow::Event event;
  event.set_step(step);
  event.mutable_session_log()->set_status(status);
  event.mutable_session_log()->set_checkpoint_path(checkpoint);
  return Add(std::move(event));
}

}  // namespace tensorfleet::train
