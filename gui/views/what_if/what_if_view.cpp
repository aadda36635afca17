#include "gui/views/what_if/what_if_view.hpp"

#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QPainter>
#include <QSaveFile>
#include <QScrollArea>
#include <QShortcut>
#include <cmath>
#include <utility>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/models/what_if/plan_control.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "models/plan/foreign/foreign_plans.hpp"
#include "models/question/question_json.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::gui {
namespace {

// "+3.0 % on A"; empty without a pin or a change.
QString against(double value, double pinned, const QString& letter) {
  if (pinned <= 0 || value <= 0) return {};
  const double percent = std::round((value / pinned - 1) * 1000) / 10;
  const QString sign = percent < 0 ? QString(QChar(0x2212)) : QStringLiteral("+");
  return WhatIf::tr("%1%2 % on %3").arg(sign, QString::number(std::abs(percent), 'f', 1), letter);
}

Role role_of_gain(double value, double pinned) {
  return value > pinned ? Role::ok : value < pinned ? Role::text2 : Role::text3;
}

QString band_text(const Outcome& outcome) {
  return WhatIf::tr("90 %: %1").arg(time_range_text(outcome.low_ns, outcome.high_ns));
}

StripFigure reserved_figure(const Outcome& outcome) {
  StripFigure figure{WhatIf::tr("Peak reserved"),
                     bytes_figure(outcome.reserved),
                     {},
                     Role::text2,
                     exact_bytes(outcome.reserved)};
  if (const auto spare = spare_bytes(outcome)) {
    figure.note = WhatIf::tr("%1 to spare").arg(bytes_figure(*spare).text());
    if (fits_only_just(outcome)) figure.note_role = Role::warn;
  } else if (!outcome.fits) {
    figure.note = WhatIf::tr("does not fit");
    figure.note_role = Role::error;
  }
  return figure;
}

// The nearest notch of a slider above the present one whose plan does not fit.
QString next_misfit(const WhatIf& what_if) {
  if (what_if.surroundings() == nullptr) return {};
  const SpeltPlan& plan = what_if.settings().plan;
  for (const Candidate& notch : what_if.surroundings()->notches) {
    const SpeltKey& change = notch.changes.front();
    if (!notch.oom || QString::fromStdString(change.value).toLongLong() <=
                          QString::fromStdString(plan.value(change.name)).toLongLong()) {
      continue;
    }
    SpeltPlan changed = plan;
    changed.set(change.name, change.value);
    return WhatIf::tr("%1 runs out: %2.")
        .arg(change_text(change.name, changed), failure_text(*notch.oom));
  }
  return {};
}

// What is allocated over the step, of every variant.
std::vector<ByteCurve> curves_of(const std::vector<Variant>& variants) {
  std::vector<ByteCurve> curves;
  for (const Variant& variant : variants) {
    const Outcome& outcome = *variant.outcome;
    ByteCurve& curve =
        curves.emplace_back(ByteCurve{variant.letter, {}, outcome.curve_length, pen_of(variant)});
    curve.is_filled = variant.place == 0;
    curve.fails = !outcome.fits && !outcome.curve.empty();
    curve.points.reserve(outcome.curve.size());
    for (const MemoryStep& step : outcome.curve) {
      curve.points.emplace_back(step.position, step.allocated);
    }
  }
  return curves;
}

// What the present one has reserved, and the capacity of its device.
std::vector<ByteLevel> levels_of(const std::vector<Variant>& variants) {
  if (variants.empty() || variants.front().place > 0) return {};
  const Outcome& now = *variants.front().outcome;
  std::vector<ByteLevel> levels{
      {WhatIf::tr("reserved, now: %1").arg(bytes_figure(now.reserved).text()), now.reserved}};
  if (now.capacity) {
    levels.push_back({WhatIf::tr("capacity of %1: %2")
                          .arg(now.settings.place(), bytes_figure(*now.capacity).text()),
                      *now.capacity, true});
  }
  return levels;
}

// The figures with what they differ by from pin A.
std::vector<StripFigure> answer_figures(const Outcome& outcome, const std::vector<Pin>& pins) {
  const bool has_time = outcome.step_ns > 0;
  const Outcome* pinned = pins.empty() ? nullptr : pins.front().outcome.get();
  const QString letter = pins.empty() ? QString() : pins.front().letter;
  const Figure nothing{QString(QChar(0x2013)), {}};
  std::vector<StripFigure> figures{
      {WhatIf::tr("Throughput"),
       has_time
           ? Figure{count_figure(std::llround(outcome.tokens_per_s)).number, WhatIf::tr("tokens/s")}
           : nothing,
       {},
       Role::text2,
       {}},
      {WhatIf::tr("Step time"),
       has_time ? time_figure(outcome.step_ns) : nothing,
       has_time ? band_text(outcome) : QString(),
       Role::text3,
       {}},
      {WhatIf::tr("MFU"),
       outcome.mfu > 0 ? Figure{QString::number(outcome.mfu * 100, 'f', 1), QStringLiteral("%")}
                       : nothing,
       {},
       Role::text2,
       {}},
      {WhatIf::tr("Exposed communication"),
       has_time ? time_figure(outcome.exposed_ns) : nothing,
       has_time
           ? WhatIf::tr("%1 of the step").arg(percent_text(outcome.exposed_ns / outcome.step_ns))
           : QString(),
       Role::text3,
       {}},
      reserved_figure(outcome)};
  if (pinned != nullptr && has_time) {
    figures[0].note = against(outcome.tokens_per_s, pinned->tokens_per_s, letter);
    figures[0].note_role = role_of_gain(outcome.tokens_per_s, pinned->tokens_per_s);
    figures[2].note = against(outcome.mfu, pinned->mfu, letter);
    figures[2].note_role = role_of_gain(outcome.mfu, pinned->mfu);
  }
  return figures;
}

// Errors of the settings come first; then whether the last good ones fit, which notch would not, and
// what the prediction warns of.
Sentence answer_sentence(const WhatIf& what_if) {
  if (what_if.error()) {
    return {Role::error, WhatIf::tr("This plan cannot be:"), key_error_text(*what_if.error()),
            WhatIf::tr("Figures and curves are those of the last plan that could.")};
  }
  const Outcome& outcome = *what_if.outcome();
  const Verdict verdict = verdict_of(outcome);
  const QString misfit = outcome.fits ? next_misfit(what_if) : QString();
  Sentence sentence{verdict.state, verdict.lead,
                    misfit.isEmpty() ? verdict.text : verdict.text + QLatin1Char(' ') + misfit};
  const QStringList warnings = warnings_of(outcome);
  sentence.detail = warnings.isEmpty() ? sources_of(outcome).text : warnings.join(QLatin1Char(' '));
  if (!warnings.isEmpty()) sentence.detail_state = Role::warn;
  return sentence;
}

QString answer_status(const Outcome& outcome) {
  return WhatIf::tr("Answered in %1 · %2")
      .arg(time_figure(outcome.answered_ns).text(), sources_of(outcome).text);
}

}  // namespace

