// Ranks as threads that meet over real sockets of this machine: the collectives, long messages, how
// processes find each other or do not, and how one notices that another is gone.
#include "executor/communication/tcp_transport.hpp"

#include <chrono>
#include <cstring>
#include <functional>
#include <latch>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "executor/communication/message_communicator.hpp"
#include "executor/communication/tcp_frames.hpp"
#include "executor/communication/tcp_reception.hpp"
#include "tests/executor/communication/communicator_checks.hpp"

namespace foreshard::executor {
namespace {

constexpr Nanoseconds kSecond{1'000'000'000};
constexpr RunIdentity kRun{3, 11, 22};

Endpoint loopback(int port) {
  return resolve("127.0.0.1", port).value().front();
}

// A port that nothing listens at now.
int free_port() {
  const Socket socket = listen_at(loopback(0), 1).value();
  return Endpoint::of_ourselves(socket).port();
}

Rendezvous rendezvous(int rank, int port, RunIdentity run = kRun) {
  return {rank, run.ranks, {"127.0.0.1", port, 20 * kSecond}, run};
}

// Each rank in a thread of its own. What it throws is returned, by rank.
[[nodiscard]] std::vector<std::string> errors_of_ranks(int ranks,
                                                       const std::function<void(int rank)>& body) {
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
void run_ranks(int ranks, const std::function<void(int rank)>& body) {
  for (const std::string& error : errors_of_ranks(ranks, body)) EXPECT_EQ(error, "");
}

// Ranks that have met.
void run_connected(int ranks, const std::string& host,
                   const std::function<void(Transport& transport)>& body) {
  const int port = free_port();
  run_ranks(ranks, [&](int rank) {
    Rendezvous place = rendezvous(rank, port, {ranks, 11, 22});
    place.point.host = host;
    const auto transport = connect_by_tcp(place);
    if (!transport) throw std::runtime_error(transport.error().text());
    ASSERT_EQ((*transport)->rank(), rank);
    ASSERT_EQ((*transport)->size(), ranks);
    body(**transport);
  });
}

void wait_for(Transport& transport, std::vector<Transport::Ticket> tickets) {
  RunControl run(transport.size());
  Poller poller(run, transport, 0, Poller::kWhileMoving);
  while (transport.test(tickets) != 0) poller.pause();
}

TEST(TcpTransport, CollectivesKeepTheirPromises) {
  for (const int ranks : {2, 3}) {
    run_connected(ranks, "127.0.0.1", [ranks](Transport& transport) {
      RunControl run(ranks);
      std::vector<int> all(static_cast<std::size_t>(ranks));
      std::iota(all.begin(), all.end(), 0);
      const auto world = make_message_communicator(run, transport, all, 3);
      check_communicator(run, *world, transport.rank());
      StreamWorker stream(run, transport.rank(), "long");
      check_all_gather(*world, stream, 3'000'001);
      check_reductions<float>(*world, stream, 700'003, Reduction::average, 99);
    });
  }
}

TEST(TcpTransport, NamesAndBothKindsOfAddresses) {
  std::vector<std::string> hosts = {"localhost", "127.0.0.1"};
  if (listen_at(resolve("::1", 0).value().front(), 1)) hosts.emplace_back("::1");
  for (const std::string& host : hosts) {
    run_connected(3, host, [](Transport& transport) {
      RunControl run(3);
      const auto all = exchange(run, transport, "rank " + std::to_string(transport.rank()));
      EXPECT_EQ(all, (std::vector<std::string>{"rank 0", "rank 1", "rank 2"}));
    });
  }
}

// 2 GiB and a little of address space, all of it the same few pages.
class RepeatedPages {
 public:
  static constexpr std::size_t kSize = (std::size_t{1} << 31) + 12345, kPiece = 1 << 26;
  RepeatedPages() {
    const int file = memfd_create("pages", 0);
    EXPECT_EQ(ftruncate(file, kPiece), 0);
    data_ = static_cast<std::byte*>(
        mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t at = 0; at < kMapped; at += kPiece) {
      mmap(data_ + at, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    }
    close(file);
  }
  ~RepeatedPages() { munmap(data_, kMapped); }
  RepeatedPages(const RepeatedPages&) = delete;
  RepeatedPages& operator=(const RepeatedPages&) = delete;
  std::span<std::byte> all() { return {data_, kSize}; }

 private:
  static constexpr std::size_t kMapped = kSize / kPiece * kPiece + kPiece;
  std::byte* data_ = nullptr;
};

TEST(TcpTransport, MessagesAboveTwoGibibytes) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "every byte takes a sanitizer too long";
#endif
  run_connected(2, "127.0.0.1", [](Transport& transport) {
    RepeatedPages pages;
    const std::size_t last = RepeatedPages::kSize - 1, place = last % RepeatedPages::kPiece;
    if (transport.rank() == 0) {
      pages.all()[place] = std::byte{0x5a};
      wait_for(transport, {transport.send(pages.all(), 1, 0)});
    } else {
      wait_for(transport, {transport.receive(pages.all(), 0, 0)});
      EXPECT_EQ(pages.all()[last], std::byte{0x5a});
      EXPECT_EQ(pages.all()[last - 1], std::byte{0});
    }
  });
}

TEST(TcpTransport, EmptyAndUnawaitedMessagesKeepTheirOrder) {
  run_connected(2, "127.0.0.1", [](Transport& transport) {
    const int other = 1 - transport.rank();
    std::array<std::byte, 3> out{std::byte{1}, std::byte{2}, std::byte{3}}, in{};
    std::vector<Transport::Ticket> sends;
    for (const std::byte& byte : out) {
      sends.push_back(transport.send({&byte, 1}, other, 5));
      sends.push_back(transport.send({}, other, 5));
    }
    wait_for(transport, sends);
    RunControl run(2);
    exchange(run, transport, "all is sent");
    for (std::byte& byte : in) {
      wait_for(transport, {transport.receive({&byte, 1}, other, 5)});
      wait_for(transport, {transport.receive({}, other, 5)});
    }
    EXPECT_EQ(in, out);
  });
}

TEST(TcpTransport, StrangersAreRefusedAndHoldNobodyUp) {
  const int port = free_port();
  const auto say = [port](std::span<const std::byte> bytes) {
    const Deadline deadline(10 * kSecond);
    tl::expected<Socket, int> socket = tl::unexpected(0);
    while (!socket && !deadline.has_passed()) socket = connect_to(loopback(port), deadline);
    send_all(*socket, bytes, deadline);
    return std::move(*socket);
  };
  const auto refused = [&](const RunIdentity& run, int rank) {
    const auto joined = connect_by_tcp(rendezvous(rank, port, run));
    return joined ? "was let in" : joined.error().message;
  };
  std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: somebody\r\n\r\n";
  std::thread strangers([&] {
    const Socket silent = say({}), brief = say(std::as_bytes(std::span("FORESHRD")));
    say(std::as_bytes(std::span(request)));
    EXPECT_NE(refused({3, 11, 99}, 1).find("rank 1 runs another build"), std::string::npos);
    EXPECT_NE(refused({3, 99, 22}, 2).find("rank 2 trains another job"), std::string::npos);
    EXPECT_NE(refused({4, 11, 22}, 1).find("belongs to a run of 4 ranks"), std::string::npos);
    run_ranks(2, [&](int i) { EXPECT_TRUE(connect_by_tcp(rendezvous(1 + i, port))); });
  });
  EXPECT_TRUE(connect_by_tcp(rendezvous(0, port)));
  strangers.join();
}

TEST(TcpTransport, SomebodyElseAtTheMeetingPoint) {
  const Socket listening = listen_at(loopback(0), 5).value();
  const int port = Endpoint::of_ourselves(listening).port();
  const auto taken = connect_by_tcp(rendezvous(0, port));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().field, "MASTER_PORT");
  EXPECT_NE(taken.error().message.find("is in use"), std::string::npos);
  std::thread server([&] {
    const Deadline deadline(10 * kSecond);
    tl::expected<Socket, int> guest = accept_at(listening);
    while (!guest && !deadline.has_passed()) guest = accept_at(listening);
    std::array<std::byte, kTcpHello> hello;
    receive_all(*guest, hello, deadline);
    send_all(*guest, std::as_bytes(std::span("HTTP/1.1 400 Bad Request\r\n\r\n")), deadline);
  });
  const auto joined = connect_by_tcp(rendezvous(1, port));
  server.join();
  ASSERT_FALSE(joined);
  EXPECT_NE(joined.error().message.find("is not rank 0 of a run of foreshard"), std::string::npos);
}

TEST(TcpTransport, HostsThatAreNotHere) {
  for (const char* host : {"192.0.2.1", "no such host"}) {
    Rendezvous place = rendezvous(0, free_port());
    place.point.host = host;
    const auto transport = connect_by_tcp(place);
    ASSERT_FALSE(transport) << host;
    EXPECT_EQ(transport.error().field, "MASTER_ADDR");
  }
}

TEST(TcpTransport, WhoDoesNotComeIsNamed) {
  const int port = free_port();
  const auto errors = errors_of_ranks(5, [port](int rank) {
    if (rank == 1 || rank == 3) return;
    Rendezvous place = rendezvous(rank, port, {5, 11, 22});
    place.point.timeout = Nanoseconds(rank == 0 ? 500'000'000 : 20'000'000'000);
    connect_by_tcp(place).value();
  });
  EXPECT_EQ(errors[0].find("ranks 1 and 3 have not come to 127.0.0.1:"), 0u) << errors[0];
  EXPECT_EQ(errors[2].find("rank 0 has left before all ranks had come"), 0u) << errors[2];
  Rendezvous alone = rendezvous(1, free_port());
  alone.point.timeout = Nanoseconds{200'000'000};
  EXPECT_THROW(
      {
        try {
          connect_by_tcp(alone).value();
        } catch (const std::runtime_error& error) {
          EXPECT_EQ(std::string(error.what()).find("rank 0 has not come to 127.0.0.1:"), 0u);
          throw;
        }
      },
      std::runtime_error);
}

TEST(TcpTransport, WhoComesTwiceIsRefused) {
  const int port = free_port();
  std::atomic<int> refusals{0}, members{0};
  run_ranks(4, [&](int i) {
    while (i == 1 && refusals == 0) std::this_thread::yield();  // until then nobody is complete
    const auto transport = connect_by_tcp(rendezvous(std::min(i, 2), port));
    if (transport) {
      ++members;
    } else {
      ++refusals;
      EXPECT_NE(transport.error().message.find("rank 2 came twice"), std::string::npos);
    }
  });
  EXPECT_EQ(members, 3);
  EXPECT_EQ(refusals, 1);
}

// A process may still listen for heartbeats when another has done all it had to.
TEST(TcpTransport, HeartbeatsAreNotNeededFromWhoLeaves) {
  const int port = free_port();
  run_ranks(2, [&](int rank) {
    const auto transport = std::move(connect_by_tcp(rendezvous(rank, port, {2, 1, 1})).value());
    if (rank == 1) return;
    std::array<std::byte, 8> beat{}, more{};
    Transport::Ticket early = transport->receive(beat, 1, kHeartbeatChannel);
    // Nothing tells this rank that the other has said goodbye; it soon has.
    for (int i = 0; i < 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Transport::Ticket late = transport->receive(more, 1, kHeartbeatChannel);
    EXPECT_FALSE(transport->lost());
    transport->cancel(early);
    transport->cancel(late);
  });
}

// A peer that speaks the handshake and then what it likes.
std::string loss_after(std::span<const std::byte> bytes) {
  const int port = free_port();
  std::thread peer([&] {
    auto sockets = meet(rendezvous(1, port, {2, 1, 1}));
    send_all((*sockets)[0], bytes, Deadline(10 * kSecond));
  });
  std::string failure;
  {
    const auto transport = std::move(connect_by_tcp(rendezvous(0, port, {2, 1, 1})).value());
    RunControl run(2);
    EXPECT_THROW(exchange(run, *transport, "here"), Aborted);
    failure = run.failure()->text();
  }
  peer.join();
  return failure;
}

// What rank 0 of two says about rank 1, which `leave` makes go away, by throwing `thrown` or without.
std::string loss(const std::function<void(std::unique_ptr<Transport>& transport)>& leave,
                 const std::string& thrown = "") {
  std::string failure;
  const int port = free_port();
  const auto errors = errors_of_ranks(2, [&](int rank) {
    std::unique_ptr<Transport> transport =
        std::move(connect_by_tcp(rendezvous(rank, port, {2, 1, 1})).value());
    RunControl run(2);
    exchange(run, *transport, "here");
    if (rank == 1) return leave(transport);
    try {
      exchange(run, *transport, "and here");
    } catch (const Aborted& aborted) {
      failure = aborted.what();
    }
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"", thrown}));
  return failure;
}

TEST(TcpTransport, WhoFailsEndsTheRunOfTheOthers) {
  EXPECT_EQ(loss([](std::unique_ptr<Transport>&) { throw std::runtime_error("out of paper"); },
                 "out of paper"),
            "rank 1: has ended the run; its own message says why");
}

// Rank 2 sees nothing of rank 1's end but what rank 0 says.
TEST(TcpTransport, TheBlameIsPassedOn) {
  const auto frame = encode(TcpFrame{TcpFrame::Kind::abort, 0, 0, 1});
  EXPECT_EQ(loss_after(frame), "rank 1: has ended the run; its own message says why");
  const int port = free_port();
  std::string failure;
  std::latch all_have_met(1);  // rank 1 is the last to know
  run_ranks(3, [&](int rank) {
    const Rendezvous place = rendezvous(rank, port);
    if (rank == 0) {
      auto sockets = meet(place);
      all_have_met.wait();
      const auto says = encode(TcpFrame{TcpFrame::Kind::abort, 0, 0, 1});
      send_all((*sockets)[2], says, Deadline(10 * kSecond));
      std::array<std::byte, 1> end;
      receive_all((*sockets)[2], end, Deadline(10 * kSecond));
    } else if (rank == 1) {
      auto sockets = meet(place);
      all_have_met.count_down();
      std::array<std::byte, 100> end;
      receive_all((*sockets)[2], end, Deadline(10 * kSecond));
    } else {
      const auto transport = std::move(connect_by_tcp(place).value());
      RunControl run(3);
      EXPECT_THROW(exchange(run, *transport, "here"), Aborted);
      failure = run.failure()->text();
    }
  });
  EXPECT_EQ(failure, "rank 1: was lost by rank 0, which has ended the run");
}

TEST(TcpTransport, WhoLeavesTooEarlyIsNamed) {
  EXPECT_EQ(loss([](std::unique_ptr<Transport>& transport) { transport.reset(); }),
            "rank 1: has left the run, but others still need it");
}

// A long message goes only when it is awaited, which it will not be any more.
TEST(TcpTransport, WhoLeavesBeforeItHasHeardAllIsNamed) {
  for (const bool is_late : {false, true}) {
    const int port = free_port();
    std::string failure;
    run_ranks(2, [&](int rank) {
      const auto transport = std::move(connect_by_tcp(rendezvous(rank, port, {2, 1, 1})).value());
      if (rank == 1) return;
      if (is_late) {  // it soon has said goodbye
        for (int i = 0; i < 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      const std::vector<std::byte> data(kTcpEager + 1);
      try {
        wait_for(*transport, {transport->send(data, 1, 0)});
      } catch (const Aborted& aborted) {
        failure = aborted.what();
      }
    });
    EXPECT_EQ(failure, "rank 1: has left the run, but others still need it");
  }
}

TEST(TcpTransport, WhoseProcessEndsIsNamed) {
  EXPECT_EQ(loss_after({}), "rank 1: its process has ended unexpectedly");
  const auto half = encode(TcpFrame{TcpFrame::Kind::data, kExchangeChannel, 8, 8});
  EXPECT_EQ(loss_after(half), "rank 1: its process has ended unexpectedly");
}

// It came before somebody awaited one of another size, who may be a thread that must not throw.
TEST(TcpTransport, AMessageOfAnotherSizeEndsTheRun) {
  run_connected(2, "127.0.0.1", [](Transport& transport) {
    std::array<std::byte, 8> bytes{};
    if (transport.rank() == 1) {
      wait_for(transport, {transport.send(std::span(bytes).first(3), 0, 5)});
      wait_for(transport, {transport.send(std::span(bytes).first(1), 0, 0)});
      RunControl run(2);
      EXPECT_THROW(exchange(run, transport, ""), Aborted);
      return;
    }
    wait_for(transport, {transport.receive(std::span(bytes).first(1), 1, 0)});
    Transport::Ticket ticket = transport.receive(bytes, 1, 5);
    ASSERT_TRUE(transport.lost());
    EXPECT_EQ(transport.lost()->text(), "rank 1: a message of 3 bytes came where 8 were expected");
    transport.cancel(ticket);
  });
}

TEST(TcpTransport, WhatIsNoMessageEndsTheRun) {
  const auto text = std::as_bytes(std::span("this is no frame at all"));
  EXPECT_EQ(loss_after(text), "rank 1: it sent what is no message");
}

}  // namespace
}  // namespace foreshard::executor
