#include "simulator/engine/slack_sweep.hpp"

#include <algorithm>

namespace foreshard::simulator {
namespace {

class SlackSweep {
 public:
  SlackSweep(const std::vector<TaskNode>& nodes, const Dependencies& dependencies,
             const LeftOutCopies& left_out, const std::vector<Deadline>& deadlines)
      : nodes_(nodes), dependencies_(dependencies), left_out_(left_out), slack_(nodes.size()) {
    for (const TaskNode& node : nodes) finish_ = std::max(finish_, node.end);
    for (const Deadline& deadline : deadlines) finish_ = std::max(finish_, deadline.time);
    for (std::size_t n = 0; n < nodes.size(); ++n) slack_[n] = finish_ - nodes[n].end;
    for (const Deadline& deadline : deadlines) {
      slack_[deadline.end] = deadline.time - nodes[deadline.end].end;
    }
  }

  std::vector<std::int64_t> run(const std::vector<Vertex>& order) {
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
      if (left_out_.count > 0 && *v + 1 == left_out_.last) sweep_left_out();
      const auto [first, end] = boost::out_edges(*v, dependencies_);
      for (auto e = first; e != end; ++e) {
        slack_[*v] = std::min(slack_[*v], slack_behind(*e));
      }
    }
    std::copy(least_.begin(), least_.end(),
              slack_.begin() + static_cast<std::ptrdiff_t>(left_out_.last));
    for (std::int64_t& slack : slack_) slack = std::max<std::int64_t>(0, slack);  // rounding
    return std::move(slack_);
  }

 private:
  using Edge = boost::graph_traits<Dependencies>::edge_descriptor;

  const TaskNode& before(const Edge& e) const { return nodes_[boost::source(e, dependencies_)]; }
  std::size_t after(const Edge& e) const { return boost::target(e, dependencies_); }

  // From when the edge lets its end start until that starts.
  std::int64_t margin(const Edge& e) const {
    return nodes_[after(e)].start - dependencies_[e] - before(e).end;
  }
  // A host that leads is further ahead of the streams in each copy.
  std::int64_t lead(const Edge& e, std::int64_t copies) const {
    if (!before(e).on_host || nodes_[after(e)].on_host) return 0;
    return copies * (left_out_.stream_ns - left_out_.host_ns);
  }

  std::int64_t slack_behind(const Edge& e) const {
    const std::size_t node = after(e);
    const bool crosses =
        left_out_.lie_between(static_cast<std::int64_t>(boost::source(e, dependencies_)),
                              static_cast<std::int64_t>(node));
    if (!crosses) return slack_[node] + margin(e);
    if (node >= left_out_.after) return finish_;
    return next_[node - left_out_.last] + margin(e) - lead(e, left_out_.count);
  }

  // From the last of those that are left out to the first, each from the one behind it, until they are
  // equal. The copies then stand for those that follow the first: a host that leads has least there.
  void sweep_left_out() {
    const auto last = slack_.begin() + static_cast<std::ptrdiff_t>(left_out_.last);
    const auto end = slack_.begin() + static_cast<std::ptrdiff_t>(left_out_.after);
    const bool host_leads = left_out_.stream_ns > left_out_.host_ns;
    next_.assign(last, end);
    least_ = next_;
    std::vector<std::int64_t> copy(next_.size());
    for (std::int64_t back = 1; back <= left_out_.count; ++back) {
      bool settles = true;
      for (std::size_t n = copy.size(); n-- > 0;) {
        copy[n] = copy_slack(n, copy, back);
        least_[n] = std::min(least_[n], copy[n]);
        const bool counts = !host_leads || !nodes_[left_out_.last + n].on_host;
        settles &= !counts || copy[n] == next_[n];
      }
      next_.swap(copy);
      if (!settles) continue;
      if (!host_leads) break;
      back = std::max(back, left_out_.count - 1);
    }
  }

  // Of the n-th node of the copy that stands so far before the last.
  std::int64_t copy_slack(std::size_t n, const std::vector<std::int64_t>& copy,
                          std::int64_t back) const {
    const auto node = static_cast<Vertex>(left_out_.last + n);
    std::int64_t slack = finish_ - nodes_[node].end + back * left_out_.period(nodes_[node]);
    const auto [first, end] = boost::out_edges(node, dependencies_);
    for (auto e = first; e != end; ++e) {
      if (after(*e) >= left_out_.after) continue;
      slack = std::min(slack, copy[after(*e) - left_out_.last] + margin(*e) - lead(*e, back));
    }
    const auto [cross, cross_end] = boost::out_edges(
        static_cast<Vertex>(left_out_.last + n - left_out_.length()), dependencies_);
    for (auto e = cross; e != cross_end; ++e) {
      if (after(*e) < left_out_.last || after(*e) >= left_out_.after) continue;
      slack = std::min(slack, next_[after(*e) - left_out_.last] + margin(*e) - lead(*e, back - 1));
    }
    return slack;
  }

  const std::vector<TaskNode>& nodes_;
  const Dependencies& dependencies_;
  const LeftOutCopies& left_out_;
  std::int64_t finish_ = 0;
  std::vector<std::int64_t> slack_;
  // Of the last copy's nodes: those of the copy behind the one at hand, and the least of all copies.
  std::vector<std::int64_t> next_, least_;
};

}  // namespace

std::vector<std::int64_t> slack_of(const std::vector<TaskNode>& nodes,
                                   const Dependencies& dependencies, const LeftOutCopies& left_out,
                                   const std::vector<Deadline>& deadlines,
                                   const std::vector<Vertex>& order) {
  return SlackSweep(nodes, dependencies, left_out, deadlines).run(order);
}

}  // namespace foreshard::simulator
