#include "runtime/opfuzz/handles.h"

#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/opfuzz/attrs.h"
#include "runtime/opfuzz/values.h"

namespace tensorfleet::opfuzz {
namespace {

// What is behind handles is asked for by these attributes of their users.
DType ElementType(const tensorflow::NodeDef& user, std::initializer_list<const char*> attrs,
                  DType otherwise) {
  for (const char* attr : attrs) {
    const StatusOr<DType> type = GetAttr<DType>(user, attr);
    if (type.ok() && *type != DType::kInvalid) return *type;
  }
  return otherwise;
}

std::vector<DType> ElementTypes(const tensorflow::NodeDef& user,
                                std::initializer_list<const char*> attrs) {
  for (const char* attr : attrs) {
    StatusOr<std::vector<DType>> types = GetAttr<std::vector<DType>>(user, attr);
    if (types.ok()) return *std::move(types);
  }
  return {DType::kFloat};
}

Shape WithRows(int64_t rows, const Shape& shape) {
  StatusOr<Shape> made = Shape({rows}).Concatenated(shape);
  return made.ok() ? *std::move(made) : Shape({rows});
}

class Maker {
 public:
  Maker(Random& random, const tensorflow::NodeDef& user, const Shape& shape, Draft* draft)
      : random_(random), user_(user), shape_(shape), draft_(*draft) {}

  Handle Array() {
    const DType type = Type({"dtype", "T"});
    const int64_t size = random_.Between(1, 3);
    tensorflow::NodeDef* node =
        draft_.Add("TensorArrayV3", {draft_.AddConst(Tensor::Scalar<int32_t>(size))});
    SetAttr(node, "dtype", type);
    SetAttr(node, "dynamic_size", random_.Percent(30));
    SetAttr(node, "clear_after_read", random_.Percent(30));
    const std::string array = node->name();
    std::string flow = absl::StrCat(array, ":1");
    const bool is_read = !absl::StrContains(user_.op(), "Write") &&
                         !absl::StrContains(user_.op(), "Scatter") &&
                         !absl::StrContains(user_.op(), "Split");
    if (random_.Percent(is_read ? 90 : 10)) {
      std::vector<int32_t> indices(size);
      std::iota(indices.begin(), indices.end(), 0);
      const std::string at = draft_.AddConst(Tensor::Vector(absl::MakeConstSpan(indices)));
      const std::string values = Value(type, WithRows(size, shape_));
      tensorflow::NodeDef* scatter = draft_.Add("TensorArrayScatterV3", {array, at, values, flow});
      SetAttr(scatter, "T", type);
      flow = scatter->name();
    }
    return {array, flow, ""};
  }

  Handle Queue() {
    std::vector<DType> types = ElementTypes(user_, {"Tcomponents", "component_types"});
    if (random_.Percent(5)) types.push_back(RandomPlainType(random_));
    const bool many =
        absl::StrContains(user_.op(), "Many") || absl::StrContains(user_.op(), "UpTo");
    const std::string op = random_.Pick<const char*>(
        {"FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2"});
    tensorflow::NodeDef* node = draft_.Add(op, {});
    const std::string queue = node->name();
    std::vector<DType> held = types;
    if (op == "PriorityQueueV2" && !held.empty()) held.erase(held.begin());
    SetAttr(node, "component_types", absl::MakeConstSpan(held));
    if (many || op == "PaddingFIFOQueueV2" || op == "PriorityQueueV2" || random_.Percent(30)) {
      std::vector<PartialShape> shapes(held.size(), PartialShape(shape_));
      for (PartialShape& s : shapes) {
        if (op == "PaddingFIFOQueueV2" && s.rank() > 0 && random_.Percent(50)) s.set_dim(0, -1);
      }
      SetAttr(node, "shapes", absl::MakeConstSpan(shapes));
    }
    SetAttr(node, "capacity", random_.Pick<int64_t>({-1, 10, 4, 100}));
    if (!absl::StrContains(user_.op(), "Enqueue") || random_.Percent(30)) {
      std::vector<std::string> inputs = {queue};
      for (const DType type : types) inputs.push_back(Value(type, WithRows(3, shape_)));
      tensorflow::NodeDef* fill = draft_.Add("QueueEnqueueManyV2", inputs);
      SetAttr(fill, "Tcomponents", absl::MakeConstSpan(types));
      draft_.first.push_back(fill->name());
    }
    return {queue, "", ""};
  }

  Handle Stack() {
    const DType type = Type({"elem_type", "T"});
    tensorflow::NodeDef* node = draft_.Add(
        "StackV2", {draft_.AddConst(Tensor::Scalar<int32_t>(random_.Pick({-1, -1, 2})))});
    SetAttr(node, "elem_type", type);
    const std::string stack = node->name();
    if (!absl::StrContains(user_.op(), "Pop")) return {stack, "", ""};
    tensorflow::NodeDef* push = draft_.Add("StackPushV2", {stack, Value(type, shape_)});
    SetAttr(push, "T", type);
    return {stack, "", push->name()};
  }

