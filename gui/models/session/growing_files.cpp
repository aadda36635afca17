#include "gui/models/session/growing_files.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace foreshard::gui {
namespace {

constexpr int kLookEveryMs = 1000;

// What changes when records are added: of the file and of SQLite's log beside it.
std::string state_of(const std::string& path) {
  std::string state;
  for (const std::string& file : {path, path + "-wal"}) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    const auto written = std::filesystem::last_write_time(file, error);
    state += std::to_string(error ? 0 : bytes) + ' ' +
             std::to_string(error ? 0 : written.time_since_epoch().count()) + ' ';
  }
  return state;
}

}  // namespace

GrowingFiles::GrowingFiles(QObject* parent) : QObject(parent) {
  timer_.setInterval(kLookEveryMs);
  connect(&timer_, &QTimer::timeout, this, &GrowingFiles::look);
}

void GrowingFiles::watch(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> states;
  for (const std::string& path : paths) {
    const auto known = states_.find(path);
    states[path] = known == states_.end() ? state_of(path) : known->second;
  }
  states_ = std::move(states);
  if (states_.empty()) {
    timer_.stop();
  } else if (!timer_.isActive()) {
    timer_.start();
  }
}

void GrowingFiles::look() {
  std::vector<std::string> changed;
  for (auto& [path, state] : states_) {
    std::string now = state_of(path);
    if (now != std::exchange(state, now)) changed.push_back(path);
  }
  for (const std::string& path : changed) Q_EMIT grew(path);  // may change what is watched
}

}  // namespace foreshard::gui
