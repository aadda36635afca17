#include "gui/views/memory/block_map_canvas.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/memory/memory_canvas.hpp"

namespace foreshard::gui {
namespace {

constexpr double kTitleHeight = 30, kRightMargin = 20, kPoolGap = 5, kBottom = 6;
constexpr double kLeastPitch = 10, kMostPitch = 14;  // of rows
constexpr int kNameHeight = 13, kLeastPool = 27;     // with room for name and size

std::int64_t end_of(const MapBlock& block) {
  return block.offset + block.bytes;
}

// As collectives are abbreviated where there is no room: "RS" of "reduce-scatter". The tooltip has it in full.
QString short_pool_name(QString name) {
  for (const auto& [whole, letters] :
       {std::pair{"all-gather", "AG"}, std::pair{"reduce-scatter", "RS"},
        std::pair{"all-reduce", "AR"}}) {
    name.replace(QLatin1String(whole), QLatin1String(letters));
  }
  return name;
}

// The first block that ends after an offset.
std::vector<MapBlock>::const_iterator block_from(const MapPool& pool, std::int64_t offset) {
  return std::upper_bound(
      pool.blocks.begin(), pool.blocks.end(), offset,
      [](std::int64_t at, const MapBlock& block) { return at < end_of(block); });
}

}  // namespace

BlockMapCanvas::BlockMapCanvas(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Blocks of memory by address"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
  connect(&Appearance::instance(), &Appearance::changed, this, &BlockMapCanvas::repaint_all);
}

void BlockMapCanvas::show_map(std::shared_ptr<const RankMemory> memory,
                              std::shared_ptr<const MomentOfRank> moment, const QString& title) {
  memory_ = std::move(memory);
  moment_ = std::move(moment);
  title_ = title;
  hovered_ = nullptr;
  lay_out();
}

void BlockMapCanvas::select(traces::MemoryEventPointer allocation) {
  if (allocation == selected_) return;
  selected_ = allocation;
  announce_selection(this);
  update();
  Q_EMIT block_selected(selected_);
}

// Rows of the largest power of two of bytes with which all of them fit.
void BlockMapCanvas::lay_out() {
  rows_.clear();
  const std::int64_t before = bytes_per_row_;
  if (moment_ != nullptr) {
    const auto& pools = moment_->map.pools;
    const int of_pool = static_cast<int>(std::ceil(scaled(kLeastPool) / kLeastPitch));
    const double room =
        height() - kTitleHeight - kBottom - kPoolGap * static_cast<double>(pools.size());
    bytes_per_row_ = moment_->map.bytes_per_row(static_cast<int>(room / kLeastPitch), of_pool);
    std::int64_t count = 0;
    for (const MapPool& pool : pools) {
      count +=
          std::max<std::int64_t>((pool.reserved + bytes_per_row_ - 1) / bytes_per_row_, of_pool);
    }
    pitch_ = std::clamp(room / static_cast<double>(std::max<std::int64_t>(count, 1)), kLeastPitch,
                        kMostPitch);
    double top = kTitleHeight;
    for (std::size_t n = 0; n < pools.size(); ++n) {
      const double pool_top = top;
      for (std::int64_t first = 0; first < pools[n].reserved; first += bytes_per_row_) {
        rows_.push_back({n, first, std::round(top)});
        top += pitch_;
      }
      top = std::max(top, pool_top + scaled(kLeastPool)) + kPoolGap;
    }
  }
  repaint_all();
  if (bytes_per_row_ != before) Q_EMIT layout_changed();
}

void BlockMapCanvas::repaint_all() {
  picture_ = QPixmap();
  update();
}

double BlockMapCanvas::row_width() const {
  return std::max(width() - MemoryCanvas::gutter() - kRightMargin, 1.0);
}

double BlockMapCanvas::x_of(std::int64_t offset) const {
  return MemoryCanvas::gutter() + std::round(row_width() * static_cast<double>(offset) /
                                             static_cast<double>(bytes_per_row_));
}

void BlockMapCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const double ratio = picture_ratio(painter);
  if (picture_.isNull() || picture_.devicePixelRatio() != ratio ||
      picture_.size() != size() * ratio) {
    picture_ = draw(ratio);
  }
  painter.drawPixmap(0, 0, picture_);
  std::size_t pool = 0;
  if (hovered_ != nullptr && find(hovered_->allocation, pool) != nullptr) {
    outline(painter, *hovered_, pool, theme()[Role::text], 1);
  }
  if (const MapBlock* block = find(selected_, pool)) {
    outline(painter, *block, pool, theme()[Role::selection], 2);
  }
  draw_focus(painter, QRectF(rect()).adjusted(1, 1, -1, -1), 0);
}

QPixmap BlockMapCanvas::draw(double ratio) const {
  QPixmap picture(size() * ratio);
  picture.setDevicePixelRatio(ratio);
  picture.fill(theme()[Role::canvas]);
  QPainter painter(&picture);
  draw_title(painter);
  for (const Row& row : rows_) draw_row(painter, row);
  return picture;
}

