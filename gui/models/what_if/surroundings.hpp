// What lies around the present plan: what every key moved by one notch would bring, which notches
// do not fit, and a sweep of one or two keys over their values.
#pragma once

#include <QString>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/what_if/candidates.hpp"
#include "gui/models/what_if/outcome.hpp"

namespace foreshard::gui {

struct Neighbour {
  QString text;  // "Reduce gradients bf16"
  Candidate candidate;
  double more_tokens = 0;          // share of the present throughput
  std::int64_t more_reserved = 0;  // bytes
  QString note;                    // "does not fit: ...", or empty
};

struct SweepPoint {
  Candidate candidate;
  std::size_t first = 0, second = 0;  // which value of either key
  bool is_on_front = false;           // no other is faster and smaller
};

struct Sweep {
  std::string first_key, second_key;  // empty: one key alone
  std::vector<QString> first_values, second_values;
  std::vector<SweepPoint> points;
  std::size_t misfits = 0;     // that do not fit
  std::size_t impossible = 0;  // that break a rule
  double took_ns = 0;
};

struct SweepKeys {
  std::string first = "checkpointing.mode", second = "batch.micro_batch";
  bool operator==(const SweepKeys&) const = default;
};

struct Surroundings {
  std::vector<Neighbour> neighbours;  // best first; those that do not fit last
  std::vector<Candidate> notches;     // one a notch of every slider
  Sweep sweep;

  // Nothing where it is not known.
  const Candidate* notch(std::string_view key, std::string_view value) const;
};

// Null where it was no longer wanted.
std::shared_ptr<const Surroundings> survey(const OutcomePtr& present, const SweepKeys& sweep,
                                           int threads, const std::atomic<bool>& is_unwanted);

// Marks the points that no other beats in both throughput and memory.
void mark_front(std::vector<SweepPoint>& points);

}  // namespace foreshard::gui
