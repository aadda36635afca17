// The window: a bar with the views and the open documents, the view's answer, the view with its
// inspector, and a status bar.
#pragma once

#include <QMainWindow>
#include <QTemporaryDir>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/session/growing_files.hpp"
#include "gui/models/session/loader.hpp"
#include "gui/models/session/part_offer.hpp"
#include "gui/models/session/session.hpp"
#include "gui/views/base/view.hpp"
#include "gui/views/inspector/search.hpp"
#include "gui/views/shell/remembered.hpp"

class QStackedWidget;
class QVBoxLayout;

namespace foreshard::gui {

class EmptyPage;
class Inspector;
class InspectorOverlay;
class KeyOverlay;
class NoticeBar;
class PartBar;
class TablesPanel;
class ResultsPanel;
class StatusBar;
class TimelineView;
class TopBar;
class WhatIfView;
struct WindowActions;

// In the order of MainWindow::views().
enum ViewNumber : std::uint8_t { kTimelineView, kMemoryView, kWhatIfView, kCompareView };

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  // `remembers`: reads and keeps the settings of the person who uses it.
  explicit MainWindow(bool remembers = false, QWidget* parent = nullptr);
  ~MainWindow() override;

  Session& session() { return session_; }
  TimelineView& timeline() { return *timeline_; }
  Search& search() { return search_; }
  Loader& loader() { return loader_; }
  const std::vector<View*>& views() const { return views_; }
  int view_index() const { return view_; }
  View* current_view() const { return views_[static_cast<std::size_t>(view_)]; }
  WindowActions& actions() { return *actions_; }
  TopBar& top_bar() { return *top_bar_; }
  NoticeBar& notice() { return *notice_; }
  NoticeBar& loading() { return *loading_; }
  PartBar& part() { return *part_; }
  TablesPanel& tables() { return *tables_; }
  StatusBar& status() { return *status_; }

  void show_view(int index);
  void choose_view(int index);  // and keep it when files are opened
  // Theme and size of text as they were when the viewer was used last.
  void take_remembered_appearance();
  // Whether what is shown is not all there yet.
  bool is_busy() const;

  // By content; a file that is open already is read again. Asks for those that do not fit into memory together.
  void open(const QStringList& paths, const Loader::Steps& steps = {});
  void open_part(const QString& path);  // asks which steps
  // Without asking. What PyTorch's profiler wrote for the ranks of one run becomes one document.
  void read(const std::vector<std::string>& paths, const Loader::Steps& steps = {});
  // What somebody who starts the viewer for the first time sees; nothing later on.
  void greet();
  void show_example();

 Q_SIGNALS:
  void failed(const foreshard::Error& error);  // a file that could not be opened

 protected:
  void closeEvent(QCloseEvent* event) override;
  // A key that nothing else of the window uses is meant for the view, wherever the keyboard is.
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void lay_out();
  void make_docks();
  QWidget* inspector_of(View* view) const;  // null: it has none
  void connect_actions();
  void connect_appearance();
  void connect_session();
  void connect_loader();

  bool may_close();

  void refresh_view();  // after another view, or other documents
  void refresh_status();
  void refresh_notice();  // of the current document
  void place_inspector(bool is_floating);
  void size_inspector();  // to the size of text
  void fit_inspector();   // to the window's width
  void show_inspector(bool shows);
  void remember_layout();
  void restore_layout();
  void read_plan(const std::string& path);
  void read_plans();
  void close_example();
  bool is_of_example(const std::string& path) const;
  void say(const Error& error);
  void take(DocumentPtr document);
  void show_situation(const Document& document);
  void ask_for_files();
  void ask_for_folder();
  void ask_for_part();
  void ask_for_part_of(const std::string& path, std::int64_t free_bytes);
  void offer_next();
  void offer_one_run(const Document& document);
  void reload();
  void follow_end();
  void fit_selection();
  void open_window();
  void show_help();
  QList<QAction*> commands_of_view(QObject* owner);
  static void press(View& view, const QKeySequence& key);
  void save_picture();
  void choose_theme(ThemeChoice choice);
  void set_text_scale(double scale);

  Remembered remembered_;
  Session session_;
  Search search_{session_};
  Loader loader_;
  std::vector<std::string> plans_;  // that wait for the recordings before them
  std::deque<PartOffer> offers_;    // that wait for the answer to another
  int offers_made_ = 0;             // by a worker
  bool is_offering_ = false;        // by a notice
  GrowingFiles growing_;
  TimelineView* timeline_;
  WhatIfView* what_if_;
  std::vector<View*> views_;
  int view_ = 0;
  bool is_view_chosen_ = false;  // by the user: files that are opened do not change it
  bool is_passing_on_ = false;   // a key, to the view

  TopBar* top_bar_ = nullptr;
  NoticeBar* loading_ = nullptr;
  NoticeBar* notice_ = nullptr;
  PartBar* part_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  EmptyPage* empty_ = nullptr;
  QStackedWidget* inspectors_ = nullptr;
  Inspector* inspector_ = nullptr;  // the timeline's
  QDockWidget* inspector_dock_ = nullptr;
  InspectorOverlay* overlay_ = nullptr;
  bool is_narrow_ = false;           // the overlay has the inspector
  bool is_inspector_wanted_ = true;  // where there is room for it
  ResultsPanel* results_ = nullptr;
  QDockWidget* results_dock_ = nullptr;
  TablesPanel* tables_ = nullptr;
  QDockWidget* tables_dock_ = nullptr;
  StatusBar* status_ = nullptr;
  KeyOverlay *help_ = nullptr, *palette_ = nullptr;
  QList<QAction*> view_commands_;  // of the view that the palette was opened over
  std::unique_ptr<WindowActions> actions_;
  std::unique_ptr<QTemporaryDir> example_;  // its files; null: it is not shown
  const Document* noticed_ = nullptr;       // whose warnings were said
  bool has_warnings_ = false;               // notice_ says them
};

}  // namespace foreshard::gui
