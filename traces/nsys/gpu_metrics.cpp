#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "traces/input/limits.hpp"
#include "traces/nsys/tables.hpp"

namespace foreshard::traces::nsys {
namespace {

// A metric of a device: both numbers, "typeId" and "metricId", are in every sample.
using Metric = std::pair<std::int64_t, std::int64_t>;

// The tool samples whole devices; the lowest byte of the type is the device's number in the machine.
std::int64_t gpu_of(const Metric& metric) {
  return metric.first & 0xFF;
}

// "SMs Active [Throughput %]" is counted in percent.
Counter counter_of(std::string_view title, Strings& strings) {
  constexpr std::string_view kOfItsPeak = "Throughput ";
  Counter counter;
  const std::size_t open = title.rfind(" [");
  if (open != title.npos && title.ends_with(']')) {
    std::string_view unit = title.substr(open + 2, title.size() - open - 3);
    if (unit.starts_with(kOfItsPeak)) unit.remove_prefix(kOfItsPeak.size());
    counter.unit = strings.intern(unit);
    title = title.substr(0, open);
  }
  counter.name = strings.intern(title);
  return counter;
}

}  // namespace

std::vector<std::int64_t> gpus_of_ranks(Import& in) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpus;  // by process and its number
  in.source.each("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"},
                 [&](const Source::Row& row) {
                   gpus[{row.integer(2), row.integer(1)}] = row.integer(0);
                 });
  std::vector<std::int64_t> of_ranks;
  for (const RankDescription& rank : in.builder.ranks()) {
    const auto gpu = gpus.find({rank.process, rank.device});
    of_ranks.push_back(gpu == gpus.end() ? rank.device : gpu->second);
  }
  return of_ranks;
}

void read_gpu_metrics(Import& in, std::int64_t first_ns, Trace& trace) {
  constexpr std::size_t kMostMetrics = 10'000;
  in.read.insert({"GPU_METRICS", "TARGET_INFO_GPU_METRICS"});
  std::map<Metric, std::size_t> counters;
  const std::vector<std::int64_t> gpus = gpus_of_ranks(in);
  in.source.each("TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"},
                 [&](const Source::Row& row) {
                   const Metric metric{row.integer(0), row.integer(1)};
                   // Of ranks that share a device, the first has what was sampled of it.
                   const auto rank = std::ranges::find(gpus, gpu_of(metric));
                   if (rank == gpus.end() || counters.size() >= kMostMetrics) return;
                   if (!counters.try_emplace(metric, trace.counters.size()).second) return;
                   trace.counters.push_back(counter_of(in.names.text(row, 2), trace.strings));
                   trace.counters.back().rank = static_cast<std::int32_t>(rank - gpus.begin());
                 });
  in.source.each("GPU_METRICS", {"timestamp", "typeId", "metricId", "value"},
                 [&](const Source::Row& row) {
                   const auto counter = counters.find({row.integer(1), row.integer(2)});
                   if (counter == counters.end()) {
                     return in.builder.drop("samples of metrics without a name or a rank");
                   }
                   const std::int64_t time = row.integer(0);
                   const double value = row.real(3);
                   if (row.is_null(0) || row.is_null(3) || std::abs(time) > kLatestNs ||
                       !std::isfinite(value)) {
                     return in.builder.drop("samples of metrics without a time or a value");
                   }
                   trace.counters[counter->second].samples.push_back({time - first_ns, value});
                 });
  std::int64_t end_ns = 0;
  for (const Event& event : trace.events) end_ns = std::max(end_ns, event.end_ns);
  for (Counter& counter : trace.counters) {
    sort(counter);
    cut(counter, {0, end_ns});
  }
  std::erase_if(trace.counters, [](const Counter& counter) { return counter.samples.empty(); });
  std::ranges::stable_sort(trace.counters, {}, &Counter::rank);
}

}  // namespace foreshard::traces::nsys
