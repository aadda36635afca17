// The local communicator, and the message communicator over messages within this process.
#include <barrier>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "executor/local_communicator.hpp"
#include "executor/message_communicator.hpp"
#include "executor/reduction.hpp"
#include "tests/executor/communicator_checks.hpp"

namespace foreshard::executor {
namespace {

// The post office of a run whose ranks are threads.
struct PostOffice {
  using Address = std::tuple<int, int, int>;  // from, to, channel
  struct Receive {
    std::uint64_t id = 0;
    std::span<std::byte> data;
  };
  std::mutex mutex;
  std::map<Address, std::deque<std::vector<std::byte>>> messages;
  std::map<Address, std::deque<Receive>> receives;
  std::map<std::uint64_t, Address> open;
  std::uint64_t next = 1;

  void deliver(const Address& address) {
    auto& sent = messages[address];
    auto& awaited = receives[address];
    while (!sent.empty() && !awaited.empty()) {
      ASSERT_EQ(sent.front().size(), awaited.front().data.size());
      std::copy(sent.front().begin(), sent.front().end(), awaited.front().data.begin());
      open.erase(awaited.front().id);
      sent.pop_front();
      awaited.pop_front();
    }
  }
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(PostOffice& office, int rank, int size)
      : office_(office), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Ticket send(std::span<const std::byte> data, int to, int channel) override {
    const std::lock_guard lock(office_.mutex);
    office_.messages[{rank_, to, channel}].emplace_back(data.begin(), data.end());
    return {};
  }
  Ticket receive(std::span<std::byte> data, int from, int channel) override {
    const std::lock_guard lock(office_.mutex);
    const PostOffice::Address address{from, rank_, channel};
    const std::uint64_t id = office_.next++;
    office_.receives[address].push_back({id, data});
    office_.open[id] = address;
    return {id, false};
  }
  std::size_t test(std::span<Ticket> tickets) override {
    const std::lock_guard lock(office_.mutex);
    std::size_t left = 0;
    for (Ticket& ticket : tickets) {
      if (ticket.is_done) continue;
      if (office_.open.contains(ticket.handle)) office_.deliver(office_.open.at(ticket.handle));
      ticket.is_done = !office_.open.contains(ticket.handle);
      left += ticket.is_done ? 0 : 1;
    }
    return left;
  }
  void cancel(Ticket& ticket) override {
    const std::lock_guard lock(office_.mutex);
    if (!ticket.is_done)
      std::erase_if(office_.receives[office_.open.at(ticket.handle)],
                    [&](auto& r) { return r.id == ticket.handle; });
    ticket.is_done = true;
  }
  [[noreturn]] void abort(int) override { std::terminate(); }

