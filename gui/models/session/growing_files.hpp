// Watches recordings that are still being written: which of them have grown since they were read.
#pragma once

#include <QObject>
#include <QTimer>
#include <map>
#include <string>
#include <vector>

namespace foreshard::gui {

class GrowingFiles : public QObject {
  Q_OBJECT
 public:
  explicit GrowingFiles(QObject* parent = nullptr);

  void watch(const std::vector<std::string>& paths);  // these and no others
  void set_interval(int milliseconds) { timer_.setInterval(milliseconds); }

 Q_SIGNALS:
  void grew(const std::string& path);

 private:
  void look();

  QTimer timer_;
  std::map<std::string, std::string> states_;  // of each path, as it was seen last
};

}  // namespace foreshard::gui