WhatIfView::WhatIfView(Session& session, QWidget* parent)
    : View(session, parent),
      panel_(new PlanPanel(what_if_, this)),
      sentence_(new SentenceStrip(this)),
      figures_(new FigureStrip(this)),
      memory_(new BytePlot(tr("Memory over the step"), tr("allocated, worst rank"),
                           BytePlot::Along::share, {380, 220}, this)),
      bars_(new StepBars(this)),
      variants_(new VariantsTable(this)),
      neighbours_(new NeighboursTable(this)),
      sweep_(new SweepPlot(this)),
      scale_(new SegmentedControl({tr("capacity"), tr("used")}, memory_)),
      clock_(new SegmentedControl({tr("% of step"), tr("ms")}, memory_)) {
  clock_->setAccessibleName(tr("Along the share of the step, or its time"));
  figures_->set_margin(24);
  lay_out();
  add_shortcuts();
  rest_.setSingleShot(true);
  connect(&rest_, &QTimer::timeout, this, &WhatIfView::show_rest_of_answer);
  connect(&what_if_, &WhatIf::settings_changed, this, &WhatIfView::show_surroundings);
  connect(&what_if_, &WhatIf::settings_changed, this, &WhatIfView::show_age);
  connect(&what_if_, &WhatIf::outdated_changed, this, &WhatIfView::show_age);
  connect(&what_if_, &WhatIf::outcome_changed, this, &WhatIfView::show_answer);
  connect(&what_if_, &WhatIf::pins_changed, this, &WhatIfView::show_answer);
  connect(&what_if_, &WhatIf::surroundings_changed, this, &WhatIfView::show_surroundings);
  connect(&what_if_, &WhatIf::busy_changed, this, &View::busy_changed);
  connect(&what_if_, &WhatIf::document_changed, this,
          [this](const DocumentPtr& document) { this->session().show_what_if(document); });
  connect(neighbours_, &NeighboursTable::applied, &what_if_, &WhatIf::apply);
  connect(sweep_, &SweepPlot::applied, &what_if_, &WhatIf::apply);
  connect(variants_, &VariantsTable::dropped, &what_if_, &WhatIf::unpin);
  scale_->setAccessibleName(tr("Up to the capacity of the device, or to what is used"));
  connect(scale_, &SegmentedControl::chosen, this,
          [this](int choice) { memory_->set_fits_data(choice == 1); });
  connect(clock_, &SegmentedControl::chosen, this, [this](int choice) {
    memory_->set_along(choice == 1 ? BytePlot::Along::time : BytePlot::Along::share);
  });
  connect(panel_, &PlanPanel::save_wanted, this, &WhatIfView::save);
  connect(panel_, &PlanPanel::other_base_wanted, this,
          [this] { start_from(*this->session().current()); });
  connect(&what_if_, &WhatIf::settings_changed, this, &WhatIfView::show_base);
  connect(&what_if_, &WhatIf::started, this, [this] {
    const QString plan = std::exchange(awaited_plan_, {});
    if (plan.isEmpty()) return;
    const Result<QString> left_out = load_plan_file(plan);
    tell(left_out ? *left_out : QString::fromStdString(left_out.error().text()));
  });
  connect(&session, &Session::current_changed, this, [this] {
    if (isVisible()) start();
  });
  connect(&Appearance::instance(), &Appearance::changed, this, qOverload<>(&QWidget::update));
}

