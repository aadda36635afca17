// libforeshard_injection.so, which CUDA loads into a profiled process when that first uses CUDA
// (CUDA_INJECTION64_PATH): from then on it records what the process does with GPUs, until it ends.
// NVTX loads it too (NVTX_INJECTION64_PATH), and is passed on to the CUPTI that records this process: a
// program such as PyTorch's brings one of its own, and a second one would record nothing.
//
// Each process writes HOST-PID.activities into the folder FORESHARD_PROFILE names, HOST-PID.missing with
// what of it cannot be recorded, or HOST-PID.error with the reason why nothing can. Processes that it
// starts inherit the variables.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "models/base/shared_library.hpp"
#include "profiler/injection/raw_activities.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"

extern "C" __attribute__((visibility("default"))) int InitializeInjection();

namespace foreshard::profiler {
namespace {

using namespace std::chrono_literals;
constexpr auto kFlushInterval = 200ms;

// CUPTI of CUDA 13.0.0 crashes programs that direct NVTX to it; 13.0 Update 1 does not.
constexpr std::uint32_t kBrokenMarkers = 130'000;

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t monotonic_now() {
  return read_clock(CLOCK_MONOTONIC);
}

std::string host_name() {
  char host[256] = "";
  static_cast<void>(::gethostname(host, sizeof host - 1));
  return host;
}

std::map<std::string, std::string> header() {
  std::map<std::string, std::string> header;
  header["host"] = host_name();
  header["process"] = std::to_string(::getpid());
  header["program"] = program_invocation_short_name;
  header["utc_of_clock_ns"] = std::to_string(read_clock(CLOCK_REALTIME) - monotonic_now());
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr) header.try_emplace("rank", rank);
  }
  return header;
}

// Of this process, for its whole life: CUPTI may still call after main(). From any thread.
const Result<ActivityRecorder*>& recorder() {
  static const auto only = []() -> Result<ActivityRecorder*> {
    const std::filesystem::path here =
        library_of(reinterpret_cast<const void*>(&InitializeInjection));
    auto loaded = load_activity_recorder(here.parent_path().string());
    if (!loaded) return tl::unexpected(loaded.error());
    return loaded->release();
  }();
  return only;
}

// Without an extension. A process that replaced itself by another program has left a file already.
std::string unused_stem(const std::string& folder) {
  std::string stem = folder + "/" + host_name() + "-" + std::to_string(::getpid());
  std::error_code unreadable;
  while (std::filesystem::exists(stem + ".activities", unreadable)) stem += "-";
  return stem;
}

// The recording of this process. A child that was forked from it has neither its threads nor CUDA.
class Injection {
 public:
  Injection(const std::string& stem, ActivityRecorder& recorder)
      : writer_(stem + ".activities", header()), recorder_(recorder) {}

  Result<void> start() {
    if (!writer_.is_open()) return fail("", "", "cannot write what it records");
    if (auto ok = recorder_.start({monotonic_now, true}, writer_); !ok) return ok;
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
    recorder_.stop();
    writer_.finish();
  }

 private:
  // CUPTI by itself hands over only buffers that are full.
  void flush_until_stopped() {
    std::unique_lock lock(mutex_);
    while (!stop_requested_.wait_for(lock, kFlushInterval, [this] { return is_stopping_; })) {
      lock.unlock();
      recorder_.flush();
      lock.lock();
    }
  }

  const pid_t process_ = ::getpid();
  RawActivityWriter writer_;
  ActivityRecorder& recorder_;
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool is_stopping_ = false;
  std::thread flusher_;
};

Injection* injection = nullptr;  // as long as the process: CUPTI may still call after its end

Result<void> start_injection(const std::string& stem) {
  if (!recorder()) return tl::unexpected(recorder().error());
  ActivityRecorder& here = **recorder();
  injection = new Injection(stem, here);
  auto started = injection->start();
  if (!started) return started;
  std::atexit([] { injection->stop(); });
  std::vector<std::string> missing = here.missing();
  if (here.version() == kBrokenMarkers) {
    missing.emplace_back(
        "NVTX ranges are not recorded: this CUPTI, of CUDA 13.0.0, cannot; 13.0 Update 1 can");
  }
  if (missing.empty()) return {};
  std::ofstream file(stem + ".missing");
  for (const std::string& one : missing) file << one << "\n";
  return {};
}

}  // namespace
}  // namespace foreshard::profiler

// CUDA's convention: nonzero where all went well. A program runs on whatever happens here.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace foreshard::profiler;
  const char* const folder = std::getenv("FORESHARD_PROFILE");
  if (folder == nullptr || injection != nullptr) return 1;
  const std::string stem = unused_stem(folder);
  if (const auto started = start_injection(stem); !started) {
    std::ofstream(stem + ".error") << started.error().text();
  }
  return 1;
}

// NVTX's convention: 1 where all went well; its calls do nothing otherwise. `get_table` is NVTX's
// NvtxGetExportTableFunc_t.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_table) {
  using namespace foreshard::profiler;
  if (!recorder() || (*recorder())->version() == kBrokenMarkers) return 0;
  const auto cupti = foreshard::SharedLibrary::load_file((*recorder())->library());
  const auto initialize = cupti ? cupti->function<int(void*)>("InitializeInjectionNvtx2") : nullptr;
  return initialize == nullptr ? 0 : initialize(get_table);
}
