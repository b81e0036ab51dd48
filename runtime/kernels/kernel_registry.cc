#include "runtime/kernels/kernel_registry.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace tensorfleet {
namespace {

std::string ConstraintsToString(const TypeConstraints& constraints) {
  if (constraints.empty()) return "any types";
  return absl::StrJoin(constraints, " and ", [](std::string* out, const TypeConstraint& c) {
    absl::StrAppend(out, c.attr, "=", DTypeName(c.type));
  });
}

bool Fits(const TypeConstraints& constraints, const Node& node) {
  for (const TypeConstraint& constraint : constraints) {
    const tensorflow::AttrValue* value = FindAttr(node.def(), constraint.attr);
    if (value == nullptr) return false;
    if (value->value_case() == tensorflow::AttrValue::kType) {
      if (static_cast<int>(value->type()) != static_cast<int>(constraint.type)) return false;
      continue;
    }
    // A list of types fits when all of it is the type.
    for (const int type : value->list().type()) {
      if (type != static_cast<int>(constraint.type)) return false;
    }
  }
  return true;
}

// "T=float, Tidx=int32": the types that a node asks for.
std::string TypesOfNode(const Node& node) {
  std::vector<std::string> parts;
  for (const AttrSpec& attr : node.schema().attrs) {
    if (attr.kind != "type") continue;
    const StatusOr<DType> type = GetAttr<DType>(node.def(), attr.name);
    if (type.ok()) parts.push_back(absl::StrCat(attr.name, "=", DTypeName(*type)));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

void KernelRegistry::AddFactory(absl::string_view op, absl::string_view device_type,
                                TypeConstraints constraints, Factory factory) {
  entries_[std::string(op)].push_back({std::string(device_type), std::move(constraints), factory});
}

const KernelRegistry::Entry* KernelRegistry::FindEntry(const Node& node,
                                                       absl::string_view device_type) const {
  const auto it = entries_.find(node.op());
  if (it == entries_.end()) return nullptr;
  for (const Entry& entry : it->second) {
    if (entry.device_type == device_type && Fits(entry.constraints, node)) return &entry;
  }
  return nullptr;
}

StatusOr<const KernelRegistry::Entry*> KernelRegistry::Find(const Node& node,
                                                            absl::string_view device_type) const {
  if (const Entry* entry = FindEntry(node, device_type); entry != nullptr) return entry;
  std::vector<std::string> others;
  if (const auto it = entries_.find(node.op()); it != entries_.end()) {
    for (const Entry& entry : it->second) {
      others.push_back(
          absl::StrCat(entry.device_type, " with ", ConstraintsToString(entry.constraints)));
    }
  }
  return NotFound("No kernel for op '", node.op(), "' on ", device_type, " with ",
                  TypesOfNode(node).empty() ? "its attributes" : TypesOfNode(node), " (node ",
                  node.name(), "). ",
                  others.empty() ? "There are none for any device."
                                 : absl::StrCat("There are: ", absl::StrJoin(others, "; "), "."));
}

StatusOr<std::unique_ptr<Kernel>> KernelRegistry::Make(KernelInit& init,
                                                       absl::string_view device_type) const {
  TFLEET_ASSIGN_OR_RETURN(const Entry* entry, Find(init.node(), device_type));
  std::unique_ptr<Kernel> kernel = entry->factory(init);
  if (!init.status().ok()) return WithNode(init.status(), init.node().name());
  return kernel;
}

Status KernelRegistry::Check(const Node& node, absl::string_view device_type) const {
  return Find(node, device_type).status();
}

bool KernelRegistry::Has(const Node& node, absl::string_view device_type) const {
  return FindEntry(node, device_type) != nullptr;
}

std::vector<std::string> KernelRegistry::Ops(absl::string_view device_type) const {
  std::vector<std::string> ops;
  for (const auto& [op, entries] : entries_) {
    const bool has = std::any_of(entries.begin(), entries.end(),
                                 [&](const Entry& e) { return e.device_type == device_type; });
    if (has) ops.push_back(op);
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

std::vector<TypeConstraints> KernelRegistry::ConstraintsOf(absl::string_view op,
                                                           absl::string_view device_type) const {
  std::vector<TypeConstraints> all;
  const auto it = entries_.find(op);
  if (it == entries_.end()) return all;
  for (const Entry& entry : it->second) {
    if (entry.device_type == device_type) all.push_back(entry.constraints);
  }
  return all;
}

}  // namespace tensorfleet
