#include "gui/views/compare/compare_view.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QStandardItemModel>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/base/labels.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/compare/causes_table.hpp"
#include "gui/views/compare/compare_canvas.hpp"
#include "gui/views/compare/compare_inspector.hpp"
#include "gui/views/compare/waterfall_plot.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::gui {
namespace {

constexpr int kLeastWithWaterfall = 880;  // the view's width

// Gives a table the height of whole rows, so that none is cut.
class WholeRows : public QWidget {
 public:
  explicit WholeRows(QTableView* table) : table_(table) { table->setParent(this); }
  QSize sizeHint() const override { return table_->sizeHint(); }
  QSize minimumSizeHint() const override { return table_->minimumSizeHint(); }

 protected:
  void resizeEvent(QResizeEvent*) override {
    constexpr int kLeft = 8;  // its text is below the title's
    const int rows = std::max(height() - table_->horizontalHeader()->sizeHint().height(), 0);
    const int cut = rows % table_->verticalHeader()->defaultSectionSize();
    table_->setGeometry(kLeft, 0, width() - kLeft, height() - cut);
  }

 private:
  QTableView* table_;
};

bool has_requests(const Document& document) {
  return !document.path().empty() && (document.kind == traces::RecordingKind::snapshot ||
                                      document.kind == traces::RecordingKind::event_list);
}

// Requests of two allocation histories around their first difference.
void show_histories(DataTable& table, const HistoryWords& words) {
  std::vector<std::vector<TableCell>> rows;
  for (const HistoryRow& row : words.rows) {
    const Role role = row.is_equal ? Role::text2 : Role::text;
    rows.push_back({{row.is_equal ? CompareView::tr("equal") : CompareView::tr("differs"), role},
                    {row.baseline, role},
                    {row.candidate, role}});
  }
  table.setAccessibleName(CompareView::tr("Requests around the first difference"));
  table.show_rows({{QString()}, {words.before}, {words.after}}, rows);
  table.fit_columns(2);
}

}  // namespace

std::optional<ComparedDocuments> usual_documents(const Session& session) {
  const auto& documents = session.documents();
  if (documents.size() < 2) return std::nullopt;
  ComparedDocuments compared{0, session.current_index() > 0 ? session.current_index() : 1};
  const auto is_predicted = [&](int index) {
    return documents[static_cast<std::size_t>(index)]->is_predicted();
  };
  if (is_predicted(compared.baseline) && !is_predicted(compared.candidate)) {
    std::swap(compared.baseline, compared.candidate);
  }
  return compared;
}

