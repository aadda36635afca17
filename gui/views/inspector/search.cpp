#include "gui/views/inspector/search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace foreshard::gui {
namespace {

std::int64_t length_of(const traces::Trace& trace, std::int32_t event) {
  const traces::Event& one = trace.events[static_cast<std::size_t>(event)];
  return one.end_ns - one.start_ns;
}

// One pass without limits of duration gives the histogram; those within them are the hits.
std::shared_ptr<const SearchHits> hits_of(DocumentPtr document, EventQuery query) {
  const traces::Trace& trace = *document->trace;
  const std::int64_t above = std::exchange(query.above_ns, -1);
  const std::int64_t below =
      std::exchange(query.below_ns, std::numeric_limits<std::int64_t>::max());
  auto hits = std::make_shared<SearchHits>();
  std::vector<std::int64_t> durations;
  for (const std::int32_t event : find_events(trace, query)) {
    const std::int64_t duration = length_of(trace, event);
    durations.push_back(duration);
    if (duration > above && duration < below) hits->events.push_back(event);
  }
  hits->durations = histogram(durations);
  hits->document = std::move(document);
  return hits;
}

}  // namespace

Search::Search(Session& session, QObject* parent)
    : QObject(parent),
      session_(session),
      newest_(
          this,
          [this](std::shared_ptr<const SearchHits> hits) {
            hits_ = std::move(hits);
            Q_EMIT hits_changed();
          },
          [this] { Q_EMIT busy_changed(); }) {
  connect(&session, &Session::current_changed, this, &Search::look);
}

void Search::set_text(const QString& text) {
  if (text == text_) return;
  text_ = text;
  query_ = parse_query(text);
  Q_EMIT text_changed();
  look();
}

void Search::look() {
  const DocumentPtr document = session_.current();
  if (document == nullptr || query_.is_empty()) {
    newest_.forget();
    hits_ = std::make_shared<SearchHits>();
    Q_EMIT hits_changed();
    return;
  }
  newest_.request([document, query = query_] { return hits_of(document, query); });
}

void Search::next() {
  step(1);
}
void Search::previous() {
  step(-1);
}

void Search::step(int by) {
  const std::vector<std::int32_t>& events = hits_->events;
  const auto& documents = session_.documents();
  const auto place = std::find(documents.begin(), documents.end(), hits_->document);
  if (events.empty() || place == documents.end()) return;
  const auto count = static_cast<std::ptrdiff_t>(events.size());
  const auto& selected = session_.selection().event();
  const auto& all = hits_->document->trace->events;
  const int document = static_cast<int>(place - documents.begin());

  // The selected event need not be a hit: then the nearest one after it, or before it, is meant.
  std::ptrdiff_t target = by > 0 ? 0 : count - 1;
  if (selected && selected->document == document &&
      static_cast<std::size_t>(selected->event) < all.size()) {
    const auto moment = [&](std::int32_t event) {
      return std::pair(all[static_cast<std::size_t>(event)].start_ns, event);
    };
    const auto before = [&](std::int32_t a, std::int32_t b) { return moment(a) < moment(b); };
    target = by > 0 ? std::upper_bound(events.begin(), events.end(), selected->event, before) -
                          events.begin()
                    : std::lower_bound(events.begin(), events.end(), selected->event, before) -
                          events.begin() - 1;
  }
  target = (target + count) % count;
  session_.selection().select(EventId{document, events[static_cast<std::size_t>(target)]});
}

}  // namespace foreshard::gui
