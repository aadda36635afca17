// Micro-steps that are written down as a repetition take the memory and time of those one by one.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "models/program/unrolled.hpp"
#include "simulator/engine/task_graph.hpp"
#include "simulator/predict/memory.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/property/accumulating_job.hpp"

namespace foreshard {
namespace {

void expect_equal(const simulator::RankMemory& a, const simulator::RankMemory& b) {
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.peak_host, b.peak_host);
  const auto moment = [](const simulator::PeakMoment& p) {
    return std::tie(p.step, p.instruction, p.phase, p.unit, p.by_category);
  };
  EXPECT_EQ(moment(a.peak), moment(b.peak));
  ASSERT_EQ(a.failure.has_value(), b.failure.has_value());
  if (a.failure) {
    const auto failure = [](const simulator::MemoryFailure& f) {
      return std::tie(f.step, f.instruction, f.requested, f.allocated, f.reserved);
    };
    EXPECT_EQ(failure(*a.failure), failure(*b.failure));
  }
  ASSERT_EQ(a.delays.size(), b.delays.size());
  for (std::size_t d = 0; d < a.delays.size(); ++d) {
    const simulator::HostDelay &x = a.delays[d], &y = b.delays[d];
    EXPECT_EQ(std::tie(x.step, x.instruction, x.ns, x.drains),
              std::tie(y.step, y.instruction, y.ns, y.drains));
  }
}

// On devices without a limit and on those on which the cache is released, or memory runs out.
TEST(Repetition, TakesTheMemoryOfAllItsMicroSteps) {
  int failures = 0, releases = 0;
  for (int draw = 0; draw < tests::draws(400) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(50'000 + static_cast<std::uint64_t>(draw));
    const Job job = tests::any_accumulating_job(drawer);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + tests::job_text(job));
    const RankProgram repeated = lower_repeating(job, 0), full = unrolled(repeated);
    simulator::MemoryOptions options;
    options.steps = 3;
    options.segment_alloc_ns = options.segment_free_ns = 1;
    const AllocatorRules settings = allocator_rules(job.plan);
    const simulator::RankMemory unlimited = simulate_memory(full, settings, options);
    expect_equal(simulate_memory(repeated, settings, options), unlimited);
    options.capacity = unlimited.run.reserved * drawer.integer(60, 100) / 100;
    const simulator::RankMemory limited = simulate_memory(full, settings, options);
    expect_equal(simulate_memory(repeated, settings, options), limited);
    if (limited.failure) {
      ++failures;
      options.stop =
          simulator::MemoryFailure{2, static_cast<std::int32_t>(drawer.integer(0, 3000)), 0, 0, 0};
      options.capacity.reset();
      expect_equal(simulate_memory(repeated, settings, options),
                   simulate_memory(full, settings, options));
    } else {
      releases += std::any_of(limited.delays.begin(), limited.delays.end(),
                              [](const simulator::HostDelay& d) { return d.drains; });
    }
  }
  EXPECT_GT(failures, 0);
  EXPECT_GT(releases, 0);
}

void expect_equal(const simulator::RankTimeline& a, const simulator::RankTimeline& b) {
  ASSERT_EQ(a.first_span, b.first_span);
  EXPECT_EQ(a.step_end_ns, b.step_end_ns);
  for (std::size_t s = 0; s < a.spans.size(); ++s) {
    const simulator::Span &x = a.spans[s], &y = b.spans[s];
    ASSERT_EQ(std::tie(x.issue, x.start, x.end), std::tie(y.issue, y.start, y.end)) << "span " << s;
  }
}

// Costs of all sizes, so that now the host decides and now the device, and some of both; a few are long,
// so that one gets ahead and the other catches up.
std::vector<simulator::TaskCost> random_costs(const RankProgram& program,
                                              tests::JobDrawer& drawer) {
  std::vector<simulator::TaskCost> costs(program.cost_keys.size() *
                                         simulator::cost_places(program.place));
  const std::int64_t most = drawer.one_of<std::int64_t>({3, 100, 3'000, 100'000});
  const bool contends = drawer.chance(0.5);
  for (simulator::TaskCost& cost : costs) {
    cost.ns = drawer.integer(0, most) * (drawer.chance(0.03) ? 200 : 1);
    if (!contends) continue;
    for (float& share : cost.takes) share = static_cast<float>(drawer.integer(0, 10)) / 10;
    cost.lacks = drawer.one_of(
        {simulator::Part::multiprocessors, simulator::Part::memory, simulator::Part::kCount});
  }
  return costs;
}

// Delays of the host, here and there or nowhere.
std::vector<simulator::HostDelay> random_delays(const RankProgram& full, std::int64_t steps,
                                                tests::JobDrawer& drawer) {
  std::vector<simulator::HostDelay> delays;
  const double rate = drawer.one_of({0.0, 0.0003, 0.002});
  const std::int64_t most = drawer.one_of<std::int64_t>({1'000, 100'000, 10'000'000});
  for (std::int64_t step = 0; step <= steps; ++step) {
    for (std::size_t i = 0; i < full.step(step).instructions.size(); ++i) {
      if (!drawer.chance(rate)) continue;
      delays.push_back({static_cast<std::int32_t>(step), static_cast<std::int32_t>(i),
                        drawer.integer(0, most), drawer.chance(0.3)});
    }
  }
  return delays;
}

simulator::EngineOptions random_engine(tests::JobDrawer& drawer) {
  simulator::EngineOptions options;
  options.steps = 3;
  const std::int64_t most = drawer.one_of<std::int64_t>({0, 3, 100, 3'000});
  for (std::int64_t& ns : options.host.issue_ns) ns = drawer.integer(0, most);
  for (std::int64_t* ns : {&options.host.launch_latency_ns, &options.host.stream_gap_ns,
                           &options.host.event_latency_ns, &options.host.wait_latency_ns,
                           &options.host.rendezvous_ns}) {
    *ns = drawer.integer(0, most);
  }
  return options;
}

// One rank that stands for all, and ranks that wait for each other; with delays, and cut short.
TEST(Repetition, TakesTheTimeOfAllItsMicroSteps) {
  int skipping = 0, skipping_later = 0;
  for (int draw = 0; draw < tests::draws(600) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(60'000 + static_cast<std::uint64_t>(draw));
    const Job job = tests::any_accumulating_job(drawer);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + tests::job_text(job));
    const RankProgram repeated = lower_repeating(job, 0), full = unrolled(repeated);
    const auto costs = random_costs(repeated, drawer);
    simulator::EngineOptions options = random_engine(drawer);
    const auto delays = random_delays(full, options.steps, drawer);
    if (drawer.chance(0.1)) {
      options.stop_step = 2;
      options.stop_instruction = static_cast<std::int32_t>(drawer.integer(0, 3000));
    }
    const std::size_t ranks = drawer.chance(0.2) ? 2 : 1;
    const auto simulated = [&](const RankProgram& program) {
      const std::vector<simulator::SimulatedRank> all(ranks,
                                                      {&program, costs, delays, program.place});
      return simulate(all, options);
    };
    const auto short_form = simulated(repeated), long_form = simulated(full);
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto& skipped = short_form[r].repeated;
      skipping += skipped.empty() ? 0 : 1;
      skipping_later += std::any_of(skipped.begin(), skipped.end(), [&](const auto& spans) {
        return spans.times < repeated.programs[2].repetition.more;
      });
      expect_equal(unrolled(short_form[r], repeated), long_form[r]);
    }
  }
  EXPECT_GT(skipping, tests::draws(600) / 4);
  EXPECT_GT(skipping_later, tests::draws(600) / 50) << "copies differ too little to test anything";
}

void expect_equal(const simulator::StepPath& a, const simulator::StepPath& b) {
  const auto rows = [](const std::vector<simulator::PathPart>& parts) {
    std::string text;
    for (const simulator::PathPart& p : parts) {
      text += p.name + " " + std::string(p.kind) + " " + std::to_string(p.count) + " " +
              std::to_string(p.ns) + "\n";
    }
    return text;
  };
  EXPECT_EQ(a.length_ns, b.length_ns);
  EXPECT_EQ(rows(a.parts), rows(b.parts));
  EXPECT_EQ(rows(a.units), rows(b.units));
  EXPECT_EQ(a.communication_ns, b.communication_ns);
  std::string x, y;
  for (const simulator::Slack& s : a.slack) x += s.name + " " + std::to_string(s.ns) + "\n";
  for (const simulator::Slack& s : b.slack) y += s.name + " " + std::to_string(s.ns) + "\n";
  EXPECT_EQ(x, y);
}

// With the nodes of all copies.
std::vector<simulator::PathNode> whole_path(const simulator::TaskGraph& graph) {
  const simulator::CriticalPath path = graph.critical_path();
  const auto stretch = path.nodes.begin() + static_cast<std::ptrdiff_t>(path.begin);
  std::vector<simulator::PathNode> nodes(path.nodes.begin(), stretch);
  for (std::int64_t later = 0; later <= path.more; ++later) {
    for (std::size_t n = path.begin; n < path.end; ++n) {
      nodes.push_back({path.nodes[n].node, path.nodes[n].copies_back - later});
    }
  }
  nodes.insert(nodes.end(), path.nodes.begin() + static_cast<std::ptrdiff_t>(path.end),
               path.nodes.end());
  return nodes;
}

// What stands before the copies that are left out of one graph has the slack that it has in the whole.
void expect_equal(const simulator::TaskGraph& cut, const simulator::TaskGraph& whole) {
  const auto x = cut.slack(), y = whole.slack();
  const auto times = [](const simulator::TaskNode& n) { return std::tie(n.start, n.end); };
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (times(cut.nodes()[n]) != times(whole.nodes()[n])) break;
    ASSERT_EQ(x[n], y[n]) << "node " << n;
  }
  const auto a = whole_path(cut), b = whole_path(whole);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t n = 0; n < a.size(); ++n) {
    ASSERT_EQ(times(cut.at(a[n])), times(whole.at(b[n]))) << "node " << n << " of the path";
  }
}

