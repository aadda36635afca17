// What the timeline shows, from top to bottom: the rows of every open document, which of them are
// folded, pinned, hidden or moved, and what is at a place of a row. Painting and input are elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <QColor>
#include <QString>

#include "gui/models/session/session.hpp"
#include "gui/views/timeline/hover_card.hpp"
#include "gui/views/timeline/lane_painter.hpp"
#include "gui/views/timeline/pixel_grid.hpp"
#include "gui/views/timeline/tile_cache.hpp"
#include "gui/views/timeline/tile_layer.hpp"

namespace foreshard::gui {

constexpr double kHeaderWidth = 176;  // of the lanes' titles and figures

struct LegendEntry {
  QString text;
  QColor colour;
  bool is_ramp = false;  // the colours of units
  bool is_line = false;
};

struct SceneRow {
  enum class Kind : std::uint8_t { section, lane, unit };

  Kind kind = Kind::lane;
  std::int32_t id = 0;  // stays while rows are folded, hidden and moved; as tiles have it
  QString title, note;
  std::vector<LegendEntry> legend;  // of sections
  double top = 0, height = 0;       // from the first row's top
  bool is_open = true;
  bool is_predicted = false;
  int document = 0;
  std::int32_t lane = -1;  // of the trace
};

struct SceneHit {
  std::size_t row = 0;
  traces::Interval span;
  double top = 0, height = 0;    // of its box, within the row
  std::optional<EventId> event;  // none: a phase, a unit
  std::string unit;
  QString title;
};

struct ScenePlace {
  std::size_t row = 0;
  traces::Interval span;
  double top = 0, height = 0;
};

struct SceneArrow {
  EventId from, to;
};

// The step that times are counted from.
struct StepLabel {
  QString title, note;
  std::int64_t origin_ns = 0;
};

class Scene {
 public:
  explicit Scene(Session& session) : session_(session) {}

  // After documents were opened, closed or replaced; what was folded stays so.
  void take_documents();
  void lay_out();

  const std::vector<SceneRow>& rows() const { return rows_; }
  double height() const { return height_; }
  const SceneRow* row_at(double y) const;
  std::size_t index_of(const SceneRow& row) const {
    return static_cast<std::size_t>(&row - rows_.data());
  }

  // By the row's index; on a section all of its rows are meant.
  void fold(std::size_t row);
  void pin(std::size_t row);   // to the top, or back
  void hide(std::size_t row);
  void show_hidden();
  void move(std::size_t row, std::size_t before);

  // What is at that moment, or within so many nanoseconds of it; `y` from the row's top.
  std::optional<SceneHit> hit(const SceneRow& row, std::int64_t ns, double reach_ns, double y) const;
  std::optional<ScenePlace> place(EventId event) const;
  std::optional<EventId> beside(EventId event, int by) const;  // in its lane
  std::optional<EventId> first_in_lane(std::size_t row, std::int64_t from_ns) const;
  std::optional<EventId> twin_in_rank(EventId event, int by) const;
  std::optional<EventId> twin_in_step(EventId event, int by) const;
  std::vector<SceneArrow> arrows(EventId event) const;

  StepLabel step_label(std::int64_t ns) const;
  traces::Interval step_at(std::int64_t ns) const;
  QString figure(const SceneRow& row, traces::Interval window) const;  // beside its title
  HoverCard card(const SceneHit& hit) const;
  QString card_text(EventId event) const;
  QString as_text(traces::Interval window) const;  // the rows and their figures

  // Fills tiles, on any thread; keeps alive what it needs.
  TileCache::Fill painter(const Theme& theme, double ratio) const;
  void paint_shapes(QPainter& painter, double left, const PixelGrid& grid,
                    const std::vector<TileRow>& rows) const;
  void next_colouring() {}
  bool is_busy() const { return false; }

 private:
  Session& session_;
  std::vector<SceneRow> rows_;
  std::set<std::int32_t> folded_, hidden_, pinned_;
  double height_ = 0;
};

}  // namespace foreshard::gui
