#include "gui/paint/theme.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foreshard::gui {
namespace {

struct Token {
  Role role;
  QRgb light, dark;
};

constexpr std::array<Token, static_cast<std::size_t>(Role::kCount)> kTokens{{
    {Role::canvas, 0xFFFFFF, 0x13161B},
    {Role::panel, 0xF7F8FA, 0x191D23},
    {Role::raised, 0xFFFFFF, 0x21262E},
    {Role::line, 0xE3E6EB, 0x2A303A},
    {Role::strong_line, 0xC9CFD8, 0x414A57},
    {Role::hover, 0xECEFF3, 0x262C35},
    {Role::shade, 0xF6F7F9, 0x171A20},
    {Role::grid, 0xEFF1F4, 0x1C2027},
    {Role::text, 0x171B22, 0xE8EBF0},
    {Role::text2, 0x4C5563, 0xB0B8C4},
    {Role::text3, 0x667080, 0x8C96A5},
    {Role::ink, 0x1F2630, 0xE8EBF0},
    {Role::selection, 0x171B22, 0xFFFFFF},
    {Role::focus, 0x2563C9, 0x76A9FF},
    {Role::ok, 0x0F7A4D, 0x4CC38A},
    {Role::warn, 0xB25E00, 0xF2B04C},
    {Role::error, 0xB3261E, 0xFF7B72},
    {Role::forward, 0x4A7FD0, 0x6FA0F0},
    {Role::loss, 0xE0C93C, 0xF0E05A},
    {Role::recompute, 0xA9C8F7, 0x2A5C8C},
    {Role::backward, 0xEC8B3B, 0xE6A052},
    {Role::optimizer, 0x0B7263, 0x17987A},
    {Role::all_gather, 0x7B45C4, 0x8D5FD6},
    {Role::reduce_scatter, 0xC4559B, 0xF06BB2},
    {Role::all_reduce, 0x6A3410, 0x8A5220},
    {Role::copies, 0x55B3B5, 0xA0DDEC},
    {Role::host, 0x8A93A1, 0x7C8696},
    {Role::setup, 0x8A93A1, 0x6E7887},
    {Role::report, 0xA6AEBA, 0x59626F},
    {Role::memory_parameters, 0x3A1684, 0x5450B8},
    {Role::memory_gradients, 0x6B0B3C, 0x8E2F6C},
    {Role::memory_optimizer_states, 0x0B7263, 0x3FB394},
    {Role::memory_unsharded_parameters, 0x8558CC, 0xA38CF5},
    {Role::memory_all_gather, 0xC3B6F1, 0xC4C2F7},
    {Role::memory_unsharded_gradients, 0xC4559B, 0xD84FA4},
    {Role::memory_reduce_scatter, 0xF8CADD, 0xFAD0E4},
    {Role::memory_activations, 0x4E97DA, 0x4488CF},
    {Role::memory_temporaries, 0xF0A94A, 0xECA842},
    {Role::memory_inputs, 0x4A525D, 0x767D87},
    {Role::memory_workspaces, 0x9AA1AB, 0x3F464F},
    {Role::cost_measured, 0x0F5548, 0x0C5546},
    {Role::cost_fitted, 0x7BDDCA, 0xA3E0CF},
    {Role::cost_modelled, 0xE9A83A, 0xE8A53A},
    {Role::cost_unknown, 0xEB5940, 0xE4533D},
}};

QColor mixed(QColor a, QColor b, double share_of_b) {
  const auto part = [&](int from, int to) {
    return static_cast<int>(std::lround(from + (to - from) * share_of_b));
  };
  return QColor(part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue()));
}

// The cividis colour map at nine places: Nunez, Anderton and Renslow, PLoS ONE 13(7), 2018.
constexpr std::array<QRgb, 9> kCividis{0x00224E, 0x123570, 0x3B496C, 0x575D6D, 0x707173,
                                       0x8A8678, 0xA59C74, 0xC3B369, 0xE1CC55};

