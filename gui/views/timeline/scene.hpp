// What the timeline shows, from top to bottom: the rows of every open document, which of them are
// folded, pinned, hidden or moved, and what is at a place of a row. Painting and input are elsewhere.
#pragma once

#include <QFutureWatcher>
#include <QObject>
#include <QString>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "gui/models/session/session.hpp"
#include "gui/models/timeline/highlights.hpp"
#include "gui/views/base/hover_card.hpp"
#include "gui/views/timeline/scene_row.hpp"
#include "gui/views/timeline/tile_layer.hpp"

namespace foreshard::gui {

struct SceneHit {
  std::size_t row = 0;
  traces::Interval span;         // along the axis, as all moments here
  double top = 0, height = 0;    // of its box, within the row
  std::optional<EventId> event;  // none: a phase, a unit, a counter
  std::optional<double> value;   // of a counter, which holds throughout the span
  std::string unit;
  QString title;
};

struct ScenePlace {
  std::size_t row = 0;
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

class Scene : public QObject {
  Q_OBJECT
 public:
  explicit Scene(Session& session);

  // After documents were opened, closed or replaced; what was folded stays so.
  void take_documents();
  void lay_out();
  // Which units are in view decides how high their rows are, and which further depths of a lane have
  // anything in view whether they have rows: whether that has changed.
  bool is_layout_stale() const;
  bool is_busy() const { return is_gathering_ || highlights_.is_busy(); }

  const std::vector<SceneRow>& rows() const { return rows_; }
  double height() const { return height_; }
  const SceneRow* row_at(double y) const;
  std::size_t index_of(const SceneRow& row) const {
    return static_cast<std::size_t>(&row - rows_.data());
  }

  // By the row's index; on a section all of its rows are meant, and all depths of a lane are folded.
  void fold(std::size_t row);
  void unfold(EventId event);  // as far as its row is shown, unless it is hidden
  void pin(std::size_t row);   // to the top, or back
  void hide(std::size_t row);
  void show_hidden();
  void move(std::size_t row, std::size_t before);

  // What is at that moment and height of the row, or within so many nanoseconds of it.
  std::optional<SceneHit> hit(const SceneRow& row, double y, std::int64_t ns,
                              double reach_ns) const;
  bool has(EventId event) const;
  std::optional<ScenePlace> place(EventId event) const;        // none: its row is not shown
  std::optional<EventId> beside(EventId event, int by) const;  // in its lane
  std::optional<EventId> first_in_lane(std::size_t row, std::int64_t from_ns) const;
  std::optional<EventId> twin_in_rank(EventId event, int by) const;
  std::optional<EventId> twin_in_step(EventId event, int by) const;
  std::optional<EventId> twin_in_trace(EventId event) const;  // in the next open one that has it
  std::vector<SceneArrow> arrows(EventId event) const;

  static QString sentence_of_nothing(const Document& document);  // why it has no lanes of devices
  StepLabel step_label(std::int64_t ns) const;
  traces::Interval step_at(std::int64_t ns) const;
  HoverCard card(const SceneHit& hit) const;
  HoverCard counter_card(const SceneHit& hit) const;
  QString card_text(EventId event) const;

  const std::shared_ptr<const SceneContent>& content() const { return content_; }
  void take_appearance();  // heights of rows follow the size of text
  void gather_units();     // of the rank that is shown
  void next_colouring();
  // What a search found in a document: the rest is dimmed. Null: everything as it was.
  void show_hits(const DocumentPtr& document, std::shared_ptr<const Hits> hits);
  bool has_hits() const { return hits_ != nullptr; }
  void show_critical_path(bool shows);

 Q_SIGNALS:
  void changed();  // what is drawn, not only where
  void busy_changed();

 private:
  const Document& document(int index) const;
  // By which its moments come later along the axis than by its own clock.
  std::int64_t offset_ns(int document) const { return session_.offset_ns(document); }
  void follow_rows(const SceneContent& before);
  void take_highlights();
  void trace_paths();
  bool is_open(const RowId& row) const;
  void toggle(const RowId& row);
  void lay_out_document(int document);
  bool lay_out_block(int document, std::size_t block);  // whether it is open
  void lay_out_group(int document, std::size_t group, bool is_one_of_many);
  QString note_of(const Document& document) const;  // what is missing from it
  void lay_out_units();
  void add(SceneRow row);
  std::int32_t base_id(std::size_t row) const;
  SceneRow lane_row(int document, std::size_t index) const;
  std::vector<std::size_t> units_in_view() const;
  std::vector<std::int32_t> idle_depths() const;

  Session& session_;
  std::shared_ptr<const SceneContent> content_;
  std::vector<SceneRow> rows_;
  std::unordered_map<std::int32_t, std::size_t> row_of_id_;
  double height_ = 0;
  std::vector<std::size_t> units_shown_;
  std::vector<std::int32_t> idle_;  // rows of further depths with nothing in the window, ascending

  Highlights highlights_;
  DocumentPtr searched_;
  std::shared_ptr<const Hits> hits_;
  bool shows_path_ = false;

  std::set<std::int32_t> toggled_, hidden_;  // toggled: folded or unfolded by the user
  std::vector<std::int32_t> pinned_;
  std::map<std::int32_t, double> moved_;  // to this place among its group's rows

  QFutureWatcher<std::shared_ptr<const GatheredUnits>> gathering_;
  bool is_gathering_ = false;
  mutable std::optional<std::pair<EventId, std::vector<SceneArrow>>> arrows_;
};

}  // namespace foreshard::gui