CompareView::CompareView(Session& session, QWidget* parent)
    : View(session, parent),
      strip_(make_beside<SentenceStrip>()),
      arrangement_(new SegmentedControl({tr("By clock"), tr("By instruction"), tr("Overlay")})),
      inspector_(make_beside<CompareInspector>()),
      choices_(new QWidget),
      pages_(new QStackedWidget),
      state_(new QLabel),
      cancel_(new QPushButton(tr("Cancel"))),
      content_(new QWidget),
      canvas_(new CompareCanvas(session)),
      causes_title_(new TextLabel(Text::strong, Role::text)),
      causes_note_(new TextLabel(Text::secondary, Role::text2)),
      causes_of_(new SegmentedControl({tr("Device"), tr("Host")})),
      causes_(new CausesTable),
      waterfall_(new WaterfallPlot),
      history_(new DataTable),
      baseline_file_(new ChoiceList),
      candidate_file_(new ChoiceList),
      baseline_step_(new ChoiceList),
      candidate_step_(new ChoiceList),
      rank_(new ChoiceList),
      worker_(
          this, [this](Answer answer) { show_answer(std::move(answer)); },
          [this] { Q_EMIT busy_changed(); }) {
  rest_.setSingleShot(true);
  connect(&rest_, &QTimer::timeout, this, &CompareView::show_rest_of_answer);
  arrangement_->setAccessibleName(tr("Arrangement"));
  strip_->set_aside(arrangement_);
  state_->setAlignment(Qt::AlignCenter);
  state_->setWordWrap(true);
  state_->setMargin(48);

  auto* column = new QVBoxLayout(content_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(canvas_);
  column->addWidget(make_lower_part(), 1);

  auto* state_page = new QWidget;
  auto* state_rows = new QVBoxLayout(state_page);
  state_rows->addStretch();
  state_rows->addWidget(state_);
  state_rows->addWidget(cancel_, 0, Qt::AlignHCenter);
  state_rows->addStretch();
  for (QWidget* page : {state_page, content_, static_cast<QWidget*>(history_)}) {
    pages_->addWidget(page);
  }
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  fill_choices_bar();
  all->addWidget(choices_);
  all->addWidget(pages_, 1);
  setFocusPolicy(Qt::StrongFocus);
  connect_parts();
  refresh();
}

void CompareView::fill_choices_bar() {
  auto* row = new QHBoxLayout(choices_);
  row->setContentsMargins(16, 6, 16, 6);
  row->setSpacing(8);
  const auto add = [&](ChoiceList* choice, const QString& name) {
    choice->setAccessibleName(name);
    choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    row->addWidget(choice);
  };
  const auto add_file = [&](ChoiceList* choice, const QString& name) {
    constexpr int kLeastLetters = 6, kWidest = 260;
    add(choice, name);
    choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    choice->setMinimumContentsLength(kLeastLetters);
    choice->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    choice->setMaximumWidth(scaled(kWidest));
    row->setStretchFactor(choice, 1000);  // before what is left free
  };
  add_file(baseline_file_, tr("What is compared"));
  add(baseline_step_, tr("Step of the first"));
  auto* with = new TextLabel(Text::body, Role::text2);
  with->set_text(tr("with"));
  row->addWidget(with);
  add_file(candidate_file_, tr("What it is compared with"));
  add(candidate_step_, tr("Step of the second"));
  add(rank_, tr("Rank"));
  row->addStretch(1);
}

QWidget* CompareView::make_lower_part() {
  auto* lower = new QWidget;
  auto* columns = new QHBoxLayout(lower);
  columns->setContentsMargins(0, 0, 0, 0);
  columns->setSpacing(0);
  auto* left = new QVBoxLayout;
  left->setSpacing(4);
  auto* head = new QHBoxLayout;
  head->setContentsMargins(16, 6, 16, 0);
  head->setSpacing(8);
  head->addWidget(causes_title_);
  head->addWidget(causes_note_, 1);
  causes_of_->setAccessibleName(tr("Where the operators run"));
  head->addWidget(causes_of_);
  left->addLayout(head);
  left->addWidget(new WholeRows(causes_), 1);
  columns->addLayout(left, 3);
  columns->addWidget(waterfall_, 1);
  waterfall_->setMinimumWidth(300);
  return lower;
}

void CompareView::connect_parts() {
  connect(&session(), &Session::documents_changed, this, &CompareView::refresh);
  connect(&session(), &Session::current_changed, this, &CompareView::refresh);
  connect(&session().selection(), &Selection::rank_changed, this, &CompareView::follow_rank);
  connect(&session().selection(), &Selection::event_changed, this, &CompareView::follow_selection);
  connect(arrangement_, &SegmentedControl::chosen, this,
          [this](int choice) { canvas_->set_arrangement(static_cast<Arrangement>(choice)); });
  connect(canvas_, &CompareCanvas::event_chosen, this, &CompareView::select_event);
  connect(canvas_, &CompareCanvas::window_changed, this, &View::status_changed);
  connect(canvas_, &CompareCanvas::busy_changed, this, &View::busy_changed);
  connect(canvas_, &CompareCanvas::height_changed, this, &CompareView::share_height);
  connect(causes_of_, &SegmentedControl::chosen, this, &CompareView::show_causes);
  connect(causes_, &CausesTable::cause_chosen, this, &CompareView::show_cause);
  connect(inspector_, &CompareInspector::pair_chosen, this,
          [this](int event) { select_event(false, event); });
  connect(inspector_, &CompareInspector::next_worst, this, [this] { step_causes(1); });
  connect(causes_, &CausesTable::clicked, this, &CompareView::point_to_worst);
  connect(causes_, &CausesTable::row_activated, this, [this] {
    point_to_worst();
    const auto* pairs = comparison_->step.pairs_of(causes_->current()->name);
    if (pairs != nullptr) canvas_->zoom_to({false, pairs->worst.events.baseline});
  });
  connect(cancel_, &QPushButton::clicked, this, &CompareView::cancel);
  connect(inspector_, &CompareInspector::copy_wanted, this,
          [this] { QGuiApplication::clipboard()->setText(as_text()); });
  connect(baseline_file_, &QComboBox::activated, this, [this](int file) {
    choose_documents(
        {file, file == compared_->candidate ? compared_->baseline : compared_->candidate});
  });
  connect(candidate_file_, &QComboBox::activated, this, [this](int file) {
    choose_documents(
        {file == compared_->baseline ? compared_->candidate : compared_->baseline, file});
  });
  for (ChoiceList* choice : {baseline_step_, candidate_step_, rank_}) {
    connect(choice, &QComboBox::activated, this, [this] {
      choose_step({rank_->currentData().toInt(), baseline_step_->currentData().toInt(),
                   candidate_step_->currentData().toInt()});
    });
  }
}

QWidget* CompareView::strip() {
  return strip_;
}
QWidget* CompareView::inspector() {
  return inspector_;
}

bool CompareView::is_busy() const {
  return worker_.is_busy() || rest_.isActive() || canvas_->is_busy() || (is_stale_ && isVisible());
}

// Chosen ones stay as long as both are open, under another number or grown.
std::optional<ComparedDocuments> CompareView::wanted_documents() {
  const auto& documents = session().documents();
  const auto place_of = [&](const DocumentPtr& wanted) {
    const auto same = std::ranges::find(documents, wanted);
    const auto found = same != documents.end()
                           ? same
                           : std::ranges::find_if(documents, [&](const DocumentPtr& one) {
                               return one->path() == wanted->path() &&
                                      one->title == wanted->title && one->source == wanted->source;
                             });
    return found == documents.end() ? -1 : static_cast<int>(found - documents.begin());
  };
  if (are_chosen_ && baseline_ && candidate_) {
    const ComparedDocuments chosen{place_of(baseline_), place_of(candidate_)};
    if (chosen.baseline >= 0 && chosen.candidate >= 0 && chosen.baseline != chosen.candidate) {
      return chosen;
    }
  }
  are_chosen_ = false;
  return usual_documents(session());
}

void CompareView::choose_documents(const ComparedDocuments& documents) {
  are_chosen_ = true;
  take_documents(documents);
}

void CompareView::refresh() {
  const auto wanted = wanted_documents();
  choices_->setVisible(wanted.has_value());
  if (!wanted) {
    compared_.reset();
    worker_.forget();
    strip_->set_awaiting(false);
    comparison_.reset();
    baseline_.reset();
    candidate_.reset();
    is_stale_ = false;
    show_state(
        tr("Open a second trace to compare it with this one: Ctrl+O, or drop it here. A "
           "recording and its prediction are compared instruction by instruction."));
    return;
  }
  take_documents(*wanted);
}

void CompareView::take_documents(const ComparedDocuments& documents) {
  const auto& all = session().documents();
  const DocumentPtr baseline = all[static_cast<std::size_t>(documents.baseline)];
  const DocumentPtr candidate = all[static_cast<std::size_t>(documents.candidate)];
  compared_ = documents;
  fill_files(documents);
  if (baseline == baseline_ && candidate == candidate_) return;
  baseline_ = baseline;
  candidate_ = candidate;
  comparison_.reset();
  is_stale_ = true;
  if (isVisible()) request(std::nullopt);
}

void CompareView::fill_files(const ComparedDocuments& shown) {
  for (const bool is_candidate : {false, true}) {
    ChoiceList* box = is_candidate ? candidate_file_ : baseline_file_;
    const QSignalBlocker quiet(box);
    box->clear();
    for (const DocumentPtr& document : session().documents()) {
      box->addItem(document->title);
      box->setItemData(box->count() - 1, QString::fromStdString(document->path()), Qt::ToolTipRole);
    }
    box->setCurrentIndex(is_candidate ? shown.candidate : shown.baseline);
    box->setToolTip(box->currentText());
  }
}

// The table goes before the plot beside it.
void CompareView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  waterfall_->setVisible(width() >= scaled(kLeastWithWaterfall));
  share_height();
}

