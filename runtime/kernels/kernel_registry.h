// Which kernel runs an op on a type of device for which attribute types. Filled by explicit calls
// (runtime/kernels/cpu/all.h), so that a test owns its registry. Thread-safe once filled.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet {

inline constexpr char kCpu[] = "CPU";

// The attribute must hold this type for the kernel to be chosen.
struct TypeConstraint {
  std::string attr;
  DType type;
};
using TypeConstraints = std::vector<TypeConstraint>;

class KernelRegistry {
 public:
  using Factory = std::unique_ptr<Kernel> (*)(KernelInit& init);

  // K is made by K(KernelInit&) when it has such a constructor, else by K().
  //   registry.Add<BiasAdd<float>>("BiasAdd", kCpu, {{"T", DType::kFloat}});
  template <typename K>
  void Add(absl::string_view op, absl::string_view device_type, TypeConstraints constraints = {}) {
    AddFactory(op, device_type, std::move(constraints), &MakeKernel<K>);
  }

  // Errors: NotFound, naming op, device type, the node's types and the types that there are kernels
  // for.
  StatusOr<std::unique_ptr<Kernel>> Make(KernelInit& init, absl::string_view device_type) const;
  // Whether Make would find one: what the placer asks. OK or the same NotFound.
  Status Check(const Node& node, absl::string_view device_type) const;
  // The same question without the explanation, for asking it of every node.
  bool Has(const Node& node, absl::string_view device_type) const;
  // Sorted names of the ops with a kernel for `device_type`, and the constraints of each of them.
  std::vector<std::string> Ops(absl::string_view device_type) const;
  std::vector<TypeConstraints> ConstraintsOf(absl::string_view op,
                                             absl::string_view device_type) const;

 private:
  struct Entry {
    std::string device_type;
    TypeConstraints constraints;
    Factory factory;
  };
  template <typename K>
  static std::unique_ptr<Kernel> MakeKernel(KernelInit& init) {
    if constexpr (std::is_constructible_v<K, KernelInit&>) {
      return std::make_unique<K>(init);
    } else {
      return std::make_unique<K>();
    }
  }
  void AddFactory(absl::string_view op, absl::string_view device_type, TypeConstraints constraints,
                  Factory factory);
  StatusOr<const Entry*> Find(const Node& node, absl::string_view device_type) const;
  const Entry* FindEntry(const Node& node, absl::string_view device_type) const;

  absl::flat_hash_map<std::string, std::vector<Entry>> entries_;
};

}  // namespace tensorfleet
