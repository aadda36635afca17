// What parameters and optimizer states are called in PyTorch's state dictionaries: by transformers' names, or by
// torchtitan's, whose Llama has rows of queries and keys in another order too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/llama/llama_config.hpp"

namespace foreshard::executor {

enum class StateNames : std::uint8_t { transformers, torchtitan };

// A name that is known, whatever it stands under.
struct KnownState {
  std::string parameter;           // by transformers' name
  std::string role = "parameter";  // "exp_avg", "exp_avg_sq", "momentum_buffer" or "step" otherwise
  StateNames names = StateNames::transformers;
};
std::optional<KnownState> known_state(std::string_view name);

// A name, and the keys it stands under from the outermost: {"model": {name: ...}, "optimizer": {"state":
// {name: {role: ...}}}} with transformers' names; torchtitan has parameters outermost, and flat states.
struct StateKey {
  std::string name;
  std::vector<std::string> path;
};
StateKey state_key(StateNames names, std::string_view parameter, std::string_view role);
// Of an option of the optimizer, such as "lr", for that parameter.
StateKey option_key(StateNames names, std::string_view parameter, std::string_view option);

// The parameter's own name; nothing where torchtitan has no such parameter.
std::optional<std::string> own_name(StateNames names, std::string_view parameter);

// The rows of a head, where the parameter's have another order under those names, else 0: transformers has the
// first halves of the pairs that a rotary embedding turns before the second ones, torchtitan's Llama has them
// side by side (torchtitan/models/llama3/model/state_dict_adapter.py, of version 0.2.2).
std::int64_t rows_in_pairs(StateNames names, std::string_view parameter, const LlamaConfig& config);
// Where a row of transformers' order lies in torchtitan's.
std::int64_t paired_row(std::int64_t row, std::int64_t head);

}  // namespace foreshard::executor
