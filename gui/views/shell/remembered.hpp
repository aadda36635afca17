// What the viewer remembers from one start to the next: recent files, theme and text, the window's
// place, and the marks of each trace.
#pragma once

#include <QByteArray>
#include <QStringList>
#include <QVariant>
#include <cstdint>
#include <vector>

#include "gui/models/session/document.hpp"

namespace foreshard::gui {

enum class ThemeChoice : std::uint8_t { system, light, dark };

class Remembered {
 public:
  // Nothing is read or written where it is not wanted, such as for pictures.
  explicit Remembered(bool is_wanted) : is_wanted_(is_wanted) {}
  bool is_wanted() const { return is_wanted_; }

  QStringList recent_files() const;  // newest first
  void add_recent(const QString& file);

  // What is kept as it is.
  template <class Value>
  struct Setting {
    const char* key;
    Value otherwise;
  };
  template <class Value>
  Value get(const Setting<Value>& setting) const {
    return value(QLatin1String(setting.key), QVariant::fromValue(setting.otherwise))
        .template value<Value>();
  }
  template <class Value>
  void set(const Setting<Value>& setting, const Value& now) const {
    set_value(QLatin1String(setting.key), QVariant::fromValue(now));
  }

  ThemeChoice theme() const;
  void set_theme(ThemeChoice theme);

  std::vector<std::int64_t> marks(const Document& document) const;
  void set_marks(const Document& document, const std::vector<std::int64_t>& marks);

 private:
  QVariant value(const QString& key, const QVariant& otherwise) const;
  void set_value(const QString& key, const QVariant& value) const;

  bool is_wanted_;
};

inline const Remembered::Setting<double> kTextScale{"text_scale", 1.0};
inline const Remembered::Setting<bool> kLessMotion{"less_motion", false},
    kCriticalPath{"critical_path", false},  // whether the timeline shows it
    kShowsInspector{"window/inspector", true}, kWasStarted{"started", false};
inline const Remembered::Setting<QByteArray> kGeometry{"window/geometry", {}},
    kLayout{"window/layout", {}};

}  // namespace foreshard::gui
