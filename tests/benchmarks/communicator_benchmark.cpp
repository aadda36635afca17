// What streams and collectives cost: hand-overs, bandwidth of gathering and of reducing, in memory and over
// TCP within this machine.
#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "executor/communication/local_communicator.hpp"
#include "executor/communication/message_communicator.hpp"
#include "executor/communication/reduction.hpp"
#include "executor/communication/tcp_transport.hpp"
#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {
namespace {

// Host submits to a busy worker: the cost of issuing.
void stream_issue(benchmark::State& state) {
  RunControl run(1);
  StreamWorker stream(run, 0, "stream");
  std::int64_t done = 0;
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) stream.submit(0, [&done] { ++done; });
    stream.synchronize();
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(stream_issue)->UseRealTime();

// Host to a sleeping worker and back: two wake-ups.
void stream_round_trip(benchmark::State& state) {
  RunControl run(1);
  StreamWorker stream(run, 0, "stream");
  Event event;
  Epoch epoch = 0;
  for (auto _ : state) {
    stream.record(event, ++epoch);
    event.wait(run, epoch);
  }
}
BENCHMARK(stream_round_trip)->UseRealTime();

// A chain of hand-overs between two streams, all issued beforehand.
void stream_hand_over(benchmark::State& state) {
  RunControl run(1);
  StreamWorker one(run, 0, "one"), other(run, 0, "other");
  std::vector<Event> events(100);
  Epoch epoch = 0;
  for (auto _ : state) {
    ++epoch;
    for (std::size_t i = 0; i < events.size(); ++i) {
      StreamWorker& stream = i % 2 == 0 ? one : other;
      if (i > 0) stream.wait(events[i - 1], epoch);
      stream.record(events[i], epoch);
    }
    events.back().wait(run, epoch);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}
BENCHMARK(stream_hand_over)->UseRealTime();

class TwoRanks {
 public:
  TwoRanks()
      : run(2), devices{CpuDevice(run, 0, fsdp2_streams()), CpuDevice(run, 1, fsdp2_streams())} {
    Device* const both[] = {&devices[0], &devices[1]};
    group = make_local_communicators(run, both);
  }
  void synchronize() {
    for (auto& device : devices) device.synchronize();
  }

  RunControl run;
  std::vector<std::unique_ptr<Communicator>> group;
  std::array<CpuDevice, 2> devices;
};

void local_all_gather(benchmark::State& state) {
  TwoRanks ranks;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> buffers[2] = {std::vector<std::byte>(2 * bytes),
                                       std::vector<std::byte>(2 * bytes)};
  for (auto _ : state) {
    for (std::size_t i = 0; i < 2; ++i) {
      ranks.group[i]->all_gather(Stream::compute, 0, buffers[i].data(), state.range(0));
    }
    ranks.synchronize();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(local_all_gather)->RangeMultiplier(16)->Range(1 << 10, 16 << 20)->UseRealTime();

void local_reduce_scatter(benchmark::State& state) {
  TwoRanks ranks;
  const auto type = static_cast<DType>(state.range(1));
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> inputs[2] = {std::vector<std::byte>(2 * bytes),
                                      std::vector<std::byte>(2 * bytes)};
  std::vector<std::byte> outputs[2] = {std::vector<std::byte>(bytes),
                                       std::vector<std::byte>(bytes)};
  for (auto _ : state) {
    for (std::size_t i = 0; i < 2; ++i) {
      ranks.group[i]->reduce_scatter(Stream::compute, 0, type, Reduction::average, inputs[i].data(),
                                     outputs[i].data(), state.range(0) / item_size(type));
    }
    ranks.synchronize();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetLabel(std::string(name(type)));
}
BENCHMARK(local_reduce_scatter)
    ->ArgsProduct({{64 << 10, 4 << 20},
                   {static_cast<int>(DType::fp32), static_cast<int>(DType::bf16)}})
    ->UseRealTime();

// Ranks that talk as processes do, though they are threads here.
class TcpRanks {
 public:
  TcpRanks(int ranks, bool lends_memory) : run(ranks), transports(static_cast<std::size_t>(ranks)) {
    const int port = [] {
      const Socket socket = listen_at(resolve("127.0.0.1", 0).value().front(), 1).value();
      return Endpoint::of_ourselves(socket).port();
    }();
    std::vector<int> all(transports.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::thread> threads;
    for (const int rank : all) {
      devices.push_back(std::make_unique<CpuDevice>(run, rank, fsdp2_streams()));
      threads.emplace_back([this, rank, ranks, port, lends_memory] {
        const Rendezvous place{rank,
                               ranks,
                               {"127.0.0.1", port, Nanoseconds{10'000'000'000}},
                               {ranks, 0, 0},
                               lends_memory};
        auto& transport = transports[static_cast<std::size_t>(rank)];
        transport = std::move(connect_by_tcp(place).value());
        for (int i = 0; i < 2; ++i) exchange(run, *transport, "");  // they know who lends
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < transports.size(); ++i) {
      group.push_back(make_message_communicator(run, *devices[i], *transports[i], all, 0));
    }
  }
  ~TcpRanks() {
    for (auto& device : devices) device->stop();
    std::vector<std::thread> threads;  // they say goodbye together
    for (auto& transport : transports) threads.emplace_back([&transport] { transport.reset(); });
    for (std::thread& thread : threads) thread.join();
  }
  TcpRanks(const TcpRanks&) = delete;
  TcpRanks& operator=(const TcpRanks&) = delete;

  RunControl run;
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Communicator>> group;
  std::vector<std::unique_ptr<CpuDevice>> devices;
};

// The whole buffer's bytes, how many ranks, and whether they read each other's memory.
void tcp_all_gather(benchmark::State& state) {
  TcpRanks ranks(static_cast<int>(state.range(1)), state.range(2) != 0);
  std::vector<std::vector<std::byte>> buffers(
      ranks.group.size(), std::vector<std::byte>(static_cast<std::size_t>(state.range(0))));
  for (auto _ : state) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      ranks.group[i]->all_gather(Stream::compute, 0, buffers[i].data(),
                                 state.range(0) / state.range(1));
    }
    for (auto& device : ranks.devices) device->synchronize();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(tcp_all_gather)
    ->ArgsProduct({{256 << 10, 1 << 20, 4 << 20, 64 << 20}, {2, 4}, {0, 1}})
    ->UseRealTime();

// One thread, both inputs in the cache.
void reduction_kernel(benchmark::State& state) {
  const auto type = static_cast<DType>(state.range(0));
  constexpr std::size_t kBytes = 16 << 10;
  std::vector<std::byte> a(kBytes), b(kBytes), out(kBytes);
  const std::byte* inputs[] = {a.data(), b.data()};
  for (auto _ : state) {
    reduce_in_order(type, inputs, out.data(), static_cast<std::int64_t>(kBytes) / item_size(type),
                    2);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
  state.SetLabel(std::string(name(type)));
}
BENCHMARK(reduction_kernel)
    ->Arg(static_cast<int>(DType::fp32))
    ->Arg(static_cast<int>(DType::bf16))
    ->Arg(static_cast<int>(DType::fp64));

}  // namespace
}  // namespace foreshard::executor
