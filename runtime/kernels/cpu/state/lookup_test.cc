#include "runtime/io/file_system.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

Tensor Words(std::initializer_list<std::string> words) {
  return Tensor::Vector<std::string>(words);
}
Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }

class LookupTest : public OpTest {
 protected:
  static OpNode Table(const char* op) {
    return OpNode(op)
        .Attr("shared_name", "t")
        .Attr("key_dtype", DType::kString)
        .Attr("value_dtype", DType::kInt64);
  }
  StatusOr<Tensor> Find(const Tensor& table, const Tensor& keys) {
    TFLEET_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                            Run("LookupTableFindV2", {table, keys, Tensor::Scalar<int64_t>(-1)}));
    return out[0];
  }
  Status Do(const char* op, std::vector<OpInput> inputs) {
    return Run(op, std::move(inputs)).status();
  }
};

TEST_F(LookupTest, AStaticTableIsFilledOnce) {
  const Tensor table = RunOne(Table("HashTableV2"), {});
  EXPECT_EQ(Find(table, Words({"a"})).status(), FailedPrecondition("Table not initialized."));
  ASSERT_TRUE(Do("InitializeTableV2", {table, Words({"a", "b"}), Longs({1, 2})}).ok());
  ExpectSame(*Find(table, Words({"b", "x", "a"})), Longs({2, -1, 1}));
  ExpectSame(RunOne("LookupTableSizeV2", {table}), Tensor::Scalar<int64_t>(2));
  EXPECT_TRUE(Do("InitializeTableV2", {table, Words({"b", "a"}), Longs({2, 1})}).ok());
  EXPECT_EQ(Do("InitializeTableV2", {table, Words({"a"}), Longs({1})}),
            FailedPrecondition("Table was already initialized with different data."));
}

