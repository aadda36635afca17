#include "simulator/fit/fit_operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "simulator/costs/data_sheet.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/fit/nnls.hpp"

namespace foreshard::simulator {
namespace {

struct Point {
  CostKey key;
  bool on_host = false;
  double ns = 0;
  std::int64_t nodes = 1;
};
using Points = std::vector<Point>;
using Terms = std::array<double, 3>;

// What is known of the coefficients before any sample: they are at least `least`, and where samples
// leave it open near `usual`, as firmly as `weight` of a sample allows (0: no opinion).
struct Prior {
  Terms least{}, usual{}, weight{};
};

// Least squares in relative errors: each row is divided by the time it explains.
class RelativeFit {
 public:
  explicit RelativeFit(Prior prior) : prior_(std::move(prior)) {}

  void add(const Terms& terms, double ns) {
    double rest = 1;  // what the bounds leave to explain
    for (std::size_t i = 0; i < terms.size(); ++i) {
      rows_.push_back(terms[i] / ns);
      rest -= prior_.least[i] * terms[i] / ns;
    }
    rest_.push_back(rest);
  }

  Terms solve() {
    for (std::size_t i = 0; i < prior_.weight.size(); ++i) {
      if (prior_.weight[i] <= 0) continue;
      Terms row{};
      row[i] = prior_.weight[i];
      rows_.insert(rows_.end(), row.begin(), row.end());
      rest_.push_back(prior_.weight[i] * (prior_.usual[i] - prior_.least[i]));
    }
    const std::vector<double> x = non_negative_least_squares(rows_, 3, rest_);
    Terms found = prior_.least;
    for (std::size_t i = 0; i < found.size(); ++i) found[i] += x[i];
    return found;
  }

