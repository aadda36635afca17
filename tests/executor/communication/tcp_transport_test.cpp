// Messages between ranks that are threads and have met: the collectives, long messages, and how one
// notices that another is gone.
#include "executor/communication/tcp_transport.hpp"

#include <array>
#include <chrono>
#include <latch>
#include <numeric>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/communication/message_communicator.hpp"
#include "executor/communication/process_memory.hpp"
#include "executor/communication/tcp_frames.hpp"
#include "executor/communication/tcp_reception.hpp"
#include "models/base/fnv_hash.hpp"
#include "tests/executor/communication/communicator_checks.hpp"
#include "tests/executor/communication/tcp_ranks.hpp"

namespace foreshard::executor {
namespace {

// Long messages go over the connection, or are read in the sender's memory.
class TcpTransportBothWays : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Memory, TcpTransportBothWays, testing::Bool(),
                         [](const auto& lends) { return lends.param ? "Lent" : "Sent"; });

TEST_P(TcpTransportBothWays, CollectivesKeepTheirPromises) {
  const GroupNodes one_node, two_nodes{{0, 0, 1, 1}, 0};  // these pass messages around a ring
  for (const auto& [ranks, nodes] :
       {std::pair(2, one_node), std::pair(3, one_node), std::pair(4, two_nodes)}) {
    run_connected(
        ranks, "127.0.0.1",
        [ranks = ranks, &nodes = nodes](Transport& transport) {
          RunControl run(ranks);
          std::vector<int> all(static_cast<std::size_t>(ranks));
          std::iota(all.begin(), all.end(), 0);
          CpuDevice device(run, transport.rank(), fsdp2_streams());
          const auto world = make_message_communicator(run, device, transport, all, 3, nodes);
          check_communicator(run, *world, device);
          check_all_gather(*world, device, Stream::compute, 3'000'001);
          check_reductions<float>(*world, device, Stream::compute, 700'003, Reduction::average, 99);
        },
        GetParam());
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

TEST_P(TcpTransportBothWays, MessagesAboveTwoGibibytes) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "every byte takes a sanitizer too long";
#endif
  run_connected(
      2, "127.0.0.1",
      [](Transport& transport) {
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
      },
      GetParam());
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

constexpr std::size_t kLong = 1 << 20;

// Rank 1 lends a long message to rank 0 on channel 0, and goes on when rank 0 knows of it.
struct Lending {
  explicit Lending(Transport& over) : transport(over) {
    if (transport.rank() == 1) {
      ticket = transport.send(data, 0, 0);
    } else {
      const auto* const changes = transport.changes(0);
      const std::uint32_t before = *changes;
      ticket = transport.receive(data, 1, 0);
      while (*changes == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    meet();
  }
  void meet() {
    RunControl run(2);
    exchange(run, transport, "");
  }
  bool is_done() { return transport.test({&ticket, 1}) == 0; }

  Transport& transport;
  std::vector<std::byte> data = std::vector<std::byte>(kLong);
  Transport::Ticket ticket;
};

TEST(TcpTransport, LongMessagesAreReadWhereTheyLie) {
  run_connected(2, "127.0.0.1", [](Transport& transport) {
    Lending lending(transport);
    if (transport.rank() == 1) {
      EXPECT_FALSE(lending.is_done());
      lending.data.back() = std::byte{7};  // nobody should; it shows which bytes are read
      lending.meet();
      wait_for(transport, {lending.ticket});
    } else {
      lending.meet();
      EXPECT_TRUE(lending.is_done());
      EXPECT_EQ(lending.data.back(), std::byte{7});
    }
  });
}

// It may have been read in part, or overwritten since; later messages are not affected.
TEST(TcpTransport, WhatIsLentAndCancelledNeverComes) {
  for (const int who : {0, 1}) {
    run_connected(2, "127.0.0.1", [who](Transport& transport) {
      Lending lending(transport);
      const bool sends = transport.rank() == 1;
      if (transport.rank() == who) transport.cancel(lending.ticket);
      lending.meet();
      if (who == 0 && sends) wait_for(transport, {lending.ticket});
      if (who == 1 && !sends) {
        EXPECT_FALSE(lending.is_done());
        EXPECT_FALSE(lending.is_done());
      }
      std::vector<std::byte> next(kLong, sends ? std::byte{5} : std::byte{0});
      wait_for(transport, {sends ? transport.send(next, 0, 0) : transport.receive(next, 1, 0)});
      EXPECT_EQ(next, std::vector<std::byte>(kLong, std::byte{5}));
      transport.cancel(lending.ticket);
      lending.meet();
    });
  }
}

TEST(TcpTransport, WhoLeavesWithoutHavingLentIsNamed) {
  const int port = free_port();
  std::string failure;
  run_ranks(2, [&](int rank) {
    const auto transport = std::move(connect_by_tcp(rendezvous(rank, port, {2, 1, 1})).value());
    find_readers(*transport);
    Lending lending(*transport);
    if (rank == 1) transport->cancel(lending.ticket);
    lending.meet();
    if (rank == 1) return;
    try {
      wait_for(*transport, {lending.ticket});
    } catch (const Aborted& aborted) {
      failure = aborted.what();
    }
  });
  EXPECT_EQ(failure, "rank 1: has left the run, but others still need it");
}

// One that cannot be read lends nothing, whatever others do.
TEST(TcpTransport, MemoryIsLentByThoseThatCanBeRead) {
  const int port = free_port();
  run_ranks(3, [&](int rank) {
    Rendezvous place = rendezvous(rank, port);
    place.lends_memory = rank != 1;
    const auto transport = std::move(connect_by_tcp(place).value());
    RunControl run(3);
    CpuDevice device(run, rank, fsdp2_streams());
    const auto world = make_message_communicator(run, device, *transport, {0, 1, 2}, 3);
    check_all_gather(*world, device, Stream::compute, kLong);
    check_all_gather(*world, device, Stream::compute, kLong + 1);
  });
}

TEST(TcpTransport, WhoseProcessIsKilledWhileItLendsIsNamed) {
  const int port = free_port();
  const pid_t child = fork();
  if (child == 0) {
    const auto transport = std::move(connect_by_tcp(rendezvous(1, port, {2, 1, 1})).value());
    find_readers(*transport);
    const Lending lending(*transport);
    for (;;) pause();
  }
  const auto transport = std::move(connect_by_tcp(rendezvous(0, port, {2, 1, 1})).value());
  find_readers(*transport);
  Lending lending(*transport);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  RunControl run(2);
  EXPECT_FALSE(lending.is_done());
  EXPECT_THROW(exchange(run, *transport, ""), Aborted);
  EXPECT_EQ(run.failure()->text(), "rank 1: its process has ended unexpectedly");
  EXPECT_FALSE(lending.is_done());
  transport->cancel(lending.ticket);
}

// A process may still listen for heartbeats when another has done all it had to.
TEST(TcpTransport, HeartbeatsAreNotNeededFromWhoLeaves) {
  const int port = free_port();
  run_ranks(2, [&](int rank) {
    const auto transport = std::move(connect_by_tcp(rendezvous(rank, port, {2, 1, 1})).value());
    if (rank == 1) return;
    std::array<std::byte, 8> beat{}, more{};
    Transport::Ticket early = transport->receive(beat, 1, kHeartbeatChannel);
    // This rank gets no sign of the other's goodbye, which soon comes.
    for (int i = 0; i < 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Transport::Ticket late = transport->receive(more, 1, kHeartbeatChannel);
    EXPECT_FALSE(transport->lost());
    transport->cancel(early);
    transport->cancel(late);
  });
}

// A peer that speaks the handshake, hears so many bytes, and then speaks what it likes.
std::string loss_after(std::span<const std::byte> bytes, std::size_t heard = 0) {
  const int port = free_port();
  std::thread peer([&] {
    auto sockets = meet(rendezvous(1, port, {2, 1, 1}));
    std::vector<std::byte> words(heard);
    receive_all((*sockets)[0], words, Deadline(10 * kSecond));
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

// The error of rank 0 of two about rank 1, which `leave` makes go away, by throwing `thrown` or without.
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
            "rank 1: has ended the run; see its own error message");
}

// Rank 2 sees nothing of rank 1's end but what rank 0 sends.
TEST(TcpTransport, TheBlameIsPassedOn) {
  const auto frame = encode(TcpFrame{TcpFrame::Kind::abort, 0, 0, 1});
  EXPECT_EQ(loss_after(frame), "rank 1: has ended the run; see its own error message");
  const int port = free_port();
  std::string failure;
  std::latch all_have_met(1);  // rank 1 learns of it last
  run_ranks(3, [&](int rank) {
    const Rendezvous place = rendezvous(rank, port);
    if (rank == 0) {
      auto sockets = meet(place);
      all_have_met.wait();
      const auto abort = encode(TcpFrame{TcpFrame::Kind::abort, 0, 0, 1});
      send_all((*sockets)[2], abort, Deadline(10 * kSecond));
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
      if (is_late) {  // its goodbye comes soon
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

TEST(TcpTransport, NobodyWaitsForGoodForAGoodbye) {
  const int port = free_port();
  std::latch has_left(1);
  run_ranks(2, [&](int rank) {
    const Rendezvous place = rendezvous(rank, port, {2, 1, 1});
    if (rank == 0) {
      EXPECT_TRUE(connect_by_tcp(place, Nanoseconds{50'000'000}));
      has_left.count_down();
    } else {
      const auto sockets = meet(place);  // and not a word more
      has_left.wait();
    }
  });
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
    EXPECT_EQ(transport.lost()->text(),
              "rank 1: a message of 3 bytes arrived where 8 were expected");
    transport.cancel(ticket);
  });
}

TEST(TcpTransport, NothingIsBorrowedFromMemoryThatCannotBeRead) {
  FnvHash space;
  space.add(process_space());
  const std::uint64_t word = 5, here = space.value();
  const auto at = reinterpret_cast<std::uint64_t>(&word);
  const auto loss = [&](const std::array<std::uint64_t, 3>& readable) {
    const auto offer = encode(
        TcpFrame{TcpFrame::Kind::readable, 0, 0, static_cast<std::uint64_t>(getpid()), readable});
    const auto lent =
        encode(TcpFrame{TcpFrame::Kind::lent, kExchangeChannel, 0, 8, {at, at, word}});
    std::vector<std::byte> bytes(offer.begin(), offer.end());
    bytes.insert(bytes.end(), lent.begin(), lent.end());
    // Rank 0 has offered its own memory, and has sent a length and so awaits one.
    return loss_after(bytes, 2 * kTcpHeader + sizeof word);
  };
  EXPECT_EQ(loss({here, at, word}), "rank 1: its process has ended unexpectedly");
  const std::string refused = "rank 1: it lends memory that cannot be read";
  EXPECT_EQ(loss({here + 1, at, word}), refused);
  EXPECT_EQ(loss({here, at, word + 1}), refused);
  EXPECT_EQ(loss({here, 8, word}), refused);
}

TEST(TcpTransport, WhatIsNoMessageEndsTheRun) {
  const auto text =
      std::as_bytes(std::span("this is no frame at all, though it is as long as one"));
  EXPECT_EQ(loss_after(text), "rank 1: it sent something that is not a message");
}

}  // namespace
}  // namespace foreshard::executor