// Five eighths are the picture's at most, up to the end of a row.
void CompareView::share_height() {
  constexpr double kPicture = 0.625;
  const double most = pages_->height() * kPicture, wanted = canvas_->sizeHint().height();
  const double end = wanted <= most ? wanted : canvas_->row_end(most);
  canvas_->setFixedHeight(static_cast<int>(std::ceil(end)));
}

void CompareView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  if (is_stale_ && compared_) request(std::nullopt);
}

void CompareView::request(const std::optional<StepChoice>& choice) {
  is_stale_ = false;
  strip_->set_stale(true);
  strip_->set_awaiting(true);
  if (comparison_ == nullptr) {
    const auto events = [](const DocumentPtr& of) {
      return count_figure(static_cast<std::int64_t>(of->trace->events.size())).number;
    };
    show_state(
        tr("Comparing %1 events of %2 with %3 of %4…")
            .arg(events(baseline_), baseline_->title, events(candidate_), candidate_->title));
    cancel_->show();
  }
  worker_.request([baseline = baseline_, candidate = candidate_, choice,
                   rank = session().selection().rank(), known = comparison_]() -> Answer {
    Answer answer;
    if (has_requests(*baseline) && has_requests(*candidate)) {
      const auto histories = compare_history_files(baseline->path(), candidate->path());
      if (histories) {
        answer.histories = words_of(*histories);
      } else {
        answer.error = QString::fromStdString(histories.error().text());
      }
    } else {
      answer.traces = std::make_shared<TraceComparison>(
          compare_traces(baseline, candidate,
                         choice ? *choice : first_choice(*baseline, *candidate, rank), known));
    }
    return answer;
  });
}

