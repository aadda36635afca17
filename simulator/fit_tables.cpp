#include "simulator/fit_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "simulator/nnls.hpp"

namespace foreshard::simulator {
namespace {

double slowed(const TaskSample& sample, double bandwidth) {
  return bandwidth > 0 ? std::max(1.0, (sample.bytes_per_ns + sample.beside) / bandwidth) : 1.0;
}

// Samples of equal keys in equal places and regimes, over all runs.
using Samples = std::unordered_map<CostKey, std::vector<double>, CostKeyHash>;

// Sum over keys of squared log deviations from the key's median, were this the bandwidth.
double unexplained(const std::vector<const RunSamples*>& runs, double bandwidth) {
  double sum = 0;
  for (const RunSamples* run : runs) {
    std::vector<std::vector<double>> by_key(run->keys.size());
    for (const TaskSample& task : run->tasks) {
      if (task.ns <= 0) continue;
      by_key[static_cast<std::size_t>(task.key)].push_back(
          std::log(task.ns / slowed(task, bandwidth)));
    }
    for (std::vector<double>& logs : by_key) {
      if (logs.size() < 4) continue;
      const double middle = quantile(logs, 0.5);
      // Single disturbed tasks must not decide.
      for (const double x : logs) sum += std::min(0.09, (x - middle) * (x - middle));
    }
  }
  return sum;
}

struct Point {
  CostKey key;
  bool on_host = false;
  double ns = 0;
};

// Arithmetic decides how long these take; of all others the bytes they touch do.
bool is_arithmetic(Operator op) {
  return is_matmul(op) || is_attention(op);
}

// Rows of a least-squares problem in relative errors: each is divided by the time it explains.
class RelativeFit {
 public:
  explicit RelativeFit(std::size_t points) { ones_.reserve(points + 3); }

  void add(const std::array<double, 3>& terms, double ns) {
    for (const double term : terms) rows_.push_back(term / ns);
    ones_.push_back(1.0);
  }

  // Solves with a weak pull of the first term towards 0 and of no other: few or equal sizes are
  // explained by what grows with size, unless the data speak for a constant. `scale` is a constant
  // that would be worth three tenths of a point's whole time.
  std::array<double, 3> solve(double scale) {
    const std::size_t points = ones_.size();
    constexpr double kPull = 0.3;
    rows_.insert(rows_.end(), {kPull / scale, 0, 0});
    ones_.push_back(0.0);
    const std::vector<double> x = non_negative_least_squares(rows_, 3, ones_);
    double squares = 0;
    for (std::size_t i = 0; i < points; ++i) {
      const double error =
          rows_[3 * i] * x[0] + rows_[3 * i + 1] * x[1] + rows_[3 * i + 2] * x[2] - 1;
      squares += error * error;
    }
    residual_ = std::sqrt(squares / static_cast<double>(points));
    return {x[0], x[1], x[2]};
  }

  double residual() const { return residual_; }  // root mean square of the relative errors

