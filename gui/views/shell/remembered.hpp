// What the viewer remembers from one start to the next: recent files, theme and text, the window's
// place, and the marks of each trace.
#pragma once

#include <QByteArray>
#include <QStringList>
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

  ThemeChoice theme() const;
  void set_theme(ThemeChoice theme);
  double text_scale() const;
  void set_text_scale(double scale);
  bool less_motion() const;
  void set_less_motion(bool less);

  bool critical_path() const;  // whether the timeline shows it
  void set_critical_path(bool shows);

  QByteArray geometry() const;
  QByteArray layout() const;
  void set_window(const QByteArray& geometry, const QByteArray& layout);

  bool shows_inspector() const;
  void set_shows_inspector(bool shows);

  std::vector<std::int64_t> marks(const Document& document) const;
  void set_marks(const Document& document, const std::vector<std::int64_t>& marks);

  bool was_started_before() const;
  void set_started();

 private:
  QVariant value(const QString& key, const QVariant& otherwise) const;
  void set(const QString& key, const QVariant& value) const;

  bool is_wanted_;
};

}  // namespace foreshard::gui
