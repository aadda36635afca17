// The lanes as cached images, so that a frame copies pixels instead of painting events.
//
// A tile is 512 device pixels of one row at one scale, counted from the trace's begin: panning finds
// the tiles that are there. Worker threads fill missing tiles, what was asked for last first; results
// of an older generation (another theme, another document) are dropped. While the scale changes, tiles
// of the nearest scale stand in, stretched; while what is marked changes, those that do not show it yet.
#pragma once

#include <QColor>
#include <QImage>
#include <QObject>
#include <QString>
#include <QThreadPool>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "traces/intervals.hpp"

namespace foreshard::gui {

constexpr int kTileWidth = 512;

struct TileKey {
  double ns_per_pixel = 1;  // of device pixels
  std::int32_t row = 0;
  std::int64_t index = 0;  // covers the pixels [512 index, 512 index + 512)
  bool operator==(const TileKey&) const = default;
};
struct TileKeyHash {
  std::size_t operator()(const TileKey& key) const;
};

// Text within a box, drawn with each frame: where it is readable depends on the window.
struct BoxLabel {
  traces::Interval span;
  double top = 0, height = 0;  // logical, within the row
  QString text, short_text;
  QColor ink;
  bool is_left = false;  // aligned left instead of in the middle of what is seen of the box
};

struct Tile {
  QImage image;
  std::vector<BoxLabel> labels;
};

class TileCache : public QObject {
  Q_OBJECT
 public:
  using Fill = std::function<Tile(const TileKey&)>;  // called by several threads at once

  explicit TileCache(std::size_t limit_bytes = std::size_t{96} << 20, QObject* parent = nullptr);
  ~TileCache() override;

  // Forgets all tiles; new ones are made by `fill`.
  void reset(Fill fill);
  // The same, but until a new one is there the old one stays.
  void renew(Fill fill);
  // Asks for these, most urgent first, in place of what was asked for before and is not begun. The
  // first `urgent` of them are what wait() waits for.
  void request(const std::vector<TileKey>& wanted, std::size_t urgent = 0);
  // Until the urgent tiles are there, for that long at most; takes in what is there.
  void wait(int milliseconds);

  const Tile* find(const TileKey& key);
  bool is_fresh(const TileKey& key) const;  // there, and of the newest fill
  // The scales of which there are tiles, nearest to this one first.
  std::vector<double> scales_near(double ns_per_pixel) const;

  bool is_busy() const;  // something that was requested is not there yet
  std::size_t bytes() const { return bytes_; }

 Q_SIGNALS:
  void made(QPrivateSignal);  // by a worker: tiles wait to be taken in
  void delivered();

 private:
  struct Entry {
    TileKey key;
    Tile tile;
    std::uint64_t generation = 0;  // of the fill that made it
  };

  void work();
  bool take();  // finished tiles into the cache; whether there were any
  void insert(Entry entry);
  void forget(std::list<Entry>::iterator entry);

  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // used last first
  std::unordered_map<TileKey, std::list<Entry>::iterator, TileKeyHash> index_;
  std::unordered_map<double, int> tiles_of_scale_;

  // Shared with the workers:
  mutable std::mutex mutex_;
  std::condition_variable progress_;
  std::shared_ptr<const Fill> fill_;
  std::uint64_t generation_ = 0;
  std::vector<TileKey> queue_;  // most urgent last
  std::unordered_set<TileKey, TileKeyHash> begun_, urgent_;
  std::vector<Entry> done_;
  int workers_ = 0;
  bool is_announced_ = false;
  QThreadPool pool_;  // last: its threads use all of the above
};

}  // namespace foreshard::gui