 private:
  std::vector<double> rows_, ones_;
  double residual_ = 0;
};

double fitted_ns(const OperatorFit& fit, const CostKey& key) {
  return fit.overhead_ns + fit.ns_per_flop * flops(key) + fit.ns_per_byte * bytes_moved(key);
}

// Few sizes cannot tell what grows with what. If the same operator was seen at more of them in
// another type or with other threads, its shape is taken from there and only its height is fitted.
OperatorFit scaled_fit(const OperatorFit& shape, DType dtype, const std::vector<Point>& points) {
  double products = 0, squares = 0;
  for (const Point& p : points) {
    const double ratio = fitted_ns(shape, p.key) / p.ns;
    products += ratio;
    squares += ratio * ratio;
  }
  const double scale = products / squares;
  double errors = 0;
  for (const Point& p : points) {
    const double error = scale * fitted_ns(shape, p.key) / p.ns - 1;
    errors += error * error;
  }
  OperatorFit fit = shape;
  fit.dtype = dtype;
  fit.on_host = points[0].on_host;
  fit.overhead_ns *= scale;
  fit.ns_per_flop *= scale;
  fit.ns_per_byte *= scale;
  fit.residual = std::sqrt(errors / static_cast<double>(points.size()));
  fit.samples = static_cast<std::int64_t>(points.size());
  return fit;
}

OperatorFit fit_operator(Operator op, DType dtype, const std::vector<Point>& points) {
  constexpr double kOverheadScale = 50'000;  // ns; a launch and its threads cost much less
  RelativeFit problem(points.size());
  for (const Point& p : points) {
    problem.add({1.0, is_arithmetic(op) ? flops(p.key) : 0.0, bytes_moved(p.key)}, p.ns);
  }
  const auto x = problem.solve(kOverheadScale);
  const auto samples = static_cast<std::int64_t>(points.size());
  return {op, dtype, points[0].on_host, x[0], x[1], x[2], 1, problem.residual(), samples};
}

CollectiveFit fit_collective(Operator op, DType dtype, std::int64_t group,
                             const std::vector<Point>& points) {
  constexpr double kBaseScale = 500'000;  // ns; ranks that are threads meet much faster
  RelativeFit problem(points.size());
  for (const Point& p : points) {
    const auto bytes = static_cast<double>(p.key.dims[0]);
    problem.add({1.0, std::sqrt(bytes), bytes}, p.ns);
  }
  const auto x = problem.solve(kBaseScale);
  const auto samples = static_cast<std::int64_t>(points.size());
  return {op, dtype, group, x[0], x[1], x[2], problem.residual(), samples};
}

using OperatorPoints = std::map<std::tuple<Operator, DType, bool>, std::vector<Point>>;

std::vector<Point> points_of(const Regime& regime) {
  std::vector<Point> points;
  for (const auto& [key, cost] : regime.measured) {
    if (cost.ns > 0) points.push_back({key, false, cost.ns});
  }
  for (const auto& [key, cost] : regime.measured_on_host) {
    if (cost.ns > 0) points.push_back({key, true, cost.ns});
  }
  // The hash table's order must not decide how rounding falls.
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return std::tie(a.on_host, a.key.op, a.key.dtype, a.key.dtype2, a.key.dtype3, a.key.dims) <
           std::tie(b.on_host, b.key.op, b.key.dtype, b.key.dtype2, b.key.dtype3, b.key.dims);
  });
  return points;
}

// Different first dimensions: tokens of matrix products, sequences of attention, elements.
std::size_t sizes_of(const std::vector<Point>& points) {
  std::set<std::array<std::int64_t, 2>> sizes;
  for (const Point& p : points) {
    sizes.insert({p.key.dims[0], is_attention(p.key.op) ? p.key.dims[1] : 0});
  }
  return sizes.size();
}

// Fits operators of all regimes; those seen at too few sizes lean on the one seen at most.
void fit_operators(std::vector<Regime>& regimes) {
  std::vector<OperatorPoints> all;
  struct Shape {
    std::size_t sizes = 0;
    OperatorFit fit;
  };
  std::map<Operator, Shape> shapes;
  for (Regime& regime : regimes) {
    OperatorPoints& operators = all.emplace_back();
    std::map<std::tuple<Operator, DType, std::int64_t>, std::vector<Point>> collectives;
    for (const Point& p : points_of(regime)) {
      if (is_collective(p.key.op)) {
        collectives[{p.key.op, p.key.dtype, p.key.dims[1]}].push_back(p);
      } else {
        operators[{p.key.op, p.key.dtype, p.on_host}].push_back(p);
      }
    }
    for (const auto& [what, seen] : collectives) {
      const auto& [op, dtype, group] = what;
      regime.collectives.push_back(fit_collective(op, dtype, group, seen));
    }
    for (const auto& [what, seen] : operators) {
      Shape& shape = shapes[std::get<0>(what)];
      const std::size_t sizes = sizes_of(seen);
      if (sizes <= shape.sizes) continue;
      shape = {sizes, fit_operator(std::get<0>(what), std::get<1>(what), seen)};
    }
  }
  for (std::size_t r = 0; r < regimes.size(); ++r) {
    for (const auto& [what, seen] : all[r]) {
      const auto& [op, dtype, on_host] = what;
      const Shape& shape = shapes.at(op);
      const std::size_t sizes = sizes_of(seen);
      constexpr std::size_t kEnough = 3;
      const bool leans = sizes < kEnough && sizes < shape.sizes;
      regimes[r].operators.push_back(leans ? scaled_fit(shape.fit, dtype, seen)
                                           : fit_operator(op, dtype, seen));
    }
  }
}