void BlockMapCanvas::draw_title(QPainter& painter) const {
  if (moment_ == nullptr) return;
  painter.setFont(gui::font(Text::strong));
  painter.setPen(theme()[Role::text]);
  const double width = figure_width(painter.font(), title_);
  draw_figure(painter, QRectF(16, 0, width + 1, kTitleHeight), Qt::AlignLeft, title_);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  const QRectF rest(16 + width + 14, 0, this->width() - width - 46, kTitleHeight);
  painter.drawText(
      rest, Qt::AlignVCenter,
      QFontMetricsF(painter.font())
          .elidedText(fragmentation_sentence(moment_->map), Qt::ElideRight, rest.width()));
}

void BlockMapCanvas::draw_row(QPainter& painter, const Row& row) const {
  const MapPool& pool = moment_->map.pools[row.pool];
  const double height = std::round(pitch_) - 2;
  if (row.first == 0) draw_pool_name(painter, row, pool);
  const std::int64_t end = std::min(row.first + bytes_per_row_, pool.reserved);
  for (auto block = block_from(pool, row.first); block != pool.blocks.end() && block->offset < end;
       ++block) {
    const double left = x_of(std::max(block->offset, row.first) - row.first);
    const double right = std::max(x_of(std::min(end_of(*block), end) - row.first), left + 1);
    const QRectF box(left, row.top, right - left, height);
    QColor colour = theme()[block->role];
    if (is_old(*block)) colour = theme().towards_canvas(colour, 0.75);
    if (block->use == MapBlock::Use::hole) {
      painter.fillRect(box, hatch(theme()[Role::strong_line]));
    } else if (block->use == MapBlock::Use::awaiting_free) {
      painter.fillRect(box, theme().towards_canvas(colour, 0.6));
      painter.fillRect(box, hatch(colour));
    } else {
      painter.fillRect(box, block->is_from_before ? theme().towards_canvas(colour, 0.6) : colour);
      if (block->is_from_before) painter.fillRect(box, hatch(colour));
    }
    // Blocks stand apart by a gap, segments by a line.
    if (block->starts_segment && block->offset >= row.first) {
      painter.fillRect(QRectF(left, row.top, 1, height), theme()[Role::text]);
    } else if (box.width() > 3 && block->offset >= row.first && left > MemoryCanvas::gutter()) {
      painter.fillRect(QRectF(left, row.top, 1, height), theme()[Role::canvas]);
    }
  }
}

bool BlockMapCanvas::is_old(const MapBlock& block) const {
  if (!moment_->since || block.allocation == nullptr) return false;
  const auto found = moment_->since->blocks.find(block.address);
  return found != moment_->since->blocks.end() && found->second == block.allocation;
}

void BlockMapCanvas::draw_pool_name(QPainter& painter, const Row& first,
                                    const MapPool& pool) const {
  painter.setFont(gui::font(Text::secondary_strong));
  painter.setPen(theme()[Role::text]);
  const QFontMetricsF metrics(painter.font());
  const double baseline = first.top + metrics.ascent() - 1;
  painter.drawText(
      QPointF(16, baseline),
      metrics.elidedText(short_pool_name(pool.name), Qt::ElideRight, MemoryCanvas::gutter() - 20));
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::text3]);
  painter.drawText(QPointF(16, baseline + scaled(kNameHeight)), bytes_figure(pool.reserved).text());
}

// A block goes round the ends of rows.
void BlockMapCanvas::outline(QPainter& painter, const MapBlock& block, std::size_t pool,
                             QColor colour, double width) const {
  painter.setPen(QPen(colour, width));
  painter.setBrush(Qt::NoBrush);
  for (const Row& row : rows_) {
    if (row.pool != pool || row.first + bytes_per_row_ <= block.offset ||
        row.first >= end_of(block))
      continue;
    const double left = x_of(std::max(block.offset - row.first, std::int64_t{0}));
    const double right = x_of(std::min(end_of(block) - row.first, bytes_per_row_));
    painter.drawRect(QRectF(left, row.top, std::max(right - left, 2.0), std::round(pitch_) - 2)
                         .adjusted(0, -1, 0, 1));
  }
}

const MapBlock* BlockMapCanvas::find(traces::MemoryEventPointer allocation,
                                     std::size_t& pool) const {
  if (allocation == nullptr || moment_ == nullptr) return nullptr;
  const auto& pools = moment_->map.pools;
  for (pool = 0; pool < pools.size(); ++pool) {
    for (const MapBlock& block : pools[pool].blocks) {
      if (block.allocation == allocation) return &block;
    }
  }
  return nullptr;
}

