#include "gui/models/session/session.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "gui/models/timeline/same_event.hpp"

namespace foreshard::gui {
namespace {

// Of its step with the number of `step`, else of its last, else of everything.
std::int64_t start_of(const Document& document, const StepSpan* step) {
  const StepSpan* its = step == nullptr ? nullptr : document.step(step->number);
  return its == nullptr ? document.steady_step().start_ns : its->span.start_ns;
}

}  // namespace

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
  axis_.show(steady_step());
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
    choose_rank();
    axis_.set_bounds(everything());
    Q_EMIT current_changed();
  }
  selection_.select(selected);
}

void Session::close(int index) {
  selection_.clear();
  documents_.erase(documents_.begin() + index);
  const int last = static_cast<int>(documents_.size()) - 1;
  const int next = current_ > index || current_ > last ? current_ - 1 : current_;
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
  std::optional<traces::Interval> window;
  if (current() != nullptr && index >= 0) {
    const std::int64_t shift = -offset_ns(index);
    window = later(axis_.window(), shift);
    if (const auto& range = selection_.range()) selection_.set_range(later(*range, shift));
  }
  current_ = index;
  if (current() != nullptr) choose_rank();
  axis_.set_bounds(everything());
  if (current() != nullptr)
    axis_.show(window && traces::overlap({*window}, {everything()}) > 0 ? *window : steady_step());
  Q_EMIT current_changed();
}

void Session::show_next_rank(int by) {
  if (current() == nullptr || current()->analysis->ranks.empty()) return;
  const auto& ranks = current()->analysis->ranks;
  const auto shown = std::ranges::find(ranks, selection_.rank(), &profiler::RankAnalysis::rank);
  const auto count = std::ssize(ranks);
  const auto next = (shown - ranks.begin() + by + count) % count;
  selection_.set_rank(ranks[static_cast<std::size_t>(next)].rank);
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

traces::Interval Session::steady_step() const {
  const DocumentPtr document = current();
  return document == nullptr ? Document().extent : document->steady_step();
}

traces::Interval Session::everything() const {
  const DocumentPtr document = current();
  return document == nullptr ? Document().extent : document->extent;
}

void Session::align_by(AlignBy what) {
  if (std::exchange(aligned_by_, what) != what) Q_EMIT alignment_changed();
}

std::int64_t Session::offset_ns(int index) const {
  const DocumentPtr shown = current();
  if (shown == nullptr) return 0;
  return offset_ns(*documents_.at(static_cast<std::size_t>(index)),
                   shown->step_at(axis_.ns_at(axis_.width() / 2)));
}

traces::Interval Session::span(EventId id) const {
  return later(own_span(id), offset_ns(id.document));
}

traces::Interval Session::span_there(EventId id) const {
  const DocumentPtr shown = current();
  const Document& document = *documents_.at(static_cast<std::size_t>(id.document));
  const StepSpan* its = document.step_at(own_span(id).start_ns);
  const StepSpan* step = its == nullptr ? nullptr : shown->step(its->number);
  if (step == nullptr && !shown->steps.empty()) step = &shown->steps.back();
  return later(own_span(id), offset_ns(document, step));
}

traces::Interval Session::own_span(EventId id) const {
  const traces::Trace& trace = *documents_.at(static_cast<std::size_t>(id.document))->trace;
  const traces::Event& event = trace.events[static_cast<std::size_t>(id.event)];
  return {event.start_ns, event.end_ns};
}

// Where `step` is the current document's.
std::int64_t Session::offset_ns(const Document& document, const StepSpan* step) const {
  if (aligned_by_ == AlignBy::clock || &document == current().get()) return 0;
  return start_of(*current(), step) - start_of(document, step);
}

}  // namespace foreshard::gui
