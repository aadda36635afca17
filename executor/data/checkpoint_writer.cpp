#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "executor/data/checkpoint.hpp"
#include "executor/data/checkpoint_index.hpp"
#include "executor/data/replace_folder.hpp"
#include "executor/data/safetensors_writer.hpp"
#include "models/base/atomic_file.hpp"

namespace foreshard::executor {

namespace {

namespace fs = std::filesystem;

// Adds the parts one shard file lists; parts of one parameter agree on everything else.
Result<void> add_parts(const std::vector<CheckpointParameter>& parts, const std::string& file,
                       std::vector<CheckpointParameter>& parameters,
                       std::map<std::string, std::size_t>& places) {
  for (const auto& part : parts) {
    const auto [place, is_new] = places.try_emplace(part.name, parameters.size());
    if (is_new) {
      parameters.push_back(part);
      continue;
    }
    auto& known = parameters[place->second];
    if (known.rows != part.rows || known.columns != part.columns || known.values != part.values) {
      return fail(file, part.name, "differs in shape or values from the other shards");
    }
    known.parts.insert(known.parts.end(), part.parts.begin(), part.parts.end());
  }
  return {};
}

// The number of shards by the first file's name; 0 when there is no such file.
int shards_in(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    int shard = 0, shards = 0;
    if (std::sscanf(name.c_str(), "shard-%d-of-%d.safetensors", &shard, &shards) == 2) {
      return shards;
    }
  }
  return 0;
}

Result<CheckpointIndex> index_of_files(const std::string& folder, const RunState& state) {
  CheckpointIndex index;
  index.state = state;
  index.files = shards_in(folder);
  if (index.files == 0)
    return fail(folder, "", "contains no shard; expected a file from every writer");
  std::map<std::string, std::size_t> places;
  for (int i = 0; i < index.files; ++i) {
    const auto path = shard_path(folder, i, index.files);
    const auto file = SafetensorsReader::open(path);
    if (!file) return tl::unexpected(file.error());
    const auto text = file->metadata().find(kPartsKey);
    if (text == file->metadata().end()) return fail(path, kPartsKey, "is missing");
    const auto parts = parse_parts(text->second, path);
    if (!parts) return tl::unexpected(parts.error());
    if (auto done = add_parts(*parts, path, index.parameters, places); !done) {
      return tl::unexpected(done.error());
    }
  }
  return index;
}

}  // namespace

Result<void> check_checkpoint_target(const std::string& path) {
  return check_folder_target(path, kCheckpoint, is_checkpoint);
}

Result<void> begin_checkpoint(const std::string& given) {
  const auto path = plain_path(given);
  if (auto done = recover_folder(path); !done) return done;
  if (auto done = check_checkpoint_target(path); !done) return done;
  return begin_folder(path);
}

Result<void> write_checkpoint_shard(const std::string& path, const ModuleTree& tree, int shard,
                                    int shards, const std::vector<CheckpointValue>& values) {
  std::map<std::string, CheckpointParameter> parts;
  std::vector<TensorDeclaration> tensors;
  for (const auto& value : values) {
    const Region region = region_of(value.shard);
    if (region.elements() == 0) continue;
    const auto& name = tree.parameters[static_cast<std::size_t>(value.shard.parameter)].name;
    const auto type = stored_type(value.type);
    auto& part = parts[name];
    part.name = name;
    part.rows = value.shard.rows;
    part.columns = value.shard.columns;
    const std::string role(executor::name(value.role));
    part.values[role] = type;
    part.parts = {{shard, region}};
    tensors.push_back({value_name(role, name), type, {region.rows, region.columns}});
  }
  auto file = SafetensorsWriter::create(shard_path(writing_path(plain_path(path)), shard, shards),
                                        tensors, {{kPartsKey, parts_json(parts)}});
  if (!file) return tl::unexpected(file.error());
  for (const auto& value : values) {
    const auto size =
        static_cast<std::size_t>(region_of(value.shard).elements() * item_size(value.type));
    if (size == 0) continue;
    if (auto done = file->append(value.bytes.first(size)); !done) return done;
  }
  return file->finish();
}

namespace {

Result<void> commit(const std::string& path, const RunState& state) {
  const auto writing = writing_path(path);
  const auto index = index_of_files(writing, state);
  if (!index) return tl::unexpected(index.error());
  if (auto done = write_atomically(index_path(writing), to_json(*index)); !done) return done;
  // What cannot be read back must not replace what can.
  if (auto readable = Checkpoint::open(writing); !readable) {
    return tl::unexpected(readable.error());
  }
  return replace_folder(writing, path);
}

}  // namespace

Result<void> commit_checkpoint(const std::string& given, const RunState& state) {
  const auto path = plain_path(given);
  auto done = commit(path, state);
  if (!done) abandon_checkpoint(path);
  return done;
}

void abandon_checkpoint(const std::string& path) {
  abandon_folder(plain_path(path));
}

}  // namespace foreshard::executor
