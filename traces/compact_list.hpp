// A list of records that have most of their contents in common with others, such as all events of one
// kernel. Each record is kept as a small row, of what is its own, and the number of its facts, which
// equal records share.
//
// Records are read and written by value: `list[n]` puts one together. Iterators serve as pointers to
// records, so they may be null; they hold as long as the list stays where it is. Several threads may
// read at once.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace foreshard::traces {

// Each different value once, numbered in the order in which they came.
template <typename Value, typename Hash>
class UniqueValues {
 public:
  std::uint32_t number(const Value& value) {
    if ((values_.size() + 1) * 2 > slots_.size()) grow();
    std::uint32_t& slot = slot_of(value);
    if (slot == kFree) {
      slot = static_cast<std::uint32_t>(values_.size());
      values_.push_back(value);
    }
    return slot;
  }
  const Value& operator[](std::uint32_t number) const { return values_[number]; }
  std::size_t size() const { return values_.size(); }
  std::size_t bytes() const {
    return values_.capacity() * sizeof(Value) + slots_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;

  std::uint32_t& slot_of(const Value& value) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = Hash()(value) & mask;
    while (slots_[at] != kFree && !(values_[slots_[at]] == value)) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    slots_.assign(std::max<std::size_t>(slots_.size() * 2, 16), kFree);
    for (std::uint32_t n = 0; n < values_.size(); ++n) slot_of(values_[n]) = n;
  }

  std::vector<Value> values_;
  std::vector<std::uint32_t> slots_;  // a hash table with open addressing, a power of two large
};

// A Layout says how records are taken apart:
//
//   Value                    the record
//   Row                      what is its own, with a member `facts` that is filled in here
//   Row take(Value&)         a row of the record, in which facts are left
//   void put(Row, Value&)    the reverse
//   Hash                     of facts
//   kRare                    members that most lists have no values of; they take room where there are
template <typename Layout>
class CompactList {
 public:
  using Value = typename Layout::Value;
  using value_type = Value;

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Value;
    using reference = Value;
    using difference_type = std::ptrdiff_t;
    struct pointer {
      Value value;
      const Value* operator->() const { return &value; }
    };

    Iterator() = default;
    Iterator(std::nullptr_t) {}
    Iterator(const CompactList& list, std::size_t at) : list_(&list), at_(at) {}

    Value operator*() const { return (*list_)[at_]; }
    pointer operator->() const { return {**this}; }
    Value operator[](difference_type n) const { return *(*this + n); }
    explicit operator bool() const { return list_ != nullptr; }

    Iterator& operator+=(difference_type n) {
      at_ += static_cast<std::size_t>(n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
    friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
    friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.at_ - b.at_);
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;
    friend std::strong_ordering operator<=>(const Iterator& a, const Iterator& b) {
      return a.at_ <=> b.at_;
    }

   private:
    const CompactList* list_ = nullptr;
    std::size_t at_ = 0;
  };
  using const_iterator = Iterator;

  // Some records that stand one after another.
  class Span {
   public:
    Span() = default;
    Span(Iterator first, Iterator end)
        : first_(first), size_(static_cast<std::size_t>(end - first)) {}
    Span(const CompactList& list) : Span(list.begin(), list.end()) {}

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Iterator begin() const { return first_; }
    Iterator end() const { return pointer_to(size_); }
    Value operator[](std::size_t n) const { return *pointer_to(n); }
    Iterator pointer_to(std::size_t n) const { return first_ + static_cast<std::ptrdiff_t>(n); }
    Value front() const { return *begin(); }
    Value back() const { return (*this)[size_ - 1]; }
    Span first(std::size_t count) const { return subspan(0, count); }
    Span subspan(std::size_t from) const { return subspan(from, size_ - from); }
    Span subspan(std::size_t from, std::size_t count) const {
      return {pointer_to(from), pointer_to(from + count)};
    }

   private:
    Iterator first_;
    std::size_t size_ = 0;
  };

  CompactList() = default;
  CompactList(std::initializer_list<Value> values) : CompactList(values.begin(), values.end()) {}
  template <typename Input>
  CompactList(Input first, Input end) {
    reserve(static_cast<std::size_t>(std::distance(first, end)));
    append(first, end);
  }

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  // The memory that the list takes.
  std::size_t bytes() const {
    std::size_t sum = rows_.capacity() * sizeof(Row) + facts_.bytes();
    for (const auto& column : rare_) sum += column.capacity() * sizeof(std::int64_t);
    return sum;
  }
  std::size_t distinct_facts() const { return facts_.size(); }

