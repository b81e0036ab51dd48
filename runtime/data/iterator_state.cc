#include "runtime/data/iterator_state.h"

namespace tensorfleet::data {

void StateWriter::PutInt(absl::string_view name, int64_t value) {
  Put(name, Tensor::Scalar<int64_t>(value));
}
void StateWriter::Put(absl::string_view name, Tensor value) {
  (*state_)[absl::StrCat(prefix_, name)] = std::move(value);
}
void StateWriter::PutElement(absl::string_view name, const std::vector<Tensor>& element) {
  for (size_t i = 0; i < element.size(); ++i) Put(absl::StrCat(name, "_", i), element[i]);
}
void StateWriter::PutElements(absl::string_view name,
                              const std::vector<std::vector<Tensor>>& elements) {
  PutInt(absl::StrCat(name, "_count"), static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i) {
    PutElement(absl::StrCat(name, "_", i), elements[i]);
  }
}
void StateWriter::PutStatus(absl::string_view name, const Status& status) {
  PutInt(absl::StrCat(name, "_code"), static_cast<int64_t>(status.code()));
  if (!status.ok()) {
    Put(absl::StrCat(name, "_message"), Tensor::Scalar(std::string(status.message())));
  }
}

StatusOr<Tensor> StateReader::Get(absl::string_view name) const {
  const auto it = state_->find(absl::StrCat(prefix_, name));
  if (it == state_->end()) {
    return InvalidArgument("the saved iterator has no '", prefix_, name,
                           "': it was saved of another data set");
  }
  return it->second;
}
StatusOr<int64_t> StateReader::GetInt(absl::string_view name) const {
  TFLEET_ASSIGN_OR_RETURN(const Tensor value, Get(name));
  if (value.dtype() != DType::kInt64 || value.num_elements() != 1) {
    return InvalidArgument("'", prefix_, name, "' of the saved iterator is not a number");
  }
  return value.scalar<int64_t>();
}
StatusOr<int64_t> StateReader::GetCount(absl::string_view name) const {
  TFLEET_ASSIGN_OR_RETURN(const int64_t count, GetInt(name));
  if (count < 0 || count > static_cast<int64_t>(state_->size())) {
    return InvalidArgument("'", prefix_, name, "' of the saved iterator is ", count,
                           ", which cannot be");
  }
  return count;
}
StatusOr<std::vector<Tensor>> StateReader::GetElement(absl::string_view name,
                                                      const std::vector<DType>& types) const {
  std::vector<Tensor> element;
  for (size_t i = 0; i < types.size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(Tensor component, Get(absl::StrCat(name, "_", i)));
    if (component.dtype() != types[i]) {
      return InvalidArgument("'", prefix_, name, "' of the saved iterator is of type ",
                             DTypeName(component.dtype()), ", not ", DTypeName(types[i]));
    }
    element.push_back(std::move(component));
  }
  return element;
}
StatusOr<std::vector<std::vector<Tensor>>> StateReader::GetElements(
    absl::string_view name, const std::vector<DType>& types) const {
  TFLEET_ASSIGN_OR_RETURN(const int64_t count, GetCount(absl::StrCat(name, "_count")));
  std::vector<std::vector<Tensor>> elements;
  for (int64_t i = 0; i < count; ++i) {
    TFLEET_ASSIGN_OR_RETURN(elements.emplace_back(), GetElement(absl::StrCat(name, "_", i), types));
  }
  return elements;
}
Status StateReader::GetStatus(absl::string_view name, Status* status) const {
  TFLEET_ASSIGN_OR_RETURN(const int64_t code, GetInt(absl::StrCat(name, "_code")));
  *status = OkStatus();
  if (code == 0) return OkStatus();
  if (code < 0 || code > static_cast<int64_t>(absl::StatusCode::kUnauthenticated)) {
    return InvalidArgument("'", prefix_, name, "' of the saved iterator is ", code,
                           ", which is no error's code");
  }
  TFLEET_ASSIGN_OR_RETURN(const Tensor message, Get(absl::StrCat(name, "_message")));
  if (message.dtype() != DType::kString || message.num_elements() != 1) {
    return InvalidArgument("'", prefix_, name, "' of the saved iterator has no message");
  }
  *status = Status(static_cast<absl::StatusCode>(code), message.scalar<std::string>());
  return OkStatus();
}

}  // namespace tensorfleet::data
