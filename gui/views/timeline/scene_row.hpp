// A row of the timeline as it is laid out, and what it shows of a stretch of time.
#pragma once

#include <QColor>
#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

#include "gui/models/session/document.hpp"
#include "gui/models/timeline/gathered_units.hpp"
#include "gui/models/timeline/lane_set.hpp"
#include "gui/models/timeline/lane_subset.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/timeline/lane_painter.hpp"

namespace foreshard::gui {

double header_width();  // of the lanes' titles and figures, at the size of text

struct LegendEntry {
  QString text;
  QColor colour;
  bool is_ramp = false;  // the colours of units
  bool is_line = false;
  bool is_hatched = false;
};

// What a row is of, as one number: it stays while rows are folded, hidden and moved, and tiles are
// kept by it. Rows of another height have another number.
struct RowId {
  // Groups, blocks and units are headers of sections; a folded group or block of many ranks is a row.
  enum class Kind : std::uint8_t { lane, unit, group, units, block };

  Kind kind = Kind::lane;
  int document = 0;
  std::size_t index =
      0;                // of LaneSet::rows, GatheredUnits::units, LaneSet::groups; a block's number
  bool is_low = false;  // a folded lane, group or block; one of many units

  std::int32_t number() const;
  static RowId of(std::int32_t number);
};

// Ranks that are not equal stand in blocks where there are more than one has of them.
constexpr std::size_t kRanksOfBlock = 8;

struct SceneRow {
  enum class Kind : std::uint8_t { section, lane, unit, ranks };  // the last: folded ones

  Kind kind = Kind::lane;
  std::int32_t id = 0;  // RowId::number()
  QString title, note;
  std::vector<LegendEntry> legend;  // of sections
  double top = 0, height = 0;       // from the first row's top
  bool is_open = true;
  bool is_predicted = false;
  bool is_pinned = false;
};

// Where in a row of the scene a row of the lanes is drawn.
struct LaneBand {
  std::size_t row = 0;  // of LaneSet::rows
  double top = 0, height = 0;
  bool is_heat = false;  // how busy it is in shades of one height, instead of the height
};

// What rows are drawn from; workers share it.
struct SceneContent {
  struct Part {
    DocumentPtr document;
    bool is_pale = false;                      // a prediction next to a measured run
    std::shared_ptr<const LaneSubset> hits{};  // what a search found in it; null: none was made
    std::shared_ptr<const LaneSubset> path{};  // its critical path, where that is shown
  };
  std::vector<Part> parts;                        // of each open document
  std::shared_ptr<const GatheredUnits> gathered;  // of the current one
  int current = -1;
  ColourBy colouring = ColourBy::phase;
  double scale = 1;  // of text: rows are as much higher

  double height_of(const RowId& row) const;
  // Of lanes, folded groups and folded blocks; none of other rows.
  std::vector<LaneBand> bands(const RowId& row) const;
  // Any thread.
  LaneShapes shapes(const RowId& row, traces::Interval window, double ns_per_pixel,
                    const Theme& theme) const;
};

QColor colour_of(const Fill& fill, const Theme& theme);

// Adds what a row of the part's lanes shows in its band. Any thread.
void add_band(const SceneContent::Part& part, const LaneBand& band, ColourBy by,
              traces::Interval window, double ns_per_pixel, const Theme& theme, LaneShapes& shapes);
// The item at that moment, else the nearest within reach; size() where there is none.
std::size_t item_at(const Row& row, std::int64_t ns, double reach_ns);

}  // namespace foreshard::gui
