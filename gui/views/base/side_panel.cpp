#include "gui/views/base/side_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/labels.hpp"

namespace foreshard::gui {
namespace {

constexpr int kPanelPadding = 16, kSectionGap = 12, kRoomAboveTitle = 8, kShareBar = 8;
constexpr int kTitleHeight = 22, kDetailHeight = 22, kFigureHeight = 34;
constexpr double kHeadGap = 8;
constexpr double kOpens = 12;       // room of the mark that others can be chosen
constexpr double kHeadSwatch = 18;  // room of the swatch before the title

// Draws what stands right and returns what is left of the line.
QRectF draw_right(QPainter& painter, QRectF line, Text size, const QString& text) {
  if (text.isEmpty()) return line;
  painter.setFont(gui::font(size));
  painter.setPen(theme()[Role::text2]);
  draw_figure(painter, line, Qt::AlignRight, text);
  line.setRight(line.right() - figure_width(painter.font(), text) - kHeadGap);
  return line;
}

void draw_left(QPainter& painter, const QRectF& line, Text size, Role role, const QString& text) {
  painter.setFont(gui::font(size));
  painter.setPen(theme()[role]);
  draw_figure(painter, line, Qt::AlignLeft, elided_figure(painter.font(), text, line.width()));
}

QString joined(QStringList parts, const QString& between) {
  parts.removeAll(QString());
  return parts.join(between);
}

// Under a hairline, with the units of what follows on the right: `Operators    ms · count`.
class SectionTitle : public PaintedWidget {
 public:
  explicit SectionTitle(QWidget* parent) : PaintedWidget(parent), row_(new QHBoxLayout(this)) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    row_->setContentsMargins(0, kRoomAboveTitle, 0, 0);
    row_->addStretch(1);
  }
  void show_title(const PanelSection& section) {
    if (section.aside != nullptr && row_->indexOf(section.aside) < 0) {
      row_->addWidget(section.aside);
      section.aside->show();
    }
    title_ = section.title;
    note_ = section.note;
    setAccessibleName(joined({title_, note_}, QStringLiteral(", ")));
    update();
  }
  QSize sizeHint() const override {
    return {288, std::max(scaled(20) + kRoomAboveTitle, row_->sizeHint().height())};
  }
  QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setPen(QPen(theme()[Role::line], 0));
    painter.drawLine(0, 0, width(), 0);
    const QRectF box(0, kRoomAboveTitle, width(), height() - kRoomAboveTitle);
    draw_left(painter, draw_right(painter, box, Text::secondary, note_), Text::secondary_strong,
              Role::text2, title_);
  }

 private:
  QHBoxLayout* row_;
  QString title_, note_;
};

// One bar cut into parts by colour. Parts that are too small to see are still 1 pixel wide.
class ShareBar : public PaintedWidget {
 public:
  explicit ShareBar(QWidget* parent) : PaintedWidget(parent) { setFixedHeight(kShareBar); }
  void set_shares(std::vector<Share> shares) {
    shares_ = std::move(shares);
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.fillRect(rect(), theme()[Role::hover]);
    double whole = 0, x = 0;
    for (const Share& share : shares_) whole += share.amount;
    for (const Share& share : shares_) {
      if (share.amount <= 0) continue;
      const double wide = std::max(1.0, share.amount / whole * width());
      painter.fillRect(QRectF(x, 0, std::min(wide, width() - x), height()), theme()[share.colour]);
      x += wide;
    }
  }

 private:
  std::vector<Share> shares_;
};

}  // namespace

QString PanelSection::as_text() const {
  return joined({facts_text(facts), joined({lead, text}, QStringLiteral(" "))},
                QStringLiteral("\n"));
}

const PanelSection& PanelContent::section(const QString& title) const {
  static const PanelSection none;
  const auto found = std::ranges::find(sections, title, &PanelSection::title);
  return found == sections.end() ? none : *found;
}

PanelHead::PanelHead(QWidget* parent) : PaintedWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setMouseTracking(true);
}

void PanelHead::set_headline(Headline headline) {
  headline_ = std::move(headline);
  setAccessibleName(as_text());
  setToolTip(headline_.title);
  setFocusPolicy(headline_.ranks.size() > 1 ? Qt::TabFocus : Qt::NoFocus);
  updateGeometry();
  update();
}

QString PanelHead::rank_text() const {
  return headline_.rank ? tr("rank %1").arg(*headline_.rank) : QString();
}

