#include "gui/views/inspector/search.hpp"

#include <algorithm>
#include <utility>

namespace foreshard::gui {
namespace {

constexpr std::size_t kBins = 48;

bool is_duration(const SearchTerm& term) {
  return term.field == SearchTerm::Field::longer || term.field == SearchTerm::Field::shorter;
}

std::shared_ptr<const SearchResult> look_through(DocumentPtr document, const SearchQuery& query,
                                                 const std::atomic<bool>& is_cancelled) {
  const traces::Trace& trace = *document->trace;
  auto result = std::make_shared<SearchResult>();
  result->hits = Hits(trace, query, is_cancelled);
  SearchQuery of_any_length = query;
  std::erase_if(of_any_length.terms, is_duration);
  const bool has_limits = of_any_length.terms.size() < query.terms.size();
  result->durations = has_limits && !of_any_length.is_empty()
                          ? Hits(trace, of_any_length, is_cancelled).durations(trace, kBins)
                          : result->hits.durations(trace, kBins);
  result->document = std::move(document);
  return result;
}

}  // namespace

Search::Search(Session& session, QObject* parent)
    : QObject(parent),
      session_(session),
      newest_(
          this,
          [this](std::shared_ptr<const SearchResult> result) {
            result_ = std::move(result);
            Q_EMIT result_changed();
          },
          [this] { Q_EMIT busy_changed(); }) {
  connect(&session, &Session::current_changed, this, &Search::look);
}

Search::~Search() {
  if (is_cancelled_) *is_cancelled_ = true;
}

void Search::set_text(const QString& text) {
  if (text == text_) return;
  text_ = text;
  query_ = parse_query(text);
  Q_EMIT text_changed();
  look();
}

QStringList Search::filters() const {
  QStringList filters;
  for (const SearchTerm& term : query_.terms) {
    if (term.field != SearchTerm::Field::any) filters << term.written;
  }
  return filters;
}

void Search::drop_filter(const QString& filter) {
  QStringList terms = text_.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  terms.removeOne(filter);
  set_text(terms.join(QLatin1Char(' ')));
}

void Search::look() {
  if (is_cancelled_) *is_cancelled_ = true;
  const DocumentPtr document = session_.current();
  if (document == nullptr || query_.is_empty() || !query_.error.isEmpty()) {
    newest_.forget();
    result_ = std::make_shared<SearchResult>();
    Q_EMIT result_changed();
    return;
  }
  is_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  newest_.request([document, query = query_, is_cancelled = is_cancelled_] {
    return look_through(document, query, *is_cancelled);
  });
}

int Search::result_document() const {
  const auto& documents = session_.documents();
  const auto place = std::find(documents.begin(), documents.end(), result_->document);
  return place == documents.end() ? -1 : static_cast<int>(place - documents.begin());
}

void Search::next() {
  step(1);
}
void Search::previous() {
  step(-1);
}

void Search::step(int by) {
  const int document = result_document();
  if (document < 0) return;
  const auto& selected = session_.selection().event();
  const bool is_there = selected && selected->document == document;
  const auto from = is_there ? std::optional(selected->event) : std::nullopt;
  const auto event = result_->hits.next(*result_->document->trace, from, by);
  if (event) session_.selection().select(EventId{document, *event});
}

}  // namespace foreshard::gui
