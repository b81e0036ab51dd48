// DecodeCSV: records of comma-separated values (RFC 4180, without line ends inside plain fields) as
// one tensor for each column. Schema and shape rule: runtime/ops/parsing/decode_ops.cc.
#include <string>
#include <vector>

#include "runtime/kernels/cpu/string/parse_number.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

struct CsvFormat {
  char delimiter = ',';
  bool has_quotes = true;
  std::vector<int64_t> columns;  // the wanted ones in rising order; empty: all
};

// The fields of one record, one after the other. Views into the record, or, for a quoted field with
// quotes inside, into the reader.
class RecordFields {
 public:
  explicit RecordFields(const CsvFormat& format) : format_(format) {}

  // The wanted fields; valid until the next call. Errors: InvalidArgument.
  Status Split(absl::string_view record) {
    record_ = record;
    at_ = 0;
    fields_.clear();
    num_unquoted_ = 0;
    int64_t column = 0;
    while (at_ < record_.size()) {
      if (record_[at_] == '\n' || record_[at_] == '\r') {
        ++at_;
        continue;
      }
      absl::string_view field;
      const bool is_quoted = format_.has_quotes && record_[at_] == '"';
      TFLEET_RETURN_IF_ERROR(is_quoted ? TakeQuoted(&field) : TakePlain(&field));
      if (IsWanted(column++)) {
        fields_.push_back(field);
        if (fields_.size() == format_.columns.size()) return OkStatus();
      }
    }
    if (!record_.empty() && record_.back() == format_.delimiter && IsWanted(column)) {
      fields_.emplace_back();
    }
    return OkStatus();
  }
  const std::vector<absl::string_view>& fields() const { return fields_; }

 private:
  bool IsWanted(int64_t column) const {
    return format_.columns.empty() || format_.columns[fields_.size()] == column;
  }

  Status TakePlain(absl::string_view* field) {
    const size_t begin = at_;
    for (; at_ < record_.size() && record_[at_] != format_.delimiter; ++at_) {
      const char c = record_[at_];
      if ((c == '"' && format_.has_quotes) || c == '\n' || c == '\r') {
        return InvalidArgument("Unquoted fields cannot have quotes/CRLFs inside");
      }
    }
    *field = record_.substr(begin, at_ - begin);
    ++at_;
    return OkStatus();
  }

  // Ends at a quote before a delimiter or the end; two quotes inside stand for one.
  Status TakeQuoted(absl::string_view* field) {
    const size_t begin = ++at_;
    bool has_quote = false;
    const auto is_end = [this] {
      return at_ + 1 >= record_.size() ||
             (record_[at_] == '"' && record_[at_ + 1] == format_.delimiter);
    };
    while (!is_end()) {
      if (record_[at_] != '"') {
        ++at_;
        continue;
      }
      if (record_[at_ + 1] != '"') {
        return InvalidArgument("Quote inside a string has to be escaped by another quote");
      }
      has_quote = true;
      at_ += 2;
    }
    if (at_ >= record_.size() || record_[at_] != '"') {
      return InvalidArgument("Quoted field has to end with quote followed by delim or end");
    }
    *field = record_.substr(begin, at_ - begin);
    if (has_quote) *field = Unquoted(*field);
    at_ += 2;
    return OkStatus();
  }

  // A copy with one quote for each two. The copies of a record are kept apart from each other.
  absl::string_view Unquoted(absl::string_view field) {
    if (num_unquoted_ == unquoted_.size()) {
      unquoted_.push_back(std::make_unique<std::string>());
    }
    std::string& copy = *unquoted_[num_unquoted_++];
    copy.clear();
    for (size_t i = 0; i < field.size(); ++i) {
      copy.push_back(field[i]);
      if (field[i] == '"') ++i;
    }
    return copy;
  }

  const CsvFormat& format_;
  absl::string_view record_;
  size_t at_ = 0;
  std::vector<absl::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unquoted_;
  size_t num_unquoted_ = 0;
};

