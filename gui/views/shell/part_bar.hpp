// A line under the top bar that asks which steps of a recording are to be opened, where all of it
// would take more memory than is free, or where somebody wants some of it only.
#pragma once

#include "gui/models/session/part_offer.hpp"
#include "gui/views/base/painted_widget.hpp"

class QPushButton;
class QSpinBox;

namespace foreshard::gui {

class TextLabel;

class PartBar : public PaintedWidget {
  Q_OBJECT
 public:
  explicit PartBar(QWidget* parent = nullptr);

  // Of an offer with steps. Shows itself.
  void ask(const PartOffer& offer);

  QSize sizeHint() const override;
  QSpinBox& first() const { return *first_; }
  QSpinBox& last() const { return *last_; }
  QPushButton& open_part() const { return *open_part_; }
  QPushButton& open_all() const { return *open_all_; }

 Q_SIGNALS:
  void part_wanted(const std::string& path, foreshard::traces::StepRange steps);
  void all_wanted(const std::string& path);
  void answered();  // in whichever way

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  PartOffer offer_;
  TextLabel* too_large_;
  QSpinBox *first_, *last_;
  QPushButton *open_part_, *open_all_;
};

}  // namespace foreshard::gui
