// The panel beside the memory view: what is allocated at the cursor, by category and by owner, or how
// that differs from another moment, and the selected block.
#pragma once

#include <QPushButton>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/memory/rank_memory.hpp"
#include "gui/views/base/choice_list.hpp"
#include "gui/views/base/fact_list.hpp"
#include "gui/views/base/number_label.hpp"
#include "gui/views/base/segmented_control.hpp"
#include "gui/views/base/share_bar.hpp"
#include "gui/views/base/text_label.hpp"
#include "gui/views/memory/owner_tree.hpp"

namespace foreshard::gui {

class MemoryInspector : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryInspector(QWidget* parent = nullptr);

  void set_ranks(const std::vector<int>& ranks, int current);
  // A sample's place in the words of the clock.
  using TimeText = std::function<QString(std::size_t sample)>;
  void show_moment(std::shared_ptr<const RankMemory> memory,
                   std::shared_ptr<const MomentOfRank> moment, TimeText time);
  void show_block(std::optional<BlockLife> block);  // nothing: none is selected
  QString as_text() const;

  OwnerTree& owners() { return *tree_; }
  SegmentedControl& owners_by() { return *by_; }
  QPushButton& ask() { return *ask_; }
  QPushButton& compare() { return *compare_; }
  FactList& block() { return *block_; }

 Q_SIGNALS:
  void rank_chosen(int rank);
  void buffer_chosen(traces::MemoryEventPointer allocation);
  void holder_chosen(traces::MemoryEventPointer allocation);  // before or after the block
  void asked_to_compare();  // other moments with this one, or no longer
  void asked_what_would_lower();

 private:
  const MemoryMoment& shown() const {
    return moment_->since ? moment_->since->difference : moment_->moment;
  }
  QString bytes_text(std::int64_t bytes) const;  // with a sign where moments are compared
  void show_owners();

  std::shared_ptr<const RankMemory> memory_;
  std::shared_ptr<const MomentOfRank> moment_;
  TimeText time_text_;
  std::vector<traces::MemoryEventPointer> links_;  // of the block's facts; null: none
  TextLabel *time_, *where_, *reserved_, *owners_title_, *block_title_, *block_name_;
  ChoiceList* ranks_;
  NumberLabel* allocated_;
  ShareBar* bar_;
  FactList *categories_, *block_;
  SegmentedControl* by_;
  OwnerTree* tree_;
  QPushButton *ask_, *copy_, *compare_;
};

}  // namespace foreshard::gui
