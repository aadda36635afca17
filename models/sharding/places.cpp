#include "models/sharding/places.hpp"

#include <algorithm>
#include <map>

#include "models/base/units.hpp"
#include "models/sharding/flat_parameters.hpp"
#include "models/sharding/job.hpp"

namespace foreshard {
namespace {

ParameterShard cut(const Parameter& parameter, ParameterId id, int wanted_dim,
                   const RankPlace::Membership& shard) {
  ParameterShard out;
  out.parameter = id;
  out.rows = parameter.rows;
  out.columns = parameter.columns;
  const bool along_columns =
      wanted_dim == 1 && !parameter.is_vector && parameter.columns % shard.size == 0;
  if (along_columns) {
    const std::int64_t columns = parameter.columns / shard.size;
    out.shard_dim = 1;
    out.padded = out.local = parameter.rows * columns;
    out.first = columns * shard.index;
  } else {
    const std::int64_t chunk = ceil_divide(parameter.rows, shard.size);
    out.first = std::min(chunk * shard.index, parameter.rows);
    out.padded = chunk * parameter.columns;
    out.local = (std::min(out.first + chunk, parameter.rows) - out.first) * parameter.columns;
  }
  return out;
}

// A program depends on its rank only through the rows of each parameter that the rank's place in the
// shard group gives it, so parameters of equal row counts need to be looked at once.
std::vector<std::int64_t> different_row_counts(const ModuleTree& tree) {
  std::vector<std::int64_t> counts;
  for (const Parameter& p : tree.parameters) {
    if (std::find(counts.begin(), counts.end(), p.rows) == counts.end()) counts.push_back(p.rows);
  }
  return counts;
}

std::vector<std::int64_t> rows_of_shards(const std::vector<std::int64_t>& row_counts,
                                         const RankPlace::Membership& shard) {
  std::vector<std::int64_t> rows_here;
  for (const std::int64_t rows : row_counts) {
    const std::int64_t chunk = ceil_divide(rows, shard.size);
    rows_here.push_back(std::clamp<std::int64_t>(rows - chunk * shard.index, 0, chunk));
  }
  return rows_here;
}

// Under FSDP1: which pieces of parameters a rank's flat shards consist of.
std::vector<std::int64_t> pieces_of_flat_shards(const Job& job, const RankPlace& place) {
  std::vector<std::int64_t> pieces;
  for (const FlatParameter& flat : flat_parameters(job, place)) {
    pieces.push_back(flat.cut);
    for (const ParameterShard& piece : flat.layout.parameters) {
      pieces.push_back(piece.parameter);
      pieces.push_back(piece.local);
    }
  }
  return pieces;
}

}  // namespace

std::vector<GroupInfo> groups_of(const Job& job) {
  const int shard_ranks = shard_group_size(job);
  const ReshardAfterForward& reshard = job.plan.sharding.reshard_after_forward;
  const int kept =
      reshard.kind == ReshardAfterForward::Kind::group ? static_cast<int>(reshard.group) : 1;
  return {{"shard", shard_ranks, 1},
          {"replicate", job.ranks / shard_ranks, shard_ranks},
          {"post_forward", kept, 1},
          {"world", job.ranks, 1}};
}

RankPlace place_in(std::span<const GroupInfo> groups, int rank) {
  RankPlace place;
  place.rank = rank;
  place.groups.reserve(groups.size());
  for (const auto& [name, ranks, stride, first] : groups) {
    if (rank < first) {
      place.groups.push_back({1, 0, rank, 1});
      continue;
    }
    const int index = (rank - first) / stride % ranks;
    place.groups.push_back({ranks, index, rank - index * stride, stride});
  }
  return place;
}

RankPlace place_of(const Job& job, int rank) {
  return place_in(groups_of(job), rank);
}

std::vector<UnitLayout> unit_layouts(const Job& job, const RankPlace& place) {
  const auto& shard = place[Group::shard];
  std::vector<UnitLayout> layouts;
  layouts.reserve(job.units.size());
  if (job.plan.runtime == RuntimeName::fsdp1) {
    for (FlatParameter& flat : flat_parameters(job, place)) {
      layouts.push_back(std::move(flat.layout));
    }
    return layouts;
  }
  for (const Unit& unit : job.units) {
    UnitLayout layout;
    layout.name = unit.name;
    layout.parameters.reserve(unit.parameters.size());
    for (const ParameterId id : unit.parameters) {
      const Parameter& parameter = job.tree.parameters[static_cast<std::size_t>(id)];
      ParameterShard cut_shard =
          cut(parameter, id, static_cast<int>(job.plan.sharding.shard_dim), shard);
      cut_shard.offset = layout.padded;
      layout.padded += cut_shard.padded;
      layout.local += cut_shard.local;
      layout.numel += parameter.numel();
      layout.parameters.push_back(cut_shard);
    }
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

std::int64_t nodes_of(const RankPlace::Membership& membership, int ranks_per_node) {
  if (ranks_per_node <= 0) return 1;
  const std::int64_t reach = static_cast<std::int64_t>(membership.size - 1) * membership.stride;
  const std::int64_t first = membership.first_rank / ranks_per_node;
  const std::int64_t last = (membership.first_rank + reach) / ranks_per_node;
  return std::min<std::int64_t>(membership.size, last - first + 1);
}

std::int64_t fewest_on_a_node(const RankPlace::Membership& membership, int ranks_per_node) {
  const std::int64_t nodes = nodes_of(membership, ranks_per_node);
  if (nodes <= 1 || membership.stride >= ranks_per_node) return membership.size / nodes;
  const std::int64_t stride = membership.stride, first = membership.first_rank;
  const std::int64_t last = first + (membership.size - 1) * stride;
  const std::int64_t on_first = ceil_divide(ranks_per_node - first % ranks_per_node, stride);
  const std::int64_t on_last = last % ranks_per_node / stride + 1;
  const std::int64_t ends = std::min(on_first, on_last);
  return nodes == 2 ? ends : std::min(ends, ranks_per_node / stride);
}

std::vector<int> rank_classes(const Job& job, int ranks_per_node) {
  const std::vector<std::int64_t> row_counts = different_row_counts(job.tree);
  std::map<std::vector<std::int64_t>, int> first_with;
  std::vector<int> classes;
  const std::vector<GroupInfo> groups = groups_of(job);
  for (int rank = 0; rank < job.ranks; ++rank) {
    const RankPlace place = place_in(groups, rank);
    std::vector<std::int64_t> traits = job.plan.runtime == RuntimeName::fsdp1
                                           ? pieces_of_flat_shards(job, place)
                                           : rows_of_shards(row_counts, place[Group::shard]);
    for (const auto& membership : place.groups) {
      traits.push_back(nodes_of(membership, ranks_per_node));
      traits.push_back(fewest_on_a_node(membership, ranks_per_node));
    }
    classes.push_back(first_with.try_emplace(std::move(traits), rank).first->second);
  }
  return classes;
}

}  // namespace foreshard
