// The counters of one recording: events of phase "C", each of which has a value for every series of its
// counter. Processes and numbers tell counters of equal names apart.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

class CounterTable {
 public:
  // `process` as it stands in the file, `id` RawEvent::kAbsent where there is none. False where there are
  // too many counters to be sound.
  bool add(std::string_view process, std::int64_t id, std::string_view name,
           std::string_view series, CounterSample sample);

  // In the order in which they were met, without a rank; times plus `base_ns`. The table is empty
  // afterwards.
  std::vector<Counter> take(Strings& strings, std::int64_t base_ns);

 private:
  struct Key {
    std::string process;
    std::int64_t id = 0;
    std::string name, series;
    auto operator<=>(const Key&) const = default;
  };

  // "Queue length stream 7"; the only series of a counter goes without a name that says nothing.
  std::vector<std::string> titles() const;

  std::map<Key, std::size_t> index_;
  std::vector<Key> keys_;
  std::vector<std::vector<CounterSample>> samples_;
};

}  // namespace foreshard::traces::kineto
