// Which instruction of a rank an event belongs to: what joins a host's event with the work it issued.
#pragma once

#include <cstddef>
#include <cstdint>

namespace foreshard::simulator {

struct Issue {
  std::int32_t rank = 0, step = 0, instruction = 0;
  bool operator==(const Issue&) const = default;
};
struct IssueHash {
  std::size_t operator()(const Issue& issue) const {
    constexpr std::size_t kPrime = 1'000'003;
    const auto rank = static_cast<std::size_t>(issue.rank);
    const auto step = static_cast<std::size_t>(issue.step);
    return (rank * kPrime + step) * kPrime + static_cast<std::size_t>(issue.instruction);
  }
};

}  // namespace foreshard::simulator
