// The bar at the top of the window: the program's mark, the views, the open documents, the search
// field and the button for help.
#pragma once

#include "gui/models/session/session.hpp"
#include "gui/views/base/painted_widget.hpp"

class QPushButton;

namespace foreshard::gui {

class DocumentChips;
class Search;
class SearchField;
class SegmentedControl;

class TopBar : public PaintedWidget {
  Q_OBJECT
 public:
  TopBar(Session& session, Search& search, const QStringList& views, QWidget* parent = nullptr);

  SegmentedControl& tabs() const { return *tabs_; }
  DocumentChips& chips() const { return *chips_; }
  SearchField& search() const { return *search_; }
  QPushButton& help() const { return *help_; }

  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  SegmentedControl* tabs_;
  DocumentChips* chips_;
  SearchField* search_;
  QPushButton* help_;
};

}  // namespace foreshard::gui