// What is under way is dropped; opening or choosing a trace compares again.
void CompareView::cancel() {
  worker_.forget();
  strip_->set_stale(false);
  strip_->set_awaiting(false);
  baseline_.reset();
  candidate_.reset();
  show_state(tr("The comparison was stopped. Choose one of the traces above to compare again."));
}

void CompareView::show_answer(Answer answer) {
  strip_->set_stale(false);
  strip_->set_awaiting(false);
  if (answer.histories) {
    strip_->set_sentence({answer.histories->state, answer.histories->lead, answer.histories->text,
                          answer.histories->detail});
    show_histories(*history_, *answer.histories);
    for (ChoiceList* box : {baseline_step_, candidate_step_, rank_}) box->hide();
    arrangement_->hide();
    pages_->setCurrentWidget(history_);
    return;
  }
  if (answer.traces == nullptr) return show_state(answer.error);
  comparison_ = std::move(answer.traces);
  const ComparisonWords& words = comparison_->words;
  strip_->set_sentence({words.state, words.lead, words.text, words.detail});
  arrangement_->show();
  canvas_->set_comparison(comparison_);
  pages_->setCurrentWidget(content_);
  rest_.start();
  Q_EMIT status_changed();
}

void CompareView::show_rest_of_answer() {
  Q_EMIT busy_changed();
  if (comparison_ == nullptr) return;
  waterfall_->set_comparison(comparison_);
  inspector_->set_comparison(comparison_);
  const auto has_causes = [&](bool are_on_device) {
    return std::ranges::find(comparison_->causes, are_on_device, &Cause::is_on_device) !=
           comparison_->causes.end();
  };
  causes_of_->set_current(has_causes(true) ? 0 : 1);
  causes_of_->setVisible(has_causes(true) && has_causes(false));
  show_causes();
  causes_title_->set_text(!comparison_->are_steps_comparable()
                              ? tr("What differs")
                              : tr("What explains %1 a step")
                                    .arg(signed_time_text(comparison_->whole->candidate_step_ns -
                                                          comparison_->whole->baseline_step_ns)));
  fill_choices();
  show_cause();
  follow_selection();
}

void CompareView::show_causes() {
  const bool are_on_device = causes_of_->current() == 0;
  causes_->show(comparison_, are_on_device);
  causes_note_->set_text(are_on_device ? tr("operators of all ranks, worst first")
                                       : tr("the host's own time in calls, all ranks"));
  show_cause();
}

