#include "runtime/data/nested.h"

namespace tensorfleet::data {
StatusOr<NestedIterator> NestedIterator::Open(const BoundFunction& function, Element args,
                                              const ElementType& type, IteratorScope& scope,
                                              int depth) {
  NestedIterator nested;
  nested.args_ = std::move(args);
  TFLEET_ASSIGN_OR_RETURN(const DatasetRef dataset, CallForDataset(function, nested.args_, type));
  TFLEET_ASSIGN_OR_RETURN(nested.iterator_, dataset->NewIterator(scope, depth + kDepthOfCall));
  return nested;
}

Status NestedIterator::Save(StateWriter& to, absl::string_view name) {
  const StateWriter::Child child(to, name);
  to.PutInt("is_open", is_open());
  if (!is_open()) return OkStatus();
  to.PutElement("args", args_);
  return iterator_->Save(to);
}

StatusOr<NestedIterator> NestedIterator::Restore(StateReader& from, absl::string_view name,
                                                 const BoundFunction& function,
                                                 const std::vector<DType>& arg_types,
                                                 const ElementType& type, IteratorScope& scope,
                                                 int depth) {
  const StateReader::Child child(from, name);
  TFLEET_ASSIGN_OR_RETURN(const int64_t is_open, from.GetInt("is_open"));
  if (is_open == 0) return NestedIterator();
  TFLEET_ASSIGN_OR_RETURN(Element args, from.GetElement("args", arg_types));
  TFLEET_ASSIGN_OR_RETURN(NestedIterator nested,
                          Open(function, std::move(args), type, scope, depth));
  TFLEET_RETURN_IF_ERROR(nested.iterator_->Restore(from));
  return nested;
}

}  // namespace tensorfleet::data
