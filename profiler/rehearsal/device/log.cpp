#include "profiler/rehearsal/device/log.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include <time.h>
#include <unistd.h>

#include "profiler/rehearsal/device/interface.h"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {
namespace {

std::mutex mutex;
std::FILE* file = nullptr;
pid_t owner = 0;  // a process that was forked opens a file of its own

// With the mutex.
void open(const std::string& path) {
  owner = ::getpid();
  file = std::fopen(path.c_str(), "we");
  if (file == nullptr) std::perror(("foreshard rehearsal: " + path).c_str());
}

// With the mutex.
bool is_open() {
  static const char* const path = std::getenv("FORESHARD_REHEARSAL_LOG");
  if (owner == ::getpid()) return file != nullptr;
  file = nullptr;
  if (path != nullptr) open(path + ("." + std::to_string(::getpid())));
  return file != nullptr;
}

}  // namespace

void log_line(CallId call, const char* format, ...) {
  const std::lock_guard lock(mutex);
  if (!is_open()) return;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::fprintf(file, "%lld%09ld %d %u %llu ", static_cast<long long>(now.tv_sec), now.tv_nsec,
               static_cast<int>(::gettid()), call.correlation,
               static_cast<unsigned long long>(call.external));
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

void foreshard_rehearsal_log(const char* path) {
  using namespace foreshard::rehearsal;
  {
    const std::lock_guard lock(mutex);
    if (file != nullptr && owner == ::getpid()) std::fclose(file);
    file = nullptr;
    owner = ::getpid();
    if (path != nullptr) open(path);
  }
  log_streams();
}
