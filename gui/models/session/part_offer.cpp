#include "gui/models/session/part_offer.hpp"

#include <algorithm>

#include "gui/models/session/document.hpp"
#include "gui/models/session/memory_need.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::gui {
namespace {

constexpr double kShareToUse = 0.8;  // of the free memory: estimates are no promises

std::int32_t steps_that_fit(const PartOffer& offer) {
  const auto [first, last] = *offer.recorded;
  const double all = static_cast<double>(last) - first + 1;
  if (offer.needed_bytes <= offer.free_bytes) return 1;
  const double fit = all * kShareToUse * static_cast<double>(offer.free_bytes) /
                     static_cast<double>(offer.needed_bytes);
  return static_cast<std::int32_t>(std::clamp(fit, 1.0, all));
}

}  // namespace

PartOffer offer_part(const std::string& path, std::int64_t free_bytes) {
  PartOffer offer;
  offer.path = path;
  offer.needed_bytes = estimated_memory(path);
  offer.free_bytes = free_bytes;
  offer.kind = traces::recording_kind(path, traces::every_recording().expected)
                   .value_or(traces::RecordingKind::other);
  if (offer.kind != traces::RecordingKind::fst) return offer;
  offer.recorded = traces::fst_steps(path).value_or(std::nullopt);
  if (!offer.recorded) return offer;
  const std::int32_t last = offer.recorded->last;
  offer.proposed = {last - steps_that_fit(offer) + 1, last};
  return offer;
}

}  // namespace foreshard::gui