// Copies that are left out of a step's graph count as though they stood in it.
TEST(Repetition, IsOnThePathAsAllItsMicroSteps) {
  int left_out = 0;
  for (int draw = 0; draw < tests::draws(600) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(80'000 + static_cast<std::uint64_t>(draw));
    Job job = drawer.draw();
    job.plan.batch.accumulation = drawer.integer(6, 20);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + tests::job_text(job));
    const RankProgram repeated = lower_repeating(job, 0), full = unrolled(repeated);
    const auto costs = random_costs(repeated, drawer);
    const simulator::EngineOptions options = random_engine(drawer);
    const auto delays = random_delays(full, options.steps, drawer);
    const auto ranks_with = [&](const RankProgram& program) {
      return std::vector<simulator::SimulatedRank>{{&program, costs, delays, program.place}};
    };
    const auto short_rank = ranks_with(repeated), long_rank = ranks_with(full);
    const auto short_times = simulate(short_rank, options),
               long_times = simulate(long_rank, options);
    left_out += short_times[0].repeated.empty() ? 0 : 1;
    expect_equal(step_path(short_rank, short_times, options.steps, options),
                 step_path(long_rank, long_times, options.steps, options));
    expect_equal(simulator::TaskGraph(short_rank, short_times, options.steps, options),
                 simulator::TaskGraph(long_rank, long_times, options.steps, options));
  }
  EXPECT_GT(left_out, tests::draws(600) / 4);
}

