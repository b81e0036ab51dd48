// Lookup tables and what is done with them. Schemas: runtime/ops/state/lookup_ops.cc; the tables:
// lookup_table.h.
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/io/file_system.h"
#include "runtime/kernels/cpu/state/dense_table.h"
#include "runtime/kernels/cpu/state/hash_table.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/named_resource.h"
#include "runtime/kernels/portable/io_kernel.h"

namespace tensorfleet::cpu {
namespace {

constexpr char kTableType[] = "N10tensorflow6lookup15LookupInterfaceE";
// Where tables without a name live that end with the step.
constexpr char kAnonymous[] = "Anonymous";

// What the attributes, and for dense tables the inputs, of a node say of its table.
class TableSpec {
 public:
  explicit TableSpec(KernelInit& init) {
    const std::string& op = init.node().op();
    const bool is_dense = absl::StrContains(op, "Dense");
    type_.kind = is_dense                           ? LookupTable::Kind::kDense
                 : absl::StrContains(op, "Mutable") ? LookupTable::Kind::kMutable
                                                    : LookupTable::Kind::kStatic;
    init.Get("key_dtype", &type_.key);
    init.Get("value_dtype", &type_.value);
    if (is_dense || absl::StrContains(op, "OfTensors")) {
      init.Get("value_shape", &type_.value_shape);
    }
    if (is_dense) {
      init.Get("initial_num_buckets", &dense_.places);
      init.Get("max_load_factor", &dense_.max_load);
    } else if (init.status().ok() && absl::StrContains(op, "OfTensors") &&
               type_.value_shape.rank() != 1) {
      init.Fail(InvalidArgument("Default value must be a vector, got shape ",
                                type_.value_shape.ToString()));
    }
  }

  LookupTable::Type TypeIn(const KernelContext& ctx) const {
    LookupTable::Type type = type_;
    if (type.kind == LookupTable::Kind::kDense) type.key_shape = ctx.input(0).shape();
    return type;
  }
  StatusOr<ResourceRef<LookupTable>> Make(const KernelContext& ctx) const {
    if (type_.kind != LookupTable::Kind::kDense) return HashTable::Make(type_);
    DenseTable::Options options = dense_;
    options.empty_key = ctx.input(0);
    if (ctx.num_inputs() > 1) options.deleted_key = ctx.input(1);
    return DenseTable::Make(TypeIn(ctx), options);
  }

 private:
  LookupTable::Type type_;
  DenseTable::Options dense_;
};

class MakeTable final : public Kernel {
 public:
  explicit MakeTable(KernelInit& init) : owned_(init), spec_(init) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<LookupTable> table,
                            owned_.FindOrMake(ctx, [&] { return spec_.Make(ctx); }));
    const LookupTable::Type wanted = spec_.TypeIn(ctx);
    const LookupTable::Type& found = table->type();
    if (!(found == wanted)) {
      return InvalidArgument("Conflicting key/value dtypes ", DTypeName(wanted.key), "->",
                             DTypeName(wanted.value), " with ", DTypeName(found.key), "-",
                             DTypeName(found.value), " for table ", owned_.name());
    }
    owned_.SetOutput(ctx, kTableType);
    return OkStatus();
  }

 private:
  const NamedResource<LookupTable> owned_;
  const TableSpec spec_;
};

// A new table in each step.
class MakeAnonymousTable final : public Kernel {
 public:
  explicit MakeAnonymousTable(KernelInit& init) : spec_(init) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(ResourceRef<LookupTable> table, spec_.Make(ctx));
    ResourceManager& resources = *ctx.step().step_resources;
    ResourceHandle handle;
    handle.device = ctx.step().device->name();
    handle.container = kAnonymous;
    handle.name = absl::StrCat("Resource-", resources.NextPrivateId());
    handle.type_name = kTableType;
    TFLEET_RETURN_IF_ERROR(
        resources.Add<LookupTable>(handle.container, handle.name, std::move(table)));
    ctx.SetOutput(0, Tensor::Scalar<ResourceHandle>(std::move(handle)));
    return OkStatus();
  }

 private:
  const TableSpec spec_;
};

StatusOr<ResourceRef<LookupTable>> FindTable(KernelContext& ctx) {
  const ResourceHandle* handle = ctx.ref_input_ptr(0) ? nullptr : HandleFromInput(ctx, 0);
  if (handle == nullptr || handle->container != kAnonymous) {
    return LookupNamedResource<LookupTable>(ctx, 0);
  }
  TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
  return ctx.step().step_resources->Find<LookupTable>(handle->container, handle->name);
}

class TableKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const final {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<LookupTable> table, FindTable(ctx));
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

class TableInitialize final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    if (ctx.input(1).rank() != 1) {
      return InvalidArgument("Keys must be a vector, but received shape",
                             ctx.input(1).shape().ToString());
    }
    return table.Initialize(ctx.input(1), ctx.input(2));
  }
};

class TableImport final : public TableKernel {
  Status Use(KernelContext& ctx, LookupTable& table) const override {
    return table.Import(ctx.input(1), ctx.input(2));
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
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<LookupTable> table, FindTable(ctx));
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
    return table->Initialize(keys, values);
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
  for (const char* version : {"", "V2"}) {
    const auto name = [version](const char* op) { return absl::StrCat(op, version); };
    for (const char* op :
         {"HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"}) {
      r.Add<MakeTable>(name(op), kCpu);
    }
    r.Add<TableFind>(name("LookupTableFind"), kCpu);
    r.Add<TableInsert>(name("LookupTableInsert"), kCpu);
    r.Add<TableSize>(name("LookupTableSize"), kCpu);
    r.Add<TableExport>(name("LookupTableExport"), kCpu);
    r.Add<TableImport>(name("LookupTableImport"), kCpu);
    r.Add<TableInitialize>(name("InitializeTable"), kCpu);
    r.Add<TableFillFromFile>(name("InitializeTableFromTextFile"), kCpu);
  }
  r.Add<TableRemove>("LookupTableRemoveV2", kCpu);
  for (const char* op : {"AnonymousHashTable", "AnonymousMutableHashTable",
                         "AnonymousMutableHashTableOfTensors", "AnonymousMutableDenseHashTable"}) {
    r.Add<MakeAnonymousTable>(op, kCpu);
  }
}

}  // namespace tensorfleet::cpu