  Value operator[](std::size_t n) const {
    const Row& row = rows_[n];
    Value value = facts_[row.facts];
    Layout::put(row, value);
    for (std::size_t k = 0; k < rare_.size(); ++k) {
      if (!rare_[k].empty()) value.*Layout::kRare[k] = rare_[k][n];
    }
    return value;
  }
  Value front() const { return (*this)[0]; }
  Value back() const { return (*this)[size() - 1]; }
  Iterator pointer_to(std::size_t n) const { return {*this, n}; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  void clear() { *this = {}; }
  void reserve(std::size_t count) {
    rows_.reserve(count);
    for (auto& column : rare_) {
      if (!column.empty()) column.reserve(count);
    }
  }
  void push_back(const Value& value) {
    rows_.emplace_back();
    for (auto& column : rare_) {
      if (!column.empty()) column.emplace_back();
    }
    set(size() - 1, value);
  }
  template <typename Input>
  void append(Input first, Input end) {
    for (; first != end; ++first) push_back(*first);
  }
  void set(std::size_t n, Value value) {
    for (std::size_t k = 0; k < rare_.size(); ++k) {
      const auto member = Layout::kRare[k];
      const std::int64_t usual = Value{}.*member;
      if (rare_[k].empty() && value.*member != usual) {
        rare_[k].reserve(rows_.capacity());
        rare_[k].resize(size(), usual);
      }
      if (!rare_[k].empty()) rare_[k][n] = std::exchange(value.*member, usual);
    }
    Row row = Layout::take(value);
    row.facts = facts_.number(value);
    rows_[n] = row;
  }
  // Writes back a record, the last one, and all, with what `change` does to a copy of it.
  template <typename Change>
  void update(std::size_t n, Change&& change) {
    Value value = (*this)[n];
    change(value);
    set(n, value);
  }
  template <typename Change>
  void update_last(Change&& change) {
    update(size() - 1, change);
  }
  template <typename Change>
  void update_all(Change&& change) {
    for (std::size_t n = 0; n < size(); ++n) update(n, change);
  }

  // Cuts the list off.
  void truncate(std::size_t count) {
    rows_.resize(std::min(count, size()));
    for (auto& column : rare_) column.resize(std::min(count, column.size()));
  }
  template <typename Predicate>
  friend std::size_t erase_if(CompactList& list, Predicate&& is_unwanted) {
    std::size_t kept = 0;
    for (std::size_t n = 0; n < list.size(); ++n) {
      if (is_unwanted(list[n])) continue;
      list.rows_[kept] = list.rows_[n];
      for (auto& column : list.rare_) {
        if (!column.empty()) column[kept] = column[n];
      }
      ++kept;
    }
    const std::size_t erased = list.size() - kept;
    list.truncate(kept);
    return erased;
  }
  // `is_before` compares two records.
  template <typename Before>
  void stable_sort(Before&& is_before) {
    if (std::is_sorted(begin(), end(), is_before)) return;
    std::vector<std::uint32_t> order(size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return is_before((*this)[a], (*this)[b]);
    });
    put_in_order(rows_, order);
    for (auto& column : rare_) {
      if (!column.empty()) put_in_order(column, order);
    }
  }

 private:
  using Row = typename Layout::Row;

  // In its place, as a copy of a long list takes much room: each goes where the one before it in its
  // cycle was.
  template <typename Column>
  static void put_in_order(Column& column, const std::vector<std::uint32_t>& order) {
    std::vector<bool> is_placed(order.size());
    for (std::size_t first = 0; first < order.size(); ++first) {
      if (is_placed[first]) continue;
      const auto moved = column[first];
      std::size_t at = first;
      for (; order[at] != first; at = order[at]) {
        column[at] = column[order[at]];
        is_placed[at] = true;
      }
      column[at] = moved;
      is_placed[at] = true;
    }
  }

  std::vector<Row> rows_;
  UniqueValues<Value, typename Layout::Hash> facts_;
  std::array<std::vector<std::int64_t>, Layout::kRare.size()> rare_;  // empty where all are usual
};

}  // namespace foreshard::traces
