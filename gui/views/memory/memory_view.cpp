#include "gui/views/memory/memory_view.hpp"

#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "traces/allocator/trace_history.hpp"

namespace foreshard::gui {
namespace {

// Of longer histories what would lower it is found when asked: each change is a replay.
constexpr std::size_t kMostReplayed = 200'000;

MemorySource source_of(const Document& document) {
  MemorySource source;
  source.trace = document.trace;
  source.analysis = document.analysis;
  source.is_predicted = document.is_predicted();
  if (document.run != nullptr) source.prediction = {document.run, &document.run->prediction};
  return source;
}

}  // namespace

MemoryView::MemoryView(Session& session, QWidget* parent)
    : View(session, parent),
      strip_(make_beside<SentenceStrip>()),
      clocks_(new SegmentedControl),
      inspector_(make_beside<MemoryInspector>()),
      pages_(new QStackedWidget),
      nothing_(new QLabel),
      canvas_(new MemoryCanvas(session)),
      legend_(new MemoryLegend),
      lower_(new QStackedWidget),
      map_(new BlockMapCanvas),
      changes_(new ChangesPanel),
      loading_(
          this, [this](auto memory) { show_memory(std::move(memory)); },
          [this] { Q_EMIT busy_changed(); }),
      looking_(
          this, [this](auto moment) { show_moment(std::move(moment)); },
          [this] { Q_EMIT busy_changed(); }),
      following_(
          this, [this](const BlockLife& life) { show_life(life); },
          [this] { Q_EMIT busy_changed(); }) {
  QStringList names;
  for (int n = 0; n < kMemoryClocks; ++n) names << name_of(static_cast<MemoryClock>(n));
  clocks_->set_choices(names);
  clocks_->setAccessibleName(tr("Clock"));
  strip_->set_aside(clocks_);
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);

  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(canvas_, 38);
  column->addWidget(legend_);
  lower_->addWidget(map_);
  lower_->addWidget(changes_);
  column->addWidget(lower_, 50);
  pages_->addWidget(nothing_);
  pages_->addWidget(content);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(pages_);
  setFocusPolicy(Qt::StrongFocus);

  connect(&session, &Session::current_changed, this, &MemoryView::load);
  connect(&session.selection(), &Selection::rank_changed, this, &MemoryView::load);
  connect(&session.selection(), &Selection::cursor_changed, this, &MemoryView::follow_cursor);
  connect(clocks_, &SegmentedControl::chosen, this,
          [this](int choice) { choose_clock(static_cast<MemoryClock>(choice)); });
  connect(canvas_, &MemoryCanvas::sample_chosen, this, &MemoryView::move_to);
  connect(canvas_, &MemoryCanvas::cleared, this, [this] { map_->select(nullptr); });
  connect(canvas_, &MemoryCanvas::busy_changed, this, &View::busy_changed);
  connect(map_, &BlockMapCanvas::block_selected, this, &MemoryView::select_block);
  connect(map_, &BlockMapCanvas::layout_changed, this, &View::status_changed);
  connect(inspector_, &MemoryInspector::buffer_chosen, map_, &BlockMapCanvas::select);
  connect(inspector_, &SidePanel::block_followed, this, &MemoryView::go_to_holder);
  connect(inspector_, &MemoryInspector::asked_to_compare, this, &MemoryView::toggle_comparison);
  connect(inspector_, &MemoryInspector::asked_what_would_lower, this,
          &MemoryView::show_what_would_lower);
  connect(changes_, &ChangesPanel::found, this, &MemoryView::show_answer);
  connect(changes_, &ChangesPanel::closed, this, [this] { lower_->setCurrentWidget(map_); });
  connect(changes_, &ChangesPanel::busy_changed, this, &View::busy_changed);
  connect(inspector_, &MemoryInspector::rank_chosen, this,
          [&session](int rank) { session.selection().set_rank(rank); });
  load();
}