QString PanelHead::as_text() const {
  return joined({headline_.title, headline_.detail, headline_.figure.text(), headline_.figure_note,
                 headline_.figure_aside, rank_text()},
                QStringLiteral(", "));
}

QSize PanelHead::sizeHint() const {
  const bool has_figure = !headline_.figure.number.isEmpty() || !headline_.figure_aside.isEmpty();
  return {288,
          scaled(kTitleHeight) + scaled(kDetailHeight) + (has_figure ? scaled(kFigureHeight) : 0)};
}

QRectF PanelHead::rank_box() const {
  if (!headline_.rank) return {};
  const double wide = figure_width(gui::font(Text::secondary), rank_text()) + kOpens;
  return {width() - wide, 0, wide, static_cast<double>(scaled(kTitleHeight))};
}

void PanelHead::offer_ranks() {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const int rank : headline_.ranks) {
    QAction* choice = menu->addAction(tr("rank %1").arg(rank));
    choice->setCheckable(true);
    choice->setChecked(rank == headline_.rank);
    connect(choice, &QAction::triggered, this, [this, rank] { Q_EMIT rank_chosen(rank); });
  }
  menu->popup(mapToGlobal(rank_box().bottomLeft().toPoint()));
}

void PanelHead::mouseMoveEvent(QMouseEvent* event) {
  setCursor(rank_box().contains(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void PanelHead::mouseReleaseEvent(QMouseEvent* event) {
  if (rank_box().contains(event->position())) offer_ranks();
}

void PanelHead::keyPressEvent(QKeyEvent* event) {
  const bool opens = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter ||
                     event->key() == Qt::Key_Space;
  if (opens) return offer_ranks();
  PaintedWidget::keyPressEvent(event);
}

void PanelHead::draw_title(QPainter& painter, QRectF line) const {
  if (headline_.rank) {
    const QPointF tip(line.right() - 4, line.center().y() + 2);
    painter.setPen(QPen(theme()[Role::text3], 1.2));
    painter.drawPolyline(QPolygonF({tip + QPointF(-3, -3), tip, tip + QPointF(3, -3)}));
    line.setRight(line.right() - kOpens);
  }
  line = draw_right(painter, line, Text::secondary, rank_text());
  if (headline_.swatch) {
    painter.fillRect(QRectF(line.left(), line.center().y() - 5, 10, 10),
                     theme()[*headline_.swatch]);
    line.setLeft(line.left() + kHeadSwatch);
  }
  draw_left(painter, line, Text::title, Role::text, headline_.title);
}

void PanelHead::draw_detail(QPainter& painter, QRectF line) const {
  for (auto key = headline_.detail_keys.rbegin(); key != headline_.detail_keys.rend(); ++key) {
    const double left = line.right() - key_cap_width(*key);
    draw_key_cap(painter, left, line.center().y(), *key);
    line.setRight(left - kHeadGap);
  }
  line = draw_right(painter, line, Text::body, headline_.detail_note);
  draw_left(painter, line, Text::body, Role::text2, headline_.detail);
}

void PanelHead::draw_figure_line(QPainter& painter, QRectF line) const {
  draw_right(painter, line, Text::body, headline_.figure_aside);
  const double capital = QFontMetricsF(gui::font(Text::key_figure)).capHeight();
  draw_number(painter, {line.left(), line.center().y() + capital / 2}, Text::key_figure,
              headline_.figure, headline_.figure_note, Role::text2);
}

void PanelHead::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  double top = 0;
  const auto line = [&](int tall) {
    const QRectF box(0, top, width(), scaled(tall));
    top += scaled(tall);
    return box;
  };
  draw_title(painter, line(kTitleHeight));
  draw_detail(painter, line(kDetailHeight));
  draw_figure_line(painter, line(kFigureHeight));
  draw_focus(painter, rank_box());
}

class SidePanel::SectionWidget : public QWidget {
 public:
  explicit SectionWidget(SidePanel& panel)
      : title_(new SectionTitle(this)),
        shares_(new ShareBar(this)),
        facts_(new FactList(this)),
        column_(new QVBoxLayout(this)) {
    column_->setContentsMargins(0, 0, 0, 0);
    column_->setSpacing(4);
    for (QWidget* part : std::initializer_list<QWidget*>{title_, shares_, facts_}) {
      column_->addWidget(part);
    }
    connect(facts_, &FactList::followed, &panel, [this, &panel](int row) {
      const auto& link = facts_->facts()[static_cast<std::size_t>(row)].leads_to;
      if (const auto* event = std::get_if<EventId>(&link)) Q_EMIT panel.event_followed(*event);
      const auto* block = std::get_if<traces::MemoryEventPointer>(&link);
      if (block != nullptr) Q_EMIT panel.block_followed(*block);
    });
  }

  void show_section(const PanelSection& section) {
    title_->show_title(section);
    title_->setVisible(!section.title.isEmpty());
    shares_->set_shares(section.shares);
    shares_->setVisible(!section.shares.empty());
    if (plot_ != nullptr && plot_ != section.plot) plot_->hide();
    plot_ = section.plot;
    if (plot_ != nullptr) {
      if (column_->indexOf(plot_) < 0) column_->insertWidget(column_->indexOf(facts_), plot_);
      plot_->show();
    }
    facts_->set_facts(section.facts);
    facts_->setAccessibleName(section.title);
    facts_->setVisible(!section.facts.empty());
    const bool has_text = !section.text.isEmpty() || !section.lead.isEmpty();
    if (has_text && text_ == nullptr) {
      text_ = new Paragraph(section.is_boxed ? Paragraph::Frame::box : Paragraph::Frame::none,
                            Role::text2, this);
      column_->addWidget(text_);
    }
    if (text_ != nullptr) {
      text_->set_sentence(section.lead, section.text);
      text_->setVisible(has_text);
    }
    setVisible(!section.is_empty());
  }
  void set_stale(bool is_stale) { facts_->setEnabled(!is_stale); }

 private:
  SectionTitle* title_;
  ShareBar* shares_;
  FactList* facts_;
  QWidget* plot_ = nullptr;
  Paragraph* text_ = nullptr;
  QVBoxLayout* column_;
};

SidePanel::SidePanel(QWidget* parent)
    : QWidget(parent),
      head_(new PanelHead),
      column_(new QVBoxLayout),
      buttons_(new QHBoxLayout),
      footer_(new QWidget) {
  auto* const inside = new QWidget;
  // As wide as the panel, whatever is in it.
  inside->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* const all = new QVBoxLayout(inside);
  all->setContentsMargins(kPanelPadding, kPanelPadding - 4, kPanelPadding, kPanelPadding);
  all->setSpacing(0);
  all->addWidget(head_);
  all->addSpacing(4);
  column_->setSpacing(kSectionGap);
  all->addLayout(column_);
  all->addStretch(1);

  footer_->setLayout(buttons_);
  buttons_->setContentsMargins(kPanelPadding, 8, kPanelPadding, 8);
  buttons_->setSpacing(8);
  buttons_->addStretch(1);
  auto* const whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->setSpacing(0);
  QScrollArea* scroll = scrolled(inside);
  scroll->setFocusPolicy(Qt::NoFocus);
  whole->addWidget(scroll, 1);
  whole->addWidget(footer_);
  connect(&Appearance::instance(), &Appearance::changed, this, qOverload<>(&QWidget::update));
}

void SidePanel::show_content(PanelContent content) {
  content_ = std::move(content);
  head_->set_headline(content_.headline);
  while (sections_.size() < content_.sections.size()) {
    column_->addWidget(sections_.emplace_back(new SectionWidget(*this)));
  }
  for (std::size_t n = 0; n < sections_.size(); ++n) {
    sections_[n]->show_section(n < content_.sections.size() ? content_.sections[n]
                                                            : PanelSection());
  }
}

void SidePanel::set_stale(bool is_stale) {
  for (SectionWidget* section : sections_) section->set_stale(is_stale);
}

QPushButton* SidePanel::add_button(const QString& text, const QString& key) {
  auto* const button = new QPushButton(key.isEmpty() ? text : text + QLatin1String("  ") + key);
  button->setAccessibleName(text);
  button->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  buttons_->insertWidget(buttons_->count() - 1, button);
  return button;
}

QPushButton* SidePanel::add_copy_button() {
  QPushButton* const button = add_button(tr("Copy as text"));
  connect(button, &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(as_text()); });
  return button;
}

QString SidePanel::as_text() const {
  QStringList parts{head_->as_text()};
  for (const PanelSection& section : content_.sections) parts << section.as_text();
  return joined(parts, QStringLiteral("\n\n"));
}

void SidePanel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.setPen(QPen(theme()[Role::line], 0));
  painter.drawLine(0, footer_->y(), width(), footer_->y());
  painter.drawLine(0, 0, 0, height());
}

}  // namespace foreshard::gui
