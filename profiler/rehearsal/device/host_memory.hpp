// Memory of the host that is pinned: allocated so, or registered later.
#pragma once

#include <cstddef>

namespace foreshard::rehearsal {

void* allocate_pinned(std::size_t bytes);  // nullptr: there is none, or no bytes are asked for
bool free_pinned(void* pointer);           // false: not allocated here

void pin(void* pointer, std::size_t bytes);
bool unpin(void* pointer);
bool is_pinned(const void* pointer);  // or points into what is

}  // namespace foreshard::rehearsal
