#include <utility>

#include <foreshard/allocator.hpp>

#include "models/allocator/allocator_settings.hpp"
#include "models/allocator/caching_allocator.hpp"
#include "models/allocator/virtual_segments.hpp"
#include "models/base/assertion.hpp"
#include "simulator/api/error.hpp"

namespace foreshard::api {
namespace {

constexpr int kStreams = 1024;

}  // namespace

struct CachingAllocator::State {
  State(const AllocatorRules& rules, std::optional<std::int64_t> capacity)
      : device(capacity.value_or(VirtualSegments::kUnlimited)),
        allocator(rules, memory_limit(rules, capacity), device) {}

  VirtualSegments device;
  foreshard::CachingAllocator allocator;
};

CachingAllocator::CachingAllocator(std::unique_ptr<State> state) : state_(std::move(state)) {}
CachingAllocator::CachingAllocator(CachingAllocator&&) noexcept = default;
CachingAllocator& CachingAllocator::operator=(CachingAllocator&&) noexcept = default;
CachingAllocator::~CachingAllocator() = default;

Result<CachingAllocator> CachingAllocator::create(const AllocatorOptions& options) {
  const std::int64_t memory = options.device_memory.value_or(1);
  if (memory < 1) {
    return Error{"", "device_memory",
                 "is " + std::to_string(memory) + "; expected a number of bytes above 0"};
  }
  const auto rules = parse_allocator_settings(options.settings, {}, "settings");
  if (!rules) return error_of(rules.error());
  return CachingAllocator(std::make_unique<State>(*rules, options.device_memory));
}

std::optional<Block> CachingAllocator::allocate(std::int64_t bytes, int stream) {
  FORESHARD_ASSERT(bytes >= 0, "a request has at least 0 bytes");
  FORESHARD_ASSERT(stream >= 0 && stream < kStreams, "a stream is a number from 0 to 1023");
  const auto found = state_->allocator.allocate(bytes, stream);
  if (!found) return std::nullopt;
  return Block{found->block, found->address, found->bytes};
}

void CachingAllocator::free(const Block& block) {
  state_->allocator.free(block.id);
}

void CachingAllocator::empty_cache() {
  state_->allocator.empty_cache();
}

AllocatorStatistics CachingAllocator::statistics() const {
  const foreshard::AllocatorStatistics& now = state_->allocator.statistics();
  return {now.allocated,         now.reserved,    now.peak_allocated,
          now.peak_reserved,     now.allocations, now.segments_allocated,
          now.segments_released, now.retries,     now.out_of_memory};
}

void CachingAllocator::reset_peaks() {
  state_->allocator.reset_peaks();
}

std::vector<Segment> CachingAllocator::segments() const {
  std::vector<Segment> segments;
  for (const SegmentState& state : state_->allocator.segments()) {
    Segment segment{state.address, state.bytes, state.stream, state.expandable, {}};
    for (const SegmentState::Part& part : state.blocks) {
      if (part.use == SegmentState::Use::free) continue;
      segment.used.push_back({part.block, part.address, part.bytes});
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace foreshard::api
