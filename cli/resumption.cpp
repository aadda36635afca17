#include "cli/resumption.hpp"

#include <algorithm>
#include <utility>

#include "cli/common/output.hpp"
#include "executor/data/checkpoint_series.hpp"

namespace foreshard::cli {

namespace {

// Of a checkpoint that another program has written.
Result<executor::Checkpoint> with_step(const executor::Checkpoint& checkpoint, std::int64_t given) {
  const std::int64_t stored = checkpoint.state().step;
  if (stored == 0 && given == 0) {
    return fail(checkpoint.index_file(), "--resume-step",
                "is not given, and no state of an optimizer says which step the checkpoint is of; "
                "expected --resume-step, or --init for weights alone");
  }
  if (stored > 0 && given > 0 && stored != given) {
    return fail(checkpoint.index_file(), "--resume-step",
                "is " + std::to_string(given) + ", but the optimizer's states are of step " +
                    std::to_string(stored) + "; expected that one");
  }
  executor::RunState state;
  state.step = std::max(stored, given);
  return checkpoint.of_run(state);
}

}  // namespace

Result<executor::Checkpoint> checkpoint_to_resume(const std::string& path, std::int64_t steps,
                                                  std::int64_t given) {
  auto found = executor::find_checkpoint(path);
  if (!found) return tl::unexpected(found.error());
  for (const Error& damaged : found->damaged) {
    warn(damaged.text() + "; the run goes on from " + found->path);
  }
  if (!found->checkpoint.has_run()) {
    auto known = with_step(found->checkpoint, given);
    if (!known) return known;
    found->checkpoint = std::move(*known);
  } else if (given > 0) {
    return fail(found->path, "--resume-step",
                "is given, but the checkpoint says its step itself; expected --resume alone");
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
  if (!checkpoint.has_run()) return {};
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
