#include "runtime/data/iterator.h"

namespace tensorfleet::data {

StatusOr<bool> Iterator::Skip(int64_t n) {
  Element dropped;
  for (int64_t i = 0; i < n; ++i) {
    TFLEET_ASSIGN_OR_RETURN(const bool more, Next(&dropped));
    if (!more) return false;
  }
  return true;
}

Status SaveInput(StateWriter& to, absl::string_view name, Iterator* input) {
  const StateWriter::Child child(to, name);
  to.PutInt("exists", input != nullptr);
  return input == nullptr ? OkStatus() : input->Save(to);
}

Status RestoreInput(StateReader& from, absl::string_view name, const DatasetRef& dataset,
                    IteratorScope& scope, int depth, IteratorPtr* input) {
  const StateReader::Child child(from, name);
  TFLEET_ASSIGN_OR_RETURN(const int64_t exists, from.GetInt("exists"));
  input->reset();
  if (exists == 0) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(*input, InputIterator(dataset, scope, depth));
  return (*input)->Restore(from);
}

}  // namespace tensorfleet::data
