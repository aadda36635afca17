// Ranks as threads of a test that meet over real sockets of this machine.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "executor/communication/tcp_transport.hpp"

namespace foreshard::executor {

constexpr Nanoseconds kSecond{1'000'000'000};
constexpr RunIdentity kRun{3, 11, 22};

inline Endpoint loopback(int port) {
  return resolve("127.0.0.1", port).value().front();
}

// A port that nothing listens at now.
inline int free_port() {
  const Socket socket = listen_at(loopback(0), 1).value();
  return Endpoint::of_ourselves(socket).port();
}

inline Rendezvous rendezvous(int rank, int port, RunIdentity run = kRun) {
  return {rank, run.ranks, {"127.0.0.1", port, 20 * kSecond}, run};
}

// Each rank in a thread of its own. What it throws is returned, by rank.
[[nodiscard]] inline std::vector<std::string> errors_of_ranks(
    int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

// Ranks that have nothing to throw.
inline void run_ranks(int ranks, const std::function<void(int rank)>& body) {
  for (const std::string& error : errors_of_ranks(ranks, body)) EXPECT_EQ(error, "");
}

// Waits until ranks of this machine know whether they can read each other's memory.
inline void find_readers(Transport& transport) {
  RunControl run(transport.size());
  for (int i = 0; i < 2; ++i) exchange(run, transport, "");
}

// Ranks that have met.
inline void run_connected(int ranks, const std::string& host,
                          const std::function<void(Transport& transport)>& body,
                          bool lends_memory = true) {
  const int port = free_port();
  run_ranks(ranks, [&](int rank) {
    Rendezvous place = rendezvous(rank, port, {ranks, 11, 22});
    place.point.host = host;
    place.lends_memory = lends_memory;
    const auto transport = connect_by_tcp(place);
    if (!transport) throw std::runtime_error(transport.error().text());
    ASSERT_EQ((*transport)->rank(), rank);
    ASSERT_EQ((*transport)->size(), ranks);
    find_readers(**transport);
    body(**transport);
  });
}

inline void wait_for(Transport& transport, std::vector<Transport::Ticket> tickets) {
  RunControl run(transport.size());
  Poller poller(run, transport, 0, Poller::kWhileMoving);
  while (transport.test(tickets) != 0) poller.pause();
}

}  // namespace foreshard::executor
