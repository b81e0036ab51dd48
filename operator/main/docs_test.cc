// What the documents promise is there: every field is explained, and every fault of the reference
// that we claim not to have is held by a test of that name.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

namespace tensorfleet::operator_main {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kSource = FLEET_SOURCE_DIR;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Names of all properties below `schema`, but for those of pod templates, which are Kubernetes'
// own.
void CollectFields(const YAML::Node& schema, std::set<std::string>& names) {
  for (const char* inner : {"items", "additionalProperties"}) {
    if (schema[inner] && schema[inner].IsMap()) CollectFields(schema[inner], names);
  }
  if (!schema["properties"]) return;
  for (const auto& property : schema["properties"]) {
    const std::string name = property.first.as<std::string>();
    names.insert(name);
    if (name != "template") CollectFields(property.second, names);
  }
}

TEST(FieldsDoc, NamesEveryFieldOfTheSchema) {
  const YAML::Node crd = YAML::LoadFile(kSource / "deploy/crd/tfjob.yaml");
  const YAML::Node schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  std::set<std::string> names;
  CollectFields(schema["properties"]["spec"], names);
  CollectFields(schema["properties"]["status"], names);
  EXPECT_GT(names.size(), 50u);
  const std::string text = TextOf(kSource / "operator/docs/fields.md");
  for (const std::string& name : names) {
    const std::regex word("\\b" + name + "\\b");
    EXPECT_TRUE(std::regex_search(text, word)) << name << " is not in operator/docs/fields.md";
  }
}

// All tests of the operator, as "Suite.Name".
std::set<std::string> Tests() {
  std::set<std::string> tests;
  const std::regex definition(R"(TEST(_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "operator")) {
    const std::string name = entry.path().filename().string();
    if (name.size() < 8 || name.compare(name.size() - 8, 8, "_test.cc") != 0) continue;
    const std::string text = TextOf(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), definition), end; it != end; ++it) {
      tests.insert((*it)[2].str() + "." + (*it)[3].str());
    }
  }
  return tests;
}

TEST(FaultsDoc, NamesATestForEachFault) {
  const std::set<std::string> tests = Tests();
  const std::regex named(R"(`([A-Z]\w+\.[A-Z]\w+)`)");
  std::istringstream lines(TextOf(kSource / "operator/docs/reference_faults.md"));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| ---", 0) == 0 || line.rfind("| there", 0) == 0) {
      continue;
    }
    ++rows;
    int found = 0;
    for (std::sregex_iterator it(line.begin(), line.end(), named), end; it != end; ++it, ++found) {
      EXPECT_EQ(tests.count((*it)[1].str()), 1u) << (*it)[1].str() << " is no test: " << line;
    }
    EXPECT_GT(found, 0) << "no test is named: " << line;
  }
  EXPECT_GE(rows, 50);
}

}  // namespace
}  // namespace tensorfleet::operator_main