 private:
  Prior prior_;
  std::vector<double> rows_, rest_;
};

// A pull towards `usual` worth `weight` of a sample's whole time when it is missed by all of itself.
void pull(Prior& prior, std::size_t term, double usual, double weight) {
  prior.usual[term] = usual;
  prior.weight[term] = usual > 0 ? weight / usual : 0;
}

// Towards zero, such that `scale` would be worth three tenths of a sample's whole time: few or equal
// sizes are explained by what grows with size, unless the data speak for a constant.
void pull_to_zero(Prior& prior, std::size_t term, double scale) {
  constexpr double kWeight = 0.3;
  prior.weight[term] = kWeight / scale;
}

// On accelerators. So weak that it only decides what the samples leave open.
constexpr double kPull = 0.005;
// Shares of the data sheet's rates that kernels of training commonly reach, and their shortest time.
constexpr double kUsualShare = 0.75;
constexpr double kUsualKernelNs = 2500;
constexpr double kUsualCopyNs = 8000;
constexpr double kUsualCollectiveNs = 20'000;

Prior operator_prior(Operator op, DType dtype, const Machine* part) {
  Prior prior;
  if (part == nullptr) {
    constexpr double kOverheadScale = 50'000;  // ns; a launch and its threads cost much less
    pull_to_zero(prior, 0, kOverheadScale);
    return prior;
  }
  const LeastRates least = least_rates(op, dtype, *part);
  prior.least = {0, least.ns_per_flop, least.ns_per_byte};
  pull(prior, 0, is_host_copy(op) ? kUsualCopyNs : kUsualKernelNs, kPull);
  pull(prior, 1, least.ns_per_flop / kUsualShare, kPull);
  pull(prior, 2, least.ns_per_byte / kUsualShare, kPull);
  return prior;
}

Prior collective_prior(const CostKey& key, std::int64_t nodes, const Machine* part) {
  Prior prior;
  if (part == nullptr) {
    constexpr double kBaseScale = 500'000;  // ns; ranks that are threads meet much faster
    pull_to_zero(prior, 0, kBaseScale);
    return prior;
  }
  const double least = least_ns(key, *part, nodes) / payload_bytes(key);
  prior.least = {0, 0, least};
  pull(prior, 0, kUsualCollectiveNs, kPull);
  pull(prior, 2, least / kUsualShare, kPull);
  return prior;
}

// Root mean square of the relative errors of `predicted(key)`.
template <typename Predicted>
double residual_of(const Points& points, Predicted predicted) {
  double squares = 0;
  for (const Point& p : points) {
    const double error = predicted(p.key) / p.ns - 1;
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(points.size()));
}

// The constant that fits best in relative errors.
double constant_of(const Points& points) {
  double sum = 0, squares = 0;
  for (const Point& p : points) {
    sum += 1 / p.ns;
    squares += 1 / (p.ns * p.ns);
  }
  return sum / squares;
}

// No processor takes so long for an operation or a byte: a tiny task that does was held up by
// something that does not grow with it.
constexpr double kSlowestRate = 1000;  // ns

FitRange range_of(const Points& points) {
  // Sizes nearer to each other than this tell noise from growth badly.
  constexpr double kApart = 1.25;
  FitRange range;
  range.samples = std::ssize(points);
  std::vector<std::pair<double, double>> sizes;  // work, time
  range.least_intensity = range.most_intensity = intensity(points.front().key);
  for (const Point& p : points) {
    sizes.emplace_back(work(p.key), p.ns);
    range.least_intensity = std::min(range.least_intensity, intensity(p.key));
    range.most_intensity = std::max(range.most_intensity, intensity(p.key));
  }
  std::sort(sizes.begin(), sizes.end());
  range.least_work = sizes.front().first;
  range.most_work = sizes.back().first;
  range.longest_ns = sizes.back().second;
  double last = -1;
  for (const auto& [size, ns] : sizes) {
    if (last >= 0 && size <= kApart * last) continue;
    last = size;
    ++range.sizes;
  }
  return range;
}

// The least time beyond the overhead that any point took for each of what `count` counts.
double least_per(const Points& points, double overhead_ns, double (*count)(const CostKey&)) {
  double least = std::numeric_limits<double>::infinity();
  for (const Point& p : points) {
    if (count(p.key) > 0) least = std::min(least, (p.ns - overhead_ns) / count(p.key));
  }
  return std::isfinite(least) ? std::max(0.0, least) : 0;
}

// With the points that do the fewest operations a byte, `memory_bound` of them, explained by their
// bytes and the others by their operations. `points` in the order of operations per byte.
OperatorFit split_fit(const Points& points, std::size_t memory_bound, const Prior& prior) {
  const CostKey& first = points.front().key;
  RelativeFit problem(prior);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& p = points[i];
    if (i < memory_bound) {
      problem.add({1, 0, bytes_moved(p.key)}, p.ns);
    } else {
      problem.add({1, flops(p.key), 0}, p.ns);
    }
  }
  const Terms x = problem.solve();
  OperatorFit fit{first.op, first.dtype, points.front().on_host, x[0], x[1], x[2], 0, {}};
  // Where all points are of one kind nothing shows what the other would cost; no rate is taken to be
  // better than the best one seen.
  if (memory_bound == points.size() && prior.weight[1] <= 0) {
    fit.ns_per_flop = least_per(points, fit.overhead_ns, flops);
  }
  if (memory_bound == 0 && prior.weight[2] <= 0) {
    fit.ns_per_byte = least_per(points, fit.overhead_ns, bytes_moved);
  }
  if (fit.ns_per_flop > kSlowestRate || fit.ns_per_byte > kSlowestRate) {
    fit.overhead_ns = constant_of(points);
    fit.ns_per_flop = fit.ns_per_byte = 0;
  }
  fit.residual = residual_of(points, [&](const CostKey& key) { return fitted_ns(fit, key); });
  return fit;
}

// How many of the points the data sheet's rates make the memory decide.
std::size_t memory_bound_on(const Machine& part, const Points& points) {
  const CostKey& first = points.front().key;
  const LeastRates least = least_rates(first.op, first.dtype, part);
  return static_cast<std::size_t>(std::count_if(points.begin(), points.end(), [&](const Point& p) {
    return least.ns_per_flop * intensity(p.key) < least.ns_per_byte;
  }));
}

// Without a data sheet: whatever the rates, the points whose bytes decide are those with the fewest
// operations a byte. A limit of the memory has to explain a tenth of what arithmetic alone does not,
// and more than rounding.
OperatorFit best_split(const Points& points, const Prior& prior) {
  constexpr double kGain = 0.9, kRounding = 0.002;
  constexpr std::size_t kTried = 64;
  OperatorFit best = split_fit(points, 0, prior);
  const std::size_t stride = points.size() / kTried + 1;
  for (std::size_t n = 1; n <= points.size(); n += stride) {
    OperatorFit tried = split_fit(points, n, prior);
    if (tried.residual + kRounding < kGain * best.residual) best = std::move(tried);
  }
  return best;
}

OperatorFit fit_operator(Points points, const Machine* part) {
  const Operator op = points.front().key.op;
  Prior prior = operator_prior(op, points.front().key.dtype, part);
  OperatorFit best;
  if (!is_arithmetic(op)) {
    // Operations other than products' are hidden behind their bytes.
    best = split_fit(points, points.size(), prior);
    best.ns_per_flop = 0;
  } else {
    std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
      return intensity(a.key) < intensity(b.key);
    });
    best = part != nullptr ? split_fit(points, memory_bound_on(*part, points), prior)
                           : best_split(points, prior);
  }
  best.range = range_of(points);
  return best;
}

