#include "runtime/train/job/collections.h"

namespace tensorfleet::train {

std::vector<std::string> Collections::Names(const std::string& collection) const {
  const auto it = meta_.collection_def().find(collection);
  if (it == meta_.collection_def().end()) return {};
  const auto& names = it->second.node_list().value();
  return {names.begin(), names.end()};
}

void AddName(const std::string& collection, const std::string& name,
             tensorflow::MetaGraphDef* meta) {
  (*meta->mutable_collection_def())[collection].mutable_node_list()->add_value(name);
}

void AddMessage(const std::string& collection, const google::protobuf::Message& message,
                tensorflow::MetaGraphDef* meta) {
  (*meta->mutable_collection_def())[collection].mutable_bytes_list()->add_value(
      message.SerializeAsString());
}

}  // namespace tensorfleet::train