void WhatIfView::lay_out() {
  left_ = new QVBoxLayout();
  left_->setSpacing(12);
  left_->addWidget(memory_, 5);
  const auto head = [this](const QString& title, const QString& note) {
    auto* row = new QHBoxLayout();
    row->setSpacing(12);
    row->addWidget(new TextLabel(Text::strong, Role::text, title, this));
    row->addWidget(new TextLabel(Text::secondary, Role::text2, note, this), 1);
    left_->addLayout(row);
  };
  head(tr("Variants"), tr("P pins the present one, Delete drops a pin"));
  left_->addWidget(variants_);
  head(tr("One change away"), tr("every key moved by one notch from Now"));
  left_->addWidget(neighbours_, 4);
  right_ = new QVBoxLayout();
  right_->setSpacing(12);
  right_->addWidget(bars_);
  right_->addWidget(sweep_, 1);
  right_->addWidget(sweep_choices());
  auto* plots = new QWidget();
  columns_ = new QBoxLayout(QBoxLayout::LeftToRight, plots);
  columns_->setContentsMargins(0, 0, 0, 0);
  columns_->setSpacing(0);
  columns_->addLayout(left_, 61);
  columns_->addLayout(right_, 44);
  plots_ = scrolled(plots);
  auto* answer = new QVBoxLayout();
  answer->setSpacing(0);
  answer->addWidget(sentence_);
  answer->addWidget(figures_);
  answer->addSpacing(8);
  answer->addWidget(plots_, 1);
  answer->addStretch();
  auto* all = new QHBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(panel_);
  all->addLayout(answer, 1);
  auto* over_plot = new QHBoxLayout(memory_);
  over_plot->setContentsMargins(0, 2, 0, 0);
  over_plot->setSpacing(8);
  over_plot->addStretch(1);
  over_plot->addWidget(scale_, 0, Qt::AlignTop);
  over_plot->addWidget(clock_, 0, Qt::AlignTop);
}

