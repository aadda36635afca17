#include "gui/views/inspector/search.hpp"

#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <utility>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kBins = 48;
constexpr int kMagnifierRoom = 20;
constexpr double kLensRadius = 4;

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

SearchField::SearchField(Search& search, QWidget* parent) : QLineEdit(parent), search_(search) {
  setPlaceholderText(tr("Search events, units, keys"));
  setAccessibleName(tr("Search"));
  setToolTip(
      tr("Words match name, unit and key. Filters: unit: phase: rank: track: dur> dur< bytes> "
         "bytes<"));
  setTextMargins(kMagnifierRoom, 0, kMagnifierRoom, 0);
  connect(this, &QLineEdit::textChanged, &search, &Search::set_text);
  connect(&search, &Search::text_changed, this, [this] {
    if (text() != search_.text()) setText(search_.text());
  });
}

QSize SearchField::sizeHint() const {
  return {scaled(220), scaled(26)};
}

void SearchField::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::text2], 1.4));
  painter.setBrush(Qt::NoBrush);
  const QPointF lens(14, height() / 2.0 - 1);
  painter.drawEllipse(lens, kLensRadius, kLensRadius);
  painter.drawLine(lens + QPointF(3, 3), lens + QPointF(6, 6));
  const QString key = QStringLiteral("/");
  if (!hasFocus() && text().isEmpty()) {
    draw_key_cap(painter, width() - key_cap_width(key) - 6, height() / 2.0, key);
  }
}

void SearchField::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (event->modifiers() & Qt::ShiftModifier) {
        search_.previous();
      } else {
        search_.next();
      }
      return;
    case Qt::Key_Escape:
      clear();
      Q_EMIT left();
      return;
    default: QLineEdit::keyPressEvent(event);
  }
}

}  // namespace foreshard::gui
