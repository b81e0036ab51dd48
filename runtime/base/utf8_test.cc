#include "runtime/base/utf8.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

TEST(Utf8Text, LeavesCharactersAlone) {
  EXPECT_EQ(Utf8Text("plain"), "plain");
  EXPECT_EQ(Utf8Text("\u00fc\u20ac\U0001F600"), "\u00fc\u20ac\U0001F600");
  EXPECT_EQ(Utf8Text(absl::string_view("a\0b", 3)), std::string("a\0b", 3));
}

TEST(Utf8Text, SpellsOutOtherBytes) {
  EXPECT_EQ(Utf8Text("a\xff\xfe!"), "a\\xff\\xfe!");
  EXPECT_EQ(Utf8Text("cut \xe2\x82"), "cut \\xe2\\x82");
  EXPECT_EQ(Utf8Text("\xc0\xaf"), "\\xc0\\xaf") << "longer than need be";
  EXPECT_EQ(Utf8Text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(Utf8Text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last one";
}

TEST(Utf8Text, IsNeverCutWithinACharacter) {
  EXPECT_EQ(Utf8Text("ab\u20ac", 5), "ab\u20ac");
  EXPECT_EQ(Utf8Text("ab\u20ac", 4), "ab ... [truncated]");
}

}  // namespace
}  // namespace tensorfleet
