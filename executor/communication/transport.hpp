// Messages between the processes of a run: the little that the message communicator needs, so that
// MPI can live in a library of its own (libforeshard_mpi.so), loaded only when asked for.
//
// Messages between two ranks with one channel number arrive in the order they were sent. All calls
// return at once and may come from any thread; progress is made inside `test`, unless the transport
// has a thread of its own for it (`changes`). What is received may be copied inside `test` all the
// same, so a sender may wait until its receiver tests.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/device/run_control.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

class Transport {
 public:
  // A message under way.
  struct Ticket {
    std::uint64_t handle = 0;
    bool is_done = true;
    bool is_receive = false;
  };
  static constexpr std::size_t kLongestMessage = std::size_t{1} << 28;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The data, at most kLongestMessage bytes, must stay until the ticket is done.
  virtual Ticket send(std::span<const std::byte> data, int to, int channel) = 0;
  virtual Ticket receive(std::span<std::byte> data, int from, int channel) = 0;
  // Marks what has been completed and returns how many are left.
  virtual std::size_t test(std::span<Ticket> tickets) = 0;
  // Gives up a message that is not done. A receive's buffer is free when it returns; a send's is
  // where the transport can take it back (MPI cannot: who frees it first meets its receiver).
  virtual void cancel(Ticket& ticket) = 0;
  // A word that changes whenever a message of the channel is done or a process is lost, so that a
  // waiting thread can sleep on it; nullptr where only calls of `test` make progress.
  virtual const std::atomic<std::uint32_t>* changes(int channel) const {
    static_cast<void>(channel);
    return nullptr;
  }
  // The process that is gone though others need it, if the transport notices such a thing.
  virtual std::optional<Failure> lost() const { return std::nullopt; }
  // Ends every process of the run.
  [[noreturn]] virtual void abort(int exit_status) = 0;
};

// Channels in use; a communicator's is the number of its Group.
constexpr int kHeartbeatChannel = 16;
constexpr int kExchangeChannel = 17;

// Sleeps between looks at messages of one channel: until something changes, or, where the transport
// cannot signal it, short at first, longer the longer nothing happens. To be made before the first look.
class Poller {
 public:
  // Messages that have nobody to receive them yet can be looked at more rarely than those whose
  // parts move only while somebody looks.
  static constexpr Nanoseconds kWhileAbsent{200'000}, kWhileMoving{10'000};

  Poller(RunControl& run, Transport& transport, int channel, Nanoseconds longest);
  void pause();  // throws Aborted; a lost process fails the run
  void reset() { time_ = kShortest; }

 private:
  static constexpr Nanoseconds kShortest{5'000};
  RunControl& run_;
  Transport& transport_;
  const std::atomic<std::uint32_t>* const changes_;
  const Nanoseconds longest_;
  std::uint32_t seen_ = 0;
  Nanoseconds time_ = kShortest;
};

// Data of any length is sent in messages of at most kLongestMessage: part(begin, bytes) for each.
template <typename Part>
void for_each_message(std::size_t bytes, Part part) {
  for (std::size_t at = 0; at < bytes; at += Transport::kLongestMessage) {
    part(at, std::min(Transport::kLongestMessage, bytes - at));
  }
}

// Every rank's bytes, by rank; each rank calls it with its own, and none goes on before all have.
// For reports, not for tensors. A rank that has more than `longest` to send fails the run.
constexpr std::size_t kLongestText = 1 << 20;
std::vector<std::string> exchange(RunControl& run, Transport& transport, const std::string& mine,
                                  std::size_t longest = kLongestText);
// Every rank's bytes, by rank, on rank `to`; nothing on the others, which go on when theirs are sent.
std::vector<std::string> gather(RunControl& run, Transport& transport, const std::string& mine,
                                int to, std::size_t longest);

// What this process' part has come to where all have done theirs, else the error of one that has not. All
// ranks together; `transport` is nullptr where one process has them all.
Result<void> agreed(RunControl& run, Transport* transport, const Result<void>& mine);

// Structures are sent as they lie in memory, so all processes must run the same build. All ranks
// together, before any structure is sent.
Result<void> check_builds(RunControl& run, Transport& transport);

// MPI from `directory`/libforeshard_mpi.so. Initialises MPI; destruction finalises it, which all
// processes must do together, unless it is part of a failure: that ends every process of the run.
Result<std::unique_ptr<Transport>> load_mpi_transport(const std::string& directory);
// Where the running program's loadable modules are: beside it in a build folder, in the library folder
// of an installation, or where FORESHARD_MODULES says.
std::string module_directory();

}  // namespace foreshard::executor
