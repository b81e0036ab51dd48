#include "runtime/data/saved_dataset.h"

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "runtime/data/iterator_scope.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/kernels/function_runner.h"

namespace tensorfleet::data {
namespace {

constexpr char kFunction[] = "tensorfleet_saved_dataset";

using VisitFunction = std::function<Status(const tensorflow::FunctionDef& function)>;

// Visits the functions that a node names, and those that they name, once each.
class Functions {
 public:
  Functions(const FunctionLibrary& library, VisitFunction visit)
      : library_(library), visit_(std::move(visit)) {}
  Status VisitThoseOf(const tensorflow::NodeDef& node) {
    std::vector<std::string> names = NamesIn(node);
    while (!names.empty()) {
      const std::string name = std::move(names.back());
      names.pop_back();
      const tensorflow::FunctionDef* const function = library_.Find(name);
      if (function == nullptr || !seen_.insert(name).second) continue;
      TFLEET_RETURN_IF_ERROR(visit_(*function));
      for (const tensorflow::NodeDef& inner : function->node_def()) {
        for (std::string& more : NamesIn(inner)) names.push_back(std::move(more));
      }
    }
    return OkStatus();
  }

 private:
  static std::vector<std::string> NamesIn(const tensorflow::NodeDef& node) {
    std::vector<std::string> names = {node.op()};  // a function may be called by its name
    for (const auto& [_, value] : node.attr()) {
      if (value.has_func()) names.push_back(value.func().name());
      for (const auto& function : value.list().func()) names.push_back(function.name());
    }
    return names;
  }

  const FunctionLibrary& library_;
  const VisitFunction visit_;
  std::set<std::string> seen_;
};

const Dataset* AsDataset(const Tensor& tensor) {
  if (tensor.dtype() != DType::kVariant || !tensor.shape().is_scalar()) return nullptr;
  return tensor.scalar<Variant>().get<Dataset>();
}

// Puts the function together, inputs first.
class Encoder {
 public:
  StatusOr<VariantData> Encode(const Dataset& dataset) {
    tensorflow::OpDef& signature = *function_.mutable_signature();
    signature.set_name(kFunction);
    TFLEET_ASSIGN_OR_RETURN((*function_.mutable_ret())["dataset"], Add(dataset));
    tensorflow::OpDef::ArgDef& result = *signature.add_output_arg();
    result.set_name("dataset");
    result.set_type(tensorflow::DT_VARIANT);
    *library_.add_function() = std::move(function_);
    // Says whether functions of one name are equal.
    TFLEET_RETURN_IF_ERROR(FunctionLibrary::FromProto(library_).status());
    return VariantData{kSavedDatasetType, library_.SerializeAsString(), std::move(args_)};
  }

 private:
  // Where in the function the data set comes from.
  StatusOr<std::string> Add(const Dataset& dataset) {
    const auto known = known_.find(&dataset);
    if (known != known_.end()) return known->second;
    TFLEET_ASSIGN_OR_RETURN(const Recipe recipe, dataset.MakeRecipe());
    tensorflow::NodeDef node = *recipe.node;
    node.clear_input();
    node.clear_device();
    node.mutable_attr()->erase("_class");  // names other nodes
    for (const Tensor& input : recipe.inputs) {
      const Dataset* const inner = AsDataset(input);
      if (inner != nullptr) {
        TFLEET_ASSIGN_OR_RETURN(*node.add_input(), Add(*inner));
      } else {
        TFLEET_ASSIGN_OR_RETURN(*node.add_input(), AddArgument(input));
      }
    }
    if (recipe.functions != nullptr && recipe.functions->library() != nullptr) {
      Functions functions(*recipe.functions->library(), [this](const auto& function) {
        if (names_.insert(function.signature().name()).second) *library_.add_function() = function;
        return OkStatus();
      });
      TFLEET_RETURN_IF_ERROR(functions.VisitThoseOf(node));
    }
    node.set_name(absl::StrCat("d", function_.node_def_size()));
    const std::string place = absl::StrCat(node.name(), ":", recipe.output, ":0");
    *function_.add_node_def() = std::move(node);
    return known_[&dataset] = place;
  }

  StatusOr<std::string> AddArgument(const Tensor& value) {
    tensorflow::OpDef::ArgDef& arg = *function_.mutable_signature()->add_input_arg();
    arg.set_name(absl::StrCat("a", args_.size()));
    arg.set_type(static_cast<tensorflow::DataType>(value.dtype()));
    TFLEET_ASSIGN_OR_RETURN(args_.emplace_back(), WithEncodedDatasets(value));
    return arg.name();
  }

  tensorflow::FunctionDef function_;
  tensorflow::FunctionDefLibrary library_;
  std::vector<Tensor> args_;
  std::set<std::string> names_;
  absl::flat_hash_map<const Dataset*, std::string> known_;
};

// `tensor` with each of its variants replaced.
StatusOr<Tensor> Mapped(const Tensor& tensor,
                        const std::function<StatusOr<Variant>(const Variant&)>& replace) {
  if (tensor.dtype() != DType::kVariant) return tensor;
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, tensor.shape()));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const Variant& variant = tensor.values<Variant>()[i];
    if (variant.is_empty()) continue;
    TFLEET_ASSIGN_OR_RETURN(out.mutable_values<Variant>()[i], replace(variant));
  }
  return out;
}

