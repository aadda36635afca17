#include "gui/models/what_if/what_if.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/models/what_if/plan_control.hpp"

namespace foreshard::gui {
namespace {

// As `foreshard predict --trace` writes it, with the prediction that views explain it by.
DocumentPtr document_of(std::shared_ptr<const PredictedRun> run, const QString& title) {
  if (run == nullptr) return nullptr;
  const DocumentPtr made =
      make_document(simulator::to_trace(run->job, run->prediction, "foreshard-gui"),
                    Source::what_if, QStringLiteral("What-if"), title);
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
            start_from_nothing(key_error_text(started->settings.error()));
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
  why_nothing_.clear();
  start_ = settings;
  undone_from_.clear();
  redone_from_.clear();
  dragged_from_.reset();
  is_moved_ = false;
  take(std::move(settings));
  Q_EMIT started();
}

void WhatIf::rebase(WhatIfSettings settings) {
  if (why_nothing_.isEmpty()) keep(settings_);
  why_nothing_.clear();
  start_ = settings;
  is_moved_ = true;
  take(std::move(settings));
}

void WhatIf::start_from_nothing(const QString& why) {
  why_nothing_ = why;
  prediction_.forget();
  survey_.forget();
  publication_.forget();
  undone_from_.clear();
  redone_from_.clear();
  outcome_ = nullptr;
  surroundings_ = nullptr;
  error_.reset();
  rest_.stop();
  lateness_.stop();
  is_late_ = false;
  Q_EMIT outcome_changed();
  Q_EMIT surroundings_changed();
  Q_EMIT busy_changed();
  Q_EMIT started();
}

void WhatIf::start_from_trace(std::shared_ptr<const traces::Trace> trace, const QString& title) {
  starting_.request([trace = std::move(trace), file = title.toStdString()] {
    return std::make_shared<const Started>(Started{settings_of(*trace, file)});
  });
}

void WhatIf::change(WhatIfSettings settings) {
  if (settings == settings_ && why_nothing_.isEmpty()) return;
  why_nothing_.clear();
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

void WhatIf::set_model(const std::string& name) {
  WhatIfSettings settings = settings_;
  settings.question.model = start_.question.model;
  settings.question.model_path = start_.question.model_path;
  change(with_model(settings_, name).value_or(std::move(settings)));
}

void WhatIf::set_machine(const std::string& id) {
  const auto settings = with_machine(settings_, id);
  change(settings ? *settings : with_place_of(settings_, start_));
}

void WhatIf::set_ranks(int ranks) {
  WhatIfSettings settings = settings_;
  const int nodes = settings.nodes();
  settings.question.ranks = ranks;
  settings.question.nodes = std::max(std::min(nodes, ranks), settings.fewest_nodes());
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
  const Question &asks = settings.question, &asked = start_.question;
  if (!(asks.model == asked.model)) keys.emplace_back("model");
  if (asks.machine_id != asked.machine_id || settings.costs != start_.costs) {
    keys.emplace_back("machine");
  }
  if (asks.ranks != asked.ranks) keys.emplace_back("ranks");
  if (settings.nodes() != start_.nodes()) keys.emplace_back("nodes");
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
    if (key == "model") words << QString::fromStdString(settings.question.model.name);
    if (key == "machine") words << settings.place();
    if (key == "ranks") words << tr("%n ranks", nullptr, settings.question.ranks);
    if (key == "nodes") words << tr("%n nodes", nullptr, settings.nodes());
    if (control_of(key) != nullptr) words << change_text(key, settings.plan);
  }
  return words.isEmpty() ? tr("baseline") : words.join(QStringLiteral(", "));
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
  publication_.request([predictor = predictor_, settings = settings_] {
    return document_of(predictor->take(settings), settings.title());
  });
}

}  // namespace foreshard::gui
