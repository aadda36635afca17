#include "profiler/rehearsal/device/log.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include <time.h>
#include <unistd.h>

namespace foreshard::rehearsal {
namespace {

std::mutex mutex;
std::FILE* file = nullptr;
pid_t owner = 0;  // a process that was forked opens a file of its own

const char* path() {
  static const char* const path = std::getenv("FORESHARD_REHEARSAL_LOG");
  return path;
}

// With the mutex.
bool open() {
  if (owner == ::getpid()) return file != nullptr;
  owner = ::getpid();
  file = std::fopen((std::string(path()) + "." + std::to_string(owner)).c_str(), "we");
  if (file == nullptr) std::perror("foreshard rehearsal: FORESHARD_REHEARSAL_LOG");
  return file != nullptr;
}

}  // namespace

bool log_is_open() {
  return path() != nullptr;
}

void log_line(const char* format, ...) {
  if (!log_is_open()) return;
  const std::lock_guard lock(mutex);
  if (!open()) return;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::fprintf(file, "%lld%09ld %d ", static_cast<long long>(now.tv_sec), now.tv_nsec,
               static_cast<int>(::gettid()));
  std::va_list values;
  va_start(values, format);
  std::vfprintf(file, format, values);
  va_end(values);
  std::fputc('\n', file);
}

void flush_log() {
  const std::lock_guard lock(mutex);
  if (file != nullptr && owner == ::getpid()) std::fflush(file);
}

}  // namespace foreshard::rehearsal
