// The answers of a search, predicted again in full: each by itself, from the text of its plan file.
#pragma once

#include "simulator/search/search.hpp"

namespace foreshard::simulator {

// An error where a prediction differs from what the search found, which would be a fault of the program.
Result<void> verify(const SearchRequest& request, const SearchAnswer& answer);

}  // namespace foreshard::simulator
