#include "runtime/opfuzz/attrs.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/attr.h"
#include "runtime/opfuzz/values.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::opfuzz {
namespace {

bool IsForTypes(const AttrSpec& attr) { return attr.kind == "type" || attr.kind == "list(type)"; }

DType RandomType(Random& random, const AttrSpec& attr, Manner manner) {
  if (!attr.allowed_types.empty() && !(manner == Manner::kHostile && random.Percent(20))) {
    return random.Pick(attr.allowed_types);
  }
  if (random.Percent(manner == Manner::kHostile ? 10 : 2))
    return random.Pick({DType::kResource, DType::kVariant});
  if (manner == Manner::kHostile && random.Percent(15)) {
    return random.Pick({DType::kQInt8, DType::kQUInt8, DType::kQInt32, DType::kFloat8E5M2,
                        DType::kInt4, DType::kInvalid, DType::kFloat8E4M3FN});
  }
  return RandomPlainType(random);
}

PartialShape RandomPartialShape(Random& random, Manner manner) {
  const Shape shape = RandomShape(random, manner);
  if (random.Percent(20)) return PartialShape::Unknown();
  PartialShape partial(shape);
  for (int i = 0; i < partial.rank(); ++i) {
    if (random.Percent(10))
      partial.set_dim(i, manner == Manner::kHostile ? HostileInt(random) : -1);
  }
  return partial;
}

int64_t RandomInt(Random& random, const AttrSpec& attr, Manner manner) {
  if (manner == Manner::kHostile) return HostileInt(random);
  return std::max(random.Pick<int64_t>({0, 1, 1, 2, 2, 3, 4, -1}),
                  attr.minimum.value_or(std::numeric_limits<int64_t>::min()));
}

float RandomFloat(Random& random, Manner manner) {
  if (manner == Manner::kHostile) {
    return random.Pick({0.f, -1.f, std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN(), 1e-40f, 3e38f});
  }
  return random.Pick({0.f, 0.5f, 1.f, 2.f, 0.1f, -1.f});
}

std::string RandomString(Random& random, const AttrSpec& attr, Manner manner) {
  if (!attr.allowed_strings.empty()) return random.Pick(attr.allowed_strings);
  if (manner == Manner::kUsual)
    return random.Pick<const char*>(
        {"", "s", "t", "frame", "{}", "a*", "/job:localhost/replica:0/task:0/device:CPU:0"});
  return RandomTensor(random, DType::kString, Shape(), manner).scalar<std::string>();
}

// How many elements the lists of one node have: windows and strides have four, and lists beside
// each other as many.
struct Lengths {
  int common;
  int Next(Random& random, const AttrSpec& attr) const {
    const int length = random.Percent(85) ? common : static_cast<int>(random.Below(6));
    return std::max(length, static_cast<int>(attr.minimum.value_or(0)));
  }
};

tensorflow::AttrValue RandomValue(Random& random, const AttrSpec& attr, const Lengths& lengths,
                                  Manner manner) {
  tensorflow::AttrValue value;
  const auto shape_to = [&](tensorflow::TensorShapeProto* proto) {
    RandomPartialShape(random, manner).ToProto(proto);
  };
  auto* list = absl::StartsWith(attr.kind, "list") ? value.mutable_list() : nullptr;
  int length = lengths.Next(random, attr);
  if (list != nullptr && attr.kind == "list(int)" && random.Percent(50)) {
    // A window over a batch of images with channels.
    const int64_t h = random.Between(1, 3), w = random.Percent(60) ? h : random.Between(1, 3);
    const bool is_nhwc = random.Percent(80);
    for (const int64_t v : is_nhwc ? std::initializer_list<int64_t>{1, h, w, 1}
                                   : std::initializer_list<int64_t>{1, 1, h, w}) {
      list->add_i(v);
    }
    return value;
  }
  if (attr.kind == "int") value.set_i(RandomInt(random, attr, manner));
  if (attr.kind == "float") value.set_f(RandomFloat(random, manner));
  if (attr.kind == "bool") value.set_b(random.Percent(50));
  if (attr.kind == "string") value.set_s(RandomString(random, attr, manner));
  if (attr.kind == "type")
    value.set_type(static_cast<tensorflow::DataType>(RandomType(random, attr, manner)));
  if (attr.kind == "shape") shape_to(value.mutable_shape());
  if (attr.kind == "tensor") {
    const Tensor tensor =
        RandomTensor(random, RandomPlainType(random), RandomShape(random, manner), manner);
    TensorToProto(tensor, value.mutable_tensor()).IgnoreError();
  }
  for (int i = 0; list != nullptr && i < length; ++i) {
    if (attr.kind == "list(int)") list->add_i(RandomInt(random, attr, manner));
    if (attr.kind == "list(float)") list->add_f(RandomFloat(random, manner));
    if (attr.kind == "list(bool)") list->add_b(random.Percent(50));
    if (attr.kind == "list(string)") list->add_s(RandomString(random, attr, manner));
    if (attr.kind == "list(type)")
      list->add_type(static_cast<tensorflow::DataType>(RandomType(random, attr, manner)));
    if (attr.kind == "list(shape)") shape_to(list->add_shape());
  }
  return value;
}

// Types as a kernel of the op wants them.
void SetTypesOfKernel(Random& random, const TypeConstraints& constraints, const OpSchema& schema,
                      const Lengths& lengths, tensorflow::NodeDef* def) {
  for (const TypeConstraint& constraint : constraints) {
    const AttrSpec* attr = schema.FindAttr(constraint.attr);
    if (attr == nullptr) continue;
    if (attr->kind == "type") {
      SetAttr(def, attr->name, constraint.type);
    } else {
      const std::vector<DType> types(lengths.Next(random, *attr), constraint.type);
      SetAttr(def, attr->name, absl::MakeConstSpan(types));
    }
  }
}

// The kinds of RaggedCross' columns, a letter each, as many as there are types.
void SetColumnOrder(Random& random, tensorflow::NodeDef* def) {
  auto& attrs = *def->mutable_attr();
  const auto count = [&](const char* types) { return attrs[types].list().type_size(); };
  attrs["ragged_splits_types"].mutable_list()->mutable_type()->Resize(count("ragged_values_types"),
                                                                      tensorflow::DT_INT64);
  attrs["Nsparse"].set_i(count("sparse_values_types"));
  std::string order = std::string(count("ragged_values_types"), 'R') +
                      std::string(count("sparse_values_types"), 'S') +
                      std::string(count("dense_types"), 'D');
  if (!order.empty() && random.Percent(50)) std::swap(order.front(), order.back());
  attrs["input_order"].set_s(order);
}

}  // namespace

