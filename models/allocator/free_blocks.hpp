// The free blocks of one pool and one stream, ordered by size and then by a place of their own: the
// order in which PyTorch searches (best fit) and releases them. The place is the block's address, so
// that among equals the lowest address is first, or where it would lie were segments laid by age.
//
// A list of blocks for each size that occurs, the first place first. A training step frees blocks of
// few sizes, some hundred of ten, so that the block that fits best is the first of a list that a short
// search finds. Taking it moves nothing, nor does adding one at either end, where a model's layers free
// theirs one after the other. Sizes that occur once each, thousands in the worst real histories, move as
// a sorted array does: 16 bytes a size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/allocator/segment_source.hpp"

namespace foreshard {

using BlockId = std::int32_t;
constexpr BlockId kNoBlock = -1;

class FreeBlocks {
 public:
  struct Entry {
    std::int64_t size = 0;
    Address order = 0;
    BlockId block = kNoBlock;
  };

  // A place in the order, until the next change. As small as a register, for it is passed on by value.
  struct Place {
    std::uint32_t size = 0;   // which of the sizes
    std::uint32_t block = 0;  // which of its blocks
  };

  bool is_first(Place place) const { return place.size == 0 && place.block == 0; }
  bool is_end(Place place) const { return place.size == sizes_.size(); }
  Place next(Place place) const {
    const bool is_last_of_size = place.block + 1 == blocks(place.size).size();
    return is_last_of_size ? Place{place.size + 1, 0} : Place{place.size, place.block + 1};
  }
  Place previous(Place place) const {
    return place.block > 0 ? Place{place.size, place.block - 1}
                           : Place{place.size - 1, number(blocks(place.size - 1).size()) - 1};
  }

  Entry operator[](Place place) const {
    const Block& found = blocks(place.size)[place.block];
    return {sizes_[place.size].bytes, found.order, found.id};
  }

  // The first block of at least this size, or the end.
  Place lower_bound(std::int64_t size) const { return {number(find_size(size)), 0}; }

  // Where the block of this size and place is.
  Place find(std::int64_t size, Address order) const {
    const std::size_t place = find_size(size);
    return {number(place), number(blocks(place).find(order))};
  }

  // Calls `visit` with every block, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (Place place; !is_end(place); place = next(place)) {
      visit((*this)[place].block);
    }
  }

  void insert(const Entry& entry) {
    const std::size_t place = find_size(entry.size);
    if (place == sizes_.size() || sizes_[place].bytes != entry.size) add_size(place, entry.size);
    blocks(place).insert({entry.order, entry.block});
  }

  void erase(Place place) {
    Blocks& list = blocks(place.size);
    list.erase(place.block);
    if (list.size() > 0) return;
    const auto emptied = sizes_.begin() + static_cast<std::ptrdiff_t>(place.size);
    unused_lists_.push_back(emptied->list);
    sizes_.erase(emptied);
  }

  // Puts an entry in the place of one: what a split leaves, or what a block has become part of. A size
  // that occurred once mostly keeps its place.
  void replace(Place place, const Entry& entry) {
    Blocks& list = blocks(place.size);
    const std::size_t above = std::size_t{place.size} + 1;
    const bool stays = list.size() == 1 &&
                       (place.size == 0 || sizes_[place.size - 1].bytes < entry.size) &&
                       (above == sizes_.size() || entry.size < sizes_[above].bytes);
    if (!stays) {
      erase(place);
      return insert(entry);
    }
    sizes_[place.size].bytes = entry.size;
    list[0] = {entry.order, entry.block};
  }

 private:
  static std::uint32_t number(std::size_t n) { return static_cast<std::uint32_t>(n); }

  struct Block {
    Address order = 0;
    BlockId id = kNoBlock;
  };

  // Those of one size, ascending; places before the first are left for blocks to come.
  class Blocks {
   public:
    std::size_t size() const { return all_.size() - first_; }
    Block& operator[](std::size_t i) { return all_[first_ + i]; }
    const Block& operator[](std::size_t i) const { return all_[first_ + i]; }

    // Where the block of this place is, or would be.
    std::size_t find(Address order) const {
      const auto first = all_.begin() + static_cast<std::ptrdiff_t>(first_);
      const auto found = std::partition_point(first, all_.end(),
                                              [order](const Block& b) { return b.order < order; });
      return static_cast<std::size_t>(found - first);
    }
    void insert(const Block& block) {
      const std::size_t at = find(block.order);
      if (at > 0) {
        all_.insert(all_.begin() + static_cast<std::ptrdiff_t>(first_ + at), block);
        return;
      }
      if (first_ == 0) {
        first_ = size() + 1;
        all_.insert(all_.begin(), first_, {});
      }
      all_[--first_] = block;
    }
    void erase(std::size_t at) {
      if (at > 0) {
        all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(first_ + at));
      } else if (++first_ > 2 * size() + kKept) {
        all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
      }
    }

   private:
    static constexpr std::size_t kKept = 16;  // places, of however few blocks

    std::vector<Block> all_;
    std::size_t first_ = 0;
  };

  struct Size {
    std::int64_t bytes = 0;
    std::uint32_t list = 0;
  };

  Blocks& blocks(std::size_t size) { return lists_[sizes_[size].list]; }
  const Blocks& blocks(std::size_t size) const { return lists_[sizes_[size].list]; }

  // The place of a size, or where it would be.
  std::size_t find_size(std::int64_t bytes) const {
    const auto found = std::partition_point(sizes_.begin(), sizes_.end(),
                                            [bytes](const Size& s) { return s.bytes < bytes; });
    return static_cast<std::size_t>(found - sizes_.begin());
  }

  void add_size(std::size_t place, std::int64_t bytes) {
    if (unused_lists_.empty()) {
      unused_lists_.push_back(static_cast<std::uint32_t>(lists_.size()));
      lists_.emplace_back();
    }
    sizes_.insert(sizes_.begin() + static_cast<std::ptrdiff_t>(place),
                  {bytes, unused_lists_.back()});
    unused_lists_.pop_back();
  }

  std::vector<Size> sizes_;  // ascending
  std::vector<Blocks> lists_;
  std::vector<std::uint32_t> unused_lists_;  // empty, kept for their memory
};

}  // namespace foreshard
