// The local communicator, and the message communicator over messages within this process.
#include <barrier>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "executor/communication/communicators.hpp"
#include "executor/communication/local_communicator.hpp"
#include "executor/communication/message_communicator.hpp"
#include "executor/communication/reduction.hpp"
#include "executor/cpu/simd/table.hpp"
#include "models/base/float_formats.hpp"
#include "tests/executor/communication/communicator_checks.hpp"
#include "tests/executor/communication/cpu_devices.hpp"
#include "tests/executor/communication/thread_transport.hpp"

namespace foreshard::executor {
namespace {

class CommunicatorsOf : public testing::TestWithParam<int> {};

TEST_P(CommunicatorsOf, LocalKeepsItsPromises) {
  RunControl run(GetParam());
  CpuDevices devices(run);
  const auto group = make_local_communicators(run, devices.all());
  on_threads(GetParam(), [&](int rank) {
    check_communicator(run, *group[static_cast<std::size_t>(rank)], devices[rank]);
  });
}

TEST_P(CommunicatorsOf, MessagesKeepTheirPromises) {
  RunControl run(GetParam());
  PostOffice office;
  on_threads(GetParam(), [&](int rank) {
    ThreadTransport transport(office, rank, GetParam());
    CpuDevice device(run, rank, fsdp2_streams());
    const auto group =
        make_message_communicator(run, device, transport, first_ranks(GetParam()), 0);
    check_communicator(run, *group, device);
    // Two pieces, the last one not full.
    check_reductions<Bf16>(*group, device, Stream::compute,
                           (1 << 20) / std::max(1, GetParam() - 1) + 3, Reduction::average, 99);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, CommunicatorsOf, testing::Values(1, 2, 3, 4, 5));

// Nodes of two ranks, whose messages go around a ring however short they are.
TEST(MessageCommunicator, RingsKeepTheirPromises) {
  for (const std::vector<int>& nodes : {std::vector{0, 0, 1, 1}, std::vector{0, 0, 1, 1, 2}}) {
    const int ranks = static_cast<int>(nodes.size());
    RunControl run(ranks);
    PostOffice office;
    on_threads(ranks, [&](int rank) {
      ThreadTransport transport(office, rank, ranks);
      CpuDevice device(run, rank, fsdp2_streams());
      const auto group =
          make_message_communicator(run, device, transport, first_ranks(ranks), 0, {nodes, 0});
      check_communicator(run, *group, device);
      // Two blocks of pieces, the last one not full.
      check_all_gather(*group, device, Stream::compute, 3'000'001);
      check_reductions<float>(*group, device, Stream::compute, 600'003, Reduction::average, 98);
      check_reductions<Bf16>(*group, device, Stream::compute, 1'200'003, Reduction::average, 99);
    });
  }
}

// What a rank issues on 16 slices of a buffer.
using Collective = void (*)(Communicator& group, std::byte* buffer, std::int64_t slice_bytes);

// Slices that two nodes of eight ranks send each other in a collective.
double slices_between_nodes(std::int64_t slice_bytes, Collective collective) {
  constexpr int kRanks = 16;
  GroupNodes nodes;
  for (int rank = 0; rank < kRanks; ++rank) nodes.of_members.push_back(rank / 8);
  RunControl run(kRanks);
  PostOffice office;
  on_threads(kRanks, [&](int rank) {
    ThreadTransport transport(office, rank, kRanks);
    std::vector<std::byte> buffer(static_cast<std::size_t>(kRanks * slice_bytes));
    CpuDevice device(run, rank, fsdp2_streams());
    const auto group =
        make_message_communicator(run, device, transport, first_ranks(kRanks), 0, nodes);
    collective(*group, buffer.data(), slice_bytes);
    device.synchronize();
  });
  std::size_t bytes = 0;
  for (const auto& [address, sent] : office.sent_bytes) {
    if (std::get<0>(address) / 8 != std::get<1>(address) / 8) bytes += sent;
  }
  return static_cast<double>(bytes) / static_cast<double>(slice_bytes);
}

// Directly each of 16 slices goes to the eight ranks of the other node. Around a ring 15 slices pass each
// of the two links between them.
TEST(MessageCommunicator, LongSlicesCrossTheNetworkOnce) {
  const Collective gathers = [](Communicator& group, std::byte* buffer, std::int64_t bytes) {
    group.all_gather(Stream::compute, 0, buffer, bytes);
  };
  const Collective scatters = [](Communicator& group, std::byte* buffer, std::int64_t bytes) {
    group.reduce_scatter(Stream::compute, 0, DType::bf16, Reduction::sum, buffer,
                         buffer + group.index() * bytes, bytes / 2);
  };
  const Collective reduces = [](Communicator& group, std::byte* buffer, std::int64_t bytes) {
    group.all_reduce(Stream::compute, 0, DType::bf16, Reduction::sum, buffer, bytes / 2 * 16);
  };
  constexpr std::int64_t kShort = 4096, kLong = 160 << 10;
  EXPECT_EQ(slices_between_nodes(kShort, gathers), 16 * 8);
  EXPECT_EQ(slices_between_nodes(kShort, scatters), 16 * 8);
  EXPECT_EQ(slices_between_nodes(kShort, reduces), 2 * 16 * 8);
  EXPECT_EQ(slices_between_nodes(kLong, gathers), 2 * 15);
  EXPECT_EQ(slices_between_nodes(kLong, scatters), 2 * 15);
  EXPECT_EQ(slices_between_nodes(kLong, reduces), 2 * 2 * 15);
}

TEST(MessageCommunicator, GroupsShareAWorld) {
  constexpr int kRanks = 4;
  RunControl run(kRanks);
  PostOffice office;
  on_threads(kRanks, [&](int rank) {
    ThreadTransport transport(office, rank, kRanks);
    const int first = rank / 2 * 2;
    CpuDevice device(run, rank, fsdp2_streams());
    const auto shard = make_message_communicator(run, device, transport, {first, first + 1}, 0);
    const auto replicate =
        make_message_communicator(run, device, transport, {rank % 2, rank % 2 + 2}, 1);
    EXPECT_EQ(shard->index(), rank % 2);
    EXPECT_EQ(replicate->index(), rank / 2);
    std::vector<float> a{static_cast<float>(rank)}, b = a;
    for (int i = 0; i < 50; ++i) {
      shard->all_reduce(Stream::reduce_scatter, 0, DType::fp32, Reduction::average, bytes_of(a), 1);
      replicate->all_reduce(Stream::all_reduce, 0, DType::fp32, Reduction::average, bytes_of(b), 1);
    }
    device.synchronize();
    EXPECT_EQ(a[0], static_cast<float>(first) + 0.5F);
    EXPECT_EQ(b[0], static_cast<float>(rank % 2) + 1.0F);
  });
}

// Two groups of two that share parameters, and two of those that hold the same shard.
std::vector<RankPlace> places_of_hybrid_sharding() {
  std::vector<RankPlace> places(4);
  for (int rank = 0; rank < 4; ++rank) {
    auto& place = places[static_cast<std::size_t>(rank)];
    place.rank = rank;
    place.groups = {{2, rank % 2, rank / 2 * 2, 1},  // shard
                    {2, rank / 2, rank % 2, 2},      // replicate
                    {1, 0, rank, 1},                 // post_forward
                    {4, rank, 0, 1}};                // world
  }
  return places;
}

// What reaches a rank from the groups it is in.
void check_groups(const GroupCommunicators& groups, Device& device) {
  const auto sum_over = [&](Group group) {
    std::vector<float> value{static_cast<float>(1 << device.rank())};
    groups[static_cast<std::size_t>(group)]->all_reduce(Stream::all_reduce, 0, DType::fp32,
                                                        Reduction::sum, bytes_of(value), 1);
    device.synchronize();
    return static_cast<int>(value[0]);
  };
  const int rank = device.rank();
  EXPECT_EQ(sum_over(Group::shard), rank < 2 ? 0b0011 : 0b1100);
  EXPECT_EQ(sum_over(Group::replicate), rank % 2 == 0 ? 0b0101 : 0b1010);
  EXPECT_EQ(sum_over(Group::post_forward), 1 << rank);
  EXPECT_EQ(sum_over(Group::world), 0b1111);
}

TEST(Communicators, ThreadsMeetByGroup) {
  RunControl run(4);
  const auto places = places_of_hybrid_sharding();
  CpuDevices devices(run);
  std::vector<Communicators::Member> members;
  for (int rank = 0; rank < 4; ++rank) {
    members.push_back({devices[rank], places[static_cast<std::size_t>(rank)]});
  }
  const Communicators communicators(run, members, nullptr, {});
  EXPECT_EQ(communicators.wait_sources().size(), 16U);
  on_threads(4, [&](int rank) {
    check_groups(communicators.of(static_cast<std::size_t>(rank)), devices[rank]);
  });
}

TEST(Communicators, ProcessesSendMessagesByGroup) {
  RunControl run(4);
  const auto places = places_of_hybrid_sharding();
  const std::vector<int> nodes = {0, 0, 1, 1};
  PostOffice office;
  on_threads(4, [&](int rank) {
    ThreadTransport transport(office, rank, 4);
    CpuDevice device(run, rank, fsdp2_streams());
    const Communicators::Member only[] = {{device, places[static_cast<std::size_t>(rank)]}};
    const Communicators communicators(run, only, &transport, nodes);
    check_groups(communicators.of(0), device);
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

TEST(MessageCommunicator, GatheringSendsToOneRankOnly) {
  RunControl run(3);
  PostOffice office;
  on_threads(3, [&](int rank) {
    ThreadTransport transport(office, rank, 3);
    const std::string mine(static_cast<std::size_t>(1000 * rank), static_cast<char>('a' + rank));
    const auto all = gather(run, transport, mine, 1, 2000);
    const std::vector<std::string> expected = {"", mine, std::string(2000, 'c')};
    EXPECT_EQ(all, rank == 1 ? expected : std::vector<std::string>());
  });
  for (const auto& [address, bytes] : office.sent_bytes) EXPECT_EQ(std::get<1>(address), 1);
}

// Otherwise one process could make another ask for all the memory there is.
TEST(MessageCommunicator, WhoHasTooMuchToSayFailsTheRun) {
  RunControl run(2);
  PostOffice office;
  ThreadTransport transport(office, 0, 2), other(office, 1, 2);
  const std::uint64_t length = std::uint64_t{1} << 60;
  other.send(std::as_bytes(std::span(&length, 1)), 0, kExchangeChannel);
  EXPECT_THROW(exchange(run, transport, "here"), Aborted);
  EXPECT_EQ(run.failure()->text(),
            "rank 1: it sends 1152921504606846976 bytes where at most 1048576 were expected");
}

TEST(MessageCommunicator, OtherBuildsAreRefused) {
  RunControl run(2);
  PostOffice office;
  on_threads(2, [&](int rank) {
    ThreadTransport transport(office, rank, 2);
    if (rank == 0) {
      exchange(run, transport, "another");
    } else {
      const auto checked = check_builds(run, transport);
      ASSERT_FALSE(checked);
      EXPECT_EQ(checked.error().text(),
                "rank 0: runs another build of foreshard; expected the same one in all processes");
    }
  });
}

// Each rank has its own control, as processes have; the heartbeat informs them of the others.
TEST(MessageCommunicator, HeartbeatNamesTheHungRank) {
  constexpr int kRanks = 3;
  PostOffice office;
  std::barrier all_named(kRanks);
  on_threads(kRanks, [&](int rank) {
    RunControl run(kRanks);
    ThreadTransport transport(office, rank, kRanks);
    CpuDevice device(run, rank, fsdp2_streams());
    const auto group = make_message_communicator(run, device, transport, first_ranks(kRanks), 0);
    Agreements agreements{OutOfMemoryAgreement(kRanks), LastStepAgreement(rank, kRanks)};
    const auto heartbeat = make_heartbeat(run, agreements, transport);
    WatchdogOptions options;
    options.hang_timeout = Nanoseconds{300'000'000};
    options.heartbeat = heartbeat.get();
    const Watchdog watchdog(run, {group.get()}, options);
    for (int step = 0; step < 5; ++step) group->barrier(Stream::compute, 0);
    device.synchronize();
    try {
      if (rank == 2) run.sleep_for(Nanoseconds{20'000'000'000});
      group->barrier(Stream::compute, 0);
      device.synchronize();
      ADD_FAILURE() << "rank " << rank << " passed";
    } catch (const Aborted&) {
    }
    device.stop();
    ASSERT_TRUE(run.failure());
    EXPECT_EQ(run.failure()->rank, 2) << run.failure()->message;
    all_named.arrive_and_wait();
  });
}

TEST(LocalCommunicator, DisagreementIsAnError) {
  RunControl run(2);
  CpuDevices devices(run);
  const auto group = make_local_communicators(run, devices.all());
  std::atomic<int> failures{0};
  on_threads(2, [&](int rank) {
    float x = 0;
    try {
      group[static_cast<std::size_t>(rank)]->all_reduce(Stream::compute, 0, DType::fp32,
                                                        Reduction::sum,
                                                        reinterpret_cast<std::byte*>(&x), 1 - rank);
      devices[rank].synchronize();
    } catch (const std::exception&) {
      ++failures;
    }
    devices[rank].stop();
  });
  EXPECT_EQ(failures, 2);
  ASSERT_TRUE(run.failure());
  EXPECT_NE(run.failure()->message.find("ranks do not agree on a collective: all_reduce of"),
            std::string::npos);
}

TEST(LocalCommunicator, AbortEndsACollective) {
  RunControl run(3);
  CpuDevices devices(run);
  const auto group = make_local_communicators(run, devices.all());
  std::atomic<int> aborted{0};
  on_threads(3, [&](int rank) {
    try {
      if (rank == 2) {
        run.sleep_for(Nanoseconds{5'000'000});
        run.fail(2, "gone");
      } else {
        group[static_cast<std::size_t>(rank)]->barrier(Stream::compute, 0);
        devices[rank].synchronize();
      }
    } catch (const Aborted&) {
      ++aborted;
    }
    devices[rank].stop();
  });
  EXPECT_EQ(aborted, 2);
}

TEST(Reduction, Bf16SpecialValues) {
  const auto sum = [](std::uint16_t a, std::uint16_t b) {
    std::uint16_t out = 0;
    const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(&a),
                                 reinterpret_cast<const std::byte*>(&b)};
    reduce_in_order(DType::bf16, inputs, reinterpret_cast<std::byte*>(&out), 1, 1);
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

// The plain sum, in order and rounded after each step, on every instruction set.
template <typename Stored, typename Computed, typename Load, typename Round>
void check_reductions(DType type, const Load& load, const Round& round) {
  std::mt19937 random(1);
  for (const std::size_t inputs : {2U, 3U, 4U, 7U}) {
    for (const std::size_t count : {1U, 15U, 1024U, 5003U}) {
      std::vector<std::vector<Stored>> values(inputs, std::vector<Stored>(count));
      std::vector<const std::byte*> bytes;
      for (auto& input : values) {
        for (Stored& value : input) {
          value = round(static_cast<Computed>(static_cast<int>(random() % 2000) - 1000) / 97);
        }
        bytes.push_back(reinterpret_cast<const std::byte*>(input.data()));
      }
      for (const Reduction reduction : {Reduction::sum, Reduction::average}) {
        std::vector<Stored> expected(count), out(count);
        for (std::size_t k = 0; k < count; ++k) {
          Stored sum = values[0][k];
          for (std::size_t i = 1; i < inputs; ++i) sum = round(load(sum) + load(values[i][k]));
          const auto by = static_cast<Computed>(inputs);
          expected[k] = reduction == Reduction::average ? round(load(sum) / by) : sum;
        }
        const auto elements = static_cast<std::int64_t>(count);
        const int divisor = divisor_of(reduction, static_cast<int>(inputs));
        reduce_in_order(type, bytes, reinterpret_cast<std::byte*>(out.data()), elements, divisor);
        EXPECT_EQ(out, expected) << inputs << " inputs of " << count;
        auto in_place = bytes;  // of the last input
        out = values.back();
        in_place.back() = reinterpret_cast<const std::byte*>(out.data());
        reduce_in_order(type, in_place, reinterpret_cast<std::byte*>(out.data()), elements,
                        divisor);
        EXPECT_EQ(out, expected) << inputs << " inputs of " << count << " in place";
      }
    }
  }
}

TEST(Reduction, IsThePlainSumOnEveryInstructionSet) {
  const SimdKernels& usual = simd_kernels();
  const auto plain = [](auto x) { return x; };
  for (const SimdKernels* kernels : available_simd_kernels()) {
    SCOPED_TRACE(kernels->name);
    use_simd_kernels(*kernels);
    check_reductions<float, float>(DType::fp32, plain, plain);
    check_reductions<double, double>(DType::fp64, plain, plain);
    check_reductions<std::uint16_t, float>(DType::bf16, bf16_to_float, float_to_bf16);
  }
  use_simd_kernels(usual);
}

TEST(Reduction, IntegersAreRefused) {
  const std::int32_t x = 1;
  std::int32_t out = 0;
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(&x),
                               reinterpret_cast<const std::byte*>(&x)};
  EXPECT_THROW(reduce_in_order(DType::int32, inputs, reinterpret_cast<std::byte*>(&out), 1, 1),
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
