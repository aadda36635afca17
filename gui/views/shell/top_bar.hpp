// The bar at the top of the window: the program's mark, which opens the menu, the views, the open
// documents, the search field and the button for help.
#pragma once

#include <QTabBar>

#include "gui/models/session/session.hpp"
#include "gui/views/base/painted_widget.hpp"

class QPushButton;
class QToolButton;

namespace foreshard::gui {

// The open documents in the top bar: a box for each, with a gutter that is solid for what was measured
// and hatched for what is predicted, its source in words, its title and a cross that closes it. Where there are too many
// for its width the bar scrolls.
class DocumentChips : public QTabBar {
  Q_OBJECT
 public:
  explicit DocumentChips(Session& session, QWidget* parent = nullptr);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  QRectF chip(int index) const;
  QRectF cross(int index) const;

 Q_SIGNALS:
  void close_asked(int index);

 protected:
  QSize tabSizeHint(int index) const override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void take_documents();
  double wish(const Document& document) const;
  void draw_chip(QPainter& painter, const QRectF& box, int index) const;

  Session& session_;
  int hot_cross_ = -1;  // under the pointer
};

QString source_word(Source source);

class Search;
class SearchField;
class SegmentedControl;

class TopBar : public PaintedWidget {
  Q_OBJECT
 public:
  TopBar(Session& session, Search& search, const QStringList& views, QWidget* parent = nullptr);

  QToolButton& menu() const { return *menu_; }
  SegmentedControl& tabs() const { return *tabs_; }
  DocumentChips& chips() const { return *chips_; }
  SearchField& search() const { return *search_; }
  QPushButton& help() const { return *help_; }

  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void draw_menu_mark();

  QToolButton* menu_;
  SegmentedControl* tabs_;
  DocumentChips* chips_;
  SearchField* search_;
  QPushButton* help_;
};

}  // namespace foreshard::gui
