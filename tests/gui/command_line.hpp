// What the program foreshard answers, to compare what a view shows with.
#pragma once

#include <QByteArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>
#include <array>
#include <cstdio>

namespace foreshard::gui {

inline QString sample_path(const char* name) {
  return QStringLiteral(FORESHARD_SOURCE_DIR "/traces/samples/") + QLatin1String(name);
}

// Of a command that is asked for JSON; empty where it fails. By a shell: while QProcess starts a
// program, the child shares the memory of the test, and a thread sanitizer takes the one for the other.
inline QJsonObject command_answer(const QStringList& arguments) {
  const QStringList words = QStringList{QStringLiteral(FORESHARD_PROGRAM)} + arguments +
                            QStringList{QStringLiteral("--json"), QStringLiteral("-")};
  const QString line = QLatin1Char('\'') + words.join(QLatin1String("' '")) + QLatin1Char('\'');
  std::FILE* const shell = popen(line.toLocal8Bit().constData(), "r");
  if (shell == nullptr) return {};
  QByteArray answer;
  std::array<char, 4096> part;
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), shell)) {
    answer.append(part.data(), static_cast<qsizetype>(size));
  }
  return pclose(shell) == 0 ? QJsonDocument::fromJson(answer).object() : QJsonObject();
}

inline std::int64_t json_figure(const QJsonObject& object, const char* key) {
  return object[QLatin1String(key)].toInteger(-1);
}

}  // namespace foreshard::gui
