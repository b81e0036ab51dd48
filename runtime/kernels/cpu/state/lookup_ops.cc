// Lookup tables: HashTableV2, MutableHashTableV2 and what is done with them. Schemas:
// runtime/ops/state/lookup_ops.cc.
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/io/file_system.h"
#include "runtime/kernels/cpu/state/lookup_table.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/io_kernel.h"
#include "runtime/kernels/private_resource.h"

namespace tensorfleet::cpu {
namespace {

class MakeTable final : public Kernel {
 public:
  explicit MakeTable(KernelInit& init) : owned_(init) {
    type_.is_mutable = init.node().op() != "HashTableV2";
    init.Get("key_dtype", &type_.key);
    init.Get("value_dtype", &type_.value);
    if (init.node().op() == "MutableHashTableOfTensorsV2")
      init.Get("value_shape", &type_.value_shape);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<LookupTable> table,
                            owned_.FindOrMake(ctx, [&] { return LookupTable::Make(type_); }));
    const LookupTable::Type& found = table->type();
    if (!(found == type_)) {
      return InvalidArgument("Conflicting key/value dtypes ", DTypeName(type_.key), "->",
                             DTypeName(type_.value), " with ", DTypeName(found.key), "-",
                             DTypeName(found.value), " for table ", owned_.name());
    }
    ctx.SetOutput(0, owned_.Handle(ctx, "N10tensorflow6lookup15LookupInterfaceE"));
    return OkStatus();
  }

 private:
  const OwnedResource<LookupTable> owned_;
  LookupTable::Type type_;
};

class TableKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const final {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<LookupTable> table,
                            LookupResource<LookupTable>(ctx, 0));
    return Use(ctx, *table);
  }

 private:
  virtual Status Use(KernelContext& ctx, LookupTable& table) const = 0;
};

class TableFind final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor values, table.Find(ctx.input(1), ctx.input(2)));
    ctx.SetOutput(0, std::move(values));
    return OkStatus();
  }
};

class TableInsert final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    return table.Insert(ctx.input(1), ctx.input(2));
  }
};

class TableRemove final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    return table.Remove(ctx.input(1));
  }
};

class TableSize final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    ctx.SetOutput(0, Tensor::Scalar(table.size()));
    return OkStatus();
  }
};

class TableExport final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    Tensor keys, values;
    TFLEET_RETURN_IF_ERROR(table.Export(&keys, &values));
    if (keys.dtype() != ctx.node().output_type(0) || values.dtype() != ctx.node().output_type(1)) {
      return InvalidArgument("the table has keys of ", DTypeName(keys.dtype()), " and values of ",
                             DTypeName(values.dtype()));
    }
    ctx.SetOutput(0, std::move(keys));
    ctx.SetOutput(1, std::move(values));
    return OkStatus();
  }
};

// InitializeTableV2 and LookupTableImportV2.
class TableFill final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    if (ctx.node().op() == "InitializeTableV2" && ctx.input(1).rank() != 1) {
      return InvalidArgument("Keys must be a vector, but received shape",
                             ctx.input(1).shape().ToString());
    }
    return table.Fill(ctx.input(1), ctx.input(2));
  }
};

// One pair for each line of a file.
class TableFillFromFile final : public portable::IoKernel {
 public:
  explicit TableFillFromFile(KernelInit& init) {
    init.Get("key_index", &key_index_);
    init.Get("value_index", &value_index_);
    init.Get("vocab_size", &vocab_size_);
    init.Get("delimiter", &delimiter_);
    init.Get("offset", &offset_);
    if (init.status().ok() && delimiter_.size() != 1) {
      init.Fail(InvalidArgument("delimiter should be only 1 char, not '", delimiter_, "'"));
    }
  }

 private:
  static constexpr int64_t kWholeLine = -2, kLineNumber = -1;

