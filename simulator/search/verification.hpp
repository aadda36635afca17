// The answers of a search, predicted again in full: each by itself.
#pragma once

#include "simulator/search/search.hpp"

namespace foreshard::simulator {

// Adds the times between which the step's lies with a probability of 90 %, which the search itself does
// not need, and what is lost of a training.
void add_band(const SearchRequest& request, FoundPlan& found);
void add_bands(const SearchRequest& request, SearchAnswer& answer);

// Each from the text of its plan file. An error where a prediction differs from what the search found,
// which would be a fault of the program.
Result<void> verify(const SearchRequest& request, const SearchAnswer& answer);

}  // namespace foreshard::simulator
