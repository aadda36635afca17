#include "gui/views/timeline/tile_layer.hpp"

#include <algorithm>
#include <cmath>

#include "gui/paint/labels.hpp"

namespace foreshard::gui {
namespace {

constexpr int kPatienceMilliseconds = 6;  // that a frame waits for what it cannot do without
constexpr std::size_t kMostLabels = 600;
constexpr double kLeastElided = 34, kPadding = 8;

std::int64_t tile_of(std::int64_t pixel) {
  return pixel >= 0 ? pixel / kTileWidth : -((-pixel + kTileWidth - 1) / kTileWidth);
}

QString text_for(const BoxLabel& label, double width) {
  const double room = width - kPadding;
  if (label_width(label.text, Text::secondary) <= room) return label.text;
  if (!label.short_text.isEmpty() && label_width(label.short_text, Text::secondary) <= room) {
    return label.short_text;
  }
  return width >= kLeastElided ? elided_label(label.text, Text::secondary, room) : QString();
}

}  // namespace

void place_labels(const std::vector<BoxLabel>& texts, const TileRow& row,
                  std::vector<PlacedLabel>& labels) {
  const double width = static_cast<double>(row.grid.count) / row.grid.ratio;
  for (const BoxLabel& text : texts) {
    const double from = std::max(row.grid.x(text.span.start_ns), 0.0);
    const double to = std::min(row.grid.x(text.span.end_ns), width);
    if (to - from < kPadding) continue;
    labels.push_back({QRectF(row.left + from, row.top + text.top, to - from, text.height), &text});
  }
}

void paint_box_labels(QPainter& painter, std::vector<PlacedLabel> labels) {
  const auto is_before = [](const PlacedLabel& a, const PlacedLabel& b) {
    return std::make_tuple(a.box.top(), a.label->span.start_ns, a.label->span.end_ns) <
           std::make_tuple(b.box.top(), b.label->span.start_ns, b.label->span.end_ns);
  };
  std::sort(labels.begin(), labels.end(), is_before);
  const auto is_same = [&](const PlacedLabel& a, const PlacedLabel& b) {
    return !is_before(a, b) && !is_before(b, a);
  };
  labels.erase(std::unique(labels.begin(), labels.end(), is_same), labels.end());
  if (labels.size() > kMostLabels) {
    std::nth_element(labels.begin(), labels.begin() + kMostLabels, labels.end(),
                     [](const auto& a, const auto& b) { return a.box.width() > b.box.width(); });
    labels.resize(kMostLabels);
  }
  for (const auto& [box, label] : labels) {
    const QString text = text_for(*label, box.width());
    draw_label(painter, label->is_left ? box.adjusted(kPadding, 0, 0, 0) : box,
               label->is_left ? Qt::AlignLeft : Qt::AlignHCenter, text, Text::secondary,
               label->ink);
  }
}

// What the row is drawn from, and the spans for which nothing is there.
std::vector<TileLayer::Piece> TileLayer::pieces(const TileRow& row,
                                                const std::vector<double>& scales,
                                                std::vector<Span>* holes) {
  const PixelGrid& grid = row.grid;
  std::vector<Piece> found;
  std::vector<Span> open{{grid.first, grid.first + grid.count}};
  for (const double scale : scales) {
    const double stretch = scale / grid.ns_per_pixel;
    const auto stretched = [&](std::int64_t index) {
      return std::lround(static_cast<double>(index * kTileWidth) * stretch);
    };
    std::vector<Span> still_open;
    for (Span span : open) {
      const auto unstretched = [&](std::int64_t pixel) {
        return tile_of(std::lround(std::floor(static_cast<double>(pixel) / stretch)));
      };
      for (std::int64_t n = unstretched(span.from); n <= unstretched(span.to - 1); ++n) {
        const std::int64_t from = std::max(stretched(n), span.from);
        const std::int64_t to = std::min(stretched(n + 1), span.to);
        const Tile* tile = from < to ? cache_.find({scale, row.id, n}) : nullptr;
        if (tile == nullptr) continue;
        found.push_back({tile, scale, n, from, to});
        if (from > span.from) still_open.push_back({span.from, from});
        span.from = to;
      }
      if (span.from < span.to) still_open.push_back(span);
    }
    open = std::move(still_open);
    if (open.empty()) break;
  }
  *holes = std::move(open);
  return found;
}

std::vector<double> TileLayer::scales_for(double ns_per_pixel) const {
  std::vector<double> scales{ns_per_pixel};
  for (const double scale : cache_.scales_near(ns_per_pixel)) {
    if (scale != ns_per_pixel) scales.push_back(scale);
  }
  return scales;
}

std::vector<TileKey> TileLayer::missing(const TileRow& row) const {
  const PixelGrid& grid = row.grid;
  std::vector<TileKey> keys;
  for (std::int64_t n = tile_of(grid.first); n <= tile_of(grid.first + grid.count - 1); ++n) {
    const TileKey key{grid.ns_per_pixel, row.id, n};
    if (!cache_.is_fresh(key)) keys.push_back(key);
  }
  return keys;
}

std::vector<PlacedLabel> TileLayer::paint(QPainter& painter, const std::vector<TileRow>& rows,
                                          bool is_changing) {
  if (rows.empty()) {
    cache_.request({});
    return {};
  }
  const double ns_per_pixel = rows.front().grid.ns_per_pixel;
  std::vector<double> scales = scales_for(ns_per_pixel);
  std::vector<TileKey> urgent, others;
  std::unordered_set<TileKey, TileKeyHash> asked;  // stretches of a row share tiles
  for (const TileRow& row : rows) {
    std::vector<Span> holes;
    pieces(row, scales, &holes);
    for (const TileKey& key : missing(row)) {
      if (!asked.insert(key).second) continue;
      const std::int64_t from = key.index * kTileWidth, to = from + kTileWidth;
      const bool is_in_hole = std::any_of(holes.begin(), holes.end(), [&](const Span& hole) {
        return hole.from < to && hole.to > from;
      });
      if (is_in_hole) urgent.push_back(key);
      if (!is_in_hole && !is_changing) others.push_back(key);
    }
  }
  const std::size_t count = urgent.size();
  urgent.insert(urgent.end(), others.begin(), others.end());
  cache_.request(urgent, count);
  if (count > 0) {
    cache_.wait(kPatienceMilliseconds);
    scales = scales_for(ns_per_pixel);
  }

  std::vector<PlacedLabel> labels;
  std::vector<Span> holes;
  for (const TileRow& row : rows) {
    const PixelGrid& grid = row.grid;
    for (const Piece& piece : pieces(row, scales, &holes)) {
      const double stretch = piece.ns_per_pixel / grid.ns_per_pixel;
      const double begin = static_cast<double>(piece.index * kTileWidth) * stretch;
      const QImage& image = piece.tile->image;
      const QRectF target(row.left + static_cast<double>(piece.from - grid.first) / grid.ratio,
                          row.top, static_cast<double>(piece.to - piece.from) / grid.ratio,
                          image.height() / grid.ratio);
      const QRectF source((static_cast<double>(piece.from) - begin) / stretch, 0,
                          static_cast<double>(piece.to - piece.from) / stretch, image.height());
      painter.drawImage(target, image, source);
      place_labels(piece.tile->labels, row, labels);
    }
  }
  return labels;
}

}  // namespace foreshard::gui
