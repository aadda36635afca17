// Memory of the devices: addresses of one range of the process that nobody else uses. What is
// allocated can be read and written, but costs the host nothing until somebody does; what is not
// traps. How much each device has is counted exactly (machine.hpp).
//
// Addresses are given from the top down, as the driver mostly does: PyTorch's allocator takes the
// lowest of equally large free blocks, so that peaks depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace foreshard::rehearsal {

// The driver's pages of device memory: it gives no less, and maps no less.
inline constexpr std::size_t kPage = std::size_t{2} << 20;

// Allocations; nullopt: the device has not so much left.
std::optional<std::uintptr_t> allocate(int device, std::size_t bytes);
bool free_allocation(std::uintptr_t address);  // false: there is none at this address

// Of the part of the range: no memory until it is mapped. Bytes in whole pages.
std::uintptr_t reserve(std::size_t bytes, std::size_t alignment);
bool free_reservation(std::uintptr_t address);
void make_accessible(std::uintptr_t address, std::size_t bytes);
void make_inaccessible(std::uintptr_t address, std::size_t bytes);  // and forget what it holds

// Of a device's memory, without an address. false: it has not so much left.
bool take(int device, std::size_t bytes);
void give_back(int device, std::size_t bytes);
std::size_t used(int device);

struct Block {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  int device = 0;
};

bool is_device_memory(std::uintptr_t address);
// The allocation or reservation that holds it.
std::optional<Block> find_block(std::uintptr_t address);

}  // namespace foreshard::rehearsal