QColor cividis(double at) {
  const double place = std::clamp(at, 0.0, 1.0) * (kCividis.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kCividis.size() - 2);
  return mixed(QColor(kCividis[below]), QColor(kCividis[below + 1]),
               place - static_cast<double>(below));
}

double luminance(QColor colour) {  // WCAG 2.1, relative luminance
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
         0.0722 * linear(colour.blueF());
}

}  // namespace

const Theme& Theme::of(ThemeName name) {
  static const Theme light(ThemeName::light), dark(ThemeName::dark);
  return name == ThemeName::light ? light : dark;
}

Theme::Theme(ThemeName name) : name_(name) {
  for (const Token& token : kTokens) {
    colours_[static_cast<std::size_t>(token.role)] =
        QColor(name == ThemeName::light ? token.light : token.dark);
  }
}

QColor Theme::operator[](const EventColour& colour) const {
  const QColor base = (*this)[colour.role];
  switch (colour.tint) {
    case Tint::plain: return base;
    case Tint::attention: return mixed(base, Qt::black, 0.28);
    case Tint::rest: return mixed(base, (*this)[Role::canvas], 0.45);
    case Tint::copy: return mixed(base, is_dark() ? QColor(Qt::black) : QColor(Qt::white), 0.35);
  }
  return base;
}

QColor Theme::unit(double depth, bool is_odd) const {
  const double low = is_dark() ? 0.20 : 0.04, high = is_dark() ? 0.90 : 0.92;
  const QColor colour = cividis(low + (high - low) * std::clamp(depth, 0.0, 1.0));
  return is_odd ? mixed(colour, Qt::white, 0.12) : colour;
}

QColor Theme::towards_canvas(QColor colour, double share) const {
  return mixed(colour, (*this)[Role::canvas], share);
}

QColor Theme::text_on(QColor fill) const {
  return luminance(fill) > 0.30 ? QColor(0x171B22) : QColor(Qt::white);
}

QPalette Theme::palette() const {
  const Theme& t = *this;
  QPalette palette;
  palette.setColor(QPalette::Window, t[Role::panel]);
  palette.setColor(QPalette::WindowText, t[Role::text]);
  palette.setColor(QPalette::Base, t[Role::canvas]);
  palette.setColor(QPalette::AlternateBase, t[Role::shade]);
  palette.setColor(QPalette::Text, t[Role::text]);
  palette.setColor(QPalette::PlaceholderText, t[Role::text3]);
  palette.setColor(QPalette::Button, t[Role::raised]);
  palette.setColor(QPalette::ButtonText, t[Role::text]);
  palette.setColor(QPalette::ToolTipBase, t[Role::raised]);
  palette.setColor(QPalette::ToolTipText, t[Role::text]);
  palette.setColor(QPalette::Highlight, t[Role::focus]);
  palette.setColor(QPalette::HighlightedText, t[Role::canvas]);
  palette.setColor(QPalette::Light, t[Role::raised]);
  palette.setColor(QPalette::Midlight, t[Role::line]);
  palette.setColor(QPalette::Mid, t[Role::line]);
  palette.setColor(QPalette::Dark, t[Role::strong_line]);
  palette.setColor(QPalette::Shadow, t[Role::strong_line]);
  palette.setColor(QPalette::Link, t[Role::focus]);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, t[Role::text3]);
  }
  return palette;
}

Appearance& Appearance::instance() {
  static Appearance appearance;
  return appearance;
}

void Appearance::set_theme(ThemeName name) {
  if (theme_ == &Theme::of(name)) return;
  theme_ = &Theme::of(name);
  Q_EMIT changed();
}

void Appearance::set_text_scale(double scale) {
  scale = std::clamp(scale, 0.8, 1.5);
  if (scale == text_scale_) return;
  text_scale_ = scale;
  Q_EMIT changed();
}

}  // namespace foreshard::gui
