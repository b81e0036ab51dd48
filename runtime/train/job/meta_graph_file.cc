#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "runtime/io/file_system.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {

StatusOr<tensorflow::MetaGraphDef> ReadMetaGraph(const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(path));
  TFLEET_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(*at.file_system, at.path));
  tensorflow::MetaGraphDef meta;
  if (meta.ParseFromString(bytes) && meta.has_graph_def()) return meta;
  meta.Clear();
  // The parser's complaints about a binary file would only confuse: ours says both were tried.
  google::protobuf::TextFormat::Parser parser;
  class Silent final : public google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } silent;
  parser.RecordErrorsTo(&silent);
  if (parser.ParseFromString(bytes, &meta) && meta.has_graph_def()) return meta;
  return InvalidArgument(path,
                         " holds no MetaGraphDef, neither in binary form nor as text; write one "
                         "with tf.compat.v1.train.export_meta_graph");
}

}  // namespace tensorfleet::train