const BlockMapCanvas::Row* BlockMapCanvas::row_at(double y) const {
  const auto below =
      std::find_if(rows_.rbegin(), rows_.rend(), [&](const Row& row) { return row.top <= y; });
  return below == rows_.rend() || y >= below->top + kMostPitch ? nullptr : &*below;
}

const MapBlock* BlockMapCanvas::block_at(QPointF point) const {
  const Row* below = row_at(point.y());
  if (below == nullptr) return nullptr;
  const double share = (point.x() - MemoryCanvas::gutter()) / row_width();
  if (share < 0 || share >= 1) return nullptr;
  const auto offset =
      below->first + static_cast<std::int64_t>(share * static_cast<double>(bytes_per_row_));
  const auto block = block_from(moment_->map.pools[below->pool], offset);
  return block == moment_->map.pools[below->pool].blocks.end() ? nullptr : &*block;
}

QRectF BlockMapCanvas::box_of(traces::MemoryEventPointer allocation) const {
  std::size_t pool = 0;
  const MapBlock* block = find(allocation, pool);
  if (block == nullptr) return {};
  for (const Row& row : rows_) {
    if (row.pool != pool || row.first + bytes_per_row_ <= block->offset) continue;
    const double left = x_of(block->offset - row.first);
    const double right = x_of(std::min(end_of(*block) - row.first, bytes_per_row_));
    return {left, row.top, std::max(right - left, 1.0), kLeastPitch};
  }
  return {};
}

QString BlockMapCanvas::card(const MapBlock& block) const {
  if (block.allocation == nullptr) return tr("hole\n%1").arg(exact_bytes(block.bytes));
  const traces::MemoryEvent& event = *block.allocation;
  const auto& strings = memory_->trace().strings;
  const QString owner = QString::fromStdString(strings[event.owner]);
  const QString state = block.use == MapBlock::Use::awaiting_free
                            ? tr("\nfreed; another stream has not passed its last use")
                            : QString();
  return tr("%1\n%2 · %3\nrequested %4%5")
      .arg(owner.isEmpty() ? tr("unknown owner") : owner, exact_bytes(event.bytes),
           memory_category(strings[event.category]).name, exact_bytes(event.requested), state);
}

QString BlockMapCanvas::hover_text(QPointF point) const {
  if (const MapBlock* block = block_at(point)) return card(*block);
  if (point.y() < kTitleHeight && moment_ != nullptr) return fragmentation_sentence(moment_->map);
  const Row* row = point.x() < MemoryCanvas::gutter() ? row_at(point.y()) : nullptr;
  return row == nullptr ? QString() : pool_text(moment_->map.pools[row->pool]);
}

int BlockMapCanvas::accessible_rows() const {
  return moment_ == nullptr ? 0 : static_cast<int>(moment_->map.pools.size());
}

AccessibleItem BlockMapCanvas::accessible_row(int pool) const {
  const auto number = static_cast<std::size_t>(pool);
  QRectF box;
  for (const Row& row : rows_) {
    if (row.pool == number) box |= QRectF(0, row.top, width(), kLeastPitch);
  }
  return {pool_text(moment_->map.pools[number]), box};
}

std::optional<AccessibleItem> BlockMapCanvas::accessible_selection() const {
  std::size_t pool = 0;
  const MapBlock* block = find(selected_, pool);
  if (block == nullptr) return std::nullopt;
  return AccessibleItem{card(*block), box_of(selected_)};
}

void BlockMapCanvas::resizeEvent(QResizeEvent*) {
  lay_out();
}

void BlockMapCanvas::changeEvent(QEvent* event) {
  PaintedWidget::changeEvent(event);
  repaint_all();
}

void BlockMapCanvas::mousePressEvent(QMouseEvent* event) {
  const MapBlock* block = block_at(event->position());
  select(block == nullptr ? nullptr : block->allocation);
}

void BlockMapCanvas::mouseMoveEvent(QMouseEvent* event) {
  const MapBlock* block = block_at(event->position());
  if (std::exchange(hovered_, block) != block) update();
}

void BlockMapCanvas::leaveEvent(QEvent*) {
  hovered_ = nullptr;
  update();
}

// `,` and `.` go to the previous and the next block by address.
void BlockMapCanvas::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Comma ? -1 : event->key() == Qt::Key_Period ? 1 : 0;
  std::size_t pool = 0;
  const MapBlock* block = find(selected_, pool);
  if (step == 0 || block == nullptr) return PaintedWidget::keyPressEvent(event);
  const auto& blocks = moment_->map.pools[pool].blocks;
  auto at = block - blocks.data();
  do {
    at += step;
  } while (at >= 0 && at < std::ssize(blocks) &&
           blocks[static_cast<std::size_t>(at)].allocation == nullptr);
  if (at >= 0 && at < std::ssize(blocks)) select(blocks[static_cast<std::size_t>(at)].allocation);
}

bool BlockMapCanvas::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), hover_text(help->pos()), this);
    return true;
  }
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
