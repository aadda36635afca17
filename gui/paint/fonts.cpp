#include "gui/paint/fonts.hpp"

#include <QApplication>
#include <QFontDatabase>
#include <algorithm>
#include <array>

#include "gui/paint/theme.hpp"

// A library's resources are not linked unless somebody asks for them; the macro works outside
// namespaces alone.
static void load_font_resources() {
  Q_INIT_RESOURCE(fonts);
}

namespace foreshard::gui {
namespace {

struct Size {
  int pixels;
  QFont::Weight weight;
};

constexpr std::array<Size, static_cast<std::size_t>(Text::kCount)> kSizes{{{20, QFont::DemiBold},
                                                                           {18, QFont::DemiBold},
                                                                           {15, QFont::DemiBold},
                                                                           {13, QFont::Medium},
                                                                           {12, QFont::Normal},
                                                                           {12, QFont::DemiBold},
                                                                           {12, QFont::Medium},
                                                                           {11, QFont::Normal},
                                                                           {11, QFont::DemiBold},
                                                                           {10, QFont::Normal}}};

// Hinting and smoothing are ours and not the desktop's, so that text is as wide and looks the same on
// every machine.
QFont made(const Size& size) {
  QFont font(QStringLiteral("Inter"));
  font.setStyleHint(QFont::SansSerif, static_cast<QFont::StyleStrategy>(
                                          QFont::PreferAntialias | QFont::NoSubpixelAntialias));
  font.setPixelSize(scaled(size.pixels));
  font.setWeight(size.weight);
  font.setHintingPreference(QFont::PreferVerticalHinting);
  return font;
}

}  // namespace

// Copies share what was looked up for them, which takes longer than drawing a word.
QFont font(Text text) {
  static std::array<QFont, kSizes.size()> fonts;
  static double scale = 0;
  if (scale != Appearance::instance().text_scale()) {
    scale = Appearance::instance().text_scale();
    std::transform(kSizes.begin(), kSizes.end(), fonts.begin(), made);
  }
  return fonts[static_cast<std::size_t>(text)];
}

int scaled(int pixels) {
  return qRound(pixels * Appearance::instance().text_scale());
}

void load_fonts() {
  load_font_resources();
  for (const char* weight : {"Regular", "Medium", "SemiBold"}) {
    QFontDatabase::addApplicationFont(
        QStringLiteral(":/fonts/Inter-%1.otf").arg(QLatin1String(weight)));
  }
  QApplication::setFont(font(Text::body));
}

}  // namespace foreshard::gui
