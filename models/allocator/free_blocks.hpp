// The free blocks of one pool and one stream, ordered by size and then by a place of their own: the
// order in which PyTorch searches (best fit) and releases them. The place is the block's address, so
// that among equals the lowest address is first, or where it would lie were segments laid by age.
//
// A table of the sizes that occur, each with its first block, and a list of the further ones. A training
// step frees blocks of few sizes, some hundred of ten, so that the block that fits best is the first of a
// size that a short search finds; what splits leave and merges make is mostly alone of its size. Taking
// the first of several moves one, and adding one before or behind the others moves none, where a model's
// layers free theirs one after the other. Sizes that occur once each, thousands in the worst real
// histories, move as a sorted array does: 24 bytes a size.
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
    const bool is_last_of_size = place.block + 1 == count(sizes_[place.size]);
    return is_last_of_size ? Place{place.size + 1, 0} : Place{place.size, place.block + 1};
  }
  Place previous(Place place) const {
    return place.block > 0 ? Place{place.size, place.block - 1}
                           : Place{place.size - 1, count(sizes_[place.size - 1]) - 1};
  }

  Entry operator[](Place place) const {
    const Size& size = sizes_[place.size];
    if (place.block == 0) return {size.bytes, size.block};
    return {size.bytes, lists_[size.others][place.block - 1].id};
  }

  Place end() const { return {number(sizes_.size()), 0}; }
  // The first block of at least this size, or the end.
  Place lower_bound(std::int64_t size) const { return {number(find_size(size)), 0}; }

  // Where the block of this size and place is.
  Place find(std::int64_t bytes, Address order) const {
    const std::size_t place = find_size(bytes);
    const Size& size = sizes_[place];
    if (size.order == order) return {number(place), 0};
    return {number(place), number(lists_[size.others].find(order)) + 1};
  }

  // Calls `visit` with every block, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (Place place; !is_end(place); place = next(place)) {
      visit((*this)[place].block);
    }
  }

  void insert(std::int64_t bytes, Address order, BlockId block) {
    const std::size_t place = find_size(bytes);
    if (place == sizes_.size() || sizes_[place].bytes != bytes) {
      sizes_.emplace_back();
      return move(sizes_.size() - 1, place).set(bytes, order, block);
    }
    Size& size = sizes_[place];
    if (size.others == kNoList) size.others = empty_list();
    Blocks& others = lists_[size.others];
    if (order > size.order) return others.insert(order, block);
    others.insert(size.order, size.block);
    size.set(bytes, order, block);
  }

  void erase(Place place) {
    Size& size = sizes_[place.size];
    if (size.others == kNoList) {
      sizes_.erase(sizes_.begin() + static_cast<std::ptrdiff_t>(place.size));
      return;
    }
    Blocks& others = lists_[size.others];
    if (place.block == 0) size.set(size.bytes, others[0].order, others[0].id);
    others.erase(place.block == 0 ? 0 : place.block - 1);
    if (others.size() > 0) return;
    unused_lists_.push_back(size.others);
    size.others = kNoList;
  }

  // Puts a block in the place of another: what a split leaves, or what a block has become part of. If
  // both are alone of their size, only what lies between the two moves, which is mostly nothing.
  void replace(Place place, std::int64_t bytes, Address order, BlockId block) {
    const std::size_t above = find_size(bytes);
    const bool is_new_size = above == sizes_.size() || sizes_[above].bytes != bytes;
    if (is_new_size && sizes_[place.size].others == kNoList) {
      const std::size_t place_of_size = above > place.size ? above - 1 : above;
      return move(place.size, place_of_size).set(bytes, order, block);
    }
    erase(place);
    insert(bytes, order, block);
  }

 private:
  static std::uint32_t number(std::size_t n) { return static_cast<std::uint32_t>(n); }

  static constexpr std::uint32_t kNoList = ~std::uint32_t{0};

  // With its first block.
  struct Size {
    std::int64_t bytes = 0;
    Address order = 0;
    BlockId block = kNoBlock;
    std::uint32_t others = kNoList;  // a list of at least one

    void set(std::int64_t new_bytes, Address new_order, BlockId new_block) {
      bytes = new_bytes;
      order = new_order;
      block = new_block;
    }
  };

  // A size that is alone in its place goes to another, and those in between make room.
  Size& move(std::size_t from, std::size_t to) {
    for (; from < to; ++from) sizes_[from] = sizes_[from + 1];
    for (; from > to; --from) sizes_[from] = sizes_[from - 1];
    sizes_[to].others = kNoList;
    return sizes_[to];
  }

  struct Block {
    Address order = 0;
    BlockId id = kNoBlock;
  };

  // How many of `n` stand before all others, in halves that take no branch: which one is the right one
  // is seldom the same twice.
  template <typename T, typename Precedes>
  static std::size_t count_before(const T* all, std::size_t n, Precedes precedes) {
    std::size_t before = 0;
    while (n > 0) {
      const std::size_t half = (n + 1) / 2;
      before += precedes(all[before + half - 1]) ? half : 0;
      n -= half;
    }
    return before;
  }

  // Those of one size behind its first, ascending; places before them are left for blocks to come.
  class Blocks {
   public:
    std::size_t size() const { return all_.size() - first_; }
    Block& operator[](std::size_t i) { return all_[first_ + i]; }
    const Block& operator[](std::size_t i) const { return all_[first_ + i]; }

    // Where the block of this place is, or would be.
    std::size_t find(Address order) const {
      return count_before(all_.data() + first_, size(),
                          [order](const Block& b) { return b.order < order; });
    }
    void insert(Address order, BlockId block) {
      if (size() > 0 && all_.back().order < order) {
        all_.push_back({order, block});
      } else if (size() == 0 || order < all_[first_].order) {
        if (first_ == 0) {
          first_ = size() + 1;
          all_.insert(all_.begin(), first_, {});
        }
        all_[--first_] = {order, block};
      } else {
        const auto at = static_cast<std::ptrdiff_t>(first_ + find(order));
        all_.insert(all_.begin() + at, {order, block});
      }
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

  std::uint32_t count(const Size& size) const {
    return size.others == kNoList ? 1 : 1 + number(lists_[size.others].size());
  }

  // The place of a size, or where it would be.
  std::size_t find_size(std::int64_t bytes) const {
    return count_before(sizes_.data(), sizes_.size(),
                        [bytes](const Size& s) { return s.bytes < bytes; });
  }

  std::uint32_t empty_list() {
    if (unused_lists_.empty()) {
      lists_.emplace_back();
      return number(lists_.size()) - 1;
    }
    const std::uint32_t list = unused_lists_.back();
    unused_lists_.pop_back();
    return list;
  }

  std::vector<Size> sizes_;  // ascending
  std::vector<Blocks> lists_;
  std::vector<std::uint32_t> unused_lists_;  // empty, kept for their memory
};

}  // namespace foreshard
