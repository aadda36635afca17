// Progress of long work on standard error: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace foreshard::cli {

class Progress {
 public:
  Progress(std::int64_t total, bool is_quiet);
  void at(std::int64_t done, const std::string& note);
  ~Progress();

 private:
  std::int64_t total_;
  std::int64_t last_line_ = 0;
  bool is_quiet_;
  bool is_terminal_;
  bool has_bar_ = false;
};

}  // namespace foreshard::cli