// Plots stand beside tables where there is room, and below them otherwise.
void WhatIfView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  constexpr int kRoomForBoth = 850;
  const bool has_room = width() - panel_->width() >= scaled(kRoomForBoth);
  columns_->setDirection(has_room ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  left_->setContentsMargins(24, 12, has_room ? 0 : 24, 12);
  right_->setContentsMargins(has_room ? 40 : 24, 12, 24, 12);
}

QWidget* WhatIfView::sweep_choices() {
  auto* bar = new QWidget(this);
  auto* layout = new QHBoxLayout(bar);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* first = new ChoiceList(bar);
  auto* second = new ChoiceList(bar);
  first->setAccessibleName(tr("Key that is swept"));
  second->setAccessibleName(tr("Second key that is swept"));
  second->addItem(tr("nothing else"), QString());
  for (const ControlSection& section : plan_controls()) {
    for (const PlanControl& control : section.controls) {
      if (control.choices.empty() && control.kind != ControlKind::toggle) continue;
      if (control.kind == ControlKind::outputs) continue;
      for (QComboBox* list : {first, second}) {
        list->addItem(control.full_label, QString::fromStdString(control.key));
      }
    }
  }
  const auto show = [](QComboBox& list, const std::string& key) {
    list.setCurrentIndex(list.findData(QString::fromStdString(key)));
  };
  show(*first, what_if_.sweep().first);
  show(*second, what_if_.sweep().second);
  const auto take = [this, first, second] {
    const std::string a = first->currentData().toString().toStdString();
    const std::string b = second->currentData().toString().toStdString();
    what_if_.set_sweep({a, a == b ? std::string() : b});
  };
  connect(first, qOverload<int>(&QComboBox::activated), this, take);
  connect(second, qOverload<int>(&QComboBox::activated), this, take);
  layout->addWidget(new TextLabel(Text::secondary, Role::text2, tr("Sweep"), bar));
  layout->addWidget(first, 1);
  layout->addWidget(second, 1);
  return bar;
}

void WhatIfView::add_shortcuts() {
  const auto on = [this](const QKeySequence& keys, auto&& act) {
    auto* shortcut = new QShortcut(keys, this);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, act);
  };
  on(QKeySequence(Qt::Key_P), [this] { what_if_.pin(); });
  on(QKeySequence(Qt::CTRL | Qt::Key_R), [this] { what_if_.reset(); });
  on(QKeySequence(Qt::CTRL | Qt::Key_Z), [this] { what_if_.undo(); });
  on(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), [this] { what_if_.redo(); });
  on(QKeySequence(Qt::CTRL | Qt::Key_S), [this] { save(); });
  on(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), [this] { ask_what_to_load(); });
}

std::vector<KeyHelp> WhatIfView::keys() const {
  return {{tr("Pin the present variant"), QStringLiteral("P")},
          {tr("Reset to where it started"), QStringLiteral("Ctrl+R")},
          {tr("Undo, redo"), QStringLiteral("Ctrl+Z, Ctrl+Shift+Z")},
          {tr("Save the plan, open a plan file"), QStringLiteral("Ctrl+S, Ctrl+Shift+O")},
          {tr("Apply a change, drop a pin"), QStringLiteral("Enter, Delete")}};
}

