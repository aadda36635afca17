#include "gui/views/compare/compare_inspector.hpp"

#include <QMouseEvent>
#include <QPushButton>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/models/comparison/operator_pairs.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kScatterWidth = 288, kScatterLeft = 44, kScatterBottom = 22;
constexpr double kScatterTop = 2, kRightMargin = 2, kBelow = 2;

// Zero is none of it.
std::vector<Fact> side_facts(const SideWords& words, std::int64_t baseline,
                             std::int64_t candidate) {
  const auto text = [](std::int64_t ns) {
    return ns == 0 ? CompareInspector::tr("none") : time_figure(static_cast<double>(ns)).text();
  };
  const auto fact = [](const QString& label, const QString& value, const QString& note = {}) {
    Fact one;
    one.label = label.left(1).toUpper() + label.mid(1);
    one.value = value;
    one.note = note;
    return one;
  };
  std::vector<Fact> facts{
      fact(words.baseline, text(baseline)), fact(words.candidate, text(candidate)),
      fact(CompareInspector::tr("Difference"), signed_time_text(candidate - baseline),
           signed_percent_text(candidate, baseline))};
  facts.back().value_role = candidate == baseline  ? Role::text
                            : candidate > baseline ? Role::warn
                                                   : Role::focus;
  return facts;
}

}  // namespace

PairScatter::PairScatter(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Every pair of this step"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
}

void PairScatter::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  operator_ = nullptr;
  update();
}

void PairScatter::set_operator(const OperatorPairs* pairs) {
  operator_ = pairs;
  update();
}

QRectF PairScatter::area() const {
  const double left = scaled(kScatterLeft), bottom = scaled(kScatterBottom);
  const double size = std::max(
      std::min(width() - left - kRightMargin, height() - kScatterTop - bottom - kBelow), 20.0);
  return {left, kScatterTop, size, size};
}

QSize PairScatter::sizeHint() const {
  const double side = kScatterWidth - scaled(kScatterLeft) - kRightMargin;
  return {kScatterWidth, static_cast<int>(kScatterTop + side + scaled(kScatterBottom) + kBelow)};
}

QPointF PairScatter::place(const ComparedPair& pair) const {
  const QRectF box = area();
  const PairPlot& plot = comparison_->step.plot;
  return {box.left() + plot.share(pair.baseline_ns) * box.width(),
          box.bottom() - plot.share(pair.candidate_ns) * box.height()};
}

void PairScatter::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRectF box = area();
  painter.fillRect(box, theme()[Role::canvas]);
  if (!comparison_) return;
  const TraceComparison& shown = *comparison_;
  const double lowest = shown.step.plot.lowest(), highest = shown.step.plot.highest();
  painter.setFont(gui::font(Text::tick));
  const QFontMetricsF metrics(painter.font());
  double named_to = 0;  // pixels that names of the horizontal axis take
  for (double decade = std::ceil(lowest); decade <= highest; ++decade) {
    const double at = (decade - lowest) / (highest - lowest);
    const double x = std::round(box.left() + at * box.width());
    const double y = std::round(box.bottom() - at * box.height());
    painter.fillRect(QRectF(x, box.top(), 1, box.height()), theme()[Role::grid]);
    painter.fillRect(QRectF(box.left(), y, box.width(), 1), theme()[Role::grid]);
    const double ns = std::pow(10, decade);
    const QString text = ns < 1e3   ? tr("%1 ns").arg(ns)
                         : ns < 1e6 ? tr("%1 us").arg(ns / 1e3)
                         : ns < 1e9 ? tr("%1 ms").arg(ns / 1e6)
                                    : tr("%1 s").arg(ns / 1e9);
    painter.setPen(theme()[Role::text3]);
    painter.drawText(QRectF(0, y - 8, box.left() - 6, 16), Qt::AlignRight | Qt::AlignVCenter, text);
    const double half = metrics.horizontalAdvance(text) / 2;
    if (x - half < named_to + 4) continue;
    named_to = x + half;
    painter.drawText(QRectF(x - 30, box.bottom() + 4, 60, 16), Qt::AlignCenter, text);
  }
  painter.setPen(theme()[Role::strong_line]);
  painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
  painter.setClipRect(box);
  painter.setRenderHint(QPainter::Antialiasing);
  if (shown.band && shown.are_steps_comparable()) {
    // Durations whose prediction is off by no more than the step's may be.
    const auto step = static_cast<double>(shown.whole->candidate_step_ns);
    const double low = std::log10(step / static_cast<double>(shown.band->end_ns));
    const double high = std::log10(step / static_cast<double>(shown.band->start_ns));
    const double pixels = box.height() / (highest - lowest);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme()[Role::line]);
    painter.drawPolygon(QPolygonF({box.bottomLeft() - QPointF(0, low * pixels),
                                   box.topRight() - QPointF(0, low * pixels),
                                   box.topRight() - QPointF(0, high * pixels),
                                   box.bottomLeft() - QPointF(0, high * pixels)}));
  }
  painter.setPen(QPen(theme()[Role::strong_line], 1.6));
  painter.drawLine(box.bottomLeft(), box.topRight());
  painter.setPen(Qt::NoPen);
  for (const ComparedPair& pair : shown.step.seen) {
    painter.setBrush(theme().towards_canvas(theme()[pair.colour], 0.4));
    painter.drawEllipse(place(pair), 2.2, 2.2);
  }
  if (operator_ != nullptr) {
    painter.setPen(QPen(theme()[Role::text], 1));
    for (const ComparedPair& pair : operator_->seen) {
      painter.setBrush(theme()[pair.colour]);
      painter.drawEllipse(place(pair), 3.5, 3.5);
    }
  }
  painter.setPen(theme()[Role::text2]);
  painter.drawText(box.adjusted(6, 4, -6, -4), Qt::AlignLeft | Qt::AlignTop, shown.sides.candidate);
  painter.drawText(box.adjusted(6, 4, -6, -4), Qt::AlignRight | Qt::AlignBottom,
                   shown.sides.baseline);
}

