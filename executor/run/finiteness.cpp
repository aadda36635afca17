#include "executor/run/finiteness.hpp"

#include <cmath>
#include <cstring>

#include "models/base/figures.hpp"

namespace foreshard::executor {
namespace {

using Ranks = std::vector<std::unique_ptr<RankRun>>;

// A number is not finite when all bits of its exponent are set.
template <typename Bits>
bool has_non_finite(const std::byte* numbers, std::int64_t count, Bits exponent) {
  bool found = false;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, numbers + i * std::int64_t{sizeof bits}, sizeof bits);
    found |= (bits & exponent) == exponent;
  }
  return found;
}

bool has_non_finite(const CheckpointValue& value) {
  if (value.bytes.empty()) return false;
  const std::byte* const numbers = value.bytes.data();
  return value.type == DType::bf16
             ? has_non_finite<std::uint16_t>(numbers, value.shard.local, 0x7F80)
             : has_non_finite<std::uint32_t>(numbers, value.shard.local, 0x7F800000);
}

// What a rank has that is not finite; empty: nothing.
std::string loss_of(const RankRun& rank) {
  const double loss = rank.last_step()->own_loss;
  return std::isfinite(loss) ? "" : formatted("the loss is not finite (%g)", loss);
}

std::string state_of(const RankValues& rank, const ModuleTree& tree) {
  for (const CheckpointValue& value : rank.values) {
    if (!has_non_finite(value)) continue;
    const auto parameter = static_cast<std::size_t>(value.shard.parameter);
    return std::string(name(value.role)) + " of " + tree.parameters[parameter].name +
           " is not finite after the update";
  }
  return {};
}

// What the first rank that has something says, with its number. `all`: of the ranks of this process.
std::optional<std::string> first_of_all(RunShared& shared, std::vector<std::string> all) {
  if (Transport* transport = shared.options.transport) {
    all = exchange(shared.closing, *transport, all.front());
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty()) return "rank " + std::to_string(rank) + ": " + all[rank];
  }
  return std::nullopt;
}

std::string in_step(std::int64_t step) {
  return "step " + std::to_string(step) + ", ";
}

}  // namespace

std::optional<std::string> find_non_finite(RunShared& shared, std::int64_t step,
                                           std::span<const RankValues> ranks) {
  std::vector<std::string> all;
  for (const RankValues& rank : ranks) all.push_back(state_of(rank, shared.job.tree));
  const auto first = first_of_all(shared, std::move(all));
  return first ? std::optional(in_step(step) + *first) : std::nullopt;
}

std::optional<std::string> find_non_finite(RunShared& shared, const Ranks& ranks) {
  if (!ranks.front()->last_step()) return std::nullopt;
  const StepReport& last = *ranks.front()->last_step();
  if (last.is_sound()) {
    const TrainingOptions& options = shared.options;
    const bool keeps_state = !options.save.empty() || !options.export_weights.empty();
    if (!keeps_state) return std::nullopt;
    std::vector<RankValues> values;
    for (const auto& rank : ranks) values.push_back(rank->closing_values());
    return find_non_finite(shared, last.step, values);
  }
  std::vector<std::string> all;
  for (const auto& rank : ranks) all.push_back(loss_of(*rank));
  if (const auto loss = first_of_all(shared, std::move(all))) return in_step(last.step) + *loss;
  return in_step(last.step) +
         formatted("all ranks: the loss is %g and the gradient norm %g, which is not finite",
                   last.loss, last.gradient_norm);
}

}  // namespace foreshard::executor
