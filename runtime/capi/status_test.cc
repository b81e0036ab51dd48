#include <cerrno>
#include <cstring>
#include <map>

#include "runtime/capi/testing/c_graph.h"

namespace tensorfleet::capi {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CStatus, HoldsWhatWasSetLast) {
  Outcome outcome;
  EXPECT_EQ(outcome.code(), TF_OK);
  EXPECT_EQ(outcome.message(), "");
  TF_SetStatus(outcome, TF_NOT_FOUND, "no such thing");
  EXPECT_EQ(outcome.code(), TF_NOT_FOUND);
  EXPECT_EQ(outcome.message(), "no such thing");
  TF_SetStatus(outcome, TF_OK, "dropped");
  EXPECT_EQ(outcome.code(), TF_OK);
  EXPECT_EQ(outcome.message(), "");
}

TEST(CStatus, ShowsItsPayloads) {
  Outcome outcome;
  TF_SetStatus(outcome, TF_ABORTED, "gone");
  TF_SetPayload(outcome, "who", "ps:0");
  std::map<std::string, std::string> seen;
  TF_ForEachPayload(
      outcome,
      [](const char* key, const char* value, void* capture) {
        (*static_cast<std::map<std::string, std::string>*>(capture))[key] = value;
      },
      &seen);
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"who", "ps:0"}}));
}

TEST(CStatus, TakesErrnosCode) {
  Outcome outcome;
  TF_SetStatusFromIOError(outcome, ENOENT, "/a/b");
  EXPECT_EQ(outcome.code(), TF_NOT_FOUND);
  EXPECT_THAT(outcome.message(), StartsWith("/a/b; No such file"));
}

TEST(CStatus, NullIsNoStatus) {
  TF_SetStatus(nullptr, TF_ABORTED, "x");
  TF_SetPayload(nullptr, "a", "b");
  TF_DeleteStatus(nullptr);
  EXPECT_EQ(TF_GetCode(nullptr), TF_OK);
}

TEST(CBuffer, CopiesItsBytes) {
  char text[] = "bytes";
  const Owned<TF_Buffer> buffer(TF_NewBufferFromString(text, 5));
  text[0] = 'X';
  EXPECT_EQ(TextOf(buffer.get()), "bytes");
  EXPECT_EQ(TF_GetBuffer(buffer.get()).length, 5u);
}

TEST(CBuffer, GivesBackWhatItWasGiven) {
  static bool given_back = false;
  TF_Buffer* buffer = TF_NewBuffer();
  buffer->data = &given_back;
  buffer->data_deallocator = [](void* data, size_t) { *static_cast<bool*>(data) = true; };
  TF_DeleteBuffer(buffer);
  EXPECT_TRUE(given_back);
}

TEST(CBuffer, ThatHoldsSomethingIsNotFilled) {
  const Owned<TF_Graph> graph(TF_NewGraph());
  const Owned<TF_Buffer> buffer(TF_NewBufferFromString("x", 1));
  Outcome outcome;
  TF_GraphToGraphDef(graph.get(), buffer.get(), outcome);
  EXPECT_EQ(outcome.code(), TF_INVALID_ARGUMENT);
}

TEST(CVersion, IsThatOfTheInterface) { EXPECT_STREQ(TF_Version(), "2.15.0"); }

TEST(CMissing, NamesWhatIsNotThere) {
  Outcome outcome;
  EXPECT_EQ(TF_LoadLibrary("/no/such.so", outcome), nullptr);
  EXPECT_EQ(outcome.code(), TF_UNIMPLEMENTED);
  EXPECT_THAT(outcome.message(), HasSubstr("TF_LoadLibrary"));
}

}  // namespace
}  // namespace tensorfleet::capi
