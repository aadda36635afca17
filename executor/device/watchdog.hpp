// Finds the rank that keeps the others waiting.
//
// A rank that has retired nothing for the hang timeout while another waits for it fails the run, by
// name: "rank 2: no progress for 4 s (last instruction: 117 of step 3) while rank 0 waits for it in
// all_gather". Among several such ranks the one that itself waits for nobody is blamed.
//
// The ranks of this process are read from their RunControl and from the communicators, which report who
// waits for whom; ranks of other processes come in through `Heartbeat`. It is also the one thread that
// is never blocked, so whatever must be looked after while ranks wait is done at its looks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/device/run_control.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

// One rank is waiting for another in a collective.
struct Wait {
  int waiter = kNoRank;
  int awaited = kNoRank;
  const char* operation = "";  // a literal
};

// Anything that has a list of waits; read by the watchdog's thread at any time.
class WaitSource {
 public:
  virtual ~WaitSource() = default;
  virtual void add_waits(std::vector<Wait>& waits) const = 0;
};

// What is known of one rank at one moment.
struct RankStatus {
  std::uint64_t retired = 0;
  std::uint64_t last_instruction = 0;
  Nanoseconds last_progress{0};  // when `retired` last changed, CLOCK_MONOTONIC
};

// The rank to blame now, with its message; nothing while all is well. Pure.
std::optional<Failure> judge(const std::vector<RankStatus>& ranks, const std::vector<Wait>& waits,
                             Nanoseconds now, Nanoseconds hang_timeout,
                             const std::function<std::string(std::uint64_t tag)>& describe);

// Exchanges status and waits with the other processes.
class Heartbeat {
 public:
  virtual ~Heartbeat() = default;
  virtual int rank() const = 0;  // this process'
  // Sends what is known of this process' rank, if it is due or cannot wait, and fills in what has
  // arrived about the others.
  virtual void update(std::vector<RankStatus>& ranks, std::vector<Wait>& waits, Nanoseconds now,
                      bool is_due) = 0;
  // A failure that needs no patience: a process that is gone.
  virtual std::optional<Failure> check_peers() = 0;
};

struct WatchdogOptions {
  Nanoseconds hang_timeout{60'000'000'000};
  // What a rank of this process has done; without it, what its threads have counted in RunControl.
  std::function<Progress(int rank)> progress;
  // How to write an instruction's tag in a message.
  std::function<std::string(std::uint64_t tag)> describe;
  // Called at each look, about 20 times a second, with the waits found; may correct them, and may end
  // the run.
  std::function<void(std::vector<Wait>& waits)> at_look;
  // Called when the run has failed and the watchdog has not been destroyed `grace` later: threads do
  // not end by themselves (a kernel that never returns), so somebody has to end the process. A run
  // that was ended without failure may finish the work it is in: it is called when that makes no
  // progress for the hang timeout.
  std::function<void(const Failure&)> on_overdue;
  Nanoseconds grace{3'000'000'000};
  Heartbeat* heartbeat = nullptr;  // outlives the watchdog
};

// Watches from construction to destruction. Throws std::runtime_error where it gets no thread.
class Watchdog {
 public:
  Watchdog(RunControl& run, std::vector<const WaitSource*> sources, WatchdogOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foreshard::executor
