#include "runtime/kernels/cpu/linalg/onednn_primitive.h"

#include <array>

#include "absl/strings/match.h"
#include "runtime/base/check.h"

namespace tensorfleet::cpu {
namespace {

// Scratch memory comes from the caller, so that one primitive may run on several threads at once.
class Attributes {
 public:
  Attributes() {
    const OneDnn& onednn = *LoadedOneDnn();
    if (onednn.primitive_attr_create(&attributes_) != dnnl_success) attributes_ = nullptr;
    if (attributes_ != nullptr) {
      onednn.primitive_attr_set_scratchpad_mode(attributes_, dnnl_scratchpad_mode_user);
    }
  }
  ~Attributes() {
    if (attributes_ != nullptr) LoadedOneDnn()->primitive_attr_destroy(attributes_);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  dnnl_primitive_attr_t get() const { return attributes_; }

 private:
  dnnl_primitive_attr_t attributes_ = nullptr;
};

// Null when oneDNN has no implementation.
dnnl_primitive_desc_t Describe(const OneDnn& onednn, const_dnnl_op_desc_t operation,
                               const_dnnl_primitive_desc_t forward) {
  const Attributes attributes;
  dnnl_primitive_desc_t description = nullptr;
  const dnnl_status_t status =
      onednn.primitive_desc_create(&description, operation, attributes.get(), onednn.cpu, forward);
  return status == dnnl_success ? description : nullptr;
}

// oneDNN's fallbacks are plain loops, or products of matrices like our own.
bool IsVectorised(const OneDnn& onednn, dnnl_primitive_desc_t description) {
  const char* name = nullptr;
  return onednn.primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name) ==
             dnnl_success &&
         !absl::StartsWith(name, "ref") && !absl::StartsWith(name, "simple") &&
         !absl::StrContains(name, "gemm");
}

}  // namespace

std::unique_ptr<const OneDnnPrimitive> OneDnnPrimitive::Of(dnnl_primitive_desc_t description) {
  const OneDnn& onednn = *LoadedOneDnn();
  std::unique_ptr<OneDnnPrimitive> made(new OneDnnPrimitive);
  made->description_ = description;
  if (onednn.primitive_create(&made->primitive_, description) != dnnl_success) {
    made->primitive_ = nullptr;
    return nullptr;
  }
  made->scratch_layout_ = made->Layout(dnnl_query_scratchpad_md);
  made->scratch_bytes_ = BytesOf(made->scratch_layout_);
  return made;
}

std::unique_ptr<const OneDnnPrimitive> OneDnnPrimitive::Make(const_dnnl_op_desc_t operation,
                                                             const_dnnl_op_desc_t forward) {
  const OneDnn& onednn = *LoadedOneDnn();
  dnnl_primitive_desc_t hint = nullptr;
  if (forward != nullptr) {
    hint = Describe(onednn, forward, nullptr);
    if (hint == nullptr) return nullptr;
  }
  const dnnl_primitive_desc_t description = Describe(onednn, operation, hint);
  if (hint != nullptr) onednn.primitive_desc_destroy(hint);
  if (description == nullptr) return nullptr;
  if (!IsVectorised(onednn, description)) {
    onednn.primitive_desc_destroy(description);
    return nullptr;
  }
  return Of(description);
}

std::unique_ptr<const OneDnnPrimitive> OneDnnPrimitive::MakeReorder(const dnnl_memory_desc_t& from,
                                                                    const dnnl_memory_desc_t& to) {
  const OneDnn& onednn = *LoadedOneDnn();
  const Attributes attributes;
  dnnl_primitive_desc_t description = nullptr;
  if (onednn.reorder_primitive_desc_create(&description, &from, onednn.cpu, &to, onednn.cpu,
                                           attributes.get()) != dnnl_success) {
    return nullptr;
  }
  return Of(description);
}

OneDnnPrimitive::~OneDnnPrimitive() {
  const OneDnn& onednn = *LoadedOneDnn();
  if (primitive_ != nullptr) onednn.primitive_destroy(primitive_);
  onednn.primitive_desc_destroy(description_);
}

dnnl_memory_desc_t OneDnnPrimitive::Layout(dnnl_query_t argument) const {
  return *LoadedOneDnn()->primitive_desc_query_md(description_, argument, 0);
}

Status OneDnnPrimitive::Run(absl::Span<const Argument> arguments, void* scratch) const {
  const OneDnn& onednn = *LoadedOneDnn();
  std::array<dnnl_exec_arg_t, 5> given;
  TFLEET_CHECK(arguments.size() < given.size());
  int count = 0;
  dnnl_status_t status = dnnl_success;
  const auto add = [&](int name, const dnnl_memory_desc_t& layout, const void* data) {
    if (status != dnnl_success) return;
    given[count].arg = name;
    status =
        onednn.memory_create(&given[count].memory, &layout, onednn.cpu, const_cast<void*>(data));
    if (status == dnnl_success) ++count;
  };
  for (const Argument& argument : arguments) add(argument.name, *argument.layout, argument.data);
  if (scratch_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, scratch_layout_, scratch);
  if (status == dnnl_success) {
    status = onednn.primitive_execute(primitive_, OneDnnStream(), count, given.data());
  }
  for (int i = 0; i < count; ++i) onednn.memory_destroy(given[i].memory);
  if (status == dnnl_success) return OkStatus();
  return Internal("oneDNN failed with status ", static_cast<int>(status));
}

size_t BytesOf(const dnnl_memory_desc_t& layout) {
  return LoadedOneDnn()->memory_desc_get_size(&layout);
}

}  // namespace tensorfleet::cpu