  Handle Table() {
    const DType key = Type({"Tin", "Tkey", "Tkeys"}, random_.Pick({DType::kString, DType::kInt64}));
    const DType value = Type({"Tout", "Tval", "Tvalues"},
                             random_.Pick({DType::kInt64, DType::kFloat, DType::kString}));
    const bool is_filled_once = absl::StrContains(user_.op(), "Initialize") || random_.Percent(20);
    const bool of_vectors = !is_filled_once && random_.Percent(30);
    tensorflow::NodeDef* node = draft_.Add(is_filled_once ? "HashTableV2"
                                           : of_vectors   ? "MutableHashTableOfTensorsV2"
                                                          : "MutableHashTableV2",
                                           {});
    const std::string table = node->name();
    SetAttr(node, "key_dtype", key);
    SetAttr(node, "value_dtype", value);
    if (of_vectors) SetAttr(node, "value_shape", PartialShape({2}));
    if (!absl::StrContains(user_.op(), "Initialize") && random_.Percent(80)) {
      const std::string keys = Value(key, Shape({4}));
      const std::string values = Value(value, of_vectors ? Shape({4, 2}) : Shape({4}));
      tensorflow::NodeDef* fill = draft_.Add(
          is_filled_once ? "InitializeTableV2" : "LookupTableInsertV2", {table, keys, values});
      SetAttr(fill, is_filled_once ? "Tkey" : "Tin", key);
      SetAttr(fill, is_filled_once ? "Tval" : "Tout", value);
      draft_.first.push_back(fill->name());
    }
    return {table, "", ""};
  }

  Handle Accumulator(const char* prefix, const char* apply) {
    const DType type = Type({"dtype"});
    const bool is_sparse =
        absl::StrContains(user_.op(), "Sparse") && absl::string_view(prefix).empty();
    tensorflow::NodeDef* node = draft_.Add(
        is_sparse ? "SparseConditionalAccumulator" : absl::StrCat(prefix, "ConditionalAccumulator"),
        {});
    const std::string accumulator = node->name();
    SetAttr(node, "dtype", type);
    SetAttr(node, "shape", random_.Percent(50) ? PartialShape(shape_) : PartialShape::Unknown());
    if (is_sparse && shape_.rank() > 0) {
      FillSparse(accumulator, type);
    } else if (!is_sparse) {
      tensorflow::NodeDef* fill = draft_.Add(
          apply, {accumulator, draft_.AddConst(Tensor::Scalar<int64_t>(0)), Value(type, shape_)});
      SetAttr(fill, "dtype", type);
      draft_.first.push_back(fill->name());
    }
    return {accumulator, "", ""};
  }

  Handle Variant() {
    if (absl::StrContains(user_.op(), "Optional")) return Optional();
    if (random_.Percent(2)) return Optional();
    const DType type = Type({"element_dtype"});
    const Handle list = List(type);
    if (user_.op() != "TensorListPushBackBatch") return list;
    std::vector<std::string> lists(random_.Between(1, 3), list.endpoint);
    tensorflow::NodeDef* pack = draft_.Add("Pack", lists);
    SetAttr(pack, "N", static_cast<int64_t>(lists.size()));
    SetAttr(pack, "T", DType::kVariant);
    return {pack->name(), "", ""};
  }

  Handle Variable() {
    const DType type = Type({"dtype", "T"});
    tensorflow::NodeDef* node = draft_.Add("VarHandleOp", {});
    const std::string variable = node->name();
    SetAttr(node, "dtype", type);
    SetAttr(node, "shape", random_.Percent(80) ? PartialShape(shape_) : PartialShape::Unknown());
    SetAttr(node, "shared_name", variable);
    tensorflow::NodeDef* assign = draft_.Add("AssignVariableOp", {variable, Value(type, shape_)});
    SetAttr(assign, "dtype", type);
    if (random_.Percent(96)) draft_.first.push_back(assign->name());
    return {variable, "", ""};
  }

  Handle Reference(DType type) {
    if (random_.Percent(3)) type = RandomPlainType(random_);
    if (user_.op() == "DestroyTemporaryVariable") return Temporary(type);
    tensorflow::NodeDef* node = draft_.Add("VariableV2", {});
    const std::string variable = node->name();
    SetAttr(node, "dtype", type);
    SetAttr(node, "shape", PartialShape(shape_));
    tensorflow::NodeDef* assign = draft_.Add("Assign", {variable, Value(type, shape_)});
    SetAttr(assign, "T", type);
    SetAttr(assign, "validate_shape", random_.Percent(50));
    if (random_.Percent(96)) draft_.first.push_back(assign->name());
    return {variable, "", ""};
  }

