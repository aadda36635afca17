// The panel beside the memory view: what is allocated at the cursor, by category and by owner, or how
// that differs from another moment, and the selected block.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
  // A sample's place in the words of the clock.
  using TimeText = std::function<QString(std::size_t sample)>;
  void show_moment(std::shared_ptr<const RankMemory> memory,
                   std::shared_ptr<const MomentOfRank> moment, TimeText time);
  void show_block(std::optional<BlockLife> block);  // nothing: none is selected
  QString as_text() const override;  // with the owners, and what is allocated to the byte

  OwnerTree& owners() { return *tree_; }
  SegmentedControl& owners_by() { return *by_; }
  QPushButton& ask() { return *ask_; }
  QPushButton& compare() { return *compare_; }

 Q_SIGNALS:
  void rank_chosen(int rank);
  void buffer_chosen(traces::MemoryEventPointer allocation);
  void asked_to_compare();  // other moments with this one, or no longer
  void asked_what_would_lower();

 private:
  const MemoryMoment& shown() const {
    return moment_->since ? moment_->since->difference : moment_->moment;
  }
  void show_owners();

  std::shared_ptr<const RankMemory> memory_;
  std::shared_ptr<const MomentOfRank> moment_;
  TimeText time_text_;
  std::vector<int> ranks_;
  int rank_ = 0;
  SegmentedControl* by_;
  OwnerTree* tree_;
  QPushButton *ask_, *compare_, *copy_;
};

}  // namespace foreshard::gui