void expect_equal(const simulator::PeakExplanation& a, const simulator::PeakExplanation& b) {
  const auto text = [](const simulator::PeakExplanation& p) {
    std::string all = peak_sentence(p) + "\n" + std::to_string(p.requester);
    for (const simulator::HeldMemory& held : p.held) {
      all += "\n" + held.what + " " + std::to_string(held.bytes);
    }
    for (const simulator::PoolMemory& pool : p.pools) {
      all += "\n" + pool.stream + " " + std::to_string(pool.reserved) + " " +
             std::to_string(pool.allocated) + " " + std::to_string(pool.awaiting_free);
    }
    return all;
  };
  EXPECT_EQ(text(a), text(b));
}

void expect_equal(const simulator::Prediction& a, const simulator::Prediction& b) {
  EXPECT_EQ(a.step_time, b.step_time);
  // Sums of rounded numbers, added in another order.
  EXPECT_NEAR(static_cast<double>(a.step_time_low.count()),
              static_cast<double>(b.step_time_low.count()), 1);
  EXPECT_NEAR(static_cast<double>(a.step_time_high.count()),
              static_cast<double>(b.step_time_high.count()), 1);
  EXPECT_EQ(a.exposed_communication, b.exposed_communication);
  ASSERT_EQ(a.path.has_value(), b.path.has_value());
  if (a.path) expect_equal(*a.path, *b.path);
  EXPECT_EQ(a.peak.phase + a.peak.unit, b.peak.phase + b.peak.unit);
  EXPECT_EQ(a.peak.by_category, b.peak.by_category);
  ASSERT_EQ(a.explanation.has_value(), b.explanation.has_value());
  if (a.explanation) expect_equal(*a.explanation, *b.explanation);
  const auto counts = [](const simulator::SourceCounts& s) {
    return std::tie(s.measured, s.fitted, s.modelled, s.unknown);
  };
  EXPECT_EQ(counts(a.cost_sources), counts(b.cost_sources));
  ASSERT_EQ(a.oom.has_value(), b.oom.has_value());
  if (a.oom) {
    EXPECT_EQ(to_json(*a.oom), to_json(*b.oom));
  }
  ASSERT_EQ(a.steps_memory.size(), b.steps_memory.size());
  for (std::size_t s = 0; s < a.steps_memory.size(); ++s) {
    EXPECT_EQ(a.steps_memory[s].peaks, b.steps_memory[s].peaks);
  }
}

TEST(Repetition, IsPredictedAsAllItsMicroSteps) {
  const auto machine = load_machine("h100-sxm");
  ASSERT_TRUE(machine);
  int failures = 0, classes = 0;
  for (int draw = 0; draw < tests::draws(300) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(70'000 + static_cast<std::uint64_t>(draw));
    const Job job = tests::any_accumulating_job(drawer);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + tests::job_text(job));
    // On nodes of different sizes ranks are of different classes.
    const simulator::ProgramSet repeated = simulator::lower_all(job, drawer.one_of({1, 2, 3, 8}));
    simulator::ProgramSet full = repeated;
    for (RankProgram& program : full.programs) program = unrolled(program);
    simulator::PredictionOptions options;
    options.steps = 3;
    options.machine = &*machine;
    options.wants_path = options.wants_explanation = true;
    const auto unlimited = predict(full, options);
    expect_equal(predict(repeated, options), unlimited);
    options.device_memory =
        unlimited.ranks_memory[0].peaks.reserved * drawer.integer(60, 100) / 100;
    const auto limited = predict(full, options);
    expect_equal(predict(repeated, options), limited);
    failures += limited.oom ? 1 : 0;
    classes += full.programs.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(failures, 0);
  EXPECT_GT(classes, 0);
}

}  // namespace
}  // namespace foreshard