  // A name that nothing has.
  Handle Nothing(DType type) {
    const StatusOr<Tensor> empty =
        Tensor::Allocate(type, random_.Percent(70) ? Shape() : Shape({random_.Between(0, 2)}));
    return {draft_.AddFed(*empty, false), "", ""};
  }

 private:
  DType Type(std::initializer_list<const char*> attrs, DType otherwise = DType::kFloat) {
    if (random_.Percent(3)) return RandomPlainType(random_);
    return ElementType(user_, attrs, otherwise);
  }

  std::string Value(DType type, const Shape& shape) {
    if (type == DType::kVariant) return List(DType::kFloat).endpoint;
    if (type == DType::kResource) {
      tensorflow::NodeDef* node = draft_.Add("VarHandleOp", {});
      SetAttr(node, "dtype", DType::kFloat);
      SetAttr(node, "shape", PartialShape::Unknown());
      return node->name();
    }
    return draft_.AddConst(RandomTensor(random_, type, shape, Manner::kUsual));
  }

  Handle List(DType type) {
    const std::string any = draft_.AddConst(Tensor::Scalar<int32_t>(-1));
    tensorflow::NodeDef* node;
    if (random_.Percent(80) && type != DType::kVariant && type != DType::kResource) {
      node = draft_.Add("TensorListFromTensor",
                        {Value(type, WithRows(random_.Between(0, 3), shape_)), any});
    } else if (random_.Percent(50)) {
      node = draft_.Add("TensorListReserve", {any, draft_.AddConst(Tensor::Scalar<int32_t>(3))});
    } else {
      node = draft_.Add("EmptyTensorList",
                        {any, draft_.AddConst(Tensor::Scalar<int32_t>(random_.Pick({-1, 1})))});
    }
    SetAttr(node, "element_dtype", type);
    SetAttr(node, "shape_type", DType::kInt32);
    return {node->name(), "", ""};
  }

  Handle Optional() {
    if (random_.Percent(20)) return {draft_.Add("OptionalNone", {})->name(), "", ""};
    const std::vector<DType> types = ElementTypes(user_, {"output_types"});
    std::vector<std::string> values;
    for (const DType type : types) values.push_back(Value(type, shape_));
    tensorflow::NodeDef* node = draft_.Add("OptionalFromValue", values);
    SetAttr(node, "Toutput_types", absl::MakeConstSpan(types));
    return {node->name(), "", ""};
  }

  Handle Temporary(DType type) {
    tensorflow::NodeDef* node = draft_.Add("TemporaryVariable", {});
    const std::string variable = node->name();
    SetAttr(node, "dtype", type);
    SetAttr(node, "shape", PartialShape(shape_));
    SetAttr(node, "var_name", GetAttr<std::string>(user_, "var_name").value_or("t"));
    tensorflow::NodeDef* assign = draft_.Add("Assign", {variable, Value(type, shape_)});
    SetAttr(assign, "T", type);
    return {assign->name(), "", ""};
  }

  void FillSparse(const std::string& accumulator, DType type) {
    const std::string step = draft_.AddConst(Tensor::Scalar<int64_t>(0));
    const std::string at = draft_.AddConst(Tensor::Vector<int64_t>({0}));
    const std::string rows = Value(type, WithRows(1, shape_.SubShape(1, shape_.rank())));
    const std::string shape = draft_.AddConst(Tensor::Vector<int64_t>(shape_.dims()));
    tensorflow::NodeDef* fill =
        draft_.Add("SparseAccumulatorApplyGradient", {accumulator, step, at, rows, shape});
    SetAttr(fill, "dtype", type);
    SetAttr(fill, "has_known_shape", random_.Percent(50));
    draft_.first.push_back(fill->name());
  }

  Random& random_;
  const tensorflow::NodeDef& user_;
  const Shape& shape_;
  Draft& draft_;
};

}  // namespace

Handle AddHandle(Random& random, const tensorflow::NodeDef& user, DType type, const Shape& shape,
                 Draft* draft) {
  const absl::string_view op = user.op();
  Maker maker(random, user, shape, draft);
  if (BaseType(type) == DType::kString && IsRef(type) && absl::StrContains(op, "Accumulator")) {
    return maker.Accumulator("", "AccumulatorApplyGradient");
  }
  if (IsRef(type)) return maker.Reference(BaseType(type));
  if (random.Percent(3)) return maker.Nothing(type);
  if (type == DType::kVariant) return maker.Variant();
  if (random.Percent(3)) return random.Percent(50) ? maker.Variable() : maker.Queue();
  if (absl::StrContains(op, "TensorArray")) return maker.Array();
  if (absl::StrContains(op, "Queue")) return maker.Queue();
  if (absl::StrContains(op, "Stack")) return maker.Stack();
  if (absl::StrContains(op, "Table")) return maker.Table();
  if (absl::StrContains(op, "ResourceAccumulator"))
    return maker.Accumulator("Resource", "ResourceAccumulatorApplyGradient");
  return maker.Variable();
}

}  // namespace tensorfleet::opfuzz
