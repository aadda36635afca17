// libforeshard_injection.so, which CUDA loads into a profiled process when that first uses CUDA
// (CUDA_INJECTION64_PATH): from then on it records what the process does with GPUs, until it ends.
//
// Each process writes PID.activities into the folder FORESHARD_PROFILE names, or PID.error with the reason
// why it is not recorded. Processes that it starts inherit both variables.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "profiler/injection/raw_activities.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"

extern "C" foreshard::profiler::ActivityRecorder* foreshard_make_activity_recorder();

namespace foreshard::profiler {
namespace {

using namespace std::chrono_literals;
constexpr auto kFlushInterval = 200ms;

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t monotonic_now() {
  return read_clock(CLOCK_MONOTONIC);
}

std::map<std::string, std::string> header() {
  std::map<std::string, std::string> header;
  char host[256] = "";
  static_cast<void>(::gethostname(host, sizeof host - 1));
  header["host"] = host;
  header["process"] = std::to_string(::getpid());
  header["program"] = program_invocation_short_name;
  header["utc_of_clock_ns"] = std::to_string(read_clock(CLOCK_REALTIME) - monotonic_now());
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr) header.try_emplace("rank", rank);
  }
  return header;
}

// The recording of this process. A child that was forked from it has neither its threads nor CUDA.
class Injection {
 public:
  explicit Injection(const std::string& stem)
      : writer_(stem + ".activities", header()), recorder_(foreshard_make_activity_recorder()) {}

  Result<void> start() {
    ActivitySettings settings;
    settings.clock = monotonic_now;
    settings.markers = std::getenv("NVTX_INJECTION64_PATH") != nullptr;
    if (!writer_.is_open()) return fail("", "", "cannot write what it records");
    if (auto ok = recorder_->start(settings, writer_); !ok) return ok;
    sigset_t all, before;  // signals are for the program's own threads
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    flusher_ = std::thread([this] { flush_until_stopped(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
  }

  void stop() {
    if (::getpid() != process_) return;
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
    }
    stop_requested_.notify_all();
    flusher_.join();
    recorder_->stop();
    writer_.finish();
  }

 private:
  // CUPTI by itself hands over only buffers that are full.
  void flush_until_stopped() {
    std::unique_lock lock(mutex_);
    while (!stop_requested_.wait_for(lock, kFlushInterval, [this] { return is_stopping_; })) {
      lock.unlock();
      recorder_->flush();
      lock.lock();
    }
  }

  const pid_t process_ = ::getpid();
  RawActivityWriter writer_;
  const std::unique_ptr<ActivityRecorder> recorder_;
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool is_stopping_ = false;
  std::thread flusher_;
};

Injection* injection = nullptr;  // as long as the process: CUPTI may still call after its end

}  // namespace
}  // namespace foreshard::profiler

// CUDA's convention: nonzero where all went well. A program runs on whatever happens here.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace foreshard::profiler;
  const char* const folder = std::getenv("FORESHARD_PROFILE");
  if (folder == nullptr || injection != nullptr) return 1;
  const std::string stem = std::string(folder) + "/" + std::to_string(::getpid());
  injection = new Injection(stem);
  if (const auto started = injection->start(); !started) {
    std::ofstream(stem + ".error") << started.error().text();
    return 1;
  }
  std::atexit([] { injection->stop(); });
  return 1;
}
