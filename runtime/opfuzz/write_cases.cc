#include "runtime/opfuzz/write_cases.h"

#include "absl/strings/str_cat.h"
#include "proto/master.pb.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::opfuzz {

void CaseWriter::Write(const Case& made) {
  Record('C', absl::StrCat(made.number, " ", made.op));
  tensorflow::CreateSessionRequest session;
  *session.mutable_graph_def() = made.graph;
  session.mutable_config()->set_isolate_session_state(true);
  session.mutable_config()
      ->mutable_graph_options()
      ->mutable_rewrite_options()
      ->set_disable_meta_optimizer(true);
  session.mutable_config()->mutable_graph_options()->mutable_optimizer_options()->set_opt_level(
      tensorflow::OptimizerOptions::L0);
  Record('S', session.SerializeAsString());
  for (const std::string& target : made.first) {
    tensorflow::RunStepRequest step;
    step.add_target(target);
    Record('F', step.SerializeAsString());
  }
  for (const std::vector<Feed>& feeds : made.steps) {
    tensorflow::RunStepRequest step;
    for (const Feed& feed : feeds) {
      tensorflow::NamedTensorProto* named = step.add_feed();
      named->set_name(feed.name);
      TensorToProto(feed.value, named->mutable_tensor()).IgnoreError();
    }
    for (const std::string& fetch : made.fetches) step.add_fetch(fetch);
    for (const std::string& target : made.targets) step.add_target(target);
    Record('R', step.SerializeAsString());
  }
}

void CaseWriter::Record(char kind, const std::string& bytes) {
  file_.put(kind);
  for (int i = 0; i < 8; ++i) file_.put(static_cast<char>(bytes.size() >> (8 * i)));
  file_.write(bytes.data(), bytes.size());
}

}  // namespace tensorfleet::opfuzz
