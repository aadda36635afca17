#include <utility>

#include "executor/data/checkpoint.hpp"
#include "executor/data/checkpoint_files.hpp"
#include "executor/data/checkpoint_index.hpp"
#include "executor/data/replace_folder.hpp"
#include "models/base/atomic_file.hpp"

namespace foreshard::executor {

Result<void> check_checkpoint_target(const std::string& path) {
  return check_folder_target(path, kCheckpoint, is_checkpoint);
}

Result<void> begin_checkpoint(const std::string& given) {
  const auto path = plain_path(given);
  if (auto done = recover_folder(path); !done) return done;
  if (auto done = check_checkpoint_target(path); !done) return done;
  return begin_folder(path);
}

Result<void> write_checkpoint_shard(const std::string& path, CheckpointFormat format,
                                    const ShardWriting& shard) {
  return checkpoint_files(format).write_shard(writing_path(plain_path(path)), shard);
}

namespace {

Result<void> commit(const std::string& path, CheckpointFormat format, const RunState& state) {
  const auto writing = writing_path(path);
  CheckpointIndex index;
  index.state = state;
  index.format = format;
  if (auto done = checkpoint_files(format).complete(writing, index); !done) return done;
  if (auto done = write_atomically(index_path(writing), to_json(index)); !done) return done;
  // What cannot be read back must not replace what can.
  if (auto readable = Checkpoint::open(writing); !readable) {
    return tl::unexpected(readable.error());
  }
  return replace_folder(writing, path);
}

}  // namespace

Result<void> commit_checkpoint(const std::string& given, CheckpointFormat format,
                               const RunState& state) {
  const auto path = plain_path(given);
  auto done = commit(path, format, state);
  if (!done) abandon_checkpoint(path);
  return done;
}

void abandon_checkpoint(const std::string& path) {
  abandon_folder(plain_path(path));
}

}  // namespace foreshard::executor
