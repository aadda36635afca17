// The arguments of an operator as a recording has them: shapes, types, and values where they are
// numbers. What is missing or damaged is absent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/base/dtype.hpp"
#include "traces/kineto/json/raw_event.hpp"

namespace foreshard::traces::kineto {

constexpr std::int64_t kLargest = std::int64_t{1} << 50;  // elements or bytes: more are damage

// By PyTorch's names, those of C++ ("c10::BFloat16") or its own ("BFloat16").
struct ElementType {
  std::int64_t size = 0;      // bytes, 0 where the type is unknown
  std::optional<DType> type;  // where models/ has it
  bool is_floating = false;

  bool operator==(const ElementType&) const = default;
};
ElementType element_type(std::string_view word);
// By the number of a torch.dtype among the values.
ElementType element_type_numbered(std::string_view number);

class Dims {
 public:
  static constexpr std::size_t kMax = 8;

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t last() const { return values_[rank_ - 1]; }
  std::span<const std::int64_t> all() const { return {values_.data(), rank_}; }
  bool add(std::int64_t value);
  bool operator==(const Dims&) const = default;

 private:
  std::array<std::int64_t, kMax> values_{};
  std::size_t rank_ = 0;
};

// At least one dimension, and elements of a known size.
struct Tensor {
  Dims dims;
  ElementType type;
  std::int64_t elements = 0;

  std::int64_t bytes() const { return elements * type.size; }
};

class Arguments {
 public:
  explicit Arguments(const RawEvent& event) : event_(event) {}

  // None where it is a list, a number, empty, or too large to be true.
  std::optional<Tensor> tensor(int n) const;
  // Of a tensor of any type.
  std::optional<std::int64_t> elements(int n) const;
  // Of the tensor in a list of one.
  std::optional<std::int64_t> elements_of_only(int n) const;
  // No tensor was given: nothing, a number, or a tensor without dimensions.
  bool is_scalar(int n) const;
  // Without quotes; empty where the recording does not contain it.
  std::string_view value(int n) const;
  std::optional<std::int64_t> integer(int n) const;
  // Whether it is a transposed view of a matrix: its rows are contiguous columns.
  bool is_transposed(int n, const Dims& dims) const;
  bool has_strides() const { return !event_.input_strides.empty(); }

 private:
  const RawEvent& event_;
};

// Nothing of no dimensions, of an empty tensor, or where it is too large to be true.
std::optional<std::int64_t> product(const Dims& dims);

// "[2, -1]"; nothing where it is not a list of integers.
std::optional<Dims> integers(std::string_view list);

}  // namespace foreshard::traces::kineto
