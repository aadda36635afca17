// Tiles: asked for, made by workers, kept within a limit, and dropped when they are out of date.
#include "gui/views/timeline/tile_cache.hpp"

#include <QtTest>
#include <atomic>

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

Tile tile_of_colour(QRgb colour) {
  Tile tile;
  tile.image = QImage(kTileWidth, 10, QImage::Format_ARGB32_Premultiplied);
  tile.image.fill(colour);
  return tile;
}

TEST(TileCache, WaitsForWhatIsUrgentAndDeliversTheRest) {
  TileCache cache;
  cache.reset(
      [](const TileKey& key) { return tile_of_colour(0xFF000000 + static_cast<QRgb>(key.index)); });
  QSignalSpy delivered(&cache, &TileCache::delivered);
  cache.request({{1, 0, 1}, {1, 0, 2}}, 1);
  cache.wait(10'000);
  ASSERT_NE(cache.find({1, 0, 1}), nullptr);
  EXPECT_EQ(cache.find({1, 0, 1})->image.pixel(0, 0), 0xFF000001);
  EXPECT_TRUE(QTest::qWaitFor([&] { return cache.find({1, 0, 2}) != nullptr; }));
  EXPECT_FALSE(cache.is_busy());
}

TEST(TileCache, ForgetsTheTilesUsedLongestAgo) {
  const auto size = static_cast<std::size_t>(tile_of_colour(0).image.sizeInBytes());
  TileCache cache(4 * size);
  cache.reset([](const TileKey&) { return tile_of_colour(0); });
  for (std::int64_t n = 0; n < 8; ++n) {
    cache.request({{1, 0, n}}, 1);
    cache.wait(10'000);
    cache.find({1, 0, 0});  // stays, as it is used
  }
  EXPECT_LE(cache.bytes(), 4 * size);
  EXPECT_NE(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({1, 0, 1}), nullptr);
}

TEST(TileCache, DropsWhatIsFinishedAfterAReset) {
  TileCache cache;
  std::atomic<bool> may_finish = false;
  cache.reset([&](const TileKey&) {
    while (!may_finish) QThread::msleep(1);
    return tile_of_colour(0xFFFF0000);
  });
  cache.request({{1, 0, 0}});
  QTest::qWait(20);
  cache.reset([](const TileKey&) { return tile_of_colour(0xFF00FF00); });
  may_finish = true;
  cache.request({{1, 0, 0}}, 1);
  cache.wait(10'000);
  ASSERT_NE(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({1, 0, 0})->image.pixel(0, 0), 0xFF00FF00);
}

TEST(TileCache, KeepsATileUntilTheRenewedOneIsThere) {
  TileCache cache;
  cache.reset([](const TileKey&) { return tile_of_colour(0xFFFF0000); });
  cache.request({{1, 0, 0}}, 1);
  cache.wait(10'000);
  const auto size = cache.bytes();
  cache.renew([](const TileKey&) { return tile_of_colour(0xFF00FF00); });
  EXPECT_FALSE(cache.is_fresh({1, 0, 0}));
  ASSERT_NE(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({1, 0, 0})->image.pixel(0, 0), 0xFFFF0000);
  cache.request({{1, 0, 0}}, 1);
  cache.wait(10'000);
  EXPECT_TRUE(cache.is_fresh({1, 0, 0}));
  EXPECT_EQ(cache.find({1, 0, 0})->image.pixel(0, 0), 0xFF00FF00);
  EXPECT_EQ(cache.bytes(), size);
}

TEST(TileCache, EndsWhileItsWorkersAreBusy) {
  for (int round = 0; round < 20; ++round) {
    TileCache cache;
    cache.reset([](const TileKey&) {
      QThread::msleep(1);
      return tile_of_colour(0);
    });
    std::vector<TileKey> keys;
    for (std::int64_t n = 0; n < 50; ++n) keys.push_back({1, 0, n});
    cache.request(keys);
  }
}

}  // namespace
}  // namespace foreshard::gui
