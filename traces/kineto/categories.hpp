// The categories of Kineto's events, in all versions, and the kinds of events they are.
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

enum class Category : std::uint8_t {
  host,
  annotation,
  runtime,
  stack,
  overhead,
  kernel,
  copy,
  device_range,
  sync,
  profiler,
  unknown
};

Category category_of(std::string_view text);
bool is_on_device(Category category);
EventKind kind_of(Category category, std::string_view name);

}  // namespace foreshard::traces::kineto
