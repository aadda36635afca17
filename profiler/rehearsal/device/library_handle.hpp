// Handles of cuBLAS, cuSOLVER and cuSPARSE, and what they describe: of most nothing is known but the
// stream on which they work (library_calls.txt).
#pragma once

#include <driver_types.h>

namespace foreshard::rehearsal {

struct LibraryHandle {
  cudaStream_t stream = nullptr;
};

template <class Handle>
void create(Handle* handle) {
  *handle = reinterpret_cast<Handle>(new LibraryHandle);
}

template <class Handle>
LibraryHandle* known(Handle handle) {
  return const_cast<LibraryHandle*>(reinterpret_cast<const LibraryHandle*>(handle));
}

}  // namespace foreshard::rehearsal
