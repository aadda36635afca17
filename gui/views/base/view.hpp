// A view: one page of the window. Views only paint and forward input; what they show is computed by
// gui/models, and they share the session's axis and selection.
#pragma once

#include <QPointer>
#include <QString>
#include <QWidget>
#include <vector>

#include "gui/models/session/session.hpp"
#include "gui/views/base/description.hpp"

namespace foreshard::gui {

// A row of the table of keys that `?` shows.
struct KeyHelp {
  QString action;
  QString keys;
};

class View : public QWidget {
  Q_OBJECT
 public:
  View(Session& session, QWidget* parent) : QWidget(parent), session_(session) {}
  ~View() override {
    for (QWidget* part : beside_) {
      if (part != nullptr && part->parentWidget() == nullptr) delete part;
    }
  }

  virtual QString title() const = 0;  // as its tab has it
  // The answer above the view: figures, or a sentence. The window shows it; null: none.
  virtual QWidget* strip() { return nullptr; }
  // The panel on the right, 320 wide; null: the view takes all the width.
  virtual QWidget* inspector() { return nullptr; }
  // Whether something is still being computed: pictures wait for it.
  virtual bool is_busy() const { return false; }
  virtual QString as_text() const { return {}; }  // for the clipboard
  virtual QString status() const { return {}; }   // right end of the status bar
  virtual Description description() const = 0;    // of what is shown, once it is not busy
  virtual std::vector<KeyHelp> keys() const { return {}; }

 Q_SIGNALS:
  void status_changed();
  void busy_changed();
  void troubled(const QString& sentence);  // what could not be done, and why

 protected:
  Session& session() const { return session_; }
  // Makes a strip or an inspector, which goes with the view unless a window has taken it.
  template <class Part>
  Part* make_beside() {
    auto* const part = new Part;
    beside_.emplace_back(part);
    return part;
  }

 private:
  Session& session_;
  std::vector<QPointer<QWidget>> beside_;
};

}  // namespace foreshard::gui