void WhatIfView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  start();
}

// From what is shown; what was moved by hand stays, and so does what it was made of.
void WhatIfView::start() {
  const bool is_touched = what_if_.can_undo() || what_if_.can_redo() || !base_.file.isEmpty();
  const DocumentPtr document = session().current();
  const bool is_usable = document != nullptr && document->source != Source::what_if;
  if (is_usable && !(is_started_ && is_touched)) {
    start_from(*document);
  } else if (!is_started_) {
    what_if_.start_from(default_settings());
  }
  is_started_ = true;
  show_base();
  Q_EMIT busy_changed();
}

void WhatIfView::start_from(const Document& document) {
  base_ = Base();
  base_.name = document.title;
  base_.recording = document.files;
  what_if_.start_from_trace(document.trace, document.title);
  show_base();
}

bool WhatIfView::has_unsaved_changes() const {
  return base_.saved && !(*base_.saved == what_if_.settings().plan);
}

// Also of the recording that is shown, where that is another one.
void WhatIfView::show_base() {
  QStringList parts;
  if (!base_.file.isEmpty()) {
    const QString name = QFileInfo(base_.file).fileName();
    parts << (has_unsaved_changes() ? tr("%1, changed since it was saved").arg(name) : name);
  }
  if (!base_.name.isEmpty()) parts << base_.name;
  const DocumentPtr shown = session().current();
  const bool is_other = shown != nullptr && shown->source != Source::what_if &&
                        (shown->title != base_.name || shown->files != base_.recording);
  panel_->show_base(
      parts.isEmpty() ? tr("From no file") : tr("From %1").arg(parts.join(QStringLiteral(" · "))),
      is_other ? shown->title : QString());
}

void WhatIfView::show_answer() {
  const bool has_question = what_if_.why_nothing().isEmpty();
  for (QWidget* part : std::initializer_list<QWidget*>{panel_, figures_, plots_}) {
    part->setVisible(has_question);
  }
  if (!has_question) {
    sentence_->set_sentence({Role::warn, tr("No result:"), what_if_.why_nothing()});
  }
  const std::vector<Variant> variants = variants_of(what_if_);
  memory_->show_curves(curves_of(variants), levels_of(variants));
  rest_.start();
  show_age();
  if (what_if_.outcome() != nullptr) {
    figures_->set_figures(answer_figures(*what_if_.outcome(), what_if_.pins()));
    sentence_->set_sentence(answer_sentence(what_if_));
  }
  Q_EMIT status_changed();
}

void WhatIfView::show_rest_of_answer() {
  const std::vector<Variant> variants = variants_of(what_if_);
  bars_->set_variants(variants);
  variants_->set_variants(variants);
  sweep_->set_variants(variants);
  Q_EMIT busy_changed();
}

void WhatIfView::show_age() {
  const bool is_outdated = what_if_.is_outdated();
  memory_->set_stale(is_outdated);
  bars_->set_stale(is_outdated);
  figures_->set_stale(is_outdated);
  sentence_->set_stale(is_outdated);
  sentence_->set_awaiting(what_if_.is_stale() && !what_if_.error() &&
                          what_if_.why_nothing().isEmpty());
}

void WhatIfView::show_surroundings() {
  neighbours_->set_surroundings(what_if_.surroundings());
  sweep_->set_surroundings(what_if_.surroundings());
  if (what_if_.outcome() != nullptr) sentence_->set_sentence(answer_sentence(what_if_));
}

QString WhatIfView::as_text() const {
  return sentence_->accessibleName() + QLatin1Char('\n') + variants_->as_text();
}

QString WhatIfView::status() const {
  return what_if_.outcome() == nullptr ? QString() : answer_status(*what_if_.outcome());
}