void CompareView::show_state(const QString& text) {
  state_->setText(text);
  cancel_->hide();
  pages_->setCurrentIndex(0);
  arrangement_->hide();
  inspector_->set_comparison(nullptr);
  canvas_->set_comparison(nullptr);
  if (!compared_) strip_->set_sentence({Role::text3, tr("One trace is open."), {}, {}});
  Q_EMIT status_changed();
}

void CompareView::fill_choices() {
  const StepChoice& choice = comparison_->step.choice;
  const auto fill = [](ChoiceList* box, const std::vector<std::int32_t>& values,
                       std::int32_t current, const QString& text) {
    const QSignalBlocker quiet(box);
    box->clear();
    for (const std::int32_t value : values) box->addItem(text.arg(value), value);
    box->setCurrentIndex(box->findData(current));
    box->setVisible(!values.empty());
  };
  const auto fill_steps = [&](ChoiceList* box, const traces::Trace& trace, std::int32_t step) {
    const bool has_steps = !trace.steps.empty();
    fill(box, has_steps ? steps_of(trace) : std::vector<std::int32_t>(), step, tr("step %1"));
  };
  fill_steps(baseline_step_, *baseline_->trace, choice.baseline_step);
  fill_steps(candidate_step_, *candidate_->trace, choice.candidate_step);
  const auto ranks = profiler::ranks_of(*baseline_->trace);
  fill(rank_, {ranks.begin(), ranks.end()}, choice.rank, tr("rank %1"));
}

void CompareView::choose_step(const StepChoice& choice) {
  if (comparison_ && !(choice == comparison_->step.choice)) request(choice);
}

// The rank that is looked at elsewhere, where the baseline has it.
void CompareView::follow_rank() {
  const std::int32_t rank = session().selection().rank();
  if (!comparison_ || rank == comparison_->step.choice.rank ||
      !profiler::ranks_of(*baseline_->trace).contains(rank)) {
    return;
  }
  StepChoice choice = comparison_->step.choice;
  choice.rank = rank;
  choose_step(choice);
}

void CompareView::select_event(bool is_candidate, int event) {
  session().selection().select(
      EventId{is_candidate ? compared_->candidate : compared_->baseline, event});
}

void CompareView::follow_selection() {
  if (!comparison_ || !compared_) return;
  const auto& selected = session().selection().event();
  const bool is_ours = selected && (selected->document == compared_->baseline ||
                                    selected->document == compared_->candidate);
  const bool is_candidate = is_ours && selected->document == compared_->candidate;
  canvas_->set_selected(is_candidate, is_ours ? selected->event : traces::kNone);
  if (!is_ours) return;
  if (const auto* pair = comparison_->step.pair_of(is_candidate, selected->event)) {
    causes_->select(comparison_->step.name(*pair));
    inspector_->show_cause(causes_->current(), pair);
  }
}

void CompareView::show_cause() {
  inspector_->show_cause(causes_->current(), nullptr);
}

// The comparison view's keys and what they bring about, and what it says as text.

void CompareView::move_steps(int by) {
  if (!comparison_) return;
  StepChoice choice = comparison_->step.choice;
  const auto moved = [by](const std::vector<std::int32_t>& steps, std::int32_t step) {
    const auto at = std::lower_bound(steps.begin(), steps.end(), step) - steps.begin();
    const auto last = static_cast<std::ptrdiff_t>(steps.size()) - 1;
    return steps[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + by, 0, last))];
  };
  choice.baseline_step = moved(steps_of(*baseline_->trace), choice.baseline_step);
  choice.candidate_step = moved(steps_of(*candidate_->trace), choice.candidate_step);
  choose_step(choice);
}

