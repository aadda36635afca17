#include "executor/data/run_state.hpp"

#include "models/plan/plan.hpp"

namespace foreshard::executor {
namespace {

std::string shown(const DataIdentity& data) {
  return data.path.empty() ? "the built-in text" : data.path;
}

bool is_same(const DataIdentity& before, const DataIdentity& now) {
  return before.tokens == 0 ? before.path == now.path : before.has_same_tokens(now);
}

}  // namespace

Result<std::vector<RunDifference>> differences(const RunState& before, const RunState& now,
                                               const std::string& file) {
  const auto old_plan = parse_plan(before.plan, file), new_plan = parse_plan(now.plan, file);
  if (!old_plan) return tl::unexpected(old_plan.error());
  if (!new_plan) return tl::unexpected(new_plan.error());
  std::vector<RunDifference> found;
  const auto compare = [&found](const std::string& name, const std::string& a,
                                const std::string& b) {
    if (a != b) found.push_back({name, a, b});
  };
  compare("ranks", std::to_string(before.ranks), std::to_string(now.ranks));
  compare("seed", std::to_string(before.seed), std::to_string(now.seed));
  compare("shuffle", before.is_shuffled ? "on" : "off", now.is_shuffled ? "on" : "off");
  compare("total steps", std::to_string(before.total_steps), std::to_string(now.total_steps));
  if (!is_same(before.data, now.data)) {
    found.push_back({"data", shown(before.data), shown(now.data)});
  }
  const std::vector<SpeltKey> old_keys = spelt_keys(*old_plan), new_keys = spelt_keys(*new_plan);
  for (std::size_t k = 0; k < old_keys.size(); ++k) {
    compare(old_keys[k].name, old_keys[k].value, new_keys[k].value);
  }
  return found;
}

}  // namespace foreshard::executor