Description WhatIfView::description() const {
  Description all;
  all.headline = sentence_->accessibleName().trimmed();
  const OutcomePtr& outcome = what_if_.outcome();
  if (outcome == nullptr) {
    const DocumentPtr document = session().current();
    if (document != nullptr) {
      all.question = traces::recorded_question_json(document->trace->metadata);
    }
    return all;
  }
  if (const auto job = make_job(outcome->settings)) all.question = question_json(*job);
  const auto whole = [](double figure) { return static_cast<std::int64_t>(figure); };
  const bool has_time = outcome->step_ns > 0;
  all.add_positive("step_time_ns", whole(outcome->step_ns));
  all.add_positive("step_time_low_ns", whole(outcome->low_ns));
  all.add_positive("step_time_high_ns", whole(outcome->high_ns));
  all.add_positive("tokens_per_s", outcome->tokens_per_s);
  all.add_positive("mfu", outcome->mfu);
  all.add("exposed_communication_ns",
          has_time ? DescribedFigure(whole(outcome->exposed_ns)) : DescribedFigure());
  all.add("peak_reserved_bytes", outcome->reserved);
  all.add("peak_allocated_bytes", outcome->allocated);
  for (const std::string& warning : outcome->warnings) {
    all.warnings.append(QString::fromStdString(warning));
  }
  if (what_if_.start() == what_if_.settings()) all.warnings += base_.left_out;
  return all;
}

QString WhatIfView::save_plan(const QString& path) {
  const Result<Plan> plan = what_if_.settings().plan.plan();
  if (!plan) return key_error_text(plan.error());
  QSaveFile file(path);
  const QByteArray text = QByteArray::fromStdString(to_toml(*plan));
  if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit()) {
    return tr("%1 cannot be written: %2.").arg(path, file.errorString());
  }
  base_.file = path;
  base_.saved = what_if_.settings().plan;
  show_base();
  return {};
}

Result<QString> WhatIfView::load_plan_file(const QString& path) {
  const int ranks = what_if_.settings().question.ranks;
  const Result<ConvertedPlan> read = read_any_plan(path.toStdString(), ranks);
  if (!read) return tl::unexpected(read.error());
  if (what_if_.is_starting()) {
    awaited_plan_ = path;
    return QString();
  }
  Result<WhatIfSettings> settings = with_plan(what_if_.settings(), *read);
  if (!settings) return tl::unexpected(settings.error());
  QStringList left_out;
  for (const std::string& warning : conversion_warnings(*read)) {
    left_out.append(QString::fromStdString(warning));
  }
  base_.file = path;
  base_.left_out = left_out;
  base_.saved = settings->plan;
  what_if_.rebase(std::move(*settings));
  return left_out.join(QLatin1Char('\n'));
}

bool WhatIfView::save() {
  const QString proposed = base_.name.isEmpty()
                               ? QStringLiteral("plan.toml")
                               : QFileInfo(base_.name).baseName() + QStringLiteral(".toml");
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Save plan"), base_.file.endsWith(QLatin1String(".toml")) ? base_.file : proposed,
      tr("Plans (*.toml)"));
  const QString trouble = path.isEmpty() ? QString() : save_plan(path);
  tell(trouble);
  return !path.isEmpty() && trouble.isEmpty();
}

void WhatIfView::ask_what_to_load() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open a plan"), QString(),
      tr("Plans and configurations (*.toml *.yaml *.yml *.json);;All files (*)"));
  if (path.isEmpty()) return;
  const Result<QString> left_out = load_plan_file(path);
  tell(left_out ? *left_out : QString::fromStdString(left_out.error().text()));
}

void WhatIfView::tell(const QString& trouble) {
  if (!trouble.isEmpty()) Q_EMIT troubled(trouble);
}

void WhatIfView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  if (panel_->isHidden()) return;
  const double left = panel_->width();
  const double below = figures_->geometry().bottom() + 8;
  painter.fillRect(QRectF(left, below, width() - left, 1), theme()[Role::line]);
}

}  // namespace foreshard::gui
