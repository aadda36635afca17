// The view "Compare": a step of two open documents, the measured one above the predicted one, or
// the one opened first above the other; what differs, where in the step, and why. Two snapshots are
// compared request by request.
#pragma once

#include <QTimer>
#include <memory>
#include <optional>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/comparison/history_words.hpp"
#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/view.hpp"

class QLabel;
class QPushButton;
class QStackedWidget;

namespace foreshard::gui {

class CausesTable;
class ChoiceList;
class CompareCanvas;
class CompareInspector;
class DataTable;
class SegmentedControl;
class SentenceStrip;
class TextLabel;
class WaterfallPlot;

// Which two of the open documents are compared.
struct ComparedDocuments {
  int baseline = 0, candidate = 1;  // places among the open ones
  bool operator==(const ComparedDocuments&) const = default;
};
// What is compared as long as nothing is chosen: the first one and the current one or, where that is the first,
// the second; of a measured and a predicted one the measured first. Nothing with fewer than two.
std::optional<ComparedDocuments> usual_documents(const Session& session);

class CompareView : public View {
  Q_OBJECT
 public:
  explicit CompareView(Session& session, QWidget* parent = nullptr);

  QString title() const override { return tr("Compare"); }
  QWidget* strip() override;
  QWidget* inspector() override;
  bool is_busy() const override;
  QString as_text() const override;
  Description description() const override;
  QString status() const override;
  std::vector<KeyHelp> keys() const override;

  const std::shared_ptr<const TraceComparison>& comparison() const { return comparison_; }
  void choose_step(const StepChoice& choice);
  void choose_documents(const ComparedDocuments& documents);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  struct Answer {
    std::shared_ptr<const TraceComparison> traces;
    std::optional<HistoryWords> histories;
    QString error;
  };

  void fill_choices_bar();
  QWidget* make_lower_part();
  void connect_parts();
  std::optional<ComparedDocuments> wanted_documents();
  void refresh();  // computes what the open documents need
  void take_documents(const ComparedDocuments& documents);
  void fill_files(const ComparedDocuments& shown);
  void share_height();
  void request(const std::optional<StepChoice>& choice);
  void cancel();
  void show_answer(Answer answer);
  void show_rest_of_answer();
  void show_state(const QString& text);
  void fill_choices();
  void follow_rank();
  void follow_selection();
  void show_causes();
  void show_cause();
  void step_causes(int rows);
  void point_to_worst();  // the pair of the current cause that is furthest apart
  void select_event(bool is_candidate, int event);
  void move_steps(int by);
  void select_beside(int by);  // in the lane of the selected event; without one, another step

  SentenceStrip* strip_;
  SegmentedControl* arrangement_;
  CompareInspector* inspector_;
  QWidget* choices_;
  QStackedWidget* pages_;
  QLabel* state_;
  QPushButton* cancel_;
  QWidget* content_;
  CompareCanvas* canvas_;
  TextLabel *causes_title_, *causes_note_;
  SegmentedControl* causes_of_;
  CausesTable* causes_;
  WaterfallPlot* waterfall_;
  DataTable* history_;
  ChoiceList *baseline_file_, *candidate_file_, *baseline_step_, *candidate_step_, *rank_;

  std::optional<ComparedDocuments> compared_;
  bool are_chosen_ = false;           // by the user
  DocumentPtr baseline_, candidate_;  // those that are shown or on their way
  std::shared_ptr<const TraceComparison> comparison_;
  bool is_stale_ = true;  // to be computed once the view is seen
  NewestResult<Answer> worker_;
  // Runs until the parts below and beside the canvas show the answer: they are filled and painted in a
  // turn of their own, so that input does not wait for all of them at once.
  QTimer rest_;
};

}  // namespace foreshard::gui
