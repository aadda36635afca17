#include "executor/transport.hpp"

#include <algorithm>
#include <filesystem>

#include <dlfcn.h>
#include <sys/prctl.h>

namespace foreshard::executor {
namespace {

constexpr const char* kMpiLibrary = "libforeshard_mpi.so";

void complete(RunControl& run, Transport& transport, std::vector<Transport::Ticket>& tickets) {
  Poller poller(run, transport, kExchangeChannel, Poller::kWhileAbsent);
  while (transport.test(tickets) != 0) poller.pause();
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

std::vector<std::string> exchange(RunControl& run, Transport& transport, const std::string& mine) {
  const auto size = static_cast<std::size_t>(transport.size());
  const auto me = static_cast<std::size_t>(transport.rank());
  std::vector<std::uint64_t> lengths(size, mine.size());
  std::vector<std::string> all(size);
  std::vector<Transport::Ticket> tickets;
  const auto for_others = [&](auto&& start) {
    tickets.clear();
    for (std::size_t peer = 0; peer < size; ++peer) {
      if (peer != me) start(peer, static_cast<int>(peer));
    }
    complete(run, transport, tickets);
  };
  for_others([&](std::size_t peer, int rank) {
    tickets.push_back(transport.receive(std::as_writable_bytes(std::span(&lengths[peer], 1)), rank,
                                        kExchangeChannel));
    tickets.push_back(
        transport.send(std::as_bytes(std::span(&lengths[me], 1)), rank, kExchangeChannel));
  });
  for_others([&](std::size_t peer, int rank) {
    all[peer].resize(lengths[peer]);
    tickets.push_back(
        transport.receive(std::as_writable_bytes(std::span(all[peer])), rank, kExchangeChannel));
    tickets.push_back(transport.send(std::as_bytes(std::span(mine)), rank, kExchangeChannel));
  });
  all[me] = mine;
  return all;
}

Result<std::unique_ptr<Transport>> load_mpi_transport(const std::string& directory) {
  const std::string path = directory + "/" + kMpiLibrary;
  // MPI's own plug-ins look for its symbols among the program's.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return fail("--comm", "mpi",
                std::string("MPI cannot be loaded (") + dlerror() +
                    "); expected OpenMPI on this machine and a program built with it");
  }
  using Make = Transport* (*)();
  auto make = reinterpret_cast<Make>(dlsym(library, "foreshard_make_mpi_transport"));
  if (make == nullptr) {
    return fail(path, "", "is not of this program; expected foreshard_make_mpi_transport in it");
  }
  std::unique_ptr<Transport> transport(make());
  if (!transport) {
    return fail("--comm", "mpi",
                "this MPI cannot be used by several threads; expected MPI_THREAD_MULTIPLE");
  }
  return transport;
}

std::string program_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

}  // namespace foreshard::executor
