#include "cli/resumption.hpp"

#include <utility>

#include "cli/common/output.hpp"
#include "executor/data/checkpoint_series.hpp"

namespace foreshard::cli {

Result<executor::Checkpoint> checkpoint_to_resume(const std::string& path, std::int64_t steps) {
  auto found = executor::find_checkpoint(path);
  if (!found) return tl::unexpected(found.error());
  for (const Error& damaged : found->damaged) {
    warn(damaged.text() + "; the run goes on from " + found->path);
  }
  const std::int64_t step = found->checkpoint.state().step;
  if (step >= steps) {
    return fail(
        found->path, "--steps",
        "the checkpoint is of step " + std::to_string(step) + "; expected a later last step");
  }
  return std::move(found->checkpoint);
}

Result<void> check_continues(const executor::RunState& now,
                             const executor::Checkpoint& checkpoint) {
  const executor::RunState& before = checkpoint.state();
  const auto found = differences(before, now, checkpoint.index_file());
  if (!found) return tl::unexpected(found.error());
  const bool is_known = before.data.tokens > 0;
  if (is_known && before.data.path == now.data.path && !before.data.has_same_tokens(now.data)) {
    return fail(now.data.path, "",
                "has other tokens than those that the checkpoint was trained with (" +
                    std::to_string(now.data.tokens) + ", then " +
                    std::to_string(before.data.tokens) +
                    "); expected the same, or a file of another name to go on with");
  }
  for (const executor::RunDifference& difference : *found) {
    warn("not as in the checkpoint: " + difference.text());
  }
  return {};
}

}  // namespace foreshard::cli
