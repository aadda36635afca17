// What the device could not know, as sentences for the answer of the rehearsal (interface.h).
#pragma once

#include <string>
#include <string_view>

namespace foreshard::rehearsal {

void note(const std::string& sentence);  // each once

// That a library was asked how much memory it needs.
void note_unknown_workspace(std::string_view library);

}  // namespace foreshard::rehearsal
