#include "gui/models/session/session.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "gui/models/timeline/same_event.hpp"

namespace foreshard::gui {

Session::Session(QObject* parent) : QObject(parent) {
  connect(&selection_, &Selection::event_changed, this, &Session::follow_selection);
}

DocumentPtr Session::current() const {
  return current_ < 0 ? nullptr : documents_[static_cast<std::size_t>(current_)];
}

void Session::add(DocumentPtr document) {
  documents_.push_back(std::move(document));
  Q_EMIT documents_changed();
  set_current(static_cast<int>(documents_.size()) - 1);
}

void Session::replace(int index, DocumentPtr document) {
  DocumentPtr& place = documents_.at(static_cast<std::size_t>(index));
  std::optional<EventId> selected = selection_.event();
  if (selected && selected->document == index) {
    const auto there = same_event(*place->trace, selected->event, *document->trace);
    selected = there ? std::optional(EventId{index, *there}) : std::nullopt;
    selection_.select(std::nullopt);
  }
  place = std::move(document);
  Q_EMIT documents_changed();
  if (index == current_) {
    measure();
    Q_EMIT current_changed();
  }
  selection_.select(selected);
}

void Session::close(int index) {
  documents_.erase(documents_.begin() + index);
  const int last = static_cast<int>(documents_.size()) - 1;
  const int next = current_ > index || current_ > last ? current_ - 1 : current_;
  selection_.clear();
  current_ = -2;  // whichever is current now is another one
  Q_EMIT documents_changed();
  set_current(next);
}

void Session::follow_selection() {
  const auto& selected = selection_.event();
  if (!selected) return;
  const traces::Trace& trace = *documents_[static_cast<std::size_t>(selected->document)]->trace;
  const auto event = static_cast<std::size_t>(selected->event);
  if (event >= trace.events.size()) return;
  const std::int32_t lane = trace.events[event].lane;
  selection_.set_rank(trace.lanes[static_cast<std::size_t>(lane)].rank);
}

// The rank that is shown is one that the current document has.
void Session::choose_rank() {
  const auto& ranks = current()->analysis->ranks;
  const auto shown = std::ranges::find(ranks, selection_.rank(), &profiler::RankAnalysis::rank);
  if (shown == ranks.end() && !ranks.empty()) selection_.set_rank(ranks.front().rank);
}

void Session::set_current(int index) {
  if (index == current_) return;
  current_ = index;
  measure();
  if (current() != nullptr) axis_.show(steady_step());
  Q_EMIT current_changed();
}

void Session::show_what_if(DocumentPtr document) {
  for (std::size_t n = 0; n < documents_.size(); ++n) {
    if (documents_[n]->source == Source::what_if)
      return replace(static_cast<int>(n), std::move(document));
  }
  add(std::move(document));
}

DocumentPtr Session::what_if() const {
  for (const DocumentPtr& document : documents_) {
    if (document->source == Source::what_if) return document;
  }
  return nullptr;
}

void Session::measure() {
  everything_ = {0, 1'000'000'000};
  const DocumentPtr document = current();
  if (document == nullptr) return;
  choose_rank();
  traces::Interval all{std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::int64_t>::min()};
  const auto take = [&](std::int64_t start, std::int64_t end) {
    all.start_ns = std::min(all.start_ns, start);
    all.end_ns = std::max(all.end_ns, end);
  };
  for (const traces::Event& event : document->trace->events) take(event.start_ns, event.end_ns);
  for (const traces::MemoryEvent& event : document->trace->memory)
    take(event.time_ns, event.time_ns);
  if (all.start_ns <= all.end_ns) everything_ = all;
  axis_.set_bounds(everything_);
}

traces::Interval Session::steady_step() const {
  const DocumentPtr document = current();
  if (document == nullptr || document->trace->steps.empty()) return everything();
  const auto& steps = document->trace->steps;
  const auto last = std::max_element(steps.begin(), steps.end(),
                                     [](const auto& a, const auto& b) { return a.step < b.step; });
  traces::Interval window{last->start_ns, last->end_ns};
  for (const traces::Step& step : steps) {
    if (step.step != last->step) continue;
    window.start_ns = std::min(window.start_ns, step.start_ns);
    window.end_ns = std::max(window.end_ns, step.end_ns);
  }
  return window;
}

}  // namespace foreshard::gui
