// The panel beside the memory view: what is allocated at the cursor, by category and by owner, and
// the selected block.
#pragma once

#include <memory>
#include <vector>

#include "gui/models/memory/rank_memory.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/base/side_panel.hpp"
#include "gui/views/memory/owner_tree.hpp"

namespace foreshard::gui {

class MemoryInspector : public SidePanel {
  Q_OBJECT
 public:
  explicit MemoryInspector(QWidget* parent = nullptr);

  void set_ranks(const std::vector<int>& ranks, int current);
  // `time`: of the moment, in the words of the clock.
  void show_moment(std::shared_ptr<const RankMemory> memory,
                   std::shared_ptr<const MomentOfRank> moment, const QString& time);
  // `alive`: "255.4 ms – 298.3 ms". Null: no block is selected.
  void show_block(traces::MemoryEventPointer allocation, const QString& alive);
  QString as_text() const override;  // with the owners, and what is allocated to the byte

  OwnerTree& owners() { return *tree_; }
  SegmentedControl& owners_by() { return *by_; }
  QPushButton& ask() { return *ask_; }

 Q_SIGNALS:
  void rank_chosen(int rank);
  void buffer_chosen(traces::MemoryEventPointer allocation);
  void asked_what_would_lower();

 private:
  void show_owners();

  std::shared_ptr<const RankMemory> memory_;
  std::shared_ptr<const MomentOfRank> moment_;
  std::vector<int> ranks_;
  int rank_ = 0;
  SegmentedControl* by_;
  OwnerTree* tree_;
  QPushButton *ask_, *copy_;
};

}  // namespace foreshard::gui
