// Copies and memsets of runtime and driver alike: counted, and done where they are small, so that
// scalars, shapes and objects that travel through a device arrive.
#pragma once

#include <cstddef>
#include <cstdint>

#include <driver_types.h>

namespace foreshard::rehearsal {

// What larger copies would cost in pages, and memory of the host, is saved: nobody reads the
// values.
inline constexpr std::size_t kLargestRealCopy = std::size_t{64} << 10;

void copy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, cudaStream_t stream);
// Rows of `width` bytes.
void copy_rows(std::uintptr_t to, std::size_t to_pitch, std::uintptr_t from, std::size_t from_pitch,
               std::size_t width, std::size_t rows, cudaStream_t stream);
void set_bytes(std::uintptr_t to, int value, std::size_t bytes, cudaStream_t stream);

}  // namespace foreshard::rehearsal
