#include "executor/data/shard_files.hpp"

#include <filesystem>
#include <map>
#include <utility>

#include "executor/data/safetensors_writer.hpp"

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

}  // namespace

Result<void> write_shard_file(const std::string& folder, const ShardWriting& shard) {
  std::map<std::string, CheckpointParameter> parts;
  std::vector<TensorDeclaration> tensors;
  for (const auto& value : shard.values) {
    const Region region = region_of(value.shard);
    if (region.elements() == 0) continue;
    const auto& name = shard.tree.parameters[static_cast<std::size_t>(value.shard.parameter)].name;
    const auto type = stored_type(value.type);
    auto& part = parts[name];
    part.name = name;
    part.rows = value.shard.rows;
    part.columns = value.shard.columns;
    const std::string role(executor::name(value.role));
    part.values[role] = type;
    part.parts = {{shard.index, region}};
    tensors.push_back({value_name(role, name), type, {region.rows, region.columns}});
  }
  auto file = SafetensorsWriter::create(shard_path(folder, shard.index, shard.count), tensors,
                                        {{kPartsKey, parts_json(parts)}});
  if (!file) return tl::unexpected(file.error());
  for (const auto& value : shard.values) {
    if (auto done = file->append(value.own_bytes()); !done) return done;
  }
  return file->finish();
}

Result<void> index_shard_files(const std::string& folder, CheckpointIndex& index) {
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
    auto done = add_parts(*parts, path, index.parameters, places);
    if (!done) return done;
  }
  return {};
}

Result<void> find_shard_files(const std::string& folder, const CheckpointIndex& index,
                              CheckpointContents& contents) {
  std::vector<SafetensorsReader> files;
  for (int i = 0; i < index.files; ++i) {
    auto file = SafetensorsReader::open(shard_path(folder, i, index.files));
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  for (const auto& p : index.parameters) {
    StoredParameter& parameter = contents.parameters[p.name];
    parameter.rows = p.rows;
    parameter.columns = p.columns;
    for (const auto& [role, type] : p.values) {
      StoredValue& value = parameter.values[role];
      value.type = type;
      for (const auto& part : p.parts) {
        const auto& file = files[static_cast<std::size_t>(part.file)];
        const auto name = value_name(role, p.name);
        const auto* tensor = file.find(name);
        const std::vector shape{part.region.rows, part.region.columns};
        if (tensor == nullptr || tensor->shape != shape || tensor->type != type) {
          return fail(file.path(), name,
                      (tensor == nullptr ? "is missing" : "has another shape or dtype") +
                          std::string("; expected ") + shape_text(shape) + " of " +
                          std::string(executor::name(type)));
        }
        value.parts.push_back({part.region, tensor->data.data()});
      }
    }
  }
  for (auto& file : files) contents.weights.push_back(std::move(file));
  return {};
}

}  // namespace foreshard::executor
