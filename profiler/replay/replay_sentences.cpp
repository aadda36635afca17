#include <algorithm>
#include <cstdlib>

#include "models/base/figures.hpp"
#include "profiler/replay/replay_report.hpp"

namespace foreshard::profiler {
namespace {

std::string of_the_device(const ReplayAnswer& a, std::int64_t bytes) {
  const Amounts amount = amounts_of(a);
  return a.capacity ? amount.number(bytes) + " of " + amount(*a.capacity) : amount(bytes);
}

// "With expandable_segments=true, on a device of 40.00 GiB,"
std::string circumstances(const ReplayAnswer& a) {
  const std::string device =
      a.has_other_device ? "on a device with " + amounts_of(a)(*a.capacity) + " for the allocator"
                         : "";
  if (a.settings.empty()) return "O" + device.substr(1);
  return "With " + a.settings + (device.empty() ? "" : ", " + device + ",");
}

std::string fitting(const ReplayAnswer& a) {
  const Amounts amount = amounts_of(a);
  const bool ran_out = a.recorded.out_of_memory > 0;
  std::string text =
      circumstances(a) + (ran_out ? " the run would have fitted" : " the run fits as well");
  text += ": peak reserved " + of_the_device(a, a.outcome.peak_reserved);
  if (a.outcome.headroom) text += ", " + amount(*a.outcome.headroom) + " to spare";
  const std::int64_t more = a.outcome.peak_reserved - a.recorded.peak_reserved;
  if (!ran_out && more != 0) {
    text += ", " + amount(std::abs(more)) + (more > 0 ? " more" : " less") + " than recorded";
  }
  return text + ".";
}

std::string failing(const ReplayAnswer& a) {
  const Amounts amount = amounts_of(a);
  const bool ran_out = a.recorded.out_of_memory > 0;
  const bool is_same = a.recorded_failure && a.recorded_failure == a.outcome.failed_at;
  std::string text = circumstances(a) + " the run would have run out of memory";
  if (ran_out) {
    const bool is_earlier = !is_same && *a.outcome.failed_at < *a.recorded_failure;
    text += is_same ? " all the same, at the same request" : is_earlier ? " earlier" : " later";
  }
  if (!is_same) {
    text += ", at event " + with_thousands(static_cast<std::int64_t>(*a.outcome.failed_at) + 1) +
            " of " + with_thousands(static_cast<std::int64_t>(a.events));
  }
  text += ": allocating " + amount(a.outcome.failure->requested) + " failed";
  if (a.outcome.headroom) text += ", " + amount(-*a.outcome.headroom) + " short";
  return text + ".";
}

// Whether the first request that failed would have fitted without fragmentation.
bool is_fragmentation(const ReplayAnswer& a) {
  const OutOfMemory& f = *a.outcome.failure;
  return a.capacity && f.allocated + f.requested <= *a.capacity;
}

std::string cause(const ReplayAnswer& a) {
  const Amounts amount = amounts_of(a);
  const OutOfMemory& f = *a.outcome.failure;
  if (!a.capacity) return {};
  const std::string sum =
      amount(f.allocated) + " allocated and " + amount(f.requested) + " requested";
  if (!is_fragmentation(a)) {
    return "The cause is not fragmentation: " + sum + " exceed the device's " +
           amount(*a.capacity) + " by " + amount(f.allocated + f.requested - *a.capacity) + ".";
  }
  std::string text = "The cause is fragmentation: " + sum +
                     " would have fitted into the device's " + amount(*a.capacity);
  if (a.at_failure) {
    const Fragmentation& held = *a.at_failure;
    const std::int64_t unused = held.reserved - held.allocated;
    text += ", but " + amount(unused) + " (" + percent(unused, held.reserved) +
            " of the reserved memory) was free but fragmented, with a largest free block of " +
            amount(held.largest_free);
    if (a.is_as_recorded()) text += "; " + amount(-*a.outcome.headroom) + " were missing";
  }
  return text + ".";
}

const char* advice_for(const std::string& category) {
  struct Advice {
    const char* category;
    const char* text;
  };
  static constexpr Advice kAdvice[] = {
      {"activations", "checkpoint activations, or use smaller micro-batches or shorter sequences"},
      {"loss", "compute the loss in chunks, or use smaller micro-batches"},
      {"temporaries", "use smaller micro-batches, or checkpoint activations"},
      {"optimizer_states", "shard over more ranks, or offload the optimizer's states"},
      {"parameters", "shard over more ranks, or offload parameters"},
      {"sharded state", "shard over more ranks, or offload parameters"},
      {"gradients", "shard over more ranks, or reduce gradients in a smaller dtype"},
      {"unsharded_parameters", "reshard after forward, or wrap smaller modules"},
      {"all_gather", "wrap smaller modules, or prefetch fewer of them"},
      {"reduce_scatter", "wrap smaller modules"},
  };
  const auto found = std::find_if(std::begin(kAdvice), std::end(kAdvice),
                                  [&](const Advice& each) { return category == each.category; });
  return found == std::end(kAdvice) ? nullptr : found->text;
}

// The change with the most headroom among those with which all requests fit; settings first.
const WhatIf* best_change(const ReplayAnswer& a) {
  const WhatIf* best = nullptr;
  for (const WhatIf& each : a.what_ifs) {
    if (each.outcome.failure) continue;
    const auto merit = [](const WhatIf& w) {
      return std::pair(!w.settings.empty(), w.outcome.headroom);
    };
    if (!best || merit(each) > merit(*best)) best = &each;
  }
  return best;
}

// That change; without one, advice on how to use less memory.
std::string remedy(const ReplayAnswer& a) {
  const Amounts amount = amounts_of(a);
  if (const WhatIf* best = best_change(a)) {
    const auto others = std::count_if(a.what_ifs.begin(), a.what_ifs.end(),
                                      [](const WhatIf& w) { return !w.outcome.failure; }) -
                        1;
    std::string text =
        best->change + " would have avoided the out-of-memory error: peak reserved " +
        of_the_device(a, best->outcome.peak_reserved) + ", " +
        amount(best->outcome.headroom.value_or(0)) + " to spare. To apply it, " + best->how;
    if (others > 0) {
      text += " (" + std::to_string(others) + (others == 1 ? " other" : " others") + " below)";
    }
    return text + ".";
  }
  std::string text = "None of the tested settings would have avoided the out-of-memory error";
  if (!a.contents || a.contents->categories.empty()) return text + ".";
  const auto& largest = a.contents->categories.front();
  text += a.is_as_recorded() ? "; most memory" : "; in the recording, most memory";
  text += " was used by " + largest.category + " (" + amount(largest.bytes) + ")";
  const char* advice = advice_for(largest.category);
  return text + (advice ? std::string(": ") + advice + "." : ".");
}

std::string past_the_end(const ReplayAnswer& a) {
  const bool gets_past = !a.outcome.failure || best_change(a) != nullptr;
  if (!a.ends_with_failure || !gets_past) return {};
  return "The recording ends at the out-of-memory error; later memory needs are unknown.";
}

std::string trust(const ReplayAnswer& a) {
  if (a.reproduces_recording()) {
    return "Replay check: under the recorded settings, all " +
           with_thousands(a.recorded_replay.addresses_total) + " addresses match the recording.";
  }
  if (a.recorded_replay.addresses_total == 0) {
    return "Replay check: not possible, because no allocation is recorded; treat the results as an "
           "estimate.";
  }
  return "Replay check: under the recorded settings, only " +
         with_thousands(a.recorded_replay.addresses_equal) + " of " +
         with_thousands(a.recorded_replay.addresses_total) + " addresses and " +
         with_thousands(static_cast<std::int64_t>(a.recorded_replay.failures.size())) + " of " +
         with_thousands(a.recorded.out_of_memory) +
         " failures match the recording; treat the results as an estimate.";
}

}  // namespace

std::vector<std::string> replay_sentences(const ReplayAnswer& a) {
  const Amounts amount = amounts_of(a);
  std::vector<std::string> sentences;
  if (!a.is_as_recorded()) sentences.push_back(a.outcome.failure ? failing(a) : fitting(a));
  if (a.outcome.failure) {
    if (a.is_as_recorded()) {
      sentences.push_back("Out of memory: allocating " + amount(a.outcome.failure->requested) +
                          " failed with " + amount(a.outcome.failure->allocated) + " allocated.");
    }
    // The remedy comes before the cause.
    sentences.push_back(remedy(a));
    sentences.push_back(cause(a));
    if (!best_change(a)) std::swap(sentences[sentences.size() - 2], sentences.back());
  } else if (a.is_as_recorded()) {
    const std::int64_t unused = a.at_peak.reserved - a.at_peak.allocated;
    sentences.push_back("The run fits: peak reserved " + of_the_device(a, a.outcome.peak_reserved) +
                        ", of which " + amount(unused) + " (" +
                        percent(unused, a.at_peak.reserved) + ") was unused.");
  }
  sentences.push_back(past_the_end(a));
  sentences.push_back(trust(a));
  std::erase(sentences, std::string());
  return sentences;
}

}  // namespace foreshard::profiler