class DecodeCsv final : public Kernel {
 public:
  explicit DecodeCsv(KernelInit& init) {
    std::string delimiter;
    init.Get("OUT_TYPE", &types_);
    init.Get("field_delim", &delimiter);
    init.Get("use_quote_delim", &format_.has_quotes);
    init.Get("na_value", &missing_);
    init.Get("select_cols", &format_.columns);
    if (init.status().ok()) init.Fail(SetFormat(delimiter));
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& records = ctx.input(0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).rank() > 1) {
        return InvalidArgument("Each record default should be at most rank 1");
      }
      if (ctx.input(i).num_elements() > 1) {
        return InvalidArgument("There should only be 1 default per field but field ", i - 1,
                               " has ", ctx.input(i).num_elements());
      }
    }
    std::vector<Tensor> columns;
    for (const DType type : types_) {
      TFLEET_ASSIGN_OR_RETURN(columns.emplace_back(), ctx.Allocate(type, records.shape()));
    }
    const int64_t nanoseconds = 60 * static_cast<int64_t>(types_.size());
    // The first error by the number of its record, whatever the order in which threads come.
    Mutex mu;
    Status first;
    int64_t first_at = records.num_elements();
    ParallelFor(ctx, records.num_elements(), nanoseconds, [&](int64_t begin, int64_t end) {
      RecordFields fields(format_);
      for (int64_t i = begin; i < end; ++i) {
        Status status = fields.Split(records.values<std::string>()[i]);
        if (status.ok()) status = SetRow(ctx, fields.fields(), i, &columns);
        if (status.ok()) continue;
        MutexLock lock(&mu);
        if (i < first_at) {
          first_at = i;
          first = std::move(status);
        }
        return;
      }
    });
    TFLEET_RETURN_IF_ERROR(first);
    for (size_t i = 0; i < columns.size(); ++i) {
      ctx.SetOutput(static_cast<int>(i), std::move(columns[i]));
    }
    return OkStatus();
  }
  bool IsExpensive() const override { return true; }

 private:
  Status SetFormat(const std::string& delimiter) {
    if (delimiter.size() != 1) return InvalidArgument("field_delim should be only 1 char");
    format_.delimiter = delimiter[0];
    const std::vector<int64_t>& columns = format_.columns;
    if (columns.empty()) return OkStatus();
    if (columns.size() != types_.size()) {
      return InvalidArgument("select_cols should match output size");
    }
    if (columns[0] < 0) return InvalidArgument("select_cols should be non-negative indices");
    for (size_t i = 1; i < columns.size(); ++i) {
      if (columns[i] > columns[i - 1]) continue;
      return InvalidArgument("select_cols should be strictly increasing indices");
    }
    return OkStatus();
  }

  Status SetRow(const KernelContext& ctx, const std::vector<absl::string_view>& fields,
                int64_t record, std::vector<Tensor>* columns) const {
    if (fields.size() != types_.size()) {
      return InvalidArgument("Expect ", types_.size(), " fields but have ", fields.size(),
                             " in record ", record);
    }
    for (size_t f = 0; f < fields.size(); ++f) {
      const Tensor& fallback = ctx.input(static_cast<int>(f) + 1);
      Tensor& column = (*columns)[f];
      const bool is_missing = fields[f].empty() || fields[f] == missing_;
      if (is_missing && fallback.num_elements() != 1) {
        return InvalidArgument("Field ", f, " is required but missing in record ", record, "!");
      }
      bool is_valid = true;
      switch (types_[f]) {
        case DType::kInt32:
          is_valid = Set<int32_t>(fields[f], is_missing, fallback, record, &column);
          break;
        case DType::kInt64:
          is_valid = Set<int64_t>(fields[f], is_missing, fallback, record, &column);
          break;
        case DType::kFloat:
          is_valid = Set<float>(fields[f], is_missing, fallback, record, &column);
          break;
        case DType::kDouble:
          is_valid = Set<double>(fields[f], is_missing, fallback, record, &column);
          break;
        default: {
          std::string& text = column.mutable_values<std::string>()[record];
          if (is_missing) {
            text = fallback.values<std::string>()[0];
          } else {
            text.assign(fields[f].data(), fields[f].size());
          }
        }
      }
      if (!is_valid) {
        return InvalidArgument("Field ", f, " in record ", record, " is not a valid ",
                               DTypeName(types_[f]), ": ", fields[f]);
      }
    }
    return OkStatus();
  }

  template <typename T>
  static bool Set(absl::string_view field, bool is_missing, const Tensor& fallback, int64_t at,
                  Tensor* column) {
    T& value = column->mutable_values<T>()[at];
    if (!is_missing) return ParseNumber(field, &value);
    value = fallback.values<T>()[0];
    return true;
  }

  std::vector<DType> types_;
  CsvFormat format_;
  std::string missing_;
};

}  // namespace

void RegisterDecodeCsvKernels(KernelRegistry& r) { r.Add<DecodeCsv>("DecodeCSV", kCpu); }

}  // namespace tensorfleet::cpu
