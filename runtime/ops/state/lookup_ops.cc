// Lookup tables. Kernels: runtime/kernels/cpu/state/lookup_ops.cc.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// The keys' shape, followed by that of a value, which is the default's unless that has a row for
// each key. The keys of a dense table may be vectors: then the shape is left open, as it is when
// the table is not in sight.
Status FindShape(ShapeContext& ctx) {
  const Edge* const table = ctx.node().in_edge(0);
  if (table == nullptr || !absl::StrContains(table->src->op(), "HashTable") ||
      absl::StrContains(table->src->op(), "Dense")) {
    return OkStatus();
  }
  const PartialShape& fallback = ctx.input(2);
  if (fallback.has_rank() && fallback.rank() == 0) ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

// Container and name.
Status NameShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({2}));
  return OkStatus();
}

// Ops of the second version take and give resource handles; those of the first, references to the
// table's name, and only what makes a table is stateful there.
struct Version {
  const char* suffix;
  const char* handle;
  bool is_second;
};
constexpr Version kVersions[] = {{"", "table_handle: Ref(string)", false},
                                 {"V2", "table_handle: resource", true}};

OpSchemaBuilder Table(const Version& version, const char* name) {
  return OpSchemaBuilder(absl::StrCat(name, version.suffix))
      .Output(version.handle)
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("use_node_name_sharing: bool = false")
      .Attr("key_dtype: type")
      .Attr("value_dtype: type")
      .Stateful()
      .Shape(version.is_second ? shapes::ScalarOutputs : NameShape);
}

OpSchemaBuilder AnonymousTable(const char* name) {
  return OpSchemaBuilder(name)
      .Output("table_handle: resource")
      .Attr("key_dtype: type")
      .Attr("value_dtype: type")
      .Stateful()
      .Shape(shapes::ScalarOutputs);
}

// What is particular to dense tables.
OpSchemaBuilder Dense(OpSchemaBuilder op, bool has_deleted_key) {
  op.Input("empty_key: key_dtype");
  if (has_deleted_key) op.Input("deleted_key: key_dtype");
  return op.Attr("value_shape: shape = {}")
      .Attr("initial_num_buckets: int = 131072")
      .Attr("max_load_factor: float = 0.8")
      .Doc("A table that can be changed, in an array with free places, which two keys mark.");
}

OpSchemaBuilder OnTable(const Version& version, const char* name) {
  OpSchemaBuilder op(absl::StrCat(name, version.suffix));
  op.Input(version.handle).Shape(shapes::UnknownShapes);
  if (version.is_second) op.Stateful();
  return op;
}

void RegisterVersion(OpRegistry& ops, const Version& v) {
  ops.Add(Table(v, "HashTable").Doc("A table that is filled once."));
  ops.Add(Table(v, "MutableHashTable").Doc("A table that can be changed."));
  ops.Add(Table(v, "MutableHashTableOfTensors")
              .Attr("value_shape: shape = {}")
              .Doc("A table that can be changed, whose values are tensors of one shape."));
  ops.Add(Dense(Table(v, "MutableDenseHashTable"), v.is_second));
  ops.Add(OnTable(v, "LookupTableFind")
              .Input("keys: Tin")
              .Input("default_value: Tout")
              .Output("values: Tout")
              .Attr("Tin: type")
              .Attr("Tout: type")
              .Shape(FindShape)
              .Doc("The values of keys; the default for those that are not in the table."));
  ops.Add(OnTable(v, "LookupTableInsert")
              .Input("keys: Tin")
              .Input("values: Tout")
              .Attr("Tin: type")
              .Attr("Tout: type")
              .Doc("Adds pairs to the table, or replaces their values."));
  ops.Add(OnTable(v, "LookupTableSize")
              .Output("size: int64")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many keys the table has."));
  ops.Add(OnTable(v, "LookupTableExport")
              .Output("keys: Tkeys")
              .Output("values: Tvalues")
              .Attr("Tkeys: type")
              .Attr("Tvalues: type")
              .Doc("All keys and their values, in no particular order."));
  ops.Add(OnTable(v, "LookupTableImport")
              .Input("keys: Tin")
              .Input("values: Tout")
              .Attr("Tin: type")
              .Attr("Tout: type")
              .Doc("Gives the table these contents in place of what it had."));
  ops.Add(OnTable(v, "InitializeTable")
              .Input("keys: Tkey")
              .Input("values: Tval")
              .Attr("Tkey: type")
              .Attr("Tval: type")
              .Doc("Fills a table; again with the same contents is fine."));
  ops.Add(OnTable(v, "InitializeTableFromTextFile")
              .Input("filename: string")
              .Attr("key_index: int >= -2")
              .Attr("value_index: int >= -2")
              .Attr("vocab_size: int >= -1 = -1")
              .Attr("delimiter: string = '\t'")
              .Attr("offset: int = 0")
              .Doc("Fills a table from the lines of a file. Keys and values are columns, the whole "
                   "line (-2), or the line's number (-1) plus the offset."));
}

}  // namespace

void RegisterLookupOps(OpRegistry& ops) {
  for (const Version& version : kVersions) RegisterVersion(ops, version);
  ops.Add(OnTable(kVersions[1], "LookupTableRemove")
              .Input("keys: Tin")
              .Attr("Tin: type")
              .Doc("Removes keys from the table; those that are not there are fine."));
  ops.Add(
      AnonymousTable("AnonymousHashTable").Doc("A table that is filled once, anew in each step."));
  ops.Add(AnonymousTable("AnonymousMutableHashTable")
              .Doc("A table that can be changed, anew in each step."));
  ops.Add(AnonymousTable("AnonymousMutableHashTableOfTensors")
              .Attr("value_shape: shape = {}")
              .Doc("A table that can be changed, whose values are tensors of one shape, anew in "
                   "each step."));
  ops.Add(Dense(AnonymousTable("AnonymousMutableDenseHashTable"), true));
}

}  // namespace tensorfleet
