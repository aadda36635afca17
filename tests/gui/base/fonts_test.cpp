// Text is in the font that the program carries, whatever the machine has.
#include "gui/paint/fonts.hpp"

#include <QFontDatabase>
#include <QFontInfo>
#include <QRawFont>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::gui {
namespace {

std::vector<Text> all_texts() {
  std::vector<Text> all;
  for (int n = 0; n < static_cast<int>(Text::kCount); ++n) all.push_back(static_cast<Text>(n));
  return all;
}

TEST(FontsTest, TheProgramCarriesEveryWeight) {
  const QString family = QStringLiteral("Inter");
  QStringList carried;
  for (int id = 0; id < 3; ++id) carried += QFontDatabase::applicationFontFamilies(id);
  EXPECT_EQ(carried.count(family), 3) << carried.join(QLatin1Char(' ')).toStdString();
  for (const Text text : all_texts()) {
    const QFontInfo drawn(font(text));
    EXPECT_EQ(drawn.family(), family) << static_cast<int>(text);
    EXPECT_EQ(drawn.weight(), font(text).weight()) << static_cast<int>(text);
  }
}

// Characters of another font would differ from machine to machine.
TEST(FontsTest, WhatTheViewerSaysNeedsNoOtherFont) {
  namespace fs = std::filesystem;
  QString said;
  for (const auto& file : fs::recursive_directory_iterator(FORESHARD_SOURCE_DIR "/gui")) {
    if (file.path().extension() == ".cpp" || file.path().extension() == ".hpp") {
      said += QString::fromStdString(tests::read_file(file.path()));
    }
  }
  ASSERT_TRUE(said.contains(QChar(0x2013)));
  for (const Text text : all_texts()) {
    const QRawFont drawn = QRawFont::fromFont(font(text));
    for (const QChar character : said) {
      if (character.isPrint() && !drawn.supportsCharacter(character)) {
        ADD_FAILURE() << QString(character).toStdString() << " in text "
                      << static_cast<int>(text);
      }
    }
  }
}

}  // namespace
}  // namespace foreshard::gui