void CompareView::select_beside(int by) {
  if (!comparison_) return;
  const auto& selected = session().selection().event();
  if (!selected) return move_steps(by);
  const bool is_candidate = selected->document == compared_->candidate;
  if (!is_candidate && selected->document != compared_->baseline) return move_steps(by);
  const StepSide& side = comparison_->step.side(is_candidate);
  const LaneSet& lanes = *side.document->lanes;
  const RowPlace place = lanes.place(selected->event);
  if (place.row >= lanes.rows().size()) return;
  const Row& row = lanes.rows()[place.row];
  const auto next = static_cast<std::int64_t>(place.item) + by;
  if (next < 0 || next >= static_cast<std::int64_t>(row.size())) return;
  const auto item = static_cast<std::size_t>(next);
  if (row.span(item).start_ns < side.step.start_ns || row.span(item).end_ns > side.step.end_ns)
    return;
  select_event(is_candidate, row.event(item));
}

void CompareView::step_causes(int rows) {
  causes_->step(rows);
  point_to_worst();
}

void CompareView::point_to_worst() {
  const Cause* cause = causes_->current();
  if (cause == nullptr || comparison_ == nullptr) return;
  if (const auto* pairs = comparison_->step.pairs_of(cause->name)) {
    select_event(false, pairs->worst.events.baseline);
  }
  show_cause();  // of the operator, not of the pair
}

void CompareView::keyPressEvent(QKeyEvent* event) {
  if (event->modifiers() & Qt::AltModifier) {
    if (event->key() == Qt::Key_Left) return move_steps(-1);
    if (event->key() == Qt::Key_Right) return move_steps(1);
  }
  switch (event->key()) {
    case Qt::Key_BracketRight: return step_causes(1);
    case Qt::Key_BracketLeft: return step_causes(-1);
    case Qt::Key_Period: return select_beside(1);
    case Qt::Key_Comma: return select_beside(-1);
    default:
      if (!canvas_->press(*event)) View::keyPressEvent(event);
  }
}

std::vector<KeyHelp> CompareView::keys() const {
  return {{tr("next, previous worst difference"), tr("]  [")},
          {tr("next, previous in the track; with nothing selected, step"), tr(".  ,")},
          {tr("next, previous step of both"), tr("Alt+Right  Alt+Left")},
          {tr("zoom in, out"), tr("W  S, Ctrl+wheel")},
          {tr("pan"), tr("A  D, drag, Shift+wheel")},
          {tr("rows"), tr("Up  Down, wheel")},
          {tr("select a range"), tr("Shift+drag, drag on the ruler")},
          {tr("range of the selected event"), tr("R")},
          {tr("set or remove a mark, go to the next one"), tr("M  Shift+M")},
          {tr("fit the selection, then the step; the step"), tr("F  0")},
          {tr("clear the range, then the selection"), tr("Esc")}};
}

QString CompareView::status() const {
  if (!comparison_) return {};
  const traces::Interval window = canvas_->axis().window();
  return tr("%1 · rank %2 · %3")
      .arg(canvas_->accessible_row(0).text)
      .arg(comparison_->step.choice.rank)
      .arg(time_range_text(static_cast<double>(std::max<std::int64_t>(window.start_ns, 0)),
                           static_cast<double>(window.end_ns)));
}

Description CompareView::description() const {
  Description all;
  all.headline = strip_->accessibleName().trimmed();
  if (comparison_ == nullptr) return all;
  const StepComparison& step = comparison_->step;
  all.question = traces::recorded_question_json(step.candidate.trace().metadata);
  const profiler::Comparison& whole = *comparison_->whole;
  all.add_positive("baseline_step_time_ns", whole.baseline_step_ns);
  all.add_positive("candidate_step_time_ns", whole.candidate_step_ns);
  all.add("step_time_error",
          whole.step_time_error < 0 ? DescribedFigure() : DescribedFigure(whole.step_time_error));
  all.add("peak_allocated_error_bytes", whole.peak_allocated_error_bytes);
  all.add("peak_reserved_error_bytes", whole.peak_reserved_error_bytes);
  all.add("events_matched", whole.events_matched);
  all.add("events_unmatched", whole.events_unmatched());
  return all;
}

QString CompareView::as_text() const {
  const Sentence& sentence = strip_->sentence();
  QString text = sentence.lead + QLatin1Char(' ') + sentence.text + QLatin1Char('\n') +
                 sentence.detail + QLatin1Char('\n');
  return comparison_ ? text + inspector_->as_text() + QStringLiteral("\n\n") + causes_->as_text()
                     : text;
}

}  // namespace foreshard::gui
