// Functions that g++ 12's runtime libraries take from glibc and that an older glibc lacks, so that programs
// which contain these libraries start there (portable.cmake). Each is hidden: no other library sees it.
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FORESHARD_FOR_OLD_GLIBC extern "C" __attribute__((visibility("hidden")))

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return nanoseconds(time);
}

// The same moment by the clock that the old functions wait by, at most a second from now: that clock may be
// set meanwhile, and who waits looks at its own clock in between.
timespec soon(clockid_t clock, const timespec& deadline) {
  std::int64_t left = nanoseconds(deadline) - now(clock);
  if (left > kSecond) left = kSecond;
  const std::int64_t then = now(CLOCK_REALTIME) + (left > 0 ? left : 0);
  return {static_cast<time_t>(then / kSecond), static_cast<long>(then % kSecond)};
}

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

// Fills the answer where the object holds the address: a callback of dl_iterate_phdr.
int look_in(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const std::uintptr_t from = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) frames = from;
    if (part.p_type != PT_LOAD) continue;
    if (from < begin) begin = from;
    if (from + part.p_memsz > end) end = from + part.p_memsz;
    holds = holds || (search.address >= from && search.address < from + part.p_memsz);
  }
  if (!holds || frames == 0) return 0;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

}  // namespace

// 2.32. That there may be several threads is always true enough.
extern "C" {
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
}

// 2.28. On 64 bits the same as fcntl.
FORESHARD_FOR_OLD_GLIBC int fcntl64(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl(file, command, argument);
}

// 2.28.
FORESHARD_FOR_OLD_GLIBC int renameat2(int old_folder, const char* old_name, int new_folder,
                                      const char* new_name, unsigned flags) noexcept {
  return static_cast<int>(
      syscall(SYS_renameat2, old_folder, old_name, new_folder, new_name, flags));
}

// 2.30.
FORESHARD_FOR_OLD_GLIBC pid_t gettid() noexcept {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

// 2.30. May return early with 0, as from a spurious wakeup.
FORESHARD_FOR_OLD_GLIBC int pthread_cond_clockwait(pthread_cond_t* condition,
                                                   pthread_mutex_t* mutex, clockid_t clock,
                                                   const timespec* deadline) {
  const timespec until = soon(clock, *deadline);
  const int status = pthread_cond_timedwait(condition, mutex, &until);
  return status == ETIMEDOUT && now(clock) < nanoseconds(*deadline) ? 0 : status;
}

// 2.30.
FORESHARD_FOR_OLD_GLIBC int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                                    const timespec* deadline) noexcept {
  int status = 0;
  do {
    const timespec until = soon(clock, *deadline);
    status = pthread_mutex_timedlock(mutex, &until);
  } while (status == ETIMEDOUT && now(clock) < nanoseconds(*deadline));
  return status;
}

// 2.35. By which exceptions find the frames of the function they leave: 0, or -1 where no object is there.
FORESHARD_FOR_OLD_GLIBC int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_in, &search) == 1 ? 0 : -1;
}

// 2.36.
FORESHARD_FOR_OLD_GLIBC std::uint32_t arc4random() noexcept {
  std::uint32_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
  }
  return bits;
}
