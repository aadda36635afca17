#include "cli/common/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "cli/common/piped_recording.hpp"
#include "models/base/utf8.hpp"

namespace foreshard::cli {

Progress::Progress(std::int64_t total, bool is_quiet)
    : total_(total), is_quiet_(is_quiet), is_terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::at(std::int64_t done, const std::string& note) {
  if (is_quiet_) return;
  if (done < last_line_) last_line_ = 0;  // another part of the work
  if (is_terminal_) {
    constexpr std::int64_t kWidth = 30;
    const std::int64_t filled = total_ > 0 ? kWidth * done / total_ : 0;
    std::fprintf(stderr, "\r[%s%s] %lld/%lld %s\033[K",
                 std::string(static_cast<std::size_t>(filled), '=').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - filled), ' ').c_str(),
                 static_cast<long long>(done), static_cast<long long>(total_), note.c_str());
    has_bar_ = true;
  } else if (done == total_ || done - last_line_ >= std::max<std::int64_t>(1, total_ / 20)) {
    std::fprintf(stderr, "%lld/%lld %s\n", static_cast<long long>(done),
                 static_cast<long long>(total_), note.c_str());
    last_line_ = done;
  }
  std::fflush(stderr);
}

void Progress::make_room() {
  if (has_bar_) std::fputs("\r\033[K", stderr);
}

Progress::~Progress() {
  if (has_bar_) std::fputc('\n', stderr);
}

ReadingProgress::ReadingProgress(std::string file, bool is_quiet)
    : file_(excerpt(as_given(std::move(file)))),
      is_quiet_(is_quiet),
      is_terminal_(::isatty(STDERR_FILENO) != 0),
      next_(Clock::now() + std::chrono::seconds(is_terminal_ ? 1 : 5)) {}

void ReadingProgress::at(std::int64_t done, std::int64_t total) {
  if (is_quiet_ || total <= 0 || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(is_terminal_ ? 100 : 5000);
  const auto percent = static_cast<int>(std::min<std::int64_t>(100, 100 * done / total));
  std::fprintf(stderr, is_terminal_ ? "\rreading %s: %d %%\033[K" : "reading %s: %d %%\n",
               file_.c_str(), percent);
  has_bar_ = is_terminal_;
  std::fflush(stderr);
}

ReadingProgress::~ReadingProgress() {
  if (has_bar_) std::fputs("\r\033[K", stderr);
}

}  // namespace foreshard::cli