  Status ComputeIo(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<LookupTable> table,
                            LookupResource<LookupTable>(ctx, 0));
    if (ctx.input(1).num_elements() != 1) {
      return InvalidArgument("filename should be a single string, but got ",
                             ctx.input(1).shape().ToString());
    }
    const std::string& name = ctx.input(1).values<std::string>()[0];
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(name));
    TFLEET_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(*path.file_system, path.path));
    std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    if (vocab_size_ >= 0 && static_cast<int64_t>(lines.size()) < vocab_size_) {
      return InvalidArgument("Invalid vocab_size in ", name, ": expected ", vocab_size_,
                             " but got ", lines.size());
    }
    if (vocab_size_ >= 0) lines.resize(vocab_size_);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({static_cast<int64_t>(lines.size())}));
    TFLEET_ASSIGN_OR_RETURN(Tensor keys, ctx.Allocate(table->type().key, shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(table->type().value, shape));
    for (size_t i = 0; i < lines.size(); ++i) {
      // Files from other systems end their lines with a carriage return too.
      absl::string_view line = lines[i];
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      const std::vector<absl::string_view> columns = absl::StrSplit(line, delimiter_[0]);
      for (const bool is_key : {true, false}) {
        Status status = SetElement(is_key ? key_index_ : value_index_, line, columns, i,
                                   is_key ? &keys : &values);
        if (!status.ok()) {
          return Prefixed(absl::StrCat(name, " line ", i + 1, ": "), status);
        }
      }
    }
    return table->Fill(keys, values);
  }

  Status SetElement(int64_t index, absl::string_view line,
                    const std::vector<absl::string_view>& columns, size_t number,
                    Tensor* out) const {
    if (index == kLineNumber) {
      if (out->dtype() != DType::kInt64) {
        return InvalidArgument("line numbers are int64, not ", DTypeName(out->dtype()));
      }
      out->mutable_values<int64_t>()[number] = static_cast<int64_t>(number) + offset_;
      return OkStatus();
    }
    absl::string_view text = line;
    if (index != kWholeLine) {
      if (index >= static_cast<int64_t>(columns.size())) {
        return InvalidArgument("Invalid number of columns: column ", index, " of ", columns.size());
      }
      text = columns[index];
    }
    return Parse(text, number, out);
  }

  static Status Parse(absl::string_view text, size_t at, Tensor* out) {
    bool is_number = true;
    switch (out->dtype()) {
      case DType::kString:
        out->mutable_values<std::string>()[at] = std::string(text);
        break;
      case DType::kInt32:
        is_number = absl::SimpleAtoi(text, &out->mutable_values<int32_t>()[at]);
        break;
      case DType::kInt64:
        is_number = absl::SimpleAtoi(text, &out->mutable_values<int64_t>()[at]);
        break;
      case DType::kFloat:
        is_number = absl::SimpleAtof(text, &out->mutable_values<float>()[at]);
        break;
      case DType::kDouble:
        is_number = absl::SimpleAtod(text, &out->mutable_values<double>()[at]);
        break;
      default:
        return InvalidArgument("Data type ", DTypeName(out->dtype()),
                               " not supported. Use int64, int32, float, double or string");
    }
    if (is_number) return OkStatus();
    return InvalidArgument("'", text, "' is not a valid ", DTypeName(out->dtype()));
  }

  int64_t key_index_ = kWholeLine, value_index_ = kLineNumber, vocab_size_ = -1, offset_ = 0;
  std::string delimiter_;
};

}  // namespace

void RegisterLookupKernels(KernelRegistry& r) {
  for (const char* op : {"HashTableV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2"}) {
    r.Add<MakeTable>(op, kCpu);
  }
  r.Add<TableFind>("LookupTableFindV2", kCpu);
  r.Add<TableInsert>("LookupTableInsertV2", kCpu);
  r.Add<TableRemove>("LookupTableRemoveV2", kCpu);
  r.Add<TableSize>("LookupTableSizeV2", kCpu);
  r.Add<TableExport>("LookupTableExportV2", kCpu);
  r.Add<TableFill>("LookupTableImportV2", kCpu);
  r.Add<TableFill>("InitializeTableV2", kCpu);
  r.Add<TableFillFromFile>("InitializeTableFromTextFileV2", kCpu);
}

}  // namespace tensorfleet::cpu
