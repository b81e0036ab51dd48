// What is kept of an iterator's place: tensors under names, those of an inner iterator under its
// name and a slash.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::data {

using IteratorState = std::map<std::string, Tensor>;

class StateWriter {
 public:
  // From now to its end names are those of an inner iterator.
  class Child {
   public:
    Child(StateWriter& writer, absl::string_view name)
        : writer_(writer), length_(writer.prefix_.size()) {
      writer.prefix_.append(name.data(), name.size());
      writer.prefix_.push_back('/');
    }
    ~Child() { writer_.prefix_.resize(length_); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

   private:
    StateWriter& writer_;
    const size_t length_;
  };

  // Saving ends with `step` (may be null).
  explicit StateWriter(IteratorState* state, const CancellationManager* step = nullptr)
      : state_(state), step_(step) {}
  // OK, or why the step was cancelled: for who waits for others before saving, a moment at a time.
  Status CheckCancelled() const {
    return step_ != nullptr && step_->is_cancelled() ? step_->status() : OkStatus();
  }
  static constexpr std::chrono::milliseconds kMoment{10};

  void PutInt(absl::string_view name, int64_t value);
  void Put(absl::string_view name, Tensor value);
  void PutElement(absl::string_view name, const std::vector<Tensor>& element);
  void PutElements(absl::string_view name, const std::vector<std::vector<Tensor>>& elements);
  // OK or an error that is to be given again.
  void PutStatus(absl::string_view name, const Status& status);

 private:
  IteratorState* const state_;
  const CancellationManager* const step_;
  std::string prefix_;
};

// Errors: InvalidArgument for what is not there or of another type: the state is another data
// set's, or damaged.
class StateReader {
 public:
  class Child {
   public:
    Child(StateReader& reader, absl::string_view name)
        : reader_(reader), length_(reader.prefix_.size()) {
      reader.prefix_.append(name.data(), name.size());
      reader.prefix_.push_back('/');
    }
    ~Child() { reader_.prefix_.resize(length_); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

   private:
    StateReader& reader_;
    const size_t length_;
  };

  explicit StateReader(const IteratorState* state) : state_(state) {}
  StatusOr<int64_t> GetInt(absl::string_view name) const;
  // A count of things that are in the state, so no larger than it.
  StatusOr<int64_t> GetCount(absl::string_view name) const;
  StatusOr<Tensor> Get(absl::string_view name) const;
  // Of these types.
  StatusOr<std::vector<Tensor>> GetElement(absl::string_view name,
                                           const std::vector<DType>& types) const;
  StatusOr<std::vector<std::vector<Tensor>>> GetElements(absl::string_view name,
                                                         const std::vector<DType>& types) const;
  // What PutStatus was given, in `*status`.
  Status GetStatus(absl::string_view name, Status* status) const;

 private:
  const IteratorState* const state_;
  std::string prefix_;
};

}  // namespace tensorfleet::data
