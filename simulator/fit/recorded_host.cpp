#include "simulator/fit/recorded_host.hpp"

#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>

#include "models/hardware/host_times.hpp"
#include "simulator/fit/fit_samples.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::size_t kFewest = 10;  // of one name, for its decile to say something
constexpr double kLowerDecile = 0.1;

struct Recorded {
  const HostRange* reference = nullptr;  // null: not one that tells
  std::vector<double> us;
};

}  // namespace

std::optional<RecordedHost> recorded_host(const traces::Trace& trace) {
  std::map<std::string_view, Recorded> by_name;
  std::unordered_map<traces::StringId, Recorded*> by_id;
  bool is_alone = true;
  for (const traces::Event& event : trace.events) {
    const bool is_on_device = trace.lanes[static_cast<std::size_t>(event.lane)].device;
    if (is_on_device && traces::is_device_work(event.kind)) is_alone = false;
    if (is_on_device || event.end_ns < event.start_ns) continue;
    const auto [entry, is_new] = by_id.try_emplace(event.name, nullptr);
    if (is_new) {
      const std::string_view whole = trace.strings[event.name];
      const std::string_view name = whole.substr(0, whole.find(" ("));  // without its unit
      if (const HostRange* reference = host_range(name)) {
        entry->second = &by_name.try_emplace(name, Recorded{reference, {}}).first->second;
      }
    }
    if (Recorded* recorded = entry->second) {
      recorded->us.push_back(static_cast<double>(event.end_ns - event.start_ns) / 1000);
    }
  }
  double logs = 0, weights = 0;
  RecordedHost host;
  host.is_alone = is_alone;
  for (auto& [name, recorded] : by_name) {
    if (recorded.us.size() < kFewest) continue;
    const double us = quantile(recorded.us, kLowerDecile);
    if (us <= 0) continue;
    logs += recorded.reference->weight * std::log(us / recorded.reference->us);
    weights += recorded.reference->weight;
    host.ranges += std::ssize(recorded.us);
  }
  if (weights <= 0) return {};
  host.relative_time = std::exp(logs / weights);
  return host;
}

std::optional<RecordedHost> host_of_all(const std::vector<const RunSamples*>& runs) {
  double logs = 0;
  RecordedHost all;
  all.is_alone = true;
  for (const RunSamples* run : runs) {
    if (!run->pytorch_host) continue;
    const RecordedHost& host = *run->pytorch_host;
    logs += static_cast<double>(host.ranges) * std::log(host.relative_time);
    all.ranges += host.ranges;
    all.is_alone = all.is_alone && host.is_alone;
  }
  if (all.ranges == 0) return {};
  all.relative_time = std::exp(logs / static_cast<double>(all.ranges));
  return all;
}

}  // namespace foreshard::simulator
