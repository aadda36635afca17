// What of an allocation history is compared with another one: its requests, frees and failures, in
// order, by their place among these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/replay/history_comparison.hpp"
#include "traces/allocator/labelled_history.hpp"

namespace foreshard::profiler {

class ComparedRequests {
 public:
  static constexpr std::size_t kUnknown = SIZE_MAX;

  explicit ComparedRequests(const traces::LabelledHistory& history);

  std::size_t size() const { return numbers_.size(); }
  std::size_t number(std::size_t i) const { return numbers_[i]; }  // of the event in the history
  const traces::HistoryEvent& event(std::size_t i) const {
    return history_.history.events[numbers_[i]];
  }
  // The place of the request that a free ends, kUnknown where it is not in the history; of a request
  // its own.
  std::size_t requested(std::size_t i) const { return requested_[i]; }
  const std::string& stream(std::size_t i) const {
    return history_.streams[static_cast<std::size_t>(event(i).stream)];
  }
  const traces::EventLabels& labels(std::size_t i) const { return history_.labels[numbers_[i]]; }
  const std::string& text(traces::StringId id) const { return history_.texts[id]; }

  // A number for each, equal where action and size are.
  std::vector<std::uint64_t> actions_and_sizes() const;
  ComparedEvent shown(std::size_t i) const;

 private:
  const traces::LabelledHistory& history_;
  std::vector<std::size_t> numbers_, requested_;
};

}  // namespace foreshard::profiler