 private:
  PostOffice& office_;
  const int rank_, size_;
};

template <typename Body>
void on_threads(int ranks, Body body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (auto& thread : threads) thread.join();
}

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

class Communicators : public testing::TestWithParam<int> {};

TEST_P(Communicators, LocalKeepsItsPromises) {
  RunControl run(GetParam());
  const auto group = make_local_communicators(run, first_ranks(GetParam()));
  on_threads(GetParam(), [&](int rank) {
    check_communicator(run, *group[static_cast<std::size_t>(rank)], rank);
  });
}

TEST_P(Communicators, MessagesKeepTheirPromises) {
  RunControl run(GetParam());
  PostOffice office;
  on_threads(GetParam(), [&](int rank) {
    ThreadTransport transport(office, rank, GetParam());
    const auto group = make_message_communicator(run, transport, first_ranks(GetParam()), 0);
    check_communicator(run, *group, rank);
    // Two pieces, the last one not full.
    StreamWorker stream(run, rank, "long");
    check_reductions<Bf16>(*group, stream, (1 << 20) / std::max(1, GetParam() - 1) + 3,
                           Reduction::average, 99);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Communicators, testing::Values(1, 2, 3, 4, 5));

TEST(MessageCommunicator, GroupsShareAWorld) {
  constexpr int kRanks = 4;
  RunControl run(kRanks);
  PostOffice office;
  on_threads(kRanks, [&](int rank) {
    ThreadTransport transport(office, rank, kRanks);
    const int first = rank / 2 * 2;
    const auto shard = make_message_communicator(run, transport, {first, first + 1}, 0);
    const auto replicate = make_message_communicator(run, transport, {rank % 2, rank % 2 + 2}, 1);
    EXPECT_EQ(shard->index(), rank % 2);
    EXPECT_EQ(replicate->index(), rank / 2);
    StreamWorker one(run, rank, "one"), other(run, rank, "other");
    std::vector<float> a{static_cast<float>(rank)}, b = a;
    for (int i = 0; i < 50; ++i) {
      shard->all_reduce(one, 0, DType::fp32, Reduction::average, bytes_of(a), 1);
      replicate->all_reduce(other, 0, DType::fp32, Reduction::average, bytes_of(b), 1);
    }
    one.synchronize();
    other.synchronize();
    EXPECT_EQ(a[0], static_cast<float>(first) + 0.5F);
    EXPECT_EQ(b[0], static_cast<float>(rank % 2) + 1.0F);
  });
}

TEST(MessageCommunicator, ExchangeGivesEverybodyEverything) {
  RunControl run(3);
  PostOffice office;
  on_threads(3, [&](int rank) {
    ThreadTransport transport(office, rank, 3);
    const auto all = exchange(run, transport, std::string(static_cast<std::size_t>(rank * 5), 'x'));
    ASSERT_EQ(all.size(), 3U);
    for (std::size_t other = 0; other < 3; ++other) EXPECT_EQ(all[other].size(), other * 5);
  });
}

// Each rank has its own control, as processes have; the heartbeat tells them of the others.
TEST(MessageCommunicator, HeartbeatNamesTheHungRank) {
  constexpr int kRanks = 3;
  PostOffice office;
  std::barrier all_named(kRanks);
  on_threads(kRanks, [&](int rank) {
    RunControl run(kRanks);
    ThreadTransport transport(office, rank, kRanks);
    const auto group = make_message_communicator(run, transport, first_ranks(kRanks), 0);
    OutOfMemoryAgreement agreement(kRanks, &transport);
    const auto heartbeat = make_heartbeat(run, agreement, transport);
    WatchdogOptions options;
    options.hang_timeout = Nanoseconds{300'000'000};
    options.heartbeat = heartbeat.get();
    const Watchdog watchdog(run, {group.get()}, options);
    {
      StreamWorker stream(run, rank, "stream");
      for (int step = 0; step < 5; ++step) group->barrier(stream, 0);
      stream.synchronize();
      try {
        if (rank == 2) run.sleep_for(Nanoseconds{20'000'000'000});
        group->barrier(stream, 0);
        stream.synchronize();
        ADD_FAILURE() << "rank " << rank << " passed";
      } catch (const Aborted&) {
      }
    }
    ASSERT_TRUE(run.failure());
    EXPECT_EQ(run.failure()->rank, 2) << run.failure()->message;
    all_named.arrive_and_wait();
  });
}

TEST(LocalCommunicator, DisagreementIsAnError) {
  RunControl run(2);
  const auto group = make_local_communicators(run, first_ranks(2));
  std::atomic<int> failures{0};
  on_threads(2, [&](int rank) {
    StreamWorker stream(run, rank, "stream");
    float x = 0;
    try {
      group[static_cast<std::size_t>(rank)]->all_reduce(stream, 0, DType::fp32, Reduction::sum,
                                                        reinterpret_cast<std::byte*>(&x), 1 - rank);
      stream.synchronize();
    } catch (const std::exception&) {
      ++failures;
    }
  });
  EXPECT_EQ(failures, 2);
  ASSERT_TRUE(run.failure());
  EXPECT_NE(run.failure()->message.find("ranks do not agree on a collective: all_reduce of"),
            std::string::npos);
}

TEST(LocalCommunicator, AbortEndsACollective) {
  RunControl run(3);
  const auto group = make_local_communicators(run, first_ranks(3));
  std::atomic<int> aborted{0};
  on_threads(3, [&](int rank) {
    StreamWorker stream(run, rank, "stream");
    try {
      if (rank == 2) {
        run.sleep_for(Nanoseconds{5'000'000});
        run.fail(2, "gone");
      } else {
        group[static_cast<std::size_t>(rank)]->barrier(stream, 0);
        stream.synchronize();
      }
    } catch (const Aborted&) {
      ++aborted;
    }
  });
  EXPECT_EQ(aborted, 2);
}

// Two processes run out of memory at different places, a third not at all: all settle on the
// smallest, which the third learns from a heartbeat.
TEST(OutOfMemoryAgreement, ProcessesSettleOnTheSmallest) {
  constexpr int kRanks = 3;
  PostOffice office;
  on_threads(kRanks, [&](int rank) {
    RunControl run(kRanks);
    ThreadTransport transport(office, rank, kRanks);
    OutOfMemoryAgreement agreement(kRanks, &transport);
    const auto heartbeat = make_heartbeat(run, agreement, transport);
    WatchdogOptions options;
    options.heartbeat = heartbeat.get();
    const Watchdog watchdog(run, {}, options);
    const std::int32_t fails_at = rank == 0 ? 70 : rank == 1 ? 40 : 1'000'000;
    std::int32_t at = 0;
    for (; agreement.may_run(rank, 2, at); ++at) {
      if (at == fails_at) {
        agreement.report({2, at, rank, {}});
        break;
      }
      if (at >= 30) run.sleep_for(Nanoseconds{1'000'000});
    }
    agreement.settle(rank, run);
    ASSERT_TRUE(agreement.first());
    EXPECT_EQ(agreement.first()->rank, 1);
    EXPECT_EQ(agreement.first()->instruction, 40);
    EXPECT_GE(at, 40);
    exchange(run, transport, "");  // nobody goes while others may still listen
  });
}

TEST(Reduction, Bf16SpecialValues) {
  const auto sum = [](std::uint16_t a, std::uint16_t b) {
    std::uint16_t out = 0;
    const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(&a),
                                 reinterpret_cast<const std::byte*>(&b)};
    reduce_in_order(DType::bf16, Reduction::sum, inputs, reinterpret_cast<std::byte*>(&out), 1);
    return out;
  };
  constexpr std::uint16_t kInfinity = 0x7f80, kLargest = 0x7f7f, kNan = 0x7fc0;
  EXPECT_EQ(sum(kLargest, kLargest), kInfinity);
  EXPECT_EQ(sum(kInfinity, 0xff80), kNan);
  EXPECT_EQ(sum(0x7fff, 0x3f80), kNan);
  EXPECT_EQ(sum(0x0001, 0x0001), 0x0002);
  EXPECT_EQ(sum(0x4380, 0x3f80), 0x4380);  // 256 + 1: half-way, to even
  EXPECT_EQ(sum(0x4381, 0x3f80), 0x4382);  // 258 + 1: half-way, to even
}

TEST(Reduction, IntegersAreRefused) {
  const std::int32_t x = 1;
  std::int32_t out = 0;
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(&x),
                               reinterpret_cast<const std::byte*>(&x)};
  EXPECT_THROW(
      reduce_in_order(DType::int32, Reduction::sum, inputs, reinterpret_cast<std::byte*>(&out), 1),
      std::invalid_argument);
}

TEST(Reduction, SlicesCoverTheBuffer) {
  for (const std::int64_t count : {0, 1, 16, 17, 100, 4096, 4097}) {
    for (int size = 1; size < 7; ++size) {
      std::int64_t next = 0;
      for (int i = 0; i < size; ++i) {
        const Slice slice = reduced_slice(count, size, i);
        EXPECT_TRUE(slice.count == 0 || slice.begin == next);
        next += slice.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace foreshard::executor
