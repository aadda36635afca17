#include "models/base/utf8.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

TEST(Utf8, KnowsWellFormedSequences) {
  for (const char* text : {"", "a", "é", "→", "😀", "a\tb\n", "\u0080"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  // A stray byte, a cut one, overlong forms, a surrogate, beyond U+10FFFF.
  for (const char* text : {"\x80", "a\xff", "\xc3", "\xe2\x86", "\xc0\xaf", "\xe0\x80\xaf",
                           "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

TEST(Utf8, PrintableTextMovesNoCursor) {
  EXPECT_EQ(printable("é→😀 ~"), "é→😀 ~");
  EXPECT_EQ(printable("\x1b[31m"), "\uFFFD[31m");
  EXPECT_EQ(printable(std::string("\x9b", 1) + "\xc2\x9b\x7f\r\b" + std::string(1, '\0')),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(printable("a\n\tb"), "a\uFFFD\uFFFDb");
  EXPECT_EQ(printable("a\n\tb\r", Lines::kept), "a\n\tb\uFFFD");
  EXPECT_EQ(printable("\xed\xa0\x80z"), "\uFFFD\uFFFD\uFFFDz");
}

TEST(Utf8, ShortTextIsCutBetweenCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("éééééé", 6), "éééééé");
  EXPECT_EQ(shortened("ééééééé", 6), "ééééé…");
  EXPECT_EQ(shortened("ééééééé", 6, 2), "ééé…éé");
  EXPECT_EQ(shortened("😀→😀→😀", 3, 2), "…→😀");
  EXPECT_EQ(shortened("abc", 1), "…");
  // What is no UTF-8 counts byte by byte.
  EXPECT_EQ(shortened(std::string(1000, '\x80'), 3), "\x80\x80…");
  EXPECT_LT(shortened(std::string(1000, '\x80'), 8, 4).size(), 32u);
  EXPECT_EQ(excerpt("a\x1b" + std::string(1000, 'b')), "a\uFFFD" + std::string(61, 'b') + "…");
}

}  // namespace
}  // namespace foreshard
