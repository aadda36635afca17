// Reading the memory of another process of this machine (process_vm_readv), where the system allows it: not
// between containers, nor where a security module or a filter of system calls forbids it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <sys/types.h>

namespace foreshard::executor {

// The same for processes that can see each other's ids, and for no others.
std::string process_space();

// Lets other processes of this user read this one's memory where only its ancestors might (Yama).
void allow_reading();

// Fills `to` from an address of the process; 0, or the errno of what failed.
int read_memory(pid_t process, std::uint64_t address, std::span<std::byte> to);

}  // namespace foreshard::executor