// A window that showed them has taken them as its own.
MemoryView::~MemoryView() {
  if (strip_ != nullptr && strip_->parent() == nullptr) delete strip_;
  if (inspector_ != nullptr && inspector_->parent() == nullptr) delete inspector_;
}

bool MemoryView::is_busy() const {
  return loading_.is_busy() || looking_.is_busy() || following_.is_busy() || changes_->is_busy() ||
         canvas_->is_busy() || (is_stale_ && isVisible());
}

void MemoryView::load() {
  const DocumentPtr document = session().current();
  changes_->forget();
  lower_->setCurrentWidget(map_);
  is_stale_ = document != nullptr && !isVisible();
  if (document == nullptr || is_stale_) {
    loading_.forget();
    show_memory({});
    return;
  }
  strip_->set_stale(true);
  if (memory_ == nullptr) nothing_->setText(tr("Working out who holds the memory…"));
  loading_.request([source = source_of(*document), wanted = session().selection().rank(),
                    cursor = session().selection().cursor_ns(), step = session().steady_step()] {
    Loaded loaded;
    loaded.ranks = traces::ranks_with_memory(*source.trace);
    const auto& ranks = loaded.ranks;
    const bool has_wanted = std::find(ranks.begin(), ranks.end(), wanted) != ranks.end();
    const int rank = ranks.empty() || has_wanted ? wanted : ranks.front();
    loaded.memory = std::make_shared<RankMemory>(source, rank);
    if (loaded.memory->is_empty()) return loaded;
    const std::size_t sample = loaded.memory->opening_sample(cursor, step);
    loaded.moment = std::make_shared<MomentOfRank>(loaded.memory->moment(sample));
    return loaded;
  });
}

void MemoryView::show_memory(Loaded loaded) {
  looking_.forget();
  memory_ = std::move(loaded.memory);
  moment_ = std::move(loaded.moment);
  sample_ = moment_ == nullptr ? std::nullopt : std::optional(moment_->sample);
  since_.reset();
  map_->select(nullptr);
  strip_->set_stale(false);
  show_answer();
  clocks_->setVisible(moment_ != nullptr);
  pages_->setCurrentIndex(moment_ == nullptr ? 0 : 1);
  if (moment_ == nullptr) {
    canvas_->show_memory(nullptr, clock_, axis(), false);
    map_->show_map(nullptr, nullptr, {});
    inspector_->show_moment(nullptr, nullptr, {});
    nothing_->setFont(gui::font(Text::body));
    nothing_->setText(memory_ == nullptr ? tr("Open a trace, drop one here, or start from a plan.")
                                         : strip_->sentence().lead + QLatin1Char('\n') +
                                               strip_->sentence().detail);
    Q_EMIT status_changed();
    return;
  }
  const MemoryCurve& curve = *memory_->curve();
  inspector_->set_ranks(loaded.ranks, curve.rank());
  legend_->set_categories(curve.layers());
  for (int n = 0; n < kMemoryClocks; ++n) {
    const auto clock = static_cast<MemoryClock>(n);
    clocks_->set_choice_enabled(n, curve.has(clock),
                                clock == MemoryClock::device_time
                                    ? tr("The events of this trace have no instructions.")
                                    : tr("All events of this trace have the same time."));
  }
  event_axis_.set_bounds(curve.bounds(MemoryClock::event_order));
  event_axis_.show(curve.bounds(MemoryClock::event_order));
  const bool keeps_clock =
      curve.has(clock_) && curve.best_clock() != MemoryClock::event_order && has_chosen_clock_;
  set_clock(keeps_clock ? clock_ : curve.best_clock());
  canvas_->set_sample(sample_);
  const bool is_quick = session().current()->run != nullptr ||
                        memory_->trace().metadata.count("plan") > 0 ||
                        memory_->states().events().size() <= kMostReplayed;
  if (is_quick) find_what_would_lower();
}

