// Progress of long work on standard error: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace foreshard::cli {

class Progress {
 public:
  Progress(std::int64_t total, bool is_quiet);
  void at(std::int64_t done, const std::string& note);
  // Where a line about something else comes next.
  void make_room();
  ~Progress();

 private:
  std::int64_t total_;
  std::int64_t last_line_ = 0;
  bool is_quiet_;
  bool is_terminal_;
  bool has_bar_ = false;
};

// The same of reading a file, in percent. Nothing is shown of what is done within a second, or within
// some where it is not a terminal; a bar disappears when it is done.
class ReadingProgress {
 public:
  ReadingProgress(std::string file, bool is_quiet);
  ReadingProgress(const ReadingProgress&) = delete;
  ReadingProgress& operator=(const ReadingProgress&) = delete;
  ~ReadingProgress();
  void at(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  std::string file_;
  bool is_quiet_;
  bool is_terminal_;
  bool has_bar_ = false;
  Clock::time_point next_;
};

}  // namespace foreshard::cli
