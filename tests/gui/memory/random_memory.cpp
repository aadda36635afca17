#include "tests/gui/memory/random_memory.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace foreshard::gui::tests {
namespace {

using traces::MemoryAction;
using traces::MemoryEvent;

constexpr std::int64_t kSegment = 64 << 20;
constexpr std::int64_t kBlock = 1 << 20;
constexpr const char* kCategories[] = {"parameters", "activations", "all_gather", "temporaries"};

class RandomAllocator {
 public:
  RandomAllocator(traces::Trace& trace, std::uint32_t seed) : trace_(trace), random_(seed) {}

  void add(MemoryAction action, std::int64_t address, std::int64_t bytes) {
    MemoryEvent event;
    event.action = action;
    event.address = address;
    event.bytes = event.requested = bytes;
    event.lane = address >= 8 * kSegment ? 2 : 1;
    event.time_ns = now_ += 10 + below(3);
    event.step = step_;
    event.instruction = instruction_;
    trace_.memory.push_back(event);
  }

  void act() {
    if (below(50) == 0) next_step();
    instruction_ += below(2);
    const std::int64_t slot = below(16 * 8);  // of 8 MiB, 16 segments
    const std::int64_t segment = slot / 8 * kSegment + kSegment,
                       address = segment + slot % 8 * 8 * kBlock;
    const auto block = live_.find(address);
    if (block == live_.end()) {
      if (!segments_[segment]) {
        segments_[segment] = true;
        add(MemoryAction::segment_alloc, segment, kSegment);
      }
      const std::int64_t bytes = (1 + below(8)) * kBlock;
      add(MemoryAction::alloc, address, bytes);
      trace_.memory.update_last([&](MemoryEvent& event) { describe(event); });
      live_[address] = trace_.memory.back();
    } else if (!waiting_[address]) {
      add(MemoryAction::free_requested, address, block->second.bytes);
      trace_.memory.update_last(
          [&](MemoryEvent& event) { event.category = block->second.category; });
      waiting_[address] = true;
      if (below(3) > 0) complete(address);
    } else {
      complete(address);
    }
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  void complete(std::int64_t address) {
    add(MemoryAction::free_completed, address, live_[address].bytes);
    live_.erase(address);
    waiting_.erase(address);
  }

  void next_step() {
    // The device is late: it begins a step when the host has issued it.
    std::int64_t at = std::max(now_, device_) + 5;
    for (std::int64_t n = 0; n <= instruction_; n += 2) {
      traces::Event kernel;
      kernel.lane = 1;
      kernel.kind = traces::EventKind::compute;
      kernel.step = step_;
      kernel.instruction = static_cast<std::int32_t>(n);
      kernel.name = trace_.strings.intern(n % 4 == 0 ? "matmul" : "add");
      kernel.start_ns = at;
      kernel.end_ns = at += 30;
      trace_.events.push_back(kernel);
    }
    device_ = at;
    ++step_;
    instruction_ = 0;
  }

  void describe(MemoryEvent& event) {
    event.category = trace_.strings.intern(kCategories[below(4)]);
    event.owner =
        trace_.strings.intern("model.layers." + std::to_string(below(3)) + ".mlp: activation");
    event.phase = trace_.strings.intern("forward");
    event.stack = trace_.strings.intern("linear /torch/nn/linear.py:" + std::to_string(below(3)) +
                                        "\nforward model.py:81\nmain /home/x/train.py:12");
  }

  traces::Trace& trace_;
  std::mt19937 random_;
  std::map<std::int64_t, MemoryEvent> live_;
  std::map<std::int64_t, bool> waiting_, segments_;
  std::int64_t now_ = 1000, device_ = 0;
  std::int32_t step_ = 0;
  std::int32_t instruction_ = 0;
};

}  // namespace

traces::Trace random_memory(int events, std::uint32_t seed) {
  traces::Trace trace;
  trace.lanes = {{0, false, trace.strings.intern("host")},
                 {0, true, trace.strings.intern("compute")},
                 {0, true, trace.strings.intern("all_gather")}};
  RandomAllocator allocator(trace, seed);
  for (int n = 0; n < events; ++n) allocator.act();
  return trace;
}

}  // namespace foreshard::gui::tests