void MemoryView::show_answer() {
  const MemoryAnswer answer = memory_ == nullptr ? MemoryAnswer() : memory_->answer();
  const QString detail =
      QStringList{answer.detail, advice(changes_->changes())}.join(QLatin1Char(' ')).trimmed();
  strip_->set_sentence({answer.state, answer.lead, answer.text, detail});
  canvas_->setAccessibleDescription(answer.lead + QLatin1Char(' ') + answer.text);
  // What a snapshot's device has is known from its history alone.
  const auto capacity = memory_ == nullptr ? std::nullopt : memory_->capacity();
  const auto& history = changes_->changes().history;
  canvas_->set_capacity(capacity || history == nullptr ? capacity : history->capacity);
}

void MemoryView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  if (is_stale_) return load();
  follow_cursor();
}

TimeAxis& MemoryView::axis() {
  return clock_ == MemoryClock::event_order ? event_axis_ : session().axis();
}

void MemoryView::choose_clock(MemoryClock clock) {
  has_chosen_clock_ = true;
  set_clock(clock);
}

void MemoryView::set_clock(MemoryClock clock) {
  if (memory_ == nullptr || !memory_->curve()->has(clock)) return;
  clock_ = clock;
  clocks_->set_current(static_cast<int>(clock));
  const DocumentPtr document = session().current();
  canvas_->show_memory(memory_, clock, axis(), document != nullptr && document->is_predicted());
  if (moment_ != nullptr) show_moment(moment_);
}

void MemoryView::set_sample(std::size_t sample) {
  sample_ = sample;
  canvas_->set_sample(sample);
  look();
}

void MemoryView::look() {
  looking_.request([memory = memory_, sample = *sample_,
                    since = since_]() -> std::shared_ptr<const MomentOfRank> {
    return std::make_shared<MomentOfRank>(memory->moment(sample, since));
  });
}

void MemoryView::toggle_comparison() {
  since_ = since_ ? std::nullopt : sample_;
  canvas_->set_since(since_);
  look();
}

void MemoryView::show_moment(std::shared_ptr<const MomentOfRank> moment) {
  moment_ = std::move(moment);
  const auto time_text = [this](std::size_t sample) { return canvas_->time_text(sample); };
  inspector_->show_moment(memory_, moment_, time_text);
  inspector_->show_block(life_);
  map_->show_map(memory_, moment_, tr("Blocks at %1").arg(time_text(moment_->sample)));
  Q_EMIT status_changed();
}

void MemoryView::move_to(std::size_t sample) {
  set_sample(sample);
  is_moving_ = true;
  session().selection().set_cursor(memory_->curve()->position(memory_->time_clock(), sample));
  is_moving_ = false;
}

void MemoryView::follow_cursor() {
  const auto cursor = session().selection().cursor_ns();
  if (is_moving_ || canvas_->is_pointed_at() || !cursor || moment_ == nullptr || !isVisible())
    return;
  if (sample_ && memory_->curve()->position(memory_->time_clock(), *sample_) == *cursor) return;
  const auto sample = memory_->curve()->sample_at(memory_->time_clock(), *cursor).value_or(0);
  if (sample != sample_) set_sample(sample);
}

void MemoryView::select_block(traces::MemoryEventPointer allocation) {
  following_.forget();
  if (allocation == nullptr) return show_life({});
  following_.request([memory = memory_, allocation] { return memory->life(allocation); });
}

void MemoryView::show_life(std::optional<BlockLife> life) {
  life_ = life;
  canvas_->set_life(life);
  inspector_->show_block(life);
}

void MemoryView::go_to_holder(traces::MemoryEventPointer allocation) {
  if (allocation == nullptr) return;
  go_to(memory_->sample_of(allocation));
  map_->select(allocation);
}

void MemoryView::show_what_would_lower() {
  lower_->setCurrentWidget(changes_);
  if (!changes_->is_asked()) find_what_would_lower();
}

void MemoryView::find_what_would_lower() {
  const DocumentPtr document = session().current();
  ChangesQuestion question;
  question.source = source_of(*document);
  question.rank = memory_->curve()->rank();
  question.path = document->path();
  question.kind = document->kind;
  if (document->run != nullptr) question.job = document->run->job;
  changes_->ask(std::move(question));
}

