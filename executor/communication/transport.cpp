#include "executor/communication/transport.hpp"

#include <algorithm>
#include <filesystem>

#include <sys/prctl.h>

#include "executor/communication/tcp_handshake.hpp"
#include "models/base/shared_library.hpp"

namespace foreshard::executor {
namespace {

// Messages started together on the exchange channel. Where they are given up, what can be taken back
// is: their buffers are about to go.
class Letters {
 public:
  Letters(RunControl& run, Transport& transport)
      : poller_(run, transport, kExchangeChannel, Poller::kWhileAbsent), transport_(transport) {}
  ~Letters() {
    for (Transport::Ticket& ticket : tickets_) transport_.cancel(ticket);
  }
  Letters(const Letters&) = delete;
  Letters& operator=(const Letters&) = delete;

  void send(std::span<const std::byte> data, int to) {
    for_each_message(data.size(), [&](std::size_t begin, std::size_t bytes) {
      tickets_.push_back(transport_.send(data.subspan(begin, bytes), to, kExchangeChannel));
    });
  }
  void receive(std::span<std::byte> data, int from) {
    for_each_message(data.size(), [&](std::size_t begin, std::size_t bytes) {
      tickets_.push_back(transport_.receive(data.subspan(begin, bytes), from, kExchangeChannel));
    });
  }
  void complete() {
    poller_.reset();
    while (transport_.test(tickets_) != 0) poller_.pause();
    tickets_.clear();
  }

 private:
  Poller poller_;
  Transport& transport_;
  std::vector<Transport::Ticket> tickets_;
};

// Each rank's bytes from all of `from` and to all of `to`, both of them without the caller.
std::vector<std::string> pass(RunControl& run, Transport& transport, const std::string& mine,
                              const std::vector<int>& from, const std::vector<int>& to,
                              std::size_t longest) {
  std::vector<std::string> all(static_cast<std::size_t>(transport.size()));
  std::vector<std::uint64_t> lengths(all.size());
  const std::uint64_t length = mine.size();
  Letters letters(run, transport);
  for (const int rank : from) {
    letters.receive(std::as_writable_bytes(std::span(&lengths[static_cast<std::size_t>(rank)], 1)),
                    rank);
  }
  for (const int rank : to) letters.send(std::as_bytes(std::span(&length, 1)), rank);
  letters.complete();
  for (const int rank : from) {
    std::string& theirs = all[static_cast<std::size_t>(rank)];
    const std::uint64_t announced = lengths[static_cast<std::size_t>(rank)];
    if (announced > longest) {
      run.fail(rank, "it sends " + std::to_string(announced) + " bytes where at most " +
                         std::to_string(longest) + " were expected");
      run.throw_if_aborted();
    }
    theirs.resize(announced);
    letters.receive(std::as_writable_bytes(std::span(theirs)), rank);
  }
  for (const int rank : to) letters.send(std::as_bytes(std::span(mine)), rank);
  letters.complete();
  return all;
}

std::vector<int> others(const Transport& transport) {
  std::vector<int> ranks;
  for (int rank = 0; rank < transport.size(); ++rank) {
    if (rank != transport.rank()) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

Poller::Poller(RunControl& run, Transport& transport, int channel, Nanoseconds longest)
    : run_(run), transport_(transport), changes_(transport.changes(channel)), longest_(longest) {
  if (changes_ != nullptr) {
    seen_ = changes_->load(std::memory_order_acquire);
    return;
  }
  // By default the kernel rounds a thread's sleeps up by 50 microseconds.
  thread_local const int is_exact = prctl(PR_SET_TIMERSLACK, 1000UL);
  static_cast<void>(is_exact);
}

void Poller::pause() {
  if (const auto failure = transport_.lost()) run_.fail(failure->rank, failure->message);
  if (changes_ != nullptr) {
    run_.wait(*changes_, seen_);
    seen_ = changes_->load(std::memory_order_acquire);
    return;
  }
  run_.sleep_for(time_);
  time_ = std::min(time_ * 3 / 2, longest_);
}

std::vector<std::string> exchange(RunControl& run, Transport& transport, const std::string& mine,
                                  std::size_t longest) {
  auto all = pass(run, transport, mine, others(transport), others(transport), longest);
  all[static_cast<std::size_t>(transport.rank())] = mine;
  return all;
}

std::vector<std::string> gather(RunControl& run, Transport& transport, const std::string& mine,
                                int to, std::size_t longest) {
  if (transport.rank() != to) {
    pass(run, transport, mine, {}, {to}, longest);
    return {};
  }
  auto all = pass(run, transport, mine, others(transport), {}, longest);
  all[static_cast<std::size_t>(to)] = mine;
  return all;
}

Result<void> agreed(RunControl& run, Transport* transport, const Result<void>& mine) {
  if (transport == nullptr) return mine;
  const auto all = exchange(run, *transport, mine ? "" : mine.error().text());
  for (std::size_t rank = 0; mine && rank < all.size(); ++rank) {
    if (!all[rank].empty()) return fail("rank " + std::to_string(rank), "", all[rank]);
  }
  return mine;
}

Result<void> check_builds(RunControl& run, Transport& transport) {
  const std::string mine = std::to_string(build_of_this_program());
  const auto all = exchange(run, transport, mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == mine) continue;
    return fail("rank " + std::to_string(rank), "",
                "runs another build of foreshard; expected the same one in all processes");
  }
  return {};
}

Result<std::unique_ptr<Transport>> load_mpi_transport(const std::string& directory) {
  // MPI's own plug-ins look for its symbols among the program's.
  const auto make =
      load_entry<Transport*()>(directory + "/libforeshard_mpi.so", "foreshard_make_mpi_transport",
                               SharedLibrary::Symbols::global);
  if (!make) {
    return fail("--comm", "mpi",
                make.error() + "; expected a program built with MPI, and OpenMPI on this machine");
  }
  std::unique_ptr<Transport> transport((*make)());
  if (!transport) {
    return fail("--comm", "mpi",
                "this MPI cannot be used by several threads; expected MPI_THREAD_MULTIPLE");
  }
  return transport;
}

std::string module_directory() {
  if (const char* named = std::getenv("FORESHARD_MODULES")) return named;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto installed = beside / FORESHARD_MODULES_FROM_PROGRAM;
  std::error_code ignored;
  return std::filesystem::is_directory(installed, ignored) ? installed.string() : beside.string();
}

}  // namespace foreshard::executor
