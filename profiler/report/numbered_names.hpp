// Merges names that differ in a number, such as those of a model's layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foreshard::profiler {

// The number is the first that is a part of the path by itself ("model.layers.3.mlp: linear"), or
// else the last there is ("h3"); -1 where there is none, and then `before` is all of the name.
struct NumberedName {
  std::string before, after;
  std::int64_t number = -1;
};
NumberedName split_number(const std::string& name);

// "model.layers.0 to 3, model.norm" for units that differ in a number; at most `most` runs.
std::string joined_units(const std::vector<std::string>& units, std::size_t most);

}  // namespace foreshard::profiler
