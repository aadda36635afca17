// The free blocks of one pool and one stream, ordered by size and then address: the order in which
// PyTorch searches (best fit, lowest address among equals) and releases them.
//
// A list of blocks for each size that occurs, the lowest address last. A training step frees blocks of
// few sizes, some hundred of ten, so that the block that fits best is the last of a list that a short
// search finds, and taking it moves nothing. Sizes that occur once each, thousands in the worst real
// histories, move as a sorted array does: 16 bytes a size.
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
    Address address = 0;
    BlockId block = kNoBlock;
  };

  // A place in the order, until the next change.
  struct Place {
    std::size_t size = 0;   // which of the sizes
    std::size_t block = 0;  // which of its blocks, the highest address being 0
  };

  bool is_first(Place place) const {
    return place.size == 0 && (sizes_.empty() || place.block + 1 == blocks(0).size());
  }
  bool is_end(Place place) const { return place.size == sizes_.size(); }
  Place next(Place place) const {
    return place.block > 0 ? Place{place.size, place.block - 1} : first_of(place.size + 1);
  }
  Place previous(Place place) const {
    const bool is_last_of_size = is_end(place) || place.block + 1 == blocks(place.size).size();
    return is_last_of_size ? Place{place.size - 1, 0} : Place{place.size, place.block + 1};
  }

  Entry operator[](Place place) const {
    const Block& found = blocks(place.size)[place.block];
    return {sizes_[place.size].bytes, found.address, found.id};
  }

  // The first block of at least this size, or the end.
  Place lower_bound(std::int64_t size) const { return first_of(find_size(size)); }

  // Where the block of this size at this address is.
  Place find(std::int64_t size, Address address) const {
    const std::size_t place = find_size(size);
    return {place, find_address(blocks(place), address)};
  }

  // Calls `visit` with every block, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (Place place = first_of(0); !is_end(place); place = next(place)) {
      visit((*this)[place].block);
    }
  }

  void insert(const Entry& entry) {
    const std::size_t place = find_size(entry.size);
    if (place == sizes_.size() || sizes_[place].bytes != entry.size) add_size(place, entry.size);
    Blocks& list = blocks(place);
    const auto at = static_cast<std::ptrdiff_t>(find_address(list, entry.address));
    list.insert(list.begin() + at, {entry.address, entry.block});
  }

  void erase(Place place) {
    Blocks& list = blocks(place.size);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(place.block));
    if (!list.empty()) return;
    const auto emptied = sizes_.begin() + static_cast<std::ptrdiff_t>(place.size);
    unused_lists_.push_back(emptied->list);
    sizes_.erase(emptied);
  }

  // Puts an entry in the place of one: what a split leaves, or what a block has become part of. A size
  // that occurred once mostly keeps its place.
  void replace(Place place, const Entry& entry) {
    Blocks& list = blocks(place.size);
    const std::size_t above = place.size + 1;
    const bool stays = list.size() == 1 &&
                       (place.size == 0 || sizes_[place.size - 1].bytes < entry.size) &&
                       (above == sizes_.size() || entry.size < sizes_[above].bytes);
    if (!stays) {
      erase(place);
      return insert(entry);
    }
    sizes_[place.size].bytes = entry.size;
    list.front() = {entry.address, entry.block};
  }

 private:
  struct Block {
    Address address = 0;
    BlockId id = kNoBlock;
  };
  using Blocks = std::vector<Block>;  // of one size, descending
  struct Size {
    std::int64_t bytes = 0;
    std::uint32_t list = 0;
  };

  Blocks& blocks(std::size_t size) { return lists_[sizes_[size].list]; }
  const Blocks& blocks(std::size_t size) const { return lists_[sizes_[size].list]; }

  Place first_of(std::size_t size) const {
    return {size, size < sizes_.size() ? blocks(size).size() - 1 : 0};
  }

  // The place of a size, or where it would be.
  std::size_t find_size(std::int64_t bytes) const {
    return count_first(sizes_, [bytes](const Size& s) { return s.bytes < bytes; });
  }
  static std::size_t find_address(const Blocks& list, Address address) {
    return count_first(list, [address](const Block& b) { return b.address > address; });
  }

  // How many elements satisfy a condition that the first so many do and the others do not: a binary
  // search without branches, which here would be mispredicted half of the time.
  template <typename T, typename Condition>
  static std::size_t count_first(const std::vector<T>& all, const Condition& condition) {
    const T* first = all.data();
    std::size_t left = all.size();
    while (left > 1) {
      const std::size_t half = left / 2;
      first = condition(first[half - 1]) ? first + half : first;
      left -= half;
    }
    return static_cast<std::size_t>(first - all.data()) + (left == 1 && condition(*first) ? 1 : 0);
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