DType RandomPlainType(Random& random) {
  if (random.Percent(70))
    return random.Pick({DType::kFloat, DType::kInt32, DType::kInt64, DType::kString, DType::kBool,
                        DType::kDouble});
  return random.Pick({DType::kHalf, DType::kBFloat16, DType::kInt8, DType::kInt16, DType::kUInt8,
                      DType::kUInt16, DType::kUInt32, DType::kUInt64, DType::kComplex64,
                      DType::kComplex128});
}

tensorflow::NodeDef RandomNodeDef(Random& random, const OpSchema& schema,
                                  const KernelRegistry& kernels) {
  tensorflow::NodeDef def;
  def.set_op(schema.name);
  const Lengths lengths{static_cast<int>(random.Pick({1, 2, 2, 3}))};
  const std::vector<TypeConstraints> constraints = kernels.ConstraintsOf(schema.name, kCpu);
  if (!constraints.empty())
    SetTypesOfKernel(random, random.Pick(constraints), schema, lengths, &def);
  int functions = 0;
  for (const AttrSpec& attr : schema.attrs) {
    if (def.attr().contains(attr.name)) continue;
    tensorflow::AttrValue& value = (*def.mutable_attr())[attr.name];
    if (attr.kind == "func") {
      value.mutable_func()->set_name(absl::StrCat("f", functions++));
    } else if (attr.kind == "list(func)") {
      for (int i = std::max(1, lengths.common); i > 0; --i)
        value.mutable_list()->add_func()->set_name(absl::StrCat("f", functions++));
    } else if (attr.default_value && random.Percent(IsForTypes(attr) ? 30 : 60)) {
      value = *attr.default_value;
    } else {
      value = RandomValue(random, attr, lengths, Manner::kUsual);
    }
  }
  // A constant's value has the type that the node says.
  if (schema.FindAttr("value") != nullptr && schema.FindAttr("dtype") != nullptr) {
    const DType dtype = static_cast<DType>(def.attr().at("dtype").type());
    const Tensor tensor =
        RandomTensor(random, dtype, RandomShape(random, Manner::kUsual), Manner::kUsual);
    auto* value = (*def.mutable_attr())["value"].mutable_tensor();
    value->Clear();
    TensorToProto(tensor, value).IgnoreError();
  }
  if (schema.FindAttr("input_order") != nullptr) SetColumnOrder(random, &def);
  return def;
}

void DisturbAttr(Random& random, const OpSchema& schema, tensorflow::NodeDef* def) {
  if (schema.attrs.empty()) return;
  const AttrSpec& attr = random.Pick(schema.attrs);
  if (attr.kind == "func" || attr.kind == "list(func)") return;
  const bool gives_length = attr.kind == "int" && attr.name == "N";
  const Manner manner =
      gives_length || (IsForTypes(attr) && random.Percent(70)) ? Manner::kUsual : Manner::kHostile;
  (*def->mutable_attr())[attr.name] =
      RandomValue(random, attr, Lengths{static_cast<int>(random.Below(5))}, manner);
}

}  // namespace tensorfleet::opfuzz