// Ops that count as stateful but give the same to every run, or state that iterators save.
bool KeepsNothing(const std::string& op) {
  return op == "Assert" || absl::StrContains(op, "Dataset") ||
         absl::EndsWith(op, "SeedGenerator") || absl::EndsWith(op, "MemoryCache");
}

}  // namespace

StatusOr<VariantData> EncodeDataset(const Dataset& dataset) { return Encoder().Encode(dataset); }

StatusOr<Tensor> WithEncodedDatasets(const Tensor& tensor) {
  return Mapped(tensor, [](const Variant& variant) -> StatusOr<Variant> {
    const auto* const dataset = variant.get<Dataset>();
    if (dataset != nullptr) {
      TFLEET_ASSIGN_OR_RETURN(VariantData data, EncodeDataset(*dataset));
      return Variant(std::make_shared<EncodedVariant>(std::move(data)));
    }
    TFLEET_ASSIGN_OR_RETURN(VariantData data, variant.value()->Encode());
    for (Tensor& inner : data.tensors) {
      TFLEET_ASSIGN_OR_RETURN(inner, WithEncodedDatasets(inner));
    }
    return Variant(std::make_shared<EncodedVariant>(std::move(data)));
  });
}

StatusOr<DatasetRef> DecodeDataset(const VariantData& saved, const FunctionSource& source,
                                   IteratorScope& scope) {
  tensorflow::FunctionDefLibrary proto;
  if (saved.type_name != kSavedDatasetType || !proto.ParseFromString(saved.metadata)) {
    return InvalidArgument("a variant of type '", saved.type_name, "' is no saved data set");
  }
  TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<const FunctionLibrary> library,
                          FunctionLibrary::FromProto(proto));
  const tensorflow::FunctionDef* const function = library->Find(kFunction);
  if (function == nullptr ||
      function->signature().input_arg_size() != static_cast<int>(saved.tensors.size())) {
    return InvalidArgument("a saved data set lacks its function, or what that is given");
  }
  auto call = std::make_shared<CapturedFunction>();
  call->function.set_name(kFunction);
  for (int i = 0; i < function->signature().input_arg_size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(call->captured.emplace_back(),
                            WithDecodedDatasets(saved.tensors[i], source, scope));
    if (static_cast<int>(saved.tensors[i].dtype()) !=
        static_cast<int>(function->signature().input_arg(i).type())) {
      return InvalidArgument("argument ", i, " of a saved data set is of another type");
    }
  }
  call->source = source.With(std::move(library));
  TFLEET_ASSIGN_OR_RETURN(const BoundFunction bound, scope.Bind(call));
  Element results;
  TFLEET_RETURN_IF_ERROR(bound.Call({}, &results));
  if (results.size() != 1) return InvalidArgument("a saved data set's function gives no data set");
  return DatasetIn(results[0]);
}

StatusOr<Tensor> WithDecodedDatasets(const Tensor& tensor, const FunctionSource& source,
                                     IteratorScope& scope) {
  return Mapped(tensor, [&](const Variant& variant) -> StatusOr<Variant> {
    const auto* const encoded = variant.get<EncodedVariant>();
    if (encoded == nullptr) return variant;
    if (encoded->data().type_name == kSavedDatasetType) {
      TFLEET_ASSIGN_OR_RETURN(DatasetRef dataset, DecodeDataset(encoded->data(), source, scope));
      return Variant(std::shared_ptr<const VariantValue>(std::move(dataset)));
    }
    VariantData data = encoded->data();
    for (Tensor& inner : data.tensors) {
      TFLEET_ASSIGN_OR_RETURN(inner, WithDecodedDatasets(inner, source, scope));
    }
    return Variant(std::make_shared<EncodedVariant>(std::move(data)));
  });
}

Status CheckNoOutsideState(const Dataset& dataset) {
  std::vector<DatasetRef> work = {dataset.shared_from_this()};
  std::set<const Dataset*> seen;
  while (!work.empty()) {
    const DatasetRef one = std::move(work.back());
    work.pop_back();
    if (!seen.insert(one.get()).second) continue;
    TFLEET_ASSIGN_OR_RETURN(const Recipe recipe, one->MakeRecipe());
    for (const Tensor& input : recipe.inputs) {
      const Dataset* const inner = AsDataset(input);
      if (inner != nullptr) work.push_back(inner->shared_from_this());
    }
    if (recipe.functions == nullptr || recipe.functions->library() == nullptr) continue;
    const OpRegistry& ops = recipe.functions->ops();
    Functions functions(*recipe.functions->library(), [&](const auto& function) {
      for (const tensorflow::NodeDef& node : function.node_def()) {
        const StatusOr<const OpSchema*> schema = ops.Find(node.op());
        if (!schema.ok() || !(*schema)->is_stateful || KeepsNothing(node.op())) continue;
        return FailedPrecondition(
            "the iterator cannot be saved with its state: op ", node.op(), " (node '", node.name(),
            "' of function '", function.signature().name(), "', of ", recipe.node->op(),
            ") has state of its own, which is not saved; pass external_state_policy='warn' or "
            "'ignore' to save without it");
      }
      return OkStatus();
    });
    TFLEET_RETURN_IF_ERROR(functions.VisitThoseOf(*recipe.node));
  }
  return OkStatus();
}

}  // namespace tensorfleet::data
