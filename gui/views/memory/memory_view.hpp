// The view "Memory": whether a step fits, what is allocated and reserved over time, and who owns
// what at the cursor, down to single blocks.
#pragma once

#include <QLabel>
#include <QPointer>
#include <QStackedWidget>
#include <memory>
#include <optional>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/memory/rank_memory.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/base/view.hpp"
#include "gui/views/memory/block_map_canvas.hpp"
#include "gui/views/memory/changes_panel.hpp"
#include "gui/views/memory/memory_canvas.hpp"
#include "gui/views/memory/memory_inspector.hpp"
#include "gui/views/memory/memory_legend.hpp"

namespace foreshard::gui {

class MemoryView : public View {
  Q_OBJECT
 public:
  explicit MemoryView(Session& session, QWidget* parent = nullptr);
  ~MemoryView() override;

  QString title() const override { return tr("Memory"); }
  QWidget* strip() override { return strip_; }
  QWidget* inspector() override { return inspector_; }
  bool is_busy() const override;
  QString as_text() const override;
  Description description() const override;
  QString status() const override;
  std::vector<KeyHelp> keys() const override;

  MemoryClock clock() const { return clock_; }
  // Where the cursor stands; nothing until something is shown.
  std::optional<std::size_t> sample() const { return sample_; }
  std::optional<std::size_t> since() const { return since_; }
  std::shared_ptr<const RankMemory> memory() const { return memory_; }
  MemoryCanvas& canvas() { return *canvas_; }
  BlockMapCanvas& map() { return *map_; }
  ChangesPanel& changes() { return *changes_; }

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  struct Loaded {
    std::vector<int> ranks;  // that have memory
    std::shared_ptr<const RankMemory> memory;
    std::shared_ptr<const MomentOfRank> moment;  // to open at; null: there is no memory
  };

  void load();  // the session's current document, or another rank of it, once the view is seen
  void show_memory(Loaded loaded);
  void show_moment(std::shared_ptr<const MomentOfRank> moment);
  void choose_clock(MemoryClock clock);
  void set_clock(MemoryClock clock);
  void move_to(std::size_t sample);  // tells the other views
  void go_to(std::size_t sample);    // and brings it into view
  void follow_cursor();
  void set_sample(std::size_t sample);
  void select_block(traces::MemoryEventPointer allocation);
  void show_life(std::optional<BlockLife> life);
  void go_to_holder(traces::MemoryEventPointer allocation);  // of the selected block's memory
  void toggle_comparison();
  void look();  // at the cursor's moment
  void find_what_would_lower();
  void show_what_would_lower();
  void show_answer();
  void go_to_peak();
  TimeAxis& axis();

  QPointer<SentenceStrip> strip_;
  SegmentedControl* clocks_;
  QPointer<MemoryInspector> inspector_;
  QStackedWidget* pages_;  // why there is nothing, or the view
  QLabel* nothing_;
  MemoryCanvas* canvas_;
  MemoryLegend* legend_;
  QStackedWidget* lower_;
  BlockMapCanvas* map_;
  ChangesPanel* changes_;

  TimeAxis event_axis_;
  MemoryClock clock_ = MemoryClock::device_time;
  std::shared_ptr<const RankMemory> memory_;
  std::shared_ptr<const MomentOfRank> moment_;
  std::optional<std::size_t> sample_;
  std::optional<std::size_t> since_;  // which moments are compared with
  std::optional<BlockLife> life_;     // of the selected block
  bool is_stale_ = false;             // to be loaded once the view is seen
  bool has_chosen_clock_ = false;     // the user has: the next recording opens with it
  bool is_moving_ = false;            // the cursor is ours
  NewestResult<Loaded> loading_;
  NewestResult<std::shared_ptr<const MomentOfRank>> looking_;
  NewestResult<BlockLife> following_;
};

}  // namespace foreshard::gui
