// What the path of a module tells, as PyTorch names modules: "model.layers.3.self_attn.q_proj".
#pragma once

#include <cstdint>
#include <string_view>

namespace foreshard {

// The layer, which is the first part that is a number; kNone: in none.
std::int32_t layer_in(std::string_view path);
// Up to and with that part; the whole path where there is none.
std::string_view path_of_layer(std::string_view path);

}  // namespace foreshard
