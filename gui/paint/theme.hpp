// The tokens of the light and the dark theme: a colour for each role.
#pragma once

#include <QColor>
#include <QObject>
#include <QPalette>

#include "gui/models/base/colour_role.hpp"

namespace foreshard::gui {

enum class ThemeName : std::uint8_t { light, dark };

class Theme {
 public:
  static const Theme& of(ThemeName name);

  ThemeName name() const { return name_; }
  bool is_dark() const { return name_ == ThemeName::dark; }
  QColor operator[](Role role) const { return colours_[static_cast<std::size_t>(role)]; }
  // Of device work: its role's colour, tinted.
  QColor operator[](const EventColour& colour) const;
  // Of a unit by its depth, from 0 to 1: a ramp of lightness and hue that stays in order for every
  // eye; every second unit is a little lighter. The root has Role::host.
  QColor unit(double depth, bool is_odd) const;
  // `colour` moved towards the canvas by that share: pale fills of predictions and of what is dimmed.
  QColor towards_canvas(QColor colour, double share) const;
  // Black or white text, whichever is read better on this fill.
  QColor text_on(QColor fill) const;
  QPalette palette() const;

 private:
  explicit Theme(ThemeName name);

  ThemeName name_;
  std::array<QColor, static_cast<std::size_t>(Role::kCount)> colours_;
};

// The theme in use, and the signal when it changes.
class Appearance : public QObject {
  Q_OBJECT
 public:
  static Appearance& instance();

  const Theme& theme() const { return *theme_; }
  void set_theme(ThemeName name);
  // Text larger or smaller than the design's, 0.8 to 1.5.
  double text_scale() const { return text_scale_; }
  void set_text_scale(double scale);
  bool has_less_motion() const { return less_motion_; }
  void set_less_motion(bool less) { less_motion_ = less; }

 Q_SIGNALS:
  void changed();

 private:
  Appearance() = default;

  const Theme* theme_ = &Theme::of(ThemeName::light);
  double text_scale_ = 1;
  bool less_motion_ = false;
};

inline const Theme& theme() {
  return Appearance::instance().theme();
}

}  // namespace foreshard::gui
