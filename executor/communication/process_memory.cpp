#include "executor/communication/process_memory.hpp"

#include <array>
#include <cerrno>
#include <fstream>

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace foreshard::executor {

std::string process_space() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> link{};
  const ssize_t length = readlink("/proc/self/ns/pid", link.data(), link.size());
  if (length > 0) boot.append(link.data(), static_cast<std::size_t>(length));
  return boot;
}

void allow_reading() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

int read_memory(pid_t process, std::uint64_t address, std::span<std::byte> to) {
  while (!to.empty()) {
    const iovec local{to.data(), to.size()};
    const iovec remote{reinterpret_cast<void*>(address), to.size()};
    const ssize_t came = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (came < 0 && errno == EINTR) continue;
    if (came <= 0) return came < 0 ? errno : EFAULT;
    address += static_cast<std::uint64_t>(came);
    to = to.subspan(static_cast<std::size_t>(came));
  }
  return 0;
}

}  // namespace foreshard::executor
