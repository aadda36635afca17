// A list of numbers that are mostly small: all of them take as many bytes, one, two or four, as the
// largest needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace foreshard::gui {

class NarrowNumbers {
 public:
  std::size_t size() const {
    return std::visit([](const auto& list) { return list.size(); }, numbers_);
  }
  std::uint32_t operator[](std::size_t n) const {
    if (const auto* const bytes = std::get_if<List<std::uint8_t>>(&numbers_)) return (*bytes)[n];
    if (const auto* const words = std::get_if<List<std::uint16_t>>(&numbers_)) return (*words)[n];
    return std::get<List<std::uint32_t>>(numbers_)[n];
  }
  void reserve(std::size_t count) {
    std::visit([&](auto& list) { list.reserve(count); }, numbers_);
  }
  void push_back(std::uint32_t number) {
    if (number > UINT8_MAX && numbers_.index() == 0) widen<std::uint16_t>();
    if (number > UINT16_MAX && numbers_.index() == 1) widen<std::uint32_t>();
    std::visit(
        [&](auto& list) {
          list.push_back(static_cast<typename std::decay_t<decltype(list)>::value_type>(number));
        },
        numbers_);
  }

 private:
  template <typename Number>
  using List = std::vector<Number>;

  template <typename Number>
  void widen() {
    List<Number> wide;
    std::visit(
        [&](const auto& list) {
          wide.reserve(list.capacity());
          for (const auto number : list) wide.push_back(static_cast<Number>(number));
        },
        numbers_);
    numbers_ = std::move(wide);
  }

  std::variant<List<std::uint8_t>, List<std::uint16_t>, List<std::uint32_t>> numbers_;
};

}  // namespace foreshard::gui
