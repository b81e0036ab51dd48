#include "operator/api/values/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tensorfleet::api {
namespace {

using nlohmann::json;

TEST(Yaml, BecomesJsonAsKubernetesReadsIt) {
  const auto documents = ParseYaml(
      "a: {n: 3, q: \"3\", b: true, s: 'true', f: 1.5, z: ~, t: 1h}\n---\n---\nl: [1, x]\n");
  ASSERT_TRUE(documents.ok()) << documents.status();
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[0].json["a"], (json{{"n", 3},
                                             {"q", "3"},
                                             {"b", true},
                                             {"s", "true"},
                                             {"f", 1.5},
                                             {"z", nullptr},
                                             {"t", "1h"}}));
  EXPECT_EQ((*documents)[1].json["l"], (json{1, "x"}));
}

TEST(Yaml, IsRefusedWhenHostile) {
  EXPECT_FALSE(ParseYaml("a: [").ok());
  EXPECT_FALSE(ParseYaml("[a, b]: c").ok());
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before(1, c - 1);
    bomb += absl::StrCat(std::string(1, c), ": &", std::string(1, c), " [");
    for (int i = 0; i < 10; ++i) absl::StrAppend(&bomb, i ? "," : "", "*", before);
    bomb += "]\n";
  }
  EXPECT_FALSE(ParseYaml(bomb).ok());
}

TEST(Yaml, KnowsTheLineOfEachField) {
  const auto documents = ParseYaml(
      "kind: TFJob\nspec:\n  tfReplicaSpecs:\n    Worker:\n      replicas: 2\n"
      "      list:\n      - a\n      - name: b\n");
  ASSERT_TRUE(documents.ok()) << documents.status();
  const YamlDocument& document = documents->front();
  EXPECT_EQ(document.LineOf("kind"), 1);
  EXPECT_EQ(document.LineOf("spec.tfReplicaSpecs"), 3);
  EXPECT_EQ(document.LineOf("spec.tfReplicaSpecs[Worker].replicas"), 5);
  EXPECT_EQ(document.LineOf("spec.tfReplicaSpecs[Worker].list[1].name"), 8);
}

TEST(Yaml, GivesTheLineAroundAnAbsentField) {
  const auto documents = ParseYaml("a: 1\nspec:\n  x: 2\n");
  ASSERT_TRUE(documents.ok()) << documents.status();
  EXPECT_EQ(documents->front().LineOf("spec.tfReplicaSpecs[Worker].replicas"), 2);
  EXPECT_EQ(documents->front().LineOf("metadata.name"), 1);
}

TEST(Yaml, RefusesAKeyGivenTwiceAndNamesItsLine) {
  const auto documents = ParseYaml("a:\n  b: 1\n  c: 2\n  b: 3\n");
  EXPECT_EQ(documents.status().message(), "line 4: key \"b\" is given twice");
}

TEST(Yaml, SaysWhereTheSyntaxIsWrong) {
  const auto documents = ParseYaml("a: 1\nb: [1,\nc: 2\n");
  EXPECT_THAT(std::string(documents.status().message()), ::testing::StartsWith("line "));
  EXPECT_THAT(std::string(documents.status().message()), ::testing::HasSubstr("not YAML"));
}

TEST(Yaml, DoesNotGrowWithTheLengthOfItsKeys) {
  const std::string key(1000, 'k');
  std::string text;
  for (int depth = 0; depth < 50; ++depth) absl::StrAppend(&text, "{", key, ": ");
  text += "[";
  for (int i = 0; i < 100000; ++i) text += "x,";
  text += "]" + std::string(50, '}');
  const auto documents = ParseYaml(text);
  ASSERT_TRUE(documents.ok()) << documents.status().message().substr(0, 200);
  size_t bytes = 0;
  for (const auto& [path, line] : documents->front().lines) bytes += path.size();
  EXPECT_LT(bytes, 256u * 50'000u);
}

TEST(YamlValue, IsOneValue) {
  EXPECT_EQ(*ParseYamlValue("4"), json(4));
  EXPECT_EQ(*ParseYamlValue("[a, 1]"), (json{"a", 1}));
  EXPECT_EQ(*ParseYamlValue(""), json());
  EXPECT_FALSE(ParseYamlValue("a\n---\nb").ok());
}

}  // namespace
}  // namespace tensorfleet::api
