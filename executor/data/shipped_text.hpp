// The text that ships with the project, embedded at build time from executor/data/text/.
#pragma once

#include <string_view>

namespace foreshard::executor {

std::string_view shipped_text();

}  // namespace foreshard::executor
