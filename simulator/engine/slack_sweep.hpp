// The dependencies of a TaskGraph, and how much later each node could have ended: swept from the last one
// to the first.
//
// Where copies of a repetition are left out (graph_parts.hpp), the last copy stands for each of them in
// turn: a copy's slack follows from that of the copy behind it, and once two are equal so are all before.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "simulator/engine/graph_parts.hpp"

namespace foreshard::simulator {

// With the latency of each edge.
using Dependencies =
    boost::compressed_sparse_row_graph<boost::bidirectionalS, boost::no_property, std::int64_t,
                                       boost::no_property, std::uint32_t, std::uint32_t>;
using Vertex = boost::graph_traits<Dependencies>::vertex_descriptor;

// The end of a rank's step, and when it would have been over had it taken as long as the longest.
struct Deadline {
  std::size_t end = 0;
  std::int64_t time = 0;
};

// By node; of the last copy's the least of all that it stands for. `order` has each node before those that
// wait for it; where copies are left out it is that of their numbers.
std::vector<std::int64_t> slack_of(const std::vector<TaskNode>& nodes,
                                   const Dependencies& dependencies, const LeftOutCopies& left_out,
                                   const std::vector<Deadline>& deadlines,
                                   const std::vector<Vertex>& order);

}  // namespace foreshard::simulator
