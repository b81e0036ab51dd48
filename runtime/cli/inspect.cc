#include "runtime/cli/inspect.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "proto/event.pb.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/record_file.h"
#include "runtime/io/saved_tensors.h"
#include "runtime/ops/all.h"
#include "runtime/tensor/tensor_proto.h"
#include "runtime/train/checkpoint/checkpoint_state.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::cli {
namespace {

// --- checkpoints ---

Status PrintTensor(const SavedTensors& saved, const InspectOptions& options, std::ostream& out) {
  TFLEET_ASSIGN_OR_RETURN(const Tensor tensor, saved.Read(options.tensor));
  out << options.tensor << "  " << DTypeName(tensor.dtype()) << " " << tensor.shape() << "\n"
      << tensor.SummarizeValues(options.max_elements) << "\n";
  return OkStatus();
}

Status InspectCheckpoint(const std::string& path, const SavedTensors& saved,
                         const InspectOptions& options, std::ostream& out) {
  if (!options.tensor.empty()) return PrintTensor(saved, options, out);
  TFLEET_ASSIGN_OR_RETURN(const std::vector<std::string> names, saved.Names());
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  int64_t bytes = 0;
  std::string lines;
  for (const std::string& name : names) {
    TFLEET_ASSIGN_OR_RETURN(const SavedTensors::Info info, saved.Describe(name));
    absl::StrAppendFormat(&lines, "%-*s  %-8s %s\n", static_cast<int>(width), name,
                          DTypeName(info.dtype), info.shape.ToString());
    if (IsPlainData(info.dtype)) {
      bytes += static_cast<int64_t>(ElementSize(info.dtype)) * info.shape.num_elements();
    }
  }
  out << "checkpoint " << path << ": " << names.size() << " tensors, " << bytes
      << " bytes without strings\n"
      << lines;
  return OkStatus();
}

// --- event files ---

std::string Describe(const tensorflow::Summary::Value& value) {
  if (value.value_case() == tensorflow::Summary::Value::kSimpleValue) {
    return absl::StrFormat("%s=%.6g", value.tag(), value.simple_value());
  }
  if (value.has_tensor()) {
    const StatusOr<Tensor> tensor = TensorFromProto(value.tensor());
    if (tensor.ok()) return absl::StrCat(value.tag(), "=", tensor->ToString(3));
  }
  return absl::StrCat(value.tag(), value.has_histo()   ? " (histogram)"
                                   : value.has_image() ? " (image)"
                                   : value.has_audio() ? " (audio)"
                                                       : " (a kind of value that is not shown)");
}

std::string Describe(const tensorflow::Event& event) {
  switch (event.what_case()) {
    case tensorflow::Event::kFileVersion:
      return event.file_version();
    case tensorflow::Event::kGraphDef:
      return absl::StrCat("graph of ", event.graph_def().size(), " bytes");
    case tensorflow::Event::kMetaGraphDef:
      return absl::StrCat("meta graph of ", event.meta_graph_def().size(), " bytes");
    case tensorflow::Event::kSummary:
      return absl::StrJoin(event.summary().value(), "  ",
                           [](std::string* out, const tensorflow::Summary::Value& value) {
                             out->append(Describe(value));
                           });
    case tensorflow::Event::kSessionLog:
      return absl::StrCat("session ",
                          tensorflow::SessionLog::SessionStatus_Name(event.session_log().status()),
                          event.session_log().checkpoint_path().empty() ? "" : " ",
                          event.session_log().checkpoint_path());
    case tensorflow::Event::kTaggedRunMetadata:
      return absl::StrCat("trace ", event.tagged_run_metadata().tag());
    default:
      return "nothing";
  }
}

Status InspectEvents(FileSystem& files, const std::string& path, std::ostream& out) {
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader,
                          RecordReader::Open(&files, path));
  std::string record;
  while (true) {
    const uint64_t at = reader->offset();
    TFLEET_ASSIGN_OR_RETURN(const bool more, reader->Read(&record));
    if (!more) return OkStatus();
    tensorflow::Event event;
    if (!event.ParseFromString(record)) {
      return DataLoss(path, ": the record at byte ", at, " is no event");
    }
    out << absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                            absl::FromUnixMicros(static_cast<int64_t>(event.wall_time() * 1e6)),
                            absl::UTCTimeZone())
        << "  step " << event.step() << "  " << Describe(event) << "\n";
  }
}

// --- graphs ---

