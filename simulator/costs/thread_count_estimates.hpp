// Cost estimates from the recordings with one number of threads per rank: the measured cost of a key,
// or the fit of its operator, and whether the fit's samples extend that far.
//
// A fit is carried within the sizes it was made from and a few times beyond, further the more sizes
// there were. Beyond the largest it is also carried where that one took so long that no overhead can
// hide in it: its rate is known then, and larger work goes on at that rate; but a single product does
// not show the rate of others. Short samples show how
// long starting takes and nothing about rates: a copy of four bytes has no bandwidth to measure. Nor do
// products that memory decides show how fast others compute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/cost_table.hpp"

namespace foreshard::simulator {

// Relative standard deviation of what no recording carries: published steps are about a third from
// data sheets, and an unmeasured processor is not better known.
constexpr double kModelledError = 0.3;

// An operator's residual is small where few sizes were seen: kernels of neighbouring sizes differ by
// so much on the processors and devices whose recordings were looked at.
constexpr double kLeastFitError = 0.06;

struct ThreadCountEstimate {
  double ns = 0;
  CostSource source = CostSource::fitted;
  double error = 0;        // standard deviation, relative
  bool is_carried = true;  // false: the samples do not reach there
  double at_least_ns = 0;  // what the most work that the samples carry would take
};

// The measured cost key that is nearest to another one of its operator.
struct NearestMeasurement {
  CostKey key;
  std::int64_t count = 0;  // how often it was seen
  double doublings = 0;    // of the dimensions that differ, summed
};

// Of a collective's fit: which group it has to be of.
enum class GroupMatch : std::uint8_t { exact, nearest };

class ThreadCountEstimates {
 public:
  explicit ThreadCountEstimates(const ThreadCountCosts& regime);

  const ThreadCountCosts& regime() const { return regime_; }

  // Nothing where the operator was not seen in this type and place. A collective was seen where it
  // was in this group, over as many nodes; with `nearest`, in any group on one node.
  std::optional<ThreadCountEstimate> ask(const CostKey& key, const TaskPlace& place,
                                         GroupMatch match = GroupMatch::exact) const;

  // Of the same place; nothing where the operator was not measured there.
  std::optional<NearestMeasurement> nearest(const CostKey& key, bool on_host) const;

  // By the fit alone, however far away; near measured keys it leans on what it misses of them.
  std::optional<double> fitted(const CostKey& key, const TaskPlace& place,
                               GroupMatch match = GroupMatch::exact) const;

 private:
  struct Miss {
    CostKey key;
    bool on_host;
    double log_ratio;
  };
  struct Fitted {
    double ns = 0;
    double start_ns = 0;  // what no work at all would take
    double residual = 0;
    const FitRange* range = nullptr;
  };

  std::optional<Fitted> by_fit(const CostKey& key, const TaskPlace& place, GroupMatch match) const;
  double leaning(double ns, const CostKey& key, bool on_host) const;

  const ThreadCountCosts& regime_;
  std::vector<Miss> misses_;
};

// In words: what the cost of a key rests on whose nearest measurement this is.
std::string basis_text(const CostKey& key, const std::optional<NearestMeasurement>& nearest);

}  // namespace foreshard::simulator
