#include "gui/models/timeline/highlights.hpp"

#include <utility>

namespace foreshard::gui {

Highlights::Highlights(QObject* parent)
    : QObject(parent),
      newest_hits_(
          this,
          [this](Subsets hits) {
            hits_ = std::move(hits);
            Q_EMIT changed();
          },
          [this] { Q_EMIT busy_changed(); }),
      newest_paths_(
          this,
          [this](Subsets paths) {
            paths_ = std::move(paths);
            Q_EMIT changed();
          },
          [this] { Q_EMIT busy_changed(); }) {}

void Highlights::show_hits(Lanes lanes, std::shared_ptr<const Hits> hits, ColourBy by) {
  if (hits != nullptr && lanes != nullptr) {
    newest_hits_.request([lanes = std::move(lanes), hits = std::move(hits), by] {
      return Subsets{{lanes, std::make_shared<const LaneSubset>(lanes, hits->events(), by)}};
    });
    return;
  }
  newest_hits_.forget();
  if (std::exchange(hits_, {}).empty()) return;
  Q_EMIT changed();
}

void Highlights::show_paths(std::vector<Analysed> traces) {
  Subsets known;
  bool is_all_known = true;
  for (const auto& [lanes, analysis] : traces) {
    auto path = path_of(lanes);
    is_all_known = is_all_known && path != nullptr;
    known[lanes] = std::move(path);
  }
  if (!is_all_known) {
    newest_paths_.request([traces = std::move(traces), known = std::move(known)]() mutable {
      for (const auto& [lanes, analysis] : traces) {
        auto& path = known[lanes];
        if (path != nullptr) continue;
        path = std::make_shared<const LaneSubset>(lanes, analysis->path.events, ColourBy::phase);
      }
      return known;
    });
    return;
  }
  newest_paths_.forget();
  const bool is_same = known.size() == paths_.size();
  paths_ = std::move(known);
  if (!is_same) Q_EMIT changed();
}

std::shared_ptr<const LaneSubset> Highlights::found(const Subsets& among, const Lanes& lanes) {
  const auto here = among.find(lanes);
  return here == among.end() ? nullptr : here->second;
}

std::shared_ptr<const LaneSubset> Highlights::hits_of(const Lanes& lanes) const {
  return found(hits_, lanes);
}

std::shared_ptr<const LaneSubset> Highlights::path_of(const Lanes& lanes) const {
  return found(paths_, lanes);
}

}  // namespace foreshard::gui
