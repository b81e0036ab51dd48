// Lookup tables. Kernels: runtime/kernels/cpu/state/lookup_ops.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// The keys' shape followed by that of a value, which is the default's unless that has a row for
// each key.
Status FindShape(ShapeContext& ctx) {
  const PartialShape& fallback = ctx.input(2);
  if (fallback.has_rank() && fallback.rank() == 0) ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

Status ExportShape(ShapeContext& ctx) {
  ctx.set_output(0, shapes::VectorOf(PartialShape::kUnknownDim));
  return OkStatus();
}

OpSchemaBuilder Table(const char* name) {
  return OpSchemaBuilder(name)
      .Output("table_handle: resource")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("use_node_name_sharing: bool = false")
      .Attr("key_dtype: type")
      .Attr("value_dtype: type")
      .Stateful()
      .Shape(shapes::ScalarOutputs);
}

OpSchemaBuilder OnTable(const char* name) {
  return OpSchemaBuilder(name)
      .Input("table_handle: resource")
      .Stateful()
      .Shape(shapes::UnknownShapes);
}

}  // namespace

void RegisterLookupOps(OpRegistry& ops) {
  ops.Add(Table("HashTableV2").Doc("A table that is filled once."));
  ops.Add(Table("MutableHashTableV2").Doc("A table that can be changed."));
  ops.Add(Table("MutableHashTableOfTensorsV2")
              .Attr("value_shape: shape = {}")
              .Doc("A table that can be changed, whose values are tensors of one shape."));
  ops.Add(OnTable("LookupTableFindV2")
              .Input("keys: Tin")
              .Input("default_value: Tout")
              .Output("values: Tout")
              .Attr("Tin: type")
              .Attr("Tout: type")
              .Shape(FindShape)
              .Doc("The values of keys; the default for those that are not in the table."));
  ops.Add(OnTable("LookupTableInsertV2")
              .Input("keys: Tin")
              .Input("values: Tout")
              .Attr("Tin: type")
              .Attr("Tout: type")
              .Doc("Adds pairs to the table, or replaces their values."));
  ops.Add(OnTable("LookupTableRemoveV2")
              .Input("keys: Tin")
              .Attr("Tin: type")
              .Doc("Removes keys from the table; those that are not there are fine."));
  ops.Add(OnTable("LookupTableSizeV2")
              .Output("size: int64")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many keys the table has."));
  ops.Add(OnTable("LookupTableExportV2")
              .Output("keys: Tkeys")
              .Output("values: Tvalues")
              .Attr("Tkeys: type")
              .Attr("Tvalues: type")
              .Shape(ExportShape)
              .Doc("All keys and their values, in no particular order."));
  ops.Add(OnTable("LookupTableImportV2")
              .Input("keys: Tin")
              .Input("values: Tout")
              .Attr("Tin: type")
              .Attr("Tout: type")
              .Doc("Gives the table these contents in place of what it had."));
  ops.Add(OnTable("InitializeTableV2")
              .Input("keys: Tkey")
              .Input("values: Tval")
              .Attr("Tkey: type")
              .Attr("Tval: type")
              .Doc("Fills a table; again with the same contents is fine."));
  ops.Add(OnTable("InitializeTableFromTextFileV2")
              .Input("filename: string")
              .Attr("key_index: int >= -2")
              .Attr("value_index: int >= -2")
              .Attr("vocab_size: int >= -1 = -1")
              .Attr("delimiter: string = '\t'")
              .Attr("offset: int = 0")
              .Doc("Fills a table from the lines of a file. Keys and values are columns, the whole "
                   "line (-2), or the line's number (-1) plus the offset."));
}

}  // namespace tensorfleet