void PairScatter::mousePressEvent(QMouseEvent* event) {
  if (!comparison_) return;
  const ComparedPair* nearest = nullptr;
  double distance = 8;
  for (const ComparedPair& pair : comparison_->step.seen) {
    const double away = (place(pair) - event->position()).manhattanLength();
    if (away >= distance) continue;
    distance = away;
    nearest = &pair;
  }
  if (nearest != nullptr) Q_EMIT pair_chosen(nearest->events.baseline);
}

CompareInspector::CompareInspector(QWidget* parent)
    : SidePanel(parent),
      scatter_(new PairScatter(this)),
      copy_(add_button(tr("Copy as text"))),
      next_(add_button(tr("Next worst"), QStringLiteral("]"))) {
  scatter_->hide();
  connect(scatter_, &PairScatter::pair_chosen, this, &CompareInspector::pair_chosen);
  connect(next_, &QPushButton::clicked, this, &CompareInspector::next_worst);
  connect(copy_, &QPushButton::clicked, this, &CompareInspector::copy_wanted);
  set_comparison(nullptr);
}

void CompareInspector::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  scatter_->set_comparison(comparison_);
  for (QWidget* button : {copy_, next_}) button->setVisible(comparison_ != nullptr);
  if (comparison_ == nullptr) show_content({});
}

QString CompareInspector::band_text() const {
  if (!comparison_->band || !comparison_->are_steps_comparable()) return {};
  const auto step = static_cast<double>(comparison_->whole->candidate_step_ns);
  const auto half =
      static_cast<double>(comparison_->band->end_ns - comparison_->band->start_ns) / 2;
  return tr("Shaded: ± %1, the 90 % band of the whole step.").arg(percent_text(half / step));
}

void CompareInspector::show_cause(const Cause* cause, const ComparedPair* pair) {
  if (!comparison_) return;
  const StepComparison& step = comparison_->step;
  const std::string name = pair != nullptr ? step.name(*pair) : cause != nullptr ? cause->name : "";
  const OperatorPairs* pairs = step.pairs_of(name);
  const PairSpread spread = pairs == nullptr ? PairSpread() : pairs->spread;
  std::vector<Fact> facts;
  QString detail;
  if (pair != nullptr) {
    const traces::Trace& trace = step.baseline.trace();
    const auto& event = trace.events[static_cast<std::size_t>(pair->events.baseline)];
    QStringList parts;
    for (const traces::StringId text : {event.unit, event.phase}) {
      if (text != 0) parts << QString::fromStdString(trace.strings[text]);
    }
    detail = parts.join(QStringLiteral(" · "));
    facts = side_facts(comparison_->sides, pair->baseline_ns, pair->candidate_ns);
  } else if (cause != nullptr) {
    detail = tr("%1 in this step of rank %2; the times are of all ranks")
                 .arg(count_figure(static_cast<std::int64_t>(spread.pairs)).number)
                 .arg(step.choice.rank);
    facts = side_facts(comparison_->sides, cause->baseline_ns, cause->candidate_ns);
  }
  PanelContent content{{name.empty() ? tr("No differences") : QString::fromStdString(name)}, {}};
  content.headline.detail = detail;
  content.sections = {{}, {tr("Every pair of this step")}, {tr("Why")}};
  content.sections[0].facts = std::move(facts);
  if (!step.pairs.empty()) {
    content.sections[1].plot = scatter_;
    content.sections[1].text = band_text();
  }
  content.sections[2].text = why_sentence(spread, comparison_->sides.is_prediction);
  scatter_->set_operator(pairs);
  show_content(std::move(content));
}

}  // namespace foreshard::gui
