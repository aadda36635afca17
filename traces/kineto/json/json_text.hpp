// Navigation in JSON text that may be truncated or damaged: where a value ends, and where the
// next event may begin. Offsets into the text; kNotThere where there is no such place.
#pragma once

#include <cstddef>
#include <string_view>

namespace foreshard::traces::kineto {

constexpr std::size_t kNotThere = std::string_view::npos;

std::size_t skip_space(std::string_view text, std::size_t at);

// Behind the value that begins at `at`, by its quotes and brackets alone. Not beyond `limit`.
std::size_t value_end(std::string_view text, std::size_t at, std::size_t limit = kNotThere);

// From `at` on, the next object that opens with a key of events and is not the value of a key.
std::size_t next_event(std::string_view text, std::size_t at);

// Behind the last object that another one follows: there a run of events can be cut in two.
std::size_t last_boundary(std::string_view text);

}  // namespace foreshard::traces::kineto
