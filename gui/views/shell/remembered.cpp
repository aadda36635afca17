#include "gui/views/shell/remembered.hpp"

#include <QCryptographicHash>
#include <QSettings>
#include <algorithm>

namespace foreshard::gui {
namespace {

constexpr int kRecentKept = 12;
const QLatin1String kRecent("recent"), kTheme("theme");

QSettings& settings() {
  static QSettings all(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("foreshard"),
                       QStringLiteral("viewer"));
  return all;
}

// Of what a trace holds rather than its name: a copy of it has the same marks.
QString marks_key(const Document& document) {
  QCryptographicHash hash(QCryptographicHash::Sha1);
  const auto add = [&](std::int64_t value) {
    hash.addData(QByteArray::number(static_cast<qlonglong>(value)) + ' ');
  };
  const traces::Trace& trace = *document.trace;
  add(static_cast<std::int64_t>(trace.events.size()));
  add(static_cast<std::int64_t>(trace.memory.size()));
  if (!trace.events.empty()) {
    for (const traces::Event& event : {trace.events.front(), trace.events.back()}) {
      add(event.start_ns);
      add(event.end_ns);
    }
  }
  const auto program = trace.metadata.find("program_hash");
  if (program != trace.metadata.end()) hash.addData(QByteArray::fromStdString(program->second));
  return QStringLiteral("marks/") + QString::fromLatin1(hash.result().toHex());
}

}  // namespace

QVariant Remembered::value(const QString& key, const QVariant& otherwise) const {
  return is_wanted_ ? settings().value(key, otherwise) : otherwise;
}

void Remembered::set_value(const QString& key, const QVariant& value) const {
  if (is_wanted_) settings().setValue(key, value);
}

QStringList Remembered::recent_files() const {
  return value(kRecent, QStringList()).toStringList();
}

void Remembered::add_recent(const QString& file) {
  QStringList files = recent_files();
  files.removeAll(file);
  files.prepend(file);
  set_value(kRecent, files.mid(0, kRecentKept));
}

ThemeChoice Remembered::theme() const {
  const QString word = value(kTheme, QString()).toString();
  if (word == QLatin1String("light")) return ThemeChoice::light;
  return word == QLatin1String("dark") ? ThemeChoice::dark : ThemeChoice::system;
}

void Remembered::set_theme(ThemeChoice theme) {
  set_value(kTheme, theme == ThemeChoice::light  ? QStringLiteral("light")
                    : theme == ThemeChoice::dark ? QStringLiteral("dark")
                                                 : QStringLiteral("system"));
}

std::vector<std::int64_t> Remembered::marks(const Document& document) const {
  std::vector<std::int64_t> marks;
  for (const QVariant& mark : value(marks_key(document), QVariantList()).toList()) {
    marks.push_back(mark.toLongLong());
  }
  std::sort(marks.begin(), marks.end());
  return marks;
}

void Remembered::set_marks(const Document& document, const std::vector<std::int64_t>& marks) {
  QVariantList list;
  for (const std::int64_t mark : marks) list.append(static_cast<qlonglong>(mark));
  set_value(marks_key(document), list.isEmpty() ? QVariant() : QVariant(list));
}

}  // namespace foreshard::gui
