#include "traces/kineto/counter_table.hpp"

#include <utility>

#include "traces/kineto/json/raw_event.hpp"

namespace foreshard::traces::kineto {

bool CounterTable::add(std::string_view process, std::int64_t id, std::string_view name,
                       std::string_view series, CounterSample sample) {
  constexpr std::size_t kMostCounters = 10'000;
  Key key{std::string(process), id, std::string(name), std::string(series)};
  auto found = index_.find(key);
  if (found == index_.end()) {
    if (keys_.size() >= kMostCounters) return false;
    found = index_.emplace(key, keys_.size()).first;
    keys_.push_back(std::move(key));
    samples_.emplace_back();
  }
  samples_[found->second].push_back(sample);
  return true;
}

std::vector<std::string> CounterTable::titles() const {
  std::map<std::tuple<std::string, std::int64_t, std::string>, int> series;  // of each counter
  for (const Key& key : keys_) ++series[{key.process, key.id, key.name}];
  std::map<std::string, int> uses;
  std::vector<std::string> titles;
  for (const Key& key : keys_) {
    const bool is_alone = series[{key.process, key.id, key.name}] == 1;
    const bool says_nothing = key.series.empty() || key.series == "value" || key.series == key.name;
    titles.push_back(is_alone && says_nothing ? key.name : key.name + " " + key.series);
    ++uses[titles.back()];
  }
  for (std::size_t n = 0; n < keys_.size(); ++n) {
    if (uses[titles[n]] == 1) continue;
    if (keys_[n].id != RawEvent::kAbsent) titles[n] += " " + std::to_string(keys_[n].id);
    titles[n] += " (process " + keys_[n].process + ")";
  }
  return titles;
}

std::vector<Counter> CounterTable::take(Strings& strings, std::int64_t base_ns) {
  const std::vector<std::string> names = titles();
  std::vector<Counter> counters;
  for (std::size_t n = 0; n < keys_.size(); ++n) {
    Counter& counter = counters.emplace_back();
    counter.name = strings.intern(names[n]);
    counter.samples = std::move(samples_[n]);
    for (CounterSample& sample : counter.samples) sample.time_ns += base_ns;
  }
  *this = {};
  return counters;
}

}  // namespace foreshard::traces::kineto
