// Where a rank stands in each group of ranks, and how parameters are cut over the ranks of a group.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/sharding/units.hpp"

namespace foreshard {

struct Job;

// A row of a program's table of groups. The named ones are those that our own lowering makes; in a
// program from elsewhere those rows may be anything.
//   shard         the ranks that share one copy of the parameters
//   replicate     the ranks that hold the same shard (hybrid sharding)
//   post_forward  the ranks that keep parameters together after forward (reshard to k ranks)
//   world         all
enum class Group : std::uint8_t { shard, replicate, post_forward, world };

// Every rank is in one group of each row, which has a communicator of its own: `ranks` ranks that are
// `stride` apart. The first group holds ranks first, first + stride, ..., the second begins one rank
// later; ranks below `first` are alone.
struct GroupInfo {
  std::string name;
  int ranks = 1;
  int stride = 1;
  int first = 0;

  bool operator==(const GroupInfo&) const = default;
};

// The table of a job, in the order of Group's names.
std::vector<GroupInfo> groups_of(const Job& job);

// How one parameter of a unit is cut over the N ranks of the shard group (reference: FSDP2's
// per-parameter sharding, padded on dimension 0; dimension 1 only where it divides).
struct ParameterShard {
  ParameterId parameter = kNone;
  std::int64_t rows = 0, columns = 0;  // of the whole parameter
  int shard_dim = 0;
  std::int64_t padded = 0;  // elements of every rank's padded shard
  std::int64_t local = 0;   // elements of this rank's shard without padding
  std::int64_t first = 0;   // its first row, or column when shard_dim is 1
  std::int64_t offset = 0;  // of the shard in the unit's flat shard, in elements
};

struct UnitLayout {
  std::string name;
  std::vector<ParameterShard> parameters;  // group order
  std::int64_t padded = 0;                 // sum of padded: S_u
  std::int64_t numel = 0;                  // sum of the whole parameters' elements
  std::int64_t local = 0;                  // sum of local
};

// One rank's place: for each group its number of ranks and this rank's number.
struct RankPlace {
  int rank = 0;
  struct Membership {
    int size = 1;
    int index = 0;
    int first_rank = 0;  // ranks of the group: first_rank + i * stride
    int stride = 1;

    bool operator==(const Membership&) const = default;
  };
  std::vector<Membership> groups;

  Membership& operator[](Group group) { return groups[static_cast<std::size_t>(group)]; }
  const Membership& operator[](Group group) const {
    return groups[static_cast<std::size_t>(group)];
  }
};

// Where a rank stands in each group.
RankPlace place_in(std::span<const GroupInfo> groups, int rank);
RankPlace place_of(const Job& job, int rank);

// How a rank's shards of every unit are cut.
std::vector<UnitLayout> unit_layouts(const Job& job, const RankPlace& place);

// Nodes over which a group's ranks are spread when every node holds `ranks_per_node`; 0: one node.
std::int64_t nodes_of(const RankPlace::Membership& membership, int ranks_per_node);

// The fewest ranks of a group on a node that holds any; all of them when it is on one node.
// Where the stride does not divide `ranks_per_node`, inner nodes count with the lower number.
std::int64_t fewest_on_a_node(const RankPlace::Membership& membership, int ranks_per_node);

// For every rank the lowest rank with the same program whose groups are spread over nodes alike.
std::vector<int> rank_classes(const Job& job, int ranks_per_node);

}  // namespace foreshard
