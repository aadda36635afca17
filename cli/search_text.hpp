// What `foreshard search` prints for people.
#pragma once

#include <string>

#include "simulator/search/search.hpp"

namespace foreshard::cli {

std::string search_text(const simulator::SearchRequest& request,
                        const simulator::SearchAnswer& answer);

}  // namespace foreshard::cli