// Names of ops that are neither ours nor functions of the graph, with how often they are used.
std::map<std::string, int> UnknownOps(const tensorflow::GraphDef& graph) {
  std::set<std::string> functions;
  for (const auto& function : graph.library().function()) {
    functions.insert(function.signature().name());
  }
  std::map<std::string, int> unknown;
  const auto count = [&](const tensorflow::NodeDef& node) {
    if (functions.count(node.op()) > 0 || BuiltinOps().Find(node.op()).ok()) return;
    ++unknown[node.op()];
  };
  for (const auto& node : graph.node()) count(node);
  for (const auto& function : graph.library().function()) {
    for (const auto& node : function.node_def()) count(node);
  }
  return unknown;
}

void InspectGraph(const std::string& path, const tensorflow::MetaGraphDef& meta,
                  std::ostream& out) {
  const tensorflow::GraphDef& graph = meta.graph_def();
  out << "graph " << path << ": " << graph.node_size() << " nodes, "
      << graph.library().function_size() << " functions\n";
  if (const std::string& version = meta.meta_info_def().tensorflow_version(); !version.empty()) {
    out << "written by        TensorFlow " << version << "\n";
  }
  for (const auto& [name, signature] : meta.signature_def()) {
    out << "signature         " << name << "\n";
  }
  for (const auto& [op, count] : UnknownOps(graph)) {
    out << "not known here    op " << op << ", " << count << (count == 1 ? " node" : " nodes")
        << "\n";
  }
  StatusOr<train::TrainGraph> training = train::TrainGraphFrom(meta, {});
  if (!training.ok()) {
    out << "to be trained     no: " << training.status().message() << "\n";
    train::TrainGraphOptions evaluation;
    evaluation.only_evaluates = true;
    training = train::TrainGraphFrom(meta, evaluation);
    if (!training.ok()) return;
  }
  const auto line = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out << absl::StreamFormat("%-16s  %s\n", name, value);
  };
  line("train ops", absl::StrJoin(training->train_ops, " "));
  line("global step", training->global_step);
  line("loss", training->loss);
  line("summaries", absl::StrJoin(training->summaries, " "));
  for (const auto& variable : training->variables) line("variable", variable.variable_name());
  for (const auto& variable : training->local_variables) {
    line("local variable", variable.variable_name());
  }
}

// --- which of them ---

// The checkpoint of that prefix or index file, if there is one.
StatusOr<std::unique_ptr<SavedTensors>> OpenCheckpoint(FileSystem& files, std::string path) {
  constexpr absl::string_view kIndex = ".index";
  if (absl::EndsWith(path, kIndex) && files.Exists(path)) path.resize(path.size() - kIndex.size());
  return OpenSavedTensors(&files, path);
}

}  // namespace

Status Inspect(const std::string& given, const InspectOptions& options, std::ostream& out) {
  constexpr char kWhatThereMayBe[] =
      "; name a folder of checkpoints, a checkpoint (/run/model.ckpt-100), an event file or a "
      "graph (.meta)";
  std::string wanted = given;
  TFLEET_ASSIGN_OR_RETURN(ResolvedPath at, ResolvePath(wanted));
  if (const StatusOr<bool> is_directory = at.file_system->IsDirectory(at.path);
      is_directory.ok() && *is_directory) {
    TFLEET_ASSIGN_OR_RETURN(const std::optional<std::string> latest,
                            train::LatestCheckpoint(wanted));
    if (!latest) return NotFound(wanted, " holds no checkpoint", kWhatThereMayBe);
    wanted = *latest;
    TFLEET_ASSIGN_OR_RETURN(at, ResolvePath(wanted));
  }
  if (absl::StrContains(wanted, ".tfevents.")) {
    if (options.tensor.empty()) return InspectEvents(*at.file_system, at.path, out);
    return InvalidArgument("--tensor: ", wanted, " is an event file, not a checkpoint");
  }
  const StatusOr<std::unique_ptr<SavedTensors>> saved = OpenCheckpoint(*at.file_system, at.path);
  if (saved.ok()) return InspectCheckpoint(wanted, **saved, options, out);
  const bool is_file = at.file_system->Exists(at.path);
  if (!is_file) {
    // Its index is there, and damaged.
    if (!absl::IsNotFound(saved.status())) return saved.status();
    return NotFound("there is no ", wanted, kWhatThereMayBe);
  }
  const StatusOr<tensorflow::MetaGraphDef> meta = train::ReadMetaGraph(wanted);
  if (!meta.ok()) {
    if (!absl::IsInvalidArgument(meta.status())) return meta.status();
    return InvalidArgument(wanted, " is neither a checkpoint nor a MetaGraphDef", kWhatThereMayBe);
  }
  if (!options.tensor.empty()) {
    return InvalidArgument("--tensor: ", wanted, " is a graph, not a checkpoint");
  }
  InspectGraph(wanted, *meta, out);
  return OkStatus();
}

}  // namespace tensorfleet::cli