TEST_F(LookupTest, KeysAreStringsOrWholeIntegers) {
  OpNode table = Table("MutableHashTableV2");
  EXPECT_EQ(Run(table.Attr("key_dtype", DType::kInt4), {}).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(LookupTest, AKeyOfAStaticTableHasOneValue) {
  const Tensor table = RunOne(Table("HashTableV2"), {});
  EXPECT_THAT(Do("InitializeTableV2", {table, Words({"a", "a"}), Longs({1, 2})}).message(),
              HasSubstr("different value for same key. Key a"));
  EXPECT_TRUE(Do("InitializeTableV2", {table, Words({"a", "a"}), Longs({1, 1})}).ok());
  EXPECT_THAT(
      Do("InitializeTableV2", {table, Tensor::Scalar("a"), Tensor::Scalar<int64_t>(1)}).message(),
      HasSubstr("Keys must be a vector, but received shape[]"));
}

TEST_F(LookupTest, AMutableTableChanges) {
  const Tensor table = RunOne(Table("MutableHashTableV2"), {});
  ExpectSame(*Find(table, Words({"a"})), Longs({-1}));
  ASSERT_TRUE(Do("LookupTableInsertV2", {table, Words({"a", "b", "c"}), Longs({1, 2, 3})}).ok());
  ASSERT_TRUE(Do("LookupTableInsertV2", {table, Words({"b"}), Longs({5})}).ok());
  ASSERT_TRUE(Do("LookupTableRemoveV2", {table, Words({"a", "nobody"})}).ok());
  ExpectSame(*Find(table, Words({"a", "b", "c"})), Longs({-1, 5, 3}));
  const std::vector<Tensor> all = *Run(
      OpNode("LookupTableExportV2").Attr("Tkeys", DType::kString).Attr("Tvalues", DType::kInt64),
      {table});
  ExpectSame(*Find(table, all[0]), all[1]);
  EXPECT_EQ(all[0].num_elements(), 2);
  ASSERT_TRUE(Do("LookupTableImportV2", {table, Words({"z"}), Longs({26})}).ok());
  ExpectSame(*Find(table, Words({"b", "z"})), Longs({-1, 26}));
}

TEST_F(LookupTest, ValuesMayBeTensors) {
  const Tensor table = RunOne(OpNode("MutableHashTableOfTensorsV2")
                                  .Attr("key_dtype", DType::kInt32)
                                  .Attr("value_dtype", DType::kString)
                                  .Attr("value_shape", PartialShape({2})),
                              {});
  // The table goes with its node unless it is shared.
  EXPECT_EQ(Do("LookupTableSizeV2", {table}).code(), absl::StatusCode::kNotFound);
  const Tensor shared = RunOne(OpNode("MutableHashTableOfTensorsV2")
                                   .Attr("shared_name", "tensors")
                                   .Attr("key_dtype", DType::kInt32)
                                   .Attr("value_dtype", DType::kString)
                                   .Attr("value_shape", PartialShape({2})),
                               {});
  const Tensor keys = Tensor::Vector<int32_t>({7, -8});
  ASSERT_TRUE(Do("LookupTableInsertV2",
                 {shared, keys, Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"})})
                  .ok());
  ExpectSame(
      RunOne("LookupTableFindV2", {shared, Tensor::Vector<int32_t>({-8, 0}), Words({"x", "y"})}),
      Tensor::Of<std::string>({2, 2}, {"c", "d", "x", "y"}));
  const std::vector<Tensor> all = *Run(
      OpNode("LookupTableExportV2").Attr("Tkeys", DType::kInt32).Attr("Tvalues", DType::kString),
      {shared});
  ExpectSame(all[0], keys);
}

TEST_F(LookupTest, NamesTypesAndShapesThatDoNotFit) {
  const Tensor table = RunOne(Table("MutableHashTableV2"), {});
  EXPECT_EQ(Find(table, Longs({1})).status(),
            InvalidArgument("Key must be type string but got int64"));
  EXPECT_EQ(Do("LookupTableInsertV2", {table, Words({"a"}), Longs({1, 2})}),
            InvalidArgument("Expected shape [1] for value, got [2]"));
  EXPECT_THAT(
      Run(Table("MutableHashTableV2").Attr("key_dtype", DType::kInt64), {}).status().message(),
      HasSubstr("Conflicting key/value dtypes int64->int64 with string-int64"));
}

TEST_F(LookupTest, AFileFillsATable) {
  const std::string path = ::testing::TempDir() + "/lookup_vocabulary";
  ASSERT_TRUE(WriteWholeFile(*FileSystem::Local(), path, "a 10\nb 20\r\nc 30\n").ok());
  OpNode fill("InitializeTableFromTextFileV2");
  fill.Attr("key_index", 0).Attr("value_index", 1).Attr("delimiter", " ");
  const Tensor table = RunOne(Table("HashTableV2"), {});
  ASSERT_TRUE(Run(fill, {table, Tensor::Scalar<std::string>(path)}).ok());
  ExpectSame(*Find(table, Words({"a", "b", "c"})), Longs({10, 20, 30}));

  const Tensor lines = RunOne(Table("HashTableV2").Attr("shared_name", "lines"), {});
  OpNode number("InitializeTableFromTextFileV2");
  number.Attr("key_index", -2).Attr("value_index", -1).Attr("offset", 5).Attr("vocab_size", 2);
  ASSERT_TRUE(Run(number, {lines, Tensor::Scalar<std::string>(path)}).ok());
  ExpectSame(*Find(lines, Words({"a 10", "b 20", "c 30"})), Longs({5, 6, -1}));

  EXPECT_THAT(Run(number.Attr("vocab_size", 9), {lines, Tensor::Scalar<std::string>(path)})
                  .status()
                  .message(),
              HasSubstr("expected 9 but got 3"));
  const Tensor bad = RunOne(Table("HashTableV2").Attr("shared_name", "bad"), {});
  EXPECT_THAT(Run(fill.Attr("value_index", 0).Attr("key_index", 1),
                  {bad, Tensor::Scalar<std::string>(path)})
                  .status()
                  .message(),
              HasSubstr("line 1: 'a' is not a valid int64"));
}

TEST_F(LookupTest, ADenseTableOfTheFirstVersionIsNamedByReference) {
  OpOutputs made;
  ASSERT_EQ(RunInto(OpNode("MutableDenseHashTable")
                        .Attr("shared_name", "dense")
                        .Attr("key_dtype", DType::kInt64)
                        .Attr("value_dtype", DType::kInt64)
                        .Attr("initial_num_buckets", 4),
                    {Tensor::Scalar<int64_t>(0)}, &made),
            absl::OkStatus());
  const ResourceRef<Variable> table = made[0].ref;
  const Tensor many = Tensor::Vector<int64_t>({5, 9, 13, 17, 21});  // one place for all at first
  ASSERT_EQ(Run("LookupTableInsert", {table, many, many}).status(), absl::OkStatus());
  ExpectSame(RunOne("LookupTableFind", {table, many, Tensor::Scalar<int64_t>(-1)}), many);
  ExpectSame(RunOne("LookupTableSize", {table}), Tensor::Scalar<int64_t>(5));
  EXPECT_EQ(
      Run("LookupTableFind", {table, Tensor::Vector<int64_t>({0}), Tensor::Scalar<int64_t>(-1)})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);  // the key that marks free places
}

}  // namespace
}  // namespace tensorfleet
