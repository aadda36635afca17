// The view "What-if": the keys of the plan at the left, and beside them the answer in words and
// figures, memory over the step, where the step goes, variants, what lies one change away, and a
// sweep.
#pragma once

#include <QBoxLayout>
#include <QComboBox>
#include <QTimer>
#include <optional>
#include <vector>

#include "gui/models/what_if/what_if.hpp"
#include "gui/views/base/byte_plot.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/base/figure_strip.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/base/view.hpp"
#include "gui/views/what_if/neighbours_table.hpp"
#include "gui/views/what_if/plan_panel.hpp"
#include "gui/views/what_if/step_bars.hpp"
#include "gui/views/what_if/sweep_plot.hpp"
#include "gui/views/what_if/variants_table.hpp"

namespace foreshard::gui {

class WhatIfView : public View {
  Q_OBJECT
 public:
  explicit WhatIfView(Session& session, QWidget* parent = nullptr);

  QString title() const override { return tr("What-if"); }
  bool is_busy() const override { return what_if_.is_busy() || !is_started_ || !shows_answer(); }
  // Whether every part shows the newest answer.
  bool shows_answer() const { return !rest_.isActive(); }
  QString as_text() const override;
  QString status() const override;
  Description description() const override;
  std::vector<KeyHelp> keys() const override;

  WhatIf& what_if() { return what_if_; }
  PlanPanel& panel() { return *panel_; }
  NeighboursTable& neighbours() { return *neighbours_; }
  SweepPlot& sweep() { return *sweep_; }
  VariantsTable& variants() { return *variants_; }

  // Writes the plan file, of which changes are told apart from then on; a sentence where it cannot be
  // written, or the plan breaks a rule.
  QString save_plan(const QString& path);
  // Starts from what a plan file sets on the present question, as `foreshard predict --plan` does. What of
  // the file no plan has, in sentences.
  Result<QString> load_plan_file(const QString& path);
  // Whether there is a plan file whose plan is not the present one.
  bool has_unsaved_changes() const;
  const QString& plan_file() const { return base_.file; }
  bool save();  // asks where; whether it was done

 protected:
  void showEvent(QShowEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void add_shortcuts();
  void lay_out();
  QWidget* sweep_choices();
  void start();
  void start_from(const Document& document);
  void show_base();
  void show_answer();
  void show_rest_of_answer();
  void show_age();  // whether the answer is outdated
  void show_surroundings();
  void ask_what_to_load();
  void tell(const QString& trouble);

  // What the settings started from.
  struct Base {
    QString name;                        // of a recording; empty: of none
    std::vector<std::string> recording;  // its files
    QString file;                        // with a plan
    QStringList left_out;                // of that file
    std::optional<SpeltPlan> saved;      // as the file has it
  };

  WhatIf what_if_;
  Base base_;
  QString awaited_plan_;  // a file, for the question that is being started from
  bool is_started_ = false;
  // Runs until the parts that are looked at later show the answer: they are painted in a turn of
  // their own, so that input does not wait for all of them at once.
  QTimer rest_;
  PlanPanel* panel_;
  SentenceStrip* sentence_;
  FigureStrip* figures_;
  BytePlot* memory_;
  StepBars* bars_;
  VariantsTable* variants_;
  NeighboursTable* neighbours_;
  SweepPlot* sweep_;
  SegmentedControl *scale_, *clock_;
  QWidget* plots_ = nullptr;
  QBoxLayout* columns_ = nullptr;
  QVBoxLayout *left_ = nullptr, *right_ = nullptr;
};

}  // namespace foreshard::gui
