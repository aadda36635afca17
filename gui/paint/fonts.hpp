// The sizes and weights of text. The font is Inter, which the program carries, so that it looks the
// same everywhere; characters that Inter lacks come from the system's fonts.
#pragma once

#include <QFont>

namespace foreshard::gui {

enum class Text : std::uint8_t {
  key_figure,        // 20, semi-bold
  strip_figure,      // 18, semi-bold
  title,             // 15, semi-bold
  tab,               // 13, medium
  body,              // 12
  strong,            // 12, semi-bold
  value,             // 12, medium: figures in rows
  secondary,         // 11
  secondary_strong,  // 11, semi-bold
  tick,              // 10
  kCount
};

// Sizes are logical pixels times Appearance::text_scale().
QFont font(Text text);
// A length of the design in logical pixels that grows with the text, such as a row's height.
int scaled(int pixels);

// Makes Inter known to the application, and the font of `body` its default. Needs a QGuiApplication.
void load_fonts();

}  // namespace foreshard::gui
