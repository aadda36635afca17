// What a file that is no JSON looks like from its beginning, for messages: "is a zip archive".
#pragma once

#include <string>
#include <string_view>

namespace foreshard::traces::kineto {

std::string looks_like(std::string_view text);

}  // namespace foreshard::traces::kineto