// Another step may have the same peak: the one that is shown goes first.
void MemoryView::go_to_peak() {
  go_to(memory_->peak_near(session().steady_step()));
}

void MemoryView::go_to(std::size_t sample) {
  move_to(sample);
  const std::int64_t at = memory_->curve()->position(clock_, sample);
  const traces::Interval window = axis().window();
  if (at >= window.start_ns && at <= window.end_ns) return;
  const std::int64_t half = (window.end_ns - window.start_ns) / 2;
  axis().show({at - half, at + half});
}

void MemoryView::keyPressEvent(QKeyEvent* event) {
  if (moment_ == nullptr) return View::keyPressEvent(event);
  if (event->modifiers() == Qt::NoModifier) {
    switch (event->key()) {
      case Qt::Key_K: go_to_peak(); return;
      case Qt::Key_T: {
        int next = static_cast<int>(clock_);
        do {
          next = (next + 1) % kMemoryClocks;
        } while (!memory_->curve()->has(static_cast<MemoryClock>(next)));
        choose_clock(static_cast<MemoryClock>(next));
        return;
      }
      case Qt::Key_Comma:
        if (*sample_ > 0) move_to(*sample_ - 1);
        return;
      case Qt::Key_Period:
        if (*sample_ + 1 < memory_->curve()->size()) move_to(*sample_ + 1);
        return;
      case Qt::Key_B: return toggle_comparison();
      case Qt::Key_BracketLeft:
        if (life_) go_to(memory_->sample_of(life_->allocation));
        return;
      case Qt::Key_BracketRight:
        if (life_ && life_->freed != nullptr) go_to(memory_->sample_of(life_->freed));
        return;
      default: break;
    }
  }
  // With Shift on some keyboards, with AltGr on others.
  const bool is_brace = event->key() == Qt::Key_BraceLeft || event->key() == Qt::Key_BraceRight;
  if (is_brace) {
    if (life_) go_to_holder(event->key() == Qt::Key_BraceLeft ? life_->before : life_->after);
    return;
  }
  if (!canvas_->press(*event)) View::keyPressEvent(event);
}

Description MemoryView::description() const {
  Description all = description_of(session().current());
  all.headline = strip_->accessibleName().trimmed();
  return all;
}

QString MemoryView::as_text() const {
  const Sentence& sentence = strip_->sentence();
  return QStringList{sentence.lead + QLatin1Char(' ') + sentence.text, sentence.detail,
                     memory_ == nullptr ? QString() : memory_->answer().explanation,
                     inspector_->as_text()}
      .join(QLatin1Char('\n'));
}

QString MemoryView::status() const {
  if (moment_ == nullptr || moment_->map.pools.empty()) return {};
  const Figure row = bytes_figure(map_->bytes_per_row());
  return tr("1 row = %1 %2 of one pool, by address")
      .arg(QString::number(row.number.toDouble()), row.unit);
}

std::vector<KeyHelp> MemoryView::keys() const {
  return {{tr("Next clock: device time, host time, event order"), QStringLiteral("T")},
          {tr("Go to the peak"), QStringLiteral("K")},
          {tr("Previous, next event of memory"), QStringLiteral(", .")},
          {tr("Compare with this moment, or no longer"), QStringLiteral("B")},
          {tr("Where the selected block was allocated, freed"), QStringLiteral("[ ]")},
          {tr("Which block lay there before, and next"), QStringLiteral("{ }")},
          {tr("Zoom in, out"), tr("W S, Ctrl+wheel")},
          {tr("Pan"), tr("A D, arrows, drag, Shift+wheel")},
          {tr("Four times as far"), tr("Shift with W A S D")},
          {tr("Select a range"), tr("Shift+drag, drag on the ruler")},
          {tr("Set or remove a mark, go to the next one"), tr("M, Shift+M")},
          {tr("Fit the selection, then the step"), tr("F")},
          {tr("Fit the whole trace"), tr("0")},
          {tr("Clear the range, then the selection"), tr("Esc")}};
}

}  // namespace foreshard::gui
