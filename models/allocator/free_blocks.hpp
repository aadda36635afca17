// The free blocks of one pool and one stream, ordered by size and then address: the order in which
// PyTorch searches (best fit, lowest address among equals) and releases them.
//
// A sorted array. A step keeps some tens of free blocks per stream, which two cache lines' worth
// of moves serve faster than any tree; thousands, as in the worst real histories, still cost less
// than a microsecond.
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

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const Entry& operator[](std::size_t index) const { return entries_[index]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  // Index of the first entry of at least this size (at this address or a higher one).
  std::size_t lower_bound(std::int64_t size, Address address = 0) const {
    const Entry* first = entries_.data();
    std::size_t count = entries_.size();
    while (count > 0) {
      const std::size_t half = count / 2;
      const bool before = is_before(first[half], size, address);
      first = before ? first + half + 1 : first;
      count = before ? count - half - 1 : half;
    }
    return static_cast<std::size_t>(first - entries_.data());
  }

  void insert(const Entry& entry) {
    const std::size_t index = lower_bound(entry.size, entry.address);
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(index), entry);
  }

  void erase(std::size_t index) {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void erase(std::int64_t size, Address address) { erase(lower_bound(size, address)); }

  // Puts a smaller entry in the place of one: what is left of a block after a split.
  void shrink(std::size_t index, const Entry& entry) {
    const std::size_t place = lower_bound(entry.size, entry.address);
    const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(place);
    const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(index);
    std::move_backward(first, last, last + 1);
    *first = entry;
  }

  // Puts a larger entry in the place of one: a block grown by a free neighbour.
  void grow(std::size_t index, const Entry& entry) {
    const std::size_t place = lower_bound(entry.size, entry.address);
    const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(index);
    const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(place);
    std::move(first + 1, last, first);
    *(last - 1) = entry;
  }

 private:
  static bool is_before(const Entry& entry, std::int64_t size, Address address) {
    return entry.size < size || (entry.size == size && entry.address < address);
  }

  std::vector<Entry> entries_;
};

}  // namespace foreshard