CollectiveFit fit_collective(const Points& points, const Machine* part) {
  const CostKey& first = points.front().key;
  const std::int64_t nodes = points.front().nodes;
  RelativeFit problem(collective_prior(first, nodes, part));
  for (const Point& p : points) {
    const double bytes = payload_bytes(p.key);
    problem.add({1, std::sqrt(bytes), bytes}, p.ns);
  }
  const Terms x = problem.solve();
  CollectiveFit fit{first.op, first.dtype, first.dims[1], nodes, x[0], x[1], x[2], 0, {}};
  if (fit.ns_per_byte > kSlowestRate || fit.ns_per_root_byte > kSlowestRate) {
    fit.base_ns = constant_of(points);
    fit.ns_per_root_byte = fit.ns_per_byte = 0;
  }
  fit.residual = residual_of(points, [&](const CostKey& key) { return fitted_ns(fit, key); });
  fit.range = range_of(points);
  return fit;
}

// If the same operator was seen at more sizes in another type or with other threads, its shape is
// taken from there and only its height is fitted.
OperatorFit scaled_fit(const OperatorFit& shape, const Points& points) {
  double products = 0, squares = 0;
  for (const Point& p : points) {
    const double ratio = fitted_ns(shape, p.key) / p.ns;
    products += ratio;
    squares += ratio * ratio;
  }
  const double scale = products / squares;
  OperatorFit fit = shape;
  fit.dtype = points.front().key.dtype;
  fit.on_host = points.front().on_host;
  fit.overhead_ns *= scale;
  fit.ns_per_flop *= scale;
  fit.ns_per_byte *= scale;
  fit.residual = residual_of(points, [&](const CostKey& key) { return fitted_ns(fit, key); });
  fit.range = range_of(points);
  return fit;
}

Points points_of(const ThreadCountCosts& regime, const Machine* part) {
  Points points;
  for (const bool on_host : {false, true}) {
    for (const auto& [key, cost] : regime.measured_where(on_host)) {
      if (cost.ns <= 0 || work(key) <= 0) continue;
      points.push_back({key, on_host, cost.ns, nodes_of(cost, key, part)});
    }
  }
  // The hash table's order must not decide how rounding falls.
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return std::tie(a.on_host, a.key.op, a.key.dtype, a.key.dtype2, a.key.dtype3, a.key.dims) <
           std::tie(b.on_host, b.key.op, b.key.dtype, b.key.dtype2, b.key.dtype3, b.key.dims);
  });
  return points;
}

// Different first dimensions: tokens of matrix products, sequences of attention, elements.
std::size_t lengths_of(const Points& points) {
  std::set<std::array<std::int64_t, 2>> lengths;
  for (const Point& p : points) {
    lengths.insert({p.key.dims[0], is_attention(p.key.op) ? p.key.dims[1] : 0});
  }
  return lengths.size();
}

using OperatorPoints = std::map<std::tuple<Operator, DType, bool>, Points>;

}  // namespace

std::int64_t nodes_of(const MeasuredCost& cost, const CostKey& key, const Machine* part) {
  if (!is_collective(key.op)) return 1;
  if (cost.nodes > 0) return cost.nodes;
  if (part == nullptr || part->gpus_per_node <= 0) return 1;
  return (key.dims[1] + part->gpus_per_node - 1) / part->gpus_per_node;
}

void fit_operators(std::vector<ThreadCountCosts>& regimes, const Machine* part) {
  std::vector<OperatorPoints> all;
  struct Shape {
    std::size_t lengths = 0;
    OperatorFit fit;
  };
  std::map<Operator, Shape> shapes;
  for (ThreadCountCosts& regime : regimes) {
    OperatorPoints& operators = all.emplace_back();
    std::map<std::tuple<Operator, DType, std::int64_t, std::int64_t>, Points> collectives;
    for (const Point& p : points_of(regime, part)) {
      if (is_collective(p.key.op)) {
        collectives[{p.key.op, p.key.dtype, p.key.dims[1], p.nodes}].push_back(p);
      } else {
        operators[{p.key.op, p.key.dtype, p.on_host}].push_back(p);
      }
    }
    for (const auto& [what, seen] : collectives) {
      regime.collectives.push_back(fit_collective(seen, part));
    }
    for (const auto& [what, seen] : operators) {
      Shape& shape = shapes[std::get<0>(what)];
      const std::size_t lengths = lengths_of(seen);
      if (lengths > shape.lengths) shape = {lengths, fit_operator(seen, part)};
    }
  }
  for (std::size_t r = 0; r < regimes.size(); ++r) {
    for (const auto& [what, seen] : all[r]) {
      const Shape& shape = shapes.at(std::get<0>(what));
      const std::size_t lengths = lengths_of(seen);
      constexpr std::size_t kEnough = 3;
      // An accelerator's types run on other units, at the rates of its data sheet.
      const bool leans = part == nullptr && lengths < kEnough && lengths < shape.lengths;
      regimes[r].operators.push_back(leans ? scaled_fit(shape.fit, seen)
                                           : fit_operator(seen, part));
    }
  }
}

}  // namespace foreshard::simulator
