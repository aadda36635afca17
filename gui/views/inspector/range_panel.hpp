// The inspector of a range of time: its length and share of the step, where its time goes, one
// sentence on what bounds it, its operators and collectives, and its memory from beginning to end.
#pragma once

#include <vector>

#include "gui/views/base/fact_list.hpp"
#include "gui/views/base/share_bar.hpp"
#include "gui/views/inspector/panel.hpp"

namespace foreshard::gui {

class Paragraph;

struct RangeContent {
  Headline headline;
  std::vector<Share> shares{};
  std::vector<Fact> time{};
  QString lead{};  // "Bound by compute."
  QString sentence{};
  std::vector<Fact> operators{};
  std::vector<Fact> collectives{};
  std::vector<Fact> memory{};
};

class RangePanel : public Panel {
  Q_OBJECT
 public:
  explicit RangePanel(QWidget* parent = nullptr);

  void set_content(const RangeContent& content);
  // Of a range that is still being looked at: figures grey until they come.
  void set_stale(bool is_stale);
  QString as_text() const;

 Q_SIGNALS:
  void zoom_asked();

 private:
  ShareBar* shares_;
  FactList* time_;
  Paragraph* sentence_;
  FactList *operators_, *collectives_, *memory_;
  Section operators_section_, collectives_section_, memory_section_;
};

}  // namespace foreshard::gui