MeasuredCost summary(std::vector<double>& values, int threads) {
  MeasuredCost cost;
  cost.count = static_cast<std::int64_t>(values.size());
  cost.ns = quantile(values, 0.5);
  if (cost.ns > 0) cost.spread = (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / cost.ns;
  cost.cores = threads;
  return cost;
}

// What a host thread pays where no recording shows it: assumed figures of a server core.
constexpr double kIssueGuess = 300, kBookkeepingGuess = 60, kLatencyGuess = 8000, kGapGuess = 300;

double middle_of(std::vector<double> values, double otherwise) {
  return values.empty() ? otherwise : quantile(values, 0.5);
}

HostCosts fit_host(const std::vector<const RunSamples*>& runs) {
  HostCosts host;
  host.uses_core = true;
  const auto joined = [&](auto member) {
    std::vector<double> all;
    for (const RunSamples* run : runs) {
      const std::vector<double>& some = member(*run);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  for (std::size_t k = 0; k < static_cast<std::size_t>(kKinds); ++k) {
    const bool is_work = runs_on_stream(static_cast<Kind>(k));
    const auto all =
        joined([&](const RunSamples& run) -> const std::vector<double>& { return run.issue[k]; });
    host.issue_ns[k] = std::llround(middle_of(all, is_work ? kIssueGuess : kBookkeepingGuess));
  }
  const auto latency = [&](std::vector<double> RunSamples::*field, double otherwise) {
    return std::llround(middle_of(
        joined([&](const RunSamples& run) -> const std::vector<double>& { return run.*field; }),
        otherwise));
  };
  host.launch_latency_ns = latency(&RunSamples::launch_latency, kLatencyGuess);
  host.event_latency_ns = latency(&RunSamples::event_latency, kLatencyGuess);
  host.wait_latency_ns = latency(&RunSamples::wait_latency, kLatencyGuess);
  host.stream_gap_ns = latency(&RunSamples::stream_gap, kGapGuess);
  // Waiting for a core looks like rendezvous; the quicker meetings are the undisturbed ones.
  std::vector<double> meetings =
      joined([](const RunSamples& run) -> const std::vector<double>& { return run.rendezvous; });
  host.rendezvous_ns = std::llround(quantile(meetings, 0.25));
  return host;
}

}  // namespace

double fit_memory_bandwidth(const std::vector<const RunSamples*>& runs) {
  double highest = 0;
  for (const RunSamples* run : runs) {
    for (const TaskSample& task : run->tasks)
      highest = std::max(highest, task.bytes_per_ns + task.beside);
  }
  if (highest <= 0) return 0;
  constexpr double kLeastGain = 0.03;  // of what no limit leaves unexplained
  double best = 0, least = unexplained(runs, 0) * (1 - kLeastGain);
  for (double bandwidth = highest; bandwidth > highest / 64; bandwidth /= 1.15) {
    const double left = unexplained(runs, bandwidth);
    if (left < least) least = left, best = bandwidth;
  }
  return best;
}

CostTable fit_tables(const std::vector<const RunSamples*>& runs,
                     const std::function<double(const RunSamples&)>& slow_down) {
  CostTable table;
  std::set<int> threads;
  for (const RunSamples* run : runs) {
    table.cpu_model = run->cpu_model;
    table.is_accelerator = run->is_accelerator;
    table.cores = std::max(table.cores, run->cores);
    threads.insert(run->threads);
  }
  table.memory_bytes_per_ns = fit_memory_bandwidth(runs);
  for (const int count : threads) {
    Regime regime;
    regime.threads = count;
    std::vector<const RunSamples*> same;
    std::array<Samples, 2> samples;  // on streams, on the host
    for (const RunSamples* run : runs) {
      if (run->threads != count) continue;
      same.push_back(run);
      const double factor = slow_down(*run);
      for (const TaskSample& task : run->tasks) {
        samples[task.on_host ? 1 : 0][run->keys[static_cast<std::size_t>(task.key)]].push_back(
            task.ns / slowed(task, table.memory_bytes_per_ns) / factor);
      }
    }
    for (const bool on_host : {false, true}) {
      MeasuredCosts& costs = on_host ? regime.measured_on_host : regime.measured;
      for (auto& [key, values] : samples[on_host ? 1 : 0]) costs[key] = summary(values, count);
    }
    regime.host = fit_host(same);
    table.regimes.push_back(std::move(regime));
  }
  fit_operators(table.regimes);
  return table;
}

}  // namespace foreshard::simulator
