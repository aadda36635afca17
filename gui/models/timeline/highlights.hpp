// What is marked on the lanes: the hits of a search, and the critical paths of the open traces. Both are
// made off the window's thread; until what was asked for last is there, the one before it stays.
#pragma once

#include <QObject>
#include <map>
#include <memory>
#include <vector>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/timeline/lane_subset.hpp"
#include "gui/models/timeline/search.hpp"
#include "profiler/analysis/analysis.hpp"

namespace foreshard::gui {

class Highlights : public QObject {
  Q_OBJECT
 public:
  explicit Highlights(QObject* parent = nullptr);

  using Lanes = std::shared_ptr<const LaneSet>;
  using Analysed = std::pair<Lanes, std::shared_ptr<const profiler::Analysis>>;

  void show_hits(Lanes lanes, std::shared_ptr<const Hits> hits, ColourBy by);  // null: none
  // These lanes' paths and no others.
  void show_paths(std::vector<Analysed> traces);

  // Null where nothing is marked.
  std::shared_ptr<const LaneSubset> hits_of(const Lanes& lanes) const;
  std::shared_ptr<const LaneSubset> path_of(const Lanes& lanes) const;
  bool is_busy() const { return newest_hits_.is_busy() || newest_paths_.is_busy(); }

 Q_SIGNALS:
  void changed();
  void busy_changed();

 private:
  using Subsets = std::map<Lanes, std::shared_ptr<const LaneSubset>>;

  static std::shared_ptr<const LaneSubset> found(const Subsets& among, const Lanes& lanes);

  Subsets hits_, paths_;
  NewestResult<Subsets> newest_hits_, newest_paths_;
};

}  // namespace foreshard::gui
