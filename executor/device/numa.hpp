// Which processors a rank's threads run on where the machine has several NUMA nodes: those of one node,
// whose memory they are then the first to touch. Between the processors of a node the system is free to move
// them. What a launcher or numactl has bound to one node stays as it is.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include <sched.h>

namespace foreshard::executor {

// By node, the processors on which this thread may run; nodes without any are left out. `root`: "/" on a
// real system. Nothing where the system does not tell.
std::vector<std::vector<int>> numa_nodes(const std::filesystem::path& root = "/");

// The processors of the node for rank `place` of the `ranks` on this machine, which share out the nodes in
// order. Nothing, which leaves it free, where there is one node; where a node has too few processors for the
// `threads` of each of its ranks; and where the run leaves half of the machine to others, which may be bound
// to the same nodes as it.
std::vector<int> processors_of(std::span<const std::vector<int>> nodes, int place, int ranks,
                               int threads);

// This thread, and those that it starts, run on the processors as long as this lives; nothing changes where
// there are none.
class OnProcessors {
 public:
  explicit OnProcessors(std::span<const int> processors);
  ~OnProcessors();
  OnProcessors(const OnProcessors&) = delete;
  OnProcessors& operator=(const OnProcessors&) = delete;

 private:
  cpu_set_t before_{};
  bool is_bound_ = false;
};

}  // namespace foreshard::executor
