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
  const double loss = rank.steps().back().own_loss;
  return std::isfinite(loss) ? "" : formatted("the loss is not finite (%g)", loss);
}

std::string state_of(const RankRun& rank, const ModuleTree& tree) {
  for (const CheckpointValue& value : rank.state().checkpoint_values(rank.memory())) {
    if (!has_non_finite(value)) continue;
    const auto parameter = static_cast<std::size_t>(value.shard.parameter);
    return std::string(name(value.role)) + " of " + tree.parameters[parameter].name +
           " is not finite after the update";
  }
  return {};
}

// What the first rank that has something says, with its number.
template <typename Look>
std::optional<std::string> first_of_all(RunShared& shared, const Ranks& ranks, const Look& look) {
  std::vector<std::string> all;
  for (const auto& rank : ranks) all.push_back(look(*rank));
  if (Transport* transport = shared.options.transport) {
    all = exchange(shared.closing, *transport, all.front());
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty()) return "rank " + std::to_string(rank) + ": " + all[rank];
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_non_finite(RunShared& shared, const Ranks& ranks) {
  if (ranks.front()->steps().empty()) return std::nullopt;
  const StepReport& last = ranks.front()->steps().back();
  const std::string step = "step " + std::to_string(last.step) + ", ";
  if (last.is_finite()) {
    if (shared.options.save.empty() && shared.options.export_weights.empty()) return std::nullopt;
    const auto state = first_of_all(
        shared, ranks, [&](const RankRun& rank) { return state_of(rank, shared.job.tree); });
    return state ? std::optional(step + *state) : std::nullopt;
  }
  if (const auto loss = first_of_all(shared, ranks, loss_of)) return step + *loss;
  return step + formatted("all ranks: the loss is %g and the gradient norm %g, which is not finite",
                          last.loss, last.gradient_norm);
}

}  // namespace foreshard::executor
