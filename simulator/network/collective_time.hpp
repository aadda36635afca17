// How long a collective takes on a machine, alone on its ranks' devices. Each algorithm has a law,
//
//   T(bytes) = a + 2 sqrt(p x) + b bytes,    x = b min(bytes, filling bytes x ranks)
//
// where a is what the launch and the hops from rank to rank take, b the time of a byte over the
// narrowest link at the share of its bandwidth that large collectives reach, and the root what
// pipelining costs: steps (p) are filled with larger and larger pieces until each rank's part of
// the buffer is large enough. Hops, steps and bytes follow from the algorithm and the placement;
// what each of them takes is a term of the link's or the network's technology
// (collective_terms.hpp). The time is the shortest among the algorithms that NCCL takes on the
// machine, so more bytes never take less; algorithm, protocol and channels are NCCL's own choice
// (nccl_planner.hpp). TPUs have one algorithm, over all axes of their slice (torus.hpp); channels are
// the links that it keeps busy.
//
// Exchanges (all_to_all) and transfers between two ranks take no algorithm: every rank writes to every other
// one directly. Inside a node each has all of its links; what leaves a node shares its cards. Latencies are
// those of a ring's hops. No exchange was measured: the bandwidths are those that rings reach.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/network/collective_terms.hpp"
#include "simulator/network/nccl_planner.hpp"
#include "simulator/network/torus.hpp"

namespace foreshard::simulator {

// Where the ranks of a group are.
struct GroupPlace {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;             // on which they are spread
  std::int64_t fewest_on_a_node = 0;  // of the group; 0: spread evenly
  std::int64_t sharing_the_cards =
      0;  // ranks of a node that use its network at once; 0: the group's

  std::int64_t fewest() const { return fewest_on_a_node > 0 ? fewest_on_a_node : ranks / nodes; }
};

struct CollectiveTime {
  double ns = 0;
  NcclChoice choice;        // its channels hold so many multiprocessors
  double memory_bytes = 0;  // what one rank reads and writes in its device's memory
  // Shares of what the links inside of a node, its network cards, and each direction of the link to the host
  // where there are no others, carry meanwhile. What is bound by one of them holds it from the first byte on:
  // pipelines fill over the narrowest link.
  double links = 0, cards = 0, host_link = 0;
};

class CollectiveNetwork {
 public:
  // `node_bandwidth`: what all network cards of a node move one way, in bytes a second; 0: that of
  // the catalogue. A network of another bandwidth than the machine's own has the technology of the
  // catalogue's instances of this part with that bandwidth, where those agree.
  explicit CollectiveNetwork(const Machine& machine, double node_bandwidth = 0,
                             const CollectiveTerms& terms = bundled_collective_terms());

  const NcclSystem& nccl() const { return nccl_; }
  // The name of the network's terms: IB, EFA, ...; RDMA where the catalogue does not tell.
  const std::string& network() const { return network_; }

  // Algorithms that NCCL has for this collective of this group on this machine.
  std::vector<Algorithm> algorithms(Operator op, const GroupPlace& place) const;

  // `op` is a collective; `bytes` as its cost key counts them: of the whole buffer that is gathered,
  // scattered, reduced or broadcast, of what one rank sends to all, of one rank's transfer. `forced` is one
  // of algorithms(). Nothing for a group of one.
  CollectiveTime time(Operator op, double bytes, const GroupPlace& place,
                      std::optional<Algorithm> forced = std::nullopt) const;

 private:
  struct Law {
    double start_us = 0, pipeline_us = 0;
    double links_us_per_byte = 0, cards_us_per_byte = 0;  // where each had but this to carry
    double us_per_byte() const { return std::max(links_us_per_byte, cards_us_per_byte); }
  };
  struct Inside {  // the links of a node, as the group's rings use them
    LinkTerms terms;
    double gb_s = 0;
  };
  bool goes_over_host(const GroupPlace& place) const;

  Law law(Algorithm algorithm, Operator op, const GroupPlace& place) const;
  Law torus_law(Operator op, const GroupPlace& place) const;
  Inside inside(const GroupPlace& place) const;
  double network_gb_s(const GroupPlace& place) const;
  // How many times as long as through one switch what leaves a node takes, where switches have less to each
  // other than to their nodes (Machine::nodes_per_leaf).
  double crowding(Operator op, const GroupPlace& place) const;
  bool chooses(Algorithm algorithm, Operator op, const GroupPlace& place) const;

  NcclSystem nccl_;
  std::string network_;
  LinkTerms links_, pcie_, cards_;
  std::optional<LinkTerms> switches_;  // that reduce
  std::optional<Torus> torus_;         // in place of all of NCCL's algorithms
  double launch_us_ = 0, filling_bytes_ = 0;
  double link_gb_s_ = 0, host_gb_s_ = 0, node_gb_s_ = 0;
  std::int64_t gpus_per_node_ = 1, nodes_per_leaf_ = 0;
  double oversubscription_ = 1;
  bool is_scattered_ = false;
  bool has_bridges_ = false;
};

// The most devices that reach each other without the network on any machine of the catalogue with
// this part: an instance's own, and of a part alone those of its largest instance.
std::int64_t largest_node(const Machine& machine);

}  // namespace foreshard::simulator
