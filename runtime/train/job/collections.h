// Reading the collections of a MetaGraphDef.
#pragma once

#include <string>
#include <vector>

#include "proto/meta_graph.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::train {

// Refers to the message, which must outlive it.
class Collections {
 public:
  explicit Collections(const tensorflow::MetaGraphDef& meta) : meta_(meta) {}

  // Names of nodes or tensors; empty when there is no such collection, or it holds messages.
  std::vector<std::string> Names(const std::string& collection) const;

  // Serialised messages of one type; empty when there is no such collection. Errors:
  // InvalidArgument when they are something else.
  template <typename Message>
  StatusOr<std::vector<Message>> Messages(const std::string& collection) const {
    std::vector<Message> out;
    const auto it = meta_.collection_def().find(collection);
    if (it == meta_.collection_def().end()) return out;
    for (const std::string& bytes : it->second.bytes_list().value()) {
      out.emplace_back();
      if (!out.back().ParseFromString(bytes)) {
        return InvalidArgument("the collection '", collection, "' holds something that is no ",
                               Message::descriptor()->name());
      }
    }
    return out;
  }

 private:
  const tensorflow::MetaGraphDef& meta_;
};

// The writing side: adds to a collection.
void AddName(const std::string& collection, const std::string& name,
             tensorflow::MetaGraphDef* meta);
void AddMessage(const std::string& collection, const google::protobuf::Message& message,
                tensorflow::MetaGraphDef* meta);

}  // namespace tensorfleet::train
