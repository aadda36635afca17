#include "models/allocator/allocator_rules.hpp"

#include <algorithm>
#include <bit>

namespace foreshard {
namespace {

int floor_log2(std::int64_t n) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
}

}  // namespace

AllocatorRules::AllocatorRules(const AllocatorSettings& settings)
    : max_split_size(settings.max_split_size_mb > 0 ? settings.max_split_size_mb * kMiB.count
                                                    : kUnlimited),
      garbage_collection_threshold(settings.garbage_collection_threshold),
      memory_fraction(settings.memory_fraction),
      expandable_segments(settings.expandable_segments) {
  Divisions divisions;
  divisions.fill(settings.roundup_power2_divisions);
  round_to_power2_divisions(divisions);
}

void AllocatorRules::round_to_power2_divisions(const Divisions& divisions) {
  divisions_ = divisions;
  rounds_to_divisions_ =
      std::any_of(divisions.begin(), divisions.end(), [](std::int64_t d) { return d > 1; });
}

AllocatorRules allocator_rules(const Plan& plan) {
  constexpr PyTorchVersion kOldestFirst{2, 15};
  AllocatorRules rules = plan.allocator;
  rules.oldest_segment_first =
      describes_pytorch(plan.operators) && nearest_described(plan.pytorch.version) >= kOldestFirst;
  return rules;
}

std::optional<std::int64_t> memory_limit(const AllocatorRules& rules,
                                         std::optional<std::int64_t> capacity) {
  const bool is_known = capacity && *capacity != AllocatorRules::kUnlimited;
  if (!is_known || rules.memory_fraction >= 1.0) return std::nullopt;
  return static_cast<std::int64_t>(rules.memory_fraction * static_cast<double>(*capacity));
}

std::int64_t AllocatorRules::divisions_of(std::int64_t n) const {
  const int mebibytes_log2 = std::clamp(floor_log2(n) - 20, 0, 15);
  return divisions_[static_cast<std::size_t>(mebibytes_log2)];
}

// The next multiple of 2^floor(log2 n) / divisions, a power of two itself being one.
std::int64_t AllocatorRules::round_to_division(std::int64_t n, std::int64_t divisions) {
  if (std::has_single_bit(static_cast<std::uint64_t>(n))) return n;
  const std::int64_t power = std::int64_t{1} << floor_log2(n);
  const std::int64_t step = power >> floor_log2(divisions);
  return step == 0 ? 2 * power : round_up(n, step);
}

}  // namespace foreshard
