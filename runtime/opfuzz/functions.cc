#include "runtime/opfuzz/functions.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/opfuzz/attrs.h"
#include "runtime/opfuzz/values.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::opfuzz {
namespace {

std::vector<DType> TypesOr(const tensorflow::NodeDef& def, const char* attr, const char* other) {
  if (StatusOr<std::vector<DType>> types = GetAttr<std::vector<DType>>(def, attr); types.ok())
    return *std::move(types);
  if (StatusOr<std::vector<DType>> types = GetAttr<std::vector<DType>>(def, other); types.ok())
    return *std::move(types);
  return {};
}

tensorflow::NodeDef* AddBodyNode(tensorflow::FunctionDef* function, const char* op) {
  tensorflow::NodeDef* node = function->add_node_def();
  node->set_name(absl::StrCat("b", function->node_def_size()));
  node->set_op(op);
  return node;
}

// Where result `i`, of type `type`, comes from.
std::string MakeResult(Random& random, const std::vector<DType>& args, size_t i, DType type,
                       tensorflow::FunctionDef* function) {
  std::vector<size_t> fitting;
  for (size_t a = 0; a < args.size(); ++a) {
    if (args[a] == type) fitting.push_back(a);
  }
  const bool is_handle = type == DType::kResource || type == DType::kVariant;
  if (!fitting.empty() && (is_handle || random.Percent(70))) {
    const size_t from = i < args.size() && args[i] == type ? i : random.Pick(fitting);
    const std::string arg = absl::StrCat("a", from);
    if (random.Percent(20)) return arg;
    tensorflow::NodeDef* node = AddBodyNode(function, "Identity");
    node->add_input(arg);
    SetAttr(node, "T", type);
    return absl::StrCat(node->name(), ":output:0");
  }
  if (type == DType::kResource) {
    tensorflow::NodeDef* node = AddBodyNode(function, "VarHandleOp");
    SetAttr(node, "dtype", DType::kFloat);
    SetAttr(node, "shape", PartialShape::Unknown());
    return absl::StrCat(node->name(), ":resource:0");
  }
  tensorflow::NodeDef* node = AddBodyNode(function, "Const");
  const Tensor value =
      RandomTensor(random, type, RandomShape(random, Manner::kUsual), Manner::kUsual);
  SetAttr(node, "dtype", type);
  TensorToProto(value, (*node->mutable_attr())["value"].mutable_tensor()).IgnoreError();
  return absl::StrCat(node->name(), ":output:0");
}

void Define(Random& random, const std::string& name, std::vector<DType> args,
            std::vector<DType> results, Draft* draft) {
  if (random.Percent(4)) args.push_back(RandomPlainType(random));
  if (random.Percent(4) && !results.empty()) results.pop_back();
  tensorflow::FunctionDef* function = draft->graph.mutable_library()->add_function();
  tensorflow::OpDef* signature = function->mutable_signature();
  signature->set_name(name);
  const auto add = [](tensorflow::OpDef::ArgDef* arg, const std::string& arg_name, DType type) {
    arg->set_name(arg_name);
    arg->set_type(static_cast<tensorflow::DataType>(type));
  };
  for (size_t i = 0; i < args.size(); ++i)
    add(signature->add_input_arg(), absl::StrCat("a", i), args[i]);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string result = absl::StrCat("r", i);
    add(signature->add_output_arg(), result, results[i]);
    (*function->mutable_ret())[result] = MakeResult(random, args, i, results[i], function);
  }
}

void DefineCondition(Random& random, const std::string& name, const std::vector<DType>& args,
                     Draft* draft) {
  Define(random, name, args, {}, draft);
  tensorflow::FunctionDef* function =
      draft->graph.mutable_library()->mutable_function(draft->graph.library().function_size() - 1);
  auto* result = function->mutable_signature()->add_output_arg();
  result->set_name("r");
  result->set_type(tensorflow::DT_BOOL);
  tensorflow::NodeDef* node = AddBodyNode(function, "Const");
  SetAttr(node, "dtype", DType::kBool);
  SetAttr(node, "value", Tensor::Scalar(random.Percent(3)));
  (*function->mutable_ret())["r"] = absl::StrCat(node->name(), ":output:0");
}

}  // namespace

void DefineFunctions(Random& random, const tensorflow::NodeDef& def, Draft* draft) {
  const std::vector<DType> args = TypesOr(def, "Tin", "T"), results = TypesOr(def, "Tout", "T");
  // In the order of their names, which is not that of the message's map.
  const std::map<std::string, tensorflow::AttrValue> attrs(def.attr().begin(), def.attr().end());
  for (const auto& [attr, value] : attrs) {
    if (value.has_func()) {
      if (attr == "cond" && absl::StrContains(def.op(), "While")) {
        DefineCondition(random, value.func().name(), args, draft);
      } else {
        Define(random, value.func().name(), args, results, draft);
      }
    }
    for (const auto& function : value.list().func())
      Define(random, function.name(), args, results, draft);
  }
}

}  // namespace tensorfleet::opfuzz
