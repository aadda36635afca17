// Threads that the system may refuse: it allows a user, a container and an address space only so
// many.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace foreshard::executor {

// Throws std::runtime_error that names the thread there is no room for.
template <typename Work>
std::thread start_thread(const std::string& name, Work work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    throw std::runtime_error(name + " cannot be started: " + error.code().message());
  }
}

}  // namespace foreshard::executor
