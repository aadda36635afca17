// Cost files: JSON, written so that equal tables are equal files.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "models/base/atomic_file.hpp"
#include "models/base/json_limits.hpp"
#include "models/base/json_text.hpp"
#include "models/base/text_file.hpp"
#include "models/hardware/hardware.hpp"
#include "simulator/costs/cost_file_reader.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/costs/device_rates.hpp"

namespace foreshard::simulator {
namespace {

// The part of a cost file that device_rates.hpp describes.

constexpr double kMaxLogarithm = 10;  // a factor of 22,000
constexpr std::int64_t kMaxNs = std::int64_t{1} << 50;

nlohmann::json to_json(const ObservedStep& step) {
  nlohmann::json json{{"plan", step.plan},
                      {"model", step.model},
                      {"ranks", step.ranks},
                      {"measured_ns", step.measured_ns},
                      {"catalogue_ns", step.catalogue_ns},
                      {"fitted_ns", step.fitted_ns}};
  if (step.question.empty()) return json;
  json["question"] = step.question;
  json["log_ratio"] = step.log_ratio;
  for (std::size_t i = 0; i < kRates; ++i) {
    json["gradient"][std::string(kRateNames[i])] = step.gradient[i];
  }
  json["nodes"] = step.exercise.nodes;
  json["kernels"] = nlohmann::json::array();
  for (const KernelShare& of : step.exercise.kernels) {
    json["kernels"].push_back({{"kernel", of.kernel}, {"share", of.share}});
  }
  return json;
}

nlohmann::json to_json(const DeviceRates& rates) {
  nlohmann::json factors = nlohmann::json::array(), observed = nlohmann::json::array();
  for (std::size_t i = 0; i < kRates; ++i) {
    nlohmann::json row{{"rate", kRateNames[i]}, {"log_factor", rates.factors.logarithm[i]}};
    for (std::size_t j = 0; j < kRates; ++j) {
      const std::string name(kRateNames[j]);
      row["covariance_" + name] = rates.factors.covariance[i][j];
      row["explained_" + name] = rates.factors.explained[i][j];
    }
    factors.push_back(std::move(row));
  }
  for (const ObservedStep& step : rates.observed) observed.push_back(to_json(step));
  return {{"machine", rates.machine},
          {"factors", factors},
          {"unexplained", rates.factors.unexplained},
          {"observed", observed}};
}

// Files of earlier versions have one rate for all links.
constexpr std::string_view kLinks = "links";
constexpr Rate kLinkRates[] = {Rate::link, Rate::network, Rate::copy};

// The rates that a name in a file stands for.
std::vector<std::size_t> rates_named(std::string_view name) {
  std::vector<std::size_t> found;
  if (name == kLinks) {
    for (const Rate rate : kLinkRates) found.push_back(static_cast<std::size_t>(rate));
  }
  for (std::size_t i = 0; i < kRates; ++i) {
    if (name == kRateNames[i]) found.push_back(i);
  }
  return found;
}

// The key as this object spells it: files of earlier versions have the former name.
std::string present_name(CostFileReader& item, const std::string& key, const std::string& former) {
  return item.has(former.c_str()) ? former : key;
}

void read_factor(CostFileReader& row, RateFactors& factors) {
  const std::vector<std::size_t> rates = rates_named(row.word("rate"));
  if (rates.empty()) {
    std::string names;
    for (const std::string_view name : kRateNames) names += ", " + std::string(name);
    return row.wrong("rate", "is not a rate; expected one of " + names.substr(2));
  }
  const double logarithm = row.number("log_factor", -kMaxLogarithm, kMaxLogarithm);
  for (const std::size_t i : rates) factors.logarithm[i] = logarithm;
  for (std::size_t j = 0; j < kRates; ++j) {
    const std::string own = "covariance_" + std::string(kRateNames[j]);
    const std::string of_links = "covariance_" + std::string(kLinks);
    const bool is_link =
        std::count(std::begin(kLinkRates), std::end(kLinkRates), static_cast<Rate>(j)) > 0;
    const std::string& key = is_link && row.has(of_links.c_str()) ? of_links : own;
    const double covariance = row.number(key.c_str(), -kMaxLogarithm, kMaxLogarithm);
    for (const std::size_t i : rates) factors.covariance[i][j] = covariance;
    const std::string explained = present_name(row, "explained_" + std::string(kRateNames[j]),
                                               "learnt_" + std::string(kRateNames[j]));
    if (!row.has(explained.c_str())) continue;  // absent from files of earlier versions
    factors.explained[rates.front()][j] =
        row.number(explained.c_str(), -kMaxLogarithm, kMaxLogarithm);
  }
}

void read_what_was_shown(CostFileReader& item, ObservedStep& step) {
  step.question = item.word("question");
  step.log_ratio = item.number("log_ratio", -kMaxLogarithm, kMaxLogarithm);
  CostFileReader gradient = item.object("gradient");
  for (std::size_t i = 0; i < kRates; ++i) {
    const std::string name(kRateNames[i]);
    step.gradient[i] = gradient.number(name.c_str(), -kMaxLogarithm, kMaxLogarithm);
  }
  step.exercise.nodes = static_cast<int>(item.integer("nodes", 1, 1 << 24));
  item.list("kernels", [&](CostFileReader& of) {
    step.exercise.kernels.push_back({of.word("kernel"), of.number("share", 0, 1)});
  });
}

DeviceRates read_device_rates(CostFileReader reader) {
  DeviceRates rates;
  rates.machine = reader.word("machine");
  reader.list("factors", [&](CostFileReader& row) { read_factor(row, rates.factors); });
  if (reader.has("unexplained")) {
    rates.factors.unexplained = reader.number("unexplained", 0, kMaxLogarithm);
  }
  reader.list("observed", [&](CostFileReader& item) {
    ObservedStep step;
    step.plan = item.word("plan");
    step.model = item.word("model");
    step.ranks = static_cast<int>(item.integer("ranks", 1, 1 << 24));
    step.measured_ns = item.integer("measured_ns", 0, kMaxNs);
    step.catalogue_ns = item.integer("catalogue_ns", 0, kMaxNs);
    step.fitted_ns = item.integer("fitted_ns", 0, kMaxNs);
    if (item.has("question")) read_what_was_shown(item, step);
    rates.observed.push_back(std::move(step));
  });
  return rates;
}

using Json = nlohmann::json;

constexpr int kMaxNesting = 16;
constexpr int kVersion = 2;
constexpr double kMaxTime = 1e15;  // ns: eleven days, far above any single task
constexpr std::int64_t kMaxCount = std::int64_t{1} << 50;  // of anything; also ns of a step
constexpr std::int64_t kMaxHostTime = 1 << 30;             // ns: a second for one instruction

constexpr const char* kLatencies[] = {"launch_latency_ns", "stream_gap_ns", "event_latency_ns",
                                      "wait_latency_ns", "rendezvous_ns"};
static_assert(std::size(kLatencies) == kHostLatencies.size());

Operator read_operator(CostFileReader& reader) {
  const Operator op = operator_named(reader.word("operator"));
  if (op == Operator::kCount) reader.wrong("operator", "is not an operator of this version");
  return op;
}

DType read_dtype(CostFileReader& reader) {
  const std::optional<DType> type = dtype_named(reader.word("dtype"));
  if (!type) reader.wrong("dtype", "is not a dtype; expected fp32, bf16, fp64, int32, fp16 or fp8");
  return type.value_or(DType::fp32);
}

using IssueNumbers = std::array<std::int64_t, kKinds>;

IssueNumbers read_issue(CostFileReader issue, std::int64_t most) {
  IssueNumbers result{};
  for (std::size_t k = 0; k < result.size(); ++k) {
    const std::string key(name(static_cast<Kind>(k)));
    result[k] = issue.integer(key.c_str(), 0, most);
  }
  return result;
}

void read_host(CostFileReader host, ThreadCountCosts& regime) {
  regime.host.uses_core = true;
  regime.host.issue_ns = read_issue(host.object("issue_ns"), kMaxHostTime);
  for (std::size_t i = 0; i < kHostLatencies.size(); ++i) {
    regime.host.*kHostLatencies[i] = host.integer(kLatencies[i], 0, kMaxHostTime);
  }
  if (!host.has("samples")) return;  // absent from files of earlier versions
  CostFileReader samples = host.object("samples");
  regime.host_samples.issue = read_issue(samples.object("issue"), kMaxCount);
  for (std::size_t i = 0; i < kHostLatencies.size(); ++i) {
    regime.host_samples.latencies[i] = samples.integer(kLatencies[i], 0, kMaxCount);
  }
}

FitRange read_range(CostFileReader& reader) {
  constexpr double kMaxWork = 1e24;  // operations or bytes: a thousand years of any device
  FitRange range;
  range.samples = reader.integer("samples", 0, kMaxCount);
  range.sizes = reader.integer("sizes", 0, kMaxCount);
  range.least_work = reader.number("least_work", 0, kMaxWork);
  range.most_work = reader.number("most_work", 0, kMaxWork);
  range.least_intensity = reader.number("least_intensity", 0, kMaxWork);
  range.most_intensity = reader.number("most_intensity", 0, kMaxWork);
  range.longest_ns = reader.number("longest_ns", 0, kMaxTime);
  return range;
}

void add_range(Json& fit, const FitRange& range) {
  fit["samples"] = range.samples;
  fit["sizes"] = range.sizes;
  fit["least_work"] = range.least_work;
  fit["most_work"] = range.most_work;
  fit["least_intensity"] = range.least_intensity;
  fit["most_intensity"] = range.most_intensity;
  fit["longest_ns"] = range.longest_ns;
}

ThreadCountCosts read_regime(CostFileReader& reader) {
  ThreadCountCosts regime;
  regime.threads = static_cast<int>(reader.integer("threads_per_rank", 1, kMaxThreads));
  read_host(reader.object("host"), regime);
  reader.list("measured", [&](CostFileReader& item) {
    CostKey key;
    if (!parse_cost_key(item.word("cost_key"), key)) {
      return item.wrong("cost_key", "is not a cost key of this version");
    }
    MeasuredCost cost;
    cost.ns = item.number("ns", 0, kMaxTime);
    cost.count = item.integer("count", 0, kMaxCount);
    if (item.has("nodes")) cost.nodes = item.integer("nodes", 1, 1 << 24);
    (item.truth("on_host") ? regime.measured_on_host : regime.measured)[key] = cost;
  });
  reader.list("operators", [&](CostFileReader& item) {
    OperatorFit fit;
    fit.op = read_operator(item);
    fit.dtype = read_dtype(item);
    fit.on_host = item.truth("on_host");
    fit.overhead_ns = item.number("overhead_ns", 0, kMaxTime);
    fit.ns_per_flop = item.number("ns_per_flop", 0, 1e6);
    fit.ns_per_byte = item.number("ns_per_byte", 0, 1e6);
    fit.residual = item.number("residual", 0, 1e6);
    fit.range = read_range(item);
    regime.operators.push_back(fit);
  });
  reader.list("collectives", [&](CostFileReader& item) {
    CollectiveFit fit;
    fit.op = read_operator(item);
    fit.dtype = read_dtype(item);
    fit.group = item.integer("group", 1, 1 << 24);
    fit.nodes = item.integer("nodes", 1, 1 << 24);
    fit.base_ns = item.number("base_ns", 0, kMaxTime);
    fit.ns_per_root_byte = item.number("ns_per_root_byte", 0, 1e9);
    fit.ns_per_byte = item.number("ns_per_byte", 0, 1e6);
    fit.residual = item.number("residual", 0, 1e6);
    fit.range = read_range(item);
    regime.collectives.push_back(fit);
  });
  return regime;
}

Json issue_json(const IssueNumbers& issue) {
  Json json = Json::object();
  for (std::size_t k = 0; k < issue.size(); ++k) {
    json[std::string(name(static_cast<Kind>(k)))] = issue[k];
  }
  return json;
}

Json host_json(const HostCosts& host, const HostSamples& samples) {
  Json json{{"issue_ns", issue_json(host.issue_ns)},
            {"samples", {{"issue", issue_json(samples.issue)}}}};
  for (std::size_t i = 0; i < kHostLatencies.size(); ++i) {
    json[kLatencies[i]] = host.*kHostLatencies[i];
    json["samples"][kLatencies[i]] = samples.latencies[i];
  }
  return json;
}

Json regime_json(const ThreadCountCosts& regime) {
  Json measured = Json::array(), operators = Json::array(), collectives = Json::array();
  for (const bool on_host : {false, true}) {
    // By text, so that equal tables are equal files.
    std::map<std::string, const MeasuredCost*> sorted;
    for (const auto& [key, cost] : regime.measured_where(on_host)) {
      sorted[text(key)] = &cost;
    }
    for (const auto& [key, cost] : sorted) {
      measured.push_back(
          {{"cost_key", key}, {"on_host", on_host}, {"ns", cost->ns}, {"count", cost->count}});
      if (cost->nodes > 0) measured.back()["nodes"] = cost->nodes;
    }
  }
  for (const OperatorFit& fit : regime.operators) {
    operators.push_back({{"operator", name(fit.op)},
                         {"dtype", name(fit.dtype)},
                         {"on_host", fit.on_host},
                         {"overhead_ns", fit.overhead_ns},
                         {"ns_per_flop", fit.ns_per_flop},
                         {"ns_per_byte", fit.ns_per_byte},
                         {"residual", fit.residual}});
    add_range(operators.back(), fit.range);
  }
  for (const CollectiveFit& fit : regime.collectives) {
    collectives.push_back({{"operator", name(fit.op)},
                           {"dtype", name(fit.dtype)},
                           {"group", fit.group},
                           {"nodes", fit.nodes},
                           {"base_ns", fit.base_ns},
                           {"ns_per_root_byte", fit.ns_per_root_byte},
                           {"ns_per_byte", fit.ns_per_byte},
                           {"residual", fit.residual}});
    add_range(collectives.back(), fit.range);
  }
  return {{"threads_per_rank", regime.threads},
          {"host", host_json(regime.host, regime.host_samples)},
          {"measured", measured},
          {"operators", operators},
          {"collectives", collectives}};
}

}  // namespace

std::string to_json(const CostTable& table) {
  Json regimes = Json::array(), crowding = Json::array(), calibration = Json::array();
  for (const ThreadCountCosts& regime : table.regimes) regimes.push_back(regime_json(regime));
  for (const Oversubscription& c : table.crowding) {
    crowding.push_back({{"threads_per_rank", c.threads},
                        {"ranks", c.ranks},
                        {"factor", c.factor},
                        {"missed", c.missed}});
  }
  for (const Calibration& c : table.calibration) {
    calibration.push_back({{"trace", c.trace},
                           {"model", c.model},
                           {"plan", c.plan},
                           {"ranks", c.ranks},
                           {"threads_per_rank", c.threads},
                           {"measured_ns", c.measured_ns},
                           {"recorder_share", c.recorder_share},
                           {"slowness", c.slowness},
                           {"fitted_ns", c.fitted_ns},
                           {"held_out_ns", c.held_out_ns},
                           {"held_out_uncertainty", c.held_out_uncertainty}});
  }
  Json json{{"format", "foreshard-costs"},
            {"version", kVersion},
            {"machine",
             {{"name", table.machine_name},
              {"cores", table.cores},
              {"accelerator", table.is_accelerator}}},
            {"memory_bytes_per_ns", table.memory_bytes_per_ns},
            {"segments",
             {{"alloc_ns", table.segments.alloc_ns},
              {"allocs", table.segments.allocs},
              {"free_ns", table.segments.free_ns},
              {"frees", table.segments.frees}}},
            {"impossible_keys", table.impossible_keys},
            {"slowness_spread", table.slowness_spread},
            {"band", table.band},
            {"uncertainty_scale", table.uncertainty_scale},
            {"regimes", regimes},
            {"crowding", crowding},
            {"calibration", calibration}};
  if (table.variation) {
    json["rank_variation"] = {{"between_ranks", table.variation->between_ranks},
                              {"between_steps", table.variation->between_steps},
                              {"ranks", table.variation->ranks},
                              {"steps", table.variation->steps}};
  }
  json["question"] = table.question.empty() ? Json() : Json::parse(table.question);
  if (table.rates) json["device_rates"] = to_json(*table.rates);
  if (const auto& host = table.pytorch_host) {
    json["pytorch_host"] = {{"relative_time", host->relative_time},
                            {"ranges", host->ranges},
                            {"is_alone", host->is_alone}};
  }
  return json_text(json, 1) + "\n";
}

Result<CostTable> parse_cost_table(std::string_view json, const std::string& file) {
  const std::string expected = "expected a cost file written by `foreshard fit`";
  if (const std::string excess = json_excess(json, kMaxNesting); !excess.empty()) {
    return fail(file, "", excess + "; " + expected);
  }
  const Json root = Json::parse(json, nullptr, false);
  if (root.is_discarded()) return fail(file, "", "is not JSON; " + expected);
  if (!root.is_object() || root.value("format", Json()) != "foreshard-costs") {
    return fail(file, "format", "is not \"foreshard-costs\"; " + expected);
  }
  std::optional<Error> error;
  CostFileReader reader(root, "", error, file);
  CostTable table;
  if (reader.integer("version", 0, 1 << 20) != kVersion) {
    reader.wrong("version", "is of another version of foreshard; fit the recordings again");
  }
  CostFileReader machine = reader.object("machine");
  table.machine_name = machine.word("name");
  table.cores = static_cast<int>(machine.integer("cores", 1, kMaxCores));
  table.is_accelerator = machine.truth("accelerator");
  table.memory_bytes_per_ns = reader.number("memory_bytes_per_ns", 0, 1e9);
  if (reader.has("segments")) {  // absent from files of earlier versions
    CostFileReader segments = reader.object("segments");
    table.segments.alloc_ns = segments.number("alloc_ns", 0, kMaxTime);
    table.segments.allocs = segments.integer("allocs", 0, kMaxCount);
    table.segments.free_ns = segments.number("free_ns", 0, kMaxTime);
    table.segments.frees = segments.integer("frees", 0, kMaxCount);
  }
  if (const auto question = root.find("question"); question != root.end() && !question->is_null()) {
    table.question = json_text(*question);
  }
  table.impossible_keys = reader.integer("impossible_keys", 0, kMaxCount);
  table.slowness_spread = reader.number("slowness_spread", 0, 1e3);
  table.band = reader.number("band", 0, 1e3);
  table.uncertainty_scale =
      reader.number(present_name(reader, "uncertainty_scale", "doubt_scale").c_str(), 1, 1e3);
  reader.list("regimes", [&](CostFileReader& item) { table.regimes.push_back(read_regime(item)); });
  reader.list("crowding", [&](CostFileReader& item) {
    const auto threads = static_cast<int>(item.integer("threads_per_rank", 1, kMaxThreads));
    const auto ranks = static_cast<int>(item.integer("ranks", 1, kMaxRanks));
    const double factor = item.number("factor", 0.01, 100);
    const double missed = item.has("missed") ? item.number("missed", 0, 1e6) : 1;
    table.crowding.push_back({threads, ranks, factor, missed});
  });
  reader.list("calibration", [&](CostFileReader& item) {
    Calibration c;
    c.trace = item.word("trace");
    c.model = item.word("model");
    c.plan = item.word("plan");
    c.ranks = static_cast<int>(item.integer("ranks", 1, kMaxRanks));
    c.threads = static_cast<int>(item.integer("threads_per_rank", 1, kMaxThreads));
    c.measured_ns = item.integer("measured_ns", 0, kMaxCount);
    c.recorder_share = item.number("recorder_share", 0, 1);
    c.slowness = item.number("slowness", 0, 1e3);
    c.fitted_ns = item.integer("fitted_ns", 0, kMaxCount);
    c.held_out_ns = item.integer("held_out_ns", 0, kMaxCount);
    c.held_out_uncertainty =
        item.number(present_name(item, "held_out_uncertainty", "held_out_doubt").c_str(), 0, 1e3);
    table.calibration.push_back(c);
  });
  if (reader.has("rank_variation")) {
    constexpr double kMaxVariation = 3;  // a factor of twenty between ranks
    CostFileReader variation = reader.object("rank_variation");
    table.variation = {variation.number("between_ranks", 0, kMaxVariation),
                       variation.number("between_steps", 0, kMaxVariation),
                       variation.integer("ranks", 2, kMaxRanks),
                       variation.integer("steps", 1, kMaxCount)};
  }
  if (reader.has("pytorch_host")) {
    CostFileReader host = reader.object("pytorch_host");
    table.pytorch_host = RecordedHost{host.number("relative_time", 1e-3, 1e3),
                                      host.integer("ranges", 0, kMaxCount), host.truth("is_alone")};
  }
  if (reader.has("device_rates")) table.rates = read_device_rates(reader.object("device_rates"));
  if (!error && table.regimes.empty() && !table.rates)
    reader.wrong("regimes", "is empty; " + expected);
  if (error) return tl::unexpected<Error>(*error);
  return table;
}

Result<CostTable> load_cost_table(const std::string& path) {
  const auto text = read_text_file(path, "a cost file written by `foreshard fit`", 256 * kMiB);
  if (!text) return tl::unexpected<Error>(text.error());
  auto table = parse_cost_table(*text, path);
  if (!table || !table->rates) return table;
  if (const auto machine = load_machine(table->rates->machine); !machine) {
    return fail(path, "device_rates.machine",
                "\"" + table->rates->machine + "\": " + machine.error().text());
  }
  return table;
}

Result<void> check_cost_table(const CostTable& table, const std::string& path) {
  const auto read = parse_cost_table(to_json(table), path);
  return read ? Result<void>() : tl::unexpected(read.error());
}

Result<void> save_cost_table(const CostTable& table, const std::string& path) {
  return write_atomically(path, to_json(table));
}

}  // namespace foreshard::simulator
