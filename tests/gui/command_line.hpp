// What the program foreshard answers, to compare what a view shows with.
#pragma once

#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QStringList>

namespace foreshard::gui {

inline QString sample_path(const char* name) {
  return QStringLiteral(FORESHARD_SOURCE_DIR "/traces/samples/") + QLatin1String(name);
}

// Of a command that is asked for JSON; empty where it fails.
inline QJsonObject command_answer(const QStringList& arguments) {
  QProcess program;
  program.start(QStringLiteral(FORESHARD_PROGRAM),
                arguments + QStringList{QStringLiteral("--json"), QStringLiteral("-")});
  program.waitForFinished(60000);
  return QJsonDocument::fromJson(program.readAllStandardOutput()).object();
}

inline std::int64_t json_figure(const QJsonObject& object, const char* key) {
  return object[QLatin1String(key)].toInteger(-1);
}

}  // namespace foreshard::gui
