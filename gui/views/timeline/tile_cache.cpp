#include "gui/views/timeline/tile_cache.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "gui/models/base/in_background.hpp"

namespace foreshard::gui {
namespace {

std::size_t size_of(const Tile& tile) {
  return static_cast<std::size_t>(tile.image.sizeInBytes()) +
         tile.labels.size() * sizeof(BoxLabel) + sizeof(Tile);
}

}  // namespace

std::size_t TileKeyHash::operator()(const TileKey& key) const {
  std::size_t hash = std::hash<double>()(key.ns_per_pixel);
  hash = hash * 1'000'003 + static_cast<std::size_t>(key.row);
  return hash * 1'000'003 + static_cast<std::size_t>(key.index);
}

TileCache::TileCache(std::size_t limit_bytes, QObject* parent)
    : QObject(parent), limit_(limit_bytes) {
  const auto deliver = [this] {
    if (take()) Q_EMIT delivered();
  };
  connect(this, &TileCache::made, this, deliver, Qt::QueuedConnection);
}

TileCache::~TileCache() {
  reset({});
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [this] { return workers_ == 0; });
}

void TileCache::reset(Fill fill) {
  entries_.clear();
  index_.clear();
  tiles_of_scale_.clear();
  bytes_ = 0;
  renew(std::move(fill));
}

void TileCache::renew(Fill fill) {
  const std::lock_guard lock(mutex_);
  ++generation_;
  fill_ = fill ? std::make_shared<const Fill>(std::move(fill)) : nullptr;
  queue_.clear();
  begun_.clear();
  urgent_.clear();
  done_.clear();
}

void TileCache::request(const std::vector<TileKey>& wanted, std::size_t urgent) {
  const std::lock_guard lock(mutex_);
  queue_.clear();
  urgent_.clear();
  if (!fill_) return;
  for (std::size_t n = wanted.size(); n-- > 0;) {
    const TileKey& key = wanted[n];
    if (is_fresh(key)) continue;
    if (begun_.count(key) == 0) queue_.push_back(key);
    if (n < urgent) urgent_.insert(key);
  }
  const int useful = std::min<int>(pool_.maxThreadCount(), static_cast<int>(queue_.size()));
  for (; workers_ < useful; ++workers_) pool_.start([this] { work(); });
}

void TileCache::work() {
  give_way_to_window();
  std::unique_lock lock(mutex_);
  while (!queue_.empty()) {
    const TileKey key = queue_.back();
    queue_.pop_back();
    begun_.insert(key);
    const std::shared_ptr<const Fill> fill = fill_;
    const std::uint64_t generation = generation_;
    lock.unlock();
    Tile tile = (*fill)(key);
    lock.lock();
    if (generation != generation_) continue;
    urgent_.erase(key);
    done_.push_back({key, std::move(tile), generation});
    progress_.notify_all();
    if (!std::exchange(is_announced_, true)) {
      Q_EMIT made(QPrivateSignal());
    }
  }
  if (--workers_ == 0) progress_.notify_all();
}

bool TileCache::take() {
  std::vector<Entry> done;
  {
    const std::lock_guard lock(mutex_);
    is_announced_ = false;
    done = std::exchange(done_, {});
    for (const Entry& entry : done) begun_.erase(entry.key);
  }
  for (Entry& entry : done) insert(std::move(entry));
  return !done.empty();
}

void TileCache::wait(int milliseconds) {
  {
    std::unique_lock lock(mutex_);
    for (const Entry& entry : done_) urgent_.erase(entry.key);
    progress_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                       [this] { return urgent_.empty(); });
  }
  take();
}

const Tile* TileCache::find(const TileKey& key) {
  const auto known = index_.find(key);
  if (known == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known->second);
  return &known->second->tile;
}

// The generation is changed by the window's thread alone, whose question this is.
bool TileCache::is_fresh(const TileKey& key) const {
  const auto known = index_.find(key);
  return known != index_.end() && known->second->generation == generation_;
}

std::vector<double> TileCache::scales_near(double ns_per_pixel) const {
  std::vector<double> scales;
  for (const auto& [scale, count] : tiles_of_scale_) scales.push_back(scale);
  const auto distance = [&](double scale) { return std::abs(std::log(scale / ns_per_pixel)); };
  std::sort(scales.begin(), scales.end(),
            [&](double a, double b) { return distance(a) < distance(b); });
  return scales;
}

bool TileCache::is_busy() const {
  const std::lock_guard lock(mutex_);
  return !queue_.empty() || !begun_.empty();
}

void TileCache::insert(Entry entry) {
  if (const auto known = index_.find(entry.key); known != index_.end()) forget(known->second);
  bytes_ += size_of(entry.tile);
  ++tiles_of_scale_[entry.key.ns_per_pixel];
  entries_.push_front(std::move(entry));
  index_[entries_.front().key] = entries_.begin();
  while (bytes_ > limit_ && entries_.size() > 1) forget(std::prev(entries_.end()));
}

void TileCache::forget(std::list<Entry>::iterator entry) {
  const double scale = entry->key.ns_per_pixel;
  if (--tiles_of_scale_[scale] == 0) tiles_of_scale_.erase(scale);
  bytes_ -= size_of(entry->tile);
  index_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace foreshard::gui
