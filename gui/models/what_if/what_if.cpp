#include "gui/models/what_if/what_if.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/models/what_if/plan_control.hpp"

namespace foreshard::gui {
namespace {

// As `foreshard predict --trace` writes it, with the prediction that views explain it by.
DocumentPtr document_of(const WhatIfSettings& settings, const std::atomic<bool>& is_unwanted) {
  Result<Job> job = make_job(settings);
  if (!job) return nullptr;
  simulator::PredictionOptions options = settings.costs->options();
  options.keeps_memory_records = options.wants_path = options.wants_explanation = true;
  auto run = std::make_shared<PredictedRun>();
  run->prediction = simulator::predict(*job, options);
  if (is_unwanted) return nullptr;
  run->job = std::move(*job);
  const DocumentPtr made =
      make_document(simulator::to_trace(run->job, run->prediction, "foreshard-gui"),
                    Source::what_if, QStringLiteral("What-if"), settings.title());
  auto document = std::make_shared<Document>(*made);
  document->run = std::move(run);
  return document;
}

}  // namespace

WhatIf::WhatIf(QObject* parent)
    : QObject(parent),
      start_(default_settings()),
      settings_(start_),
      prediction_(
          this, [this](const OutcomePtr& outcome) { use(outcome); },
          [this] { Q_EMIT busy_changed(); }, Overtaken::used),
      survey_(
          this,
          [this](std::shared_ptr<const Surroundings> found) {
            surroundings_ = std::move(found);
            Q_EMIT surroundings_changed();
          },
          [this] { Q_EMIT busy_changed(); }),
      publication_(
          this,
          [this](DocumentPtr document) {
            if (document != nullptr) Q_EMIT document_changed(std::move(document));
          },
          [this] { Q_EMIT busy_changed(); }),
      starting_(
          this,
          [this](const std::shared_ptr<const Started>& started) {
            if (started->settings) return start_from(*started->settings);
            Q_EMIT trouble(key_error_text(started->settings.error()));
          },
          [this] { Q_EMIT busy_changed(); }) {
  rest_.setSingleShot(true);
  rest_.setInterval(kRestMs);
  connect(&rest_, &QTimer::timeout, this, &WhatIf::rested);
  lateness_.setSingleShot(true);
  lateness_.setInterval(kSlowMs);
  connect(&lateness_, &QTimer::timeout, this, [this] {
    is_late_ = true;
    Q_EMIT outdated_changed();
  });
}

WhatIf::~WhatIf() = default;

void WhatIf::start_from(WhatIfSettings settings) {
  start_ = settings;
  undone_from_.clear();
  redone_from_.clear();
  dragged_from_.reset();
  is_moved_ = false;
  take(std::move(settings));
}

void WhatIf::start_from_trace(std::shared_ptr<const traces::Trace> trace, const QString& title) {
  starting_.request([trace = std::move(trace), file = title.toStdString()] {
    return std::make_shared<const Started>(Started{settings_of(*trace, file)});
  });
}

void WhatIf::change(WhatIfSettings settings) {
  if (settings == settings_) return;
  if (!dragged_from_) keep(settings_);
  is_moved_ = true;
  take(std::move(settings));
}

void WhatIf::keep(WhatIfSettings settings) {
  undone_from_.push_back(std::move(settings));
  redone_from_.clear();
}

void WhatIf::begin_drag() {
  dragged_from_ = settings_;
}

void WhatIf::end_drag() {
  if (dragged_from_ && !(*dragged_from_ == settings_)) keep(std::move(*dragged_from_));
  dragged_from_.reset();
}

void WhatIf::set_value(const std::string& key, const std::string& value) {
  apply({{key, value}});
}

void WhatIf::set_ranks(int ranks) {
  WhatIfSettings settings = settings_;
  settings.ranks = ranks;
  const auto needed = ceil_divide(ranks, settings.costs->ranks_per_node());
  settings.nodes = std::max(std::min(settings.nodes, ranks), static_cast<int>(needed));
  change(std::move(settings));
}

void WhatIf::undo() {
  end_drag();
  if (!can_undo()) return;
  redone_from_.push_back(settings_);
  WhatIfSettings before = std::move(undone_from_.back());
  undone_from_.pop_back();
  take(std::move(before));
}

void WhatIf::redo() {
  end_drag();
  if (!can_redo()) return;
  undone_from_.push_back(settings_);
  WhatIfSettings after = std::move(redone_from_.back());
  redone_from_.pop_back();
  take(std::move(after));
}

std::vector<std::string> WhatIf::differences_of(const WhatIfSettings& settings) const {
  std::vector<std::string> keys = settings.plan.differences(start_.plan);
  if (!(settings.model == start_.model)) keys.emplace_back("model");
  if (settings.costs != start_.costs) keys.emplace_back("machine");
  if (settings.ranks != start_.ranks) keys.emplace_back("ranks");
  if (settings.nodes != start_.nodes) keys.emplace_back("nodes");
  return keys;
}

void WhatIf::set_sweep(SweepKeys keys) {
  if (keys == sweep_) return;
  sweep_ = std::move(keys);
  rest_.start();
  Q_EMIT busy_changed();
}

QString WhatIf::next_letter() const {
  return QString(QChar(static_cast<char16_t>(u'A' + letters_ % 26)));
}

void WhatIf::pin() {
  if (outcome_ == nullptr || is_stale()) return;
  pins_.push_back({next_letter(), name_of(settings_), outcome_});
  ++letters_;
  Q_EMIT pins_changed();
}

void WhatIf::unpin(std::size_t pin) {
  pins_.erase(pins_.begin() + static_cast<std::ptrdiff_t>(pin));
  if (pins_.empty()) letters_ = 0;
  Q_EMIT pins_changed();
}

QString WhatIf::name_of(const WhatIfSettings& settings) const {
  QStringList words;
  for (const std::string& key : differences_of(settings)) {
    if (key == "model") words << QString::fromStdString(settings.model.name);
    if (key == "machine") words << settings.costs->name;
    if (key == "ranks") words << tr("%n ranks", nullptr, settings.ranks);
    if (key == "nodes") words << tr("%n nodes", nullptr, settings.nodes);
    if (control_of(key) != nullptr) words << change_text(key, settings.plan);
  }
  return words.isEmpty() ? tr("as it started") : words.join(QStringLiteral(", "));
}

bool WhatIf::is_busy() const {
  return rest_.isActive() || prediction_.is_busy() || survey_.is_busy() || publication_.is_busy() ||
         starting_.is_busy();
}

void WhatIf::take(WhatIfSettings settings) {
  settings_ = std::move(settings);
  if (!is_stale()) error_.reset();  // back to what was answered
  survey_.forget();
  publication_.forget();
  surroundings_ = nullptr;
  rest_.start();
  if (!lateness_.isActive()) lateness_.start();
  prediction_.request(
      [predictor = predictor_, wanted = settings_] { return predictor->predict(wanted); });
  Q_EMIT settings_changed();
  Q_EMIT busy_changed();
}

void WhatIf::use(const OutcomePtr& outcome) {
  const bool is_newest = outcome->settings == settings_;
  is_late_ = false;
  if (is_newest) {
    lateness_.stop();
  } else {
    lateness_.start();
  }
  if (is_newest) error_ = outcome->error;
  if (!outcome->error) outcome_ = outcome;
  Q_EMIT outcome_changed();
  if (is_newest && !rest_.isActive()) rested();
  Q_EMIT busy_changed();
}

void WhatIf::rested() {
  if (is_stale()) {  // still under way, and it comes back here; or wrong
    Q_EMIT busy_changed();
    return;
  }
  survey_.request([present = outcome_, keys = sweep_](const std::atomic<bool>& is_unwanted) {
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency() - 1);
    return survey(present, keys, static_cast<int>(threads), is_unwanted);
  });
  if (is_moved_) publish();
  Q_EMIT busy_changed();
}

void WhatIf::publish() {
  publication_.request([settings = settings_](const std::atomic<bool>& is_unwanted) {
    return document_of(settings, is_unwanted);
  });
}

}  // namespace foreshard::gui
