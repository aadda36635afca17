#include "profiler/rehearsal/device/copies.hpp"

#include <atomic>
#include <cstring>
#include <deque>

#include "profiler/rehearsal/device/counts.hpp"
#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/device_memory.hpp"
#include "profiler/rehearsal/device/durations.hpp"
#include "profiler/rehearsal/device/interface.h"
#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {
namespace {

thread_local std::deque<long long> next_counts;
std::atomic<foreshard_rehearsal_reader> reader{nullptr};

const char* direction(bool is_to_device, bool is_from_device) {
  if (is_to_device) return is_from_device ? "device-to-device" : "host-to-device";
  return is_from_device ? "device-to-host" : "host-to-host";
}

bool take_count(void* to, std::size_t bytes) {
  if (next_counts.empty() || (bytes != 4 && bytes != 8)) return false;
  const std::int64_t count = next_counts.front();
  next_counts.pop_front();
  const std::int32_t small = static_cast<std::int32_t>(count);
  std::memcpy(to, bytes == 4 ? static_cast<const void*>(&small) : &count, bytes);
  return true;
}

// One row; the host reads it.
void read(void* to, const void* from, std::size_t bytes) {
  if (take_count(to, bytes)) return;
  const foreshard_rehearsal_reader reads = reader;
  if (reads != nullptr && reads(to, from, bytes, last_launched()) != 0) return;
  std::memcpy(to, from, bytes);
}

}  // namespace

void copy_rows(std::uintptr_t to, std::size_t to_pitch, std::uintptr_t from, std::size_t from_pitch,
               std::size_t width, std::size_t rows, cudaStream_t stream) {
  const bool is_to_device = is_device_memory(to), is_from_device = is_device_memory(from);
  const bool is_read = is_from_device && !is_to_device;
  const std::size_t bytes = width * rows;
  const CallId call = record_copy(stream, is_to_device, is_from_device, bytes);
  log_line(call, "COPY %p %s %zu", static_cast<void*>(stream),
           direction(is_to_device, is_from_device), bytes);
  count_copy(stream, is_read);
  work(stream, durations::copy(bytes));
  if (bytes > kLargestRealCopy && (is_to_device || is_from_device)) return;
  for (std::size_t row = 0; row < rows; ++row) {
    void* const target = reinterpret_cast<void*>(to + row * to_pitch);
    const void* const source = reinterpret_cast<const void*>(from + row * from_pitch);
    if (is_read)
      read(target, source, width);
    else
      std::memmove(target, source, width);
  }
}

void copy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, cudaStream_t stream) {
  copy_rows(to, bytes, from, bytes, bytes, 1, stream);
}

void set_bytes(std::uintptr_t to, int value, std::size_t bytes, cudaStream_t stream) {
  const CallId call = record_memset(stream, value, bytes);
  log_line(call, "SET %p %zu", static_cast<void*>(stream), bytes);
  work(stream, durations::kKernel);
  if (bytes <= kLargestRealCopy || !is_device_memory(to))
    std::memset(reinterpret_cast<void*>(to), value, bytes);
}

}  // namespace foreshard::rehearsal

void foreshard_rehearsal_next_count(long long count) {
  foreshard::rehearsal::next_counts.push_back(count);
}

void foreshard_rehearsal_no_count() {
  foreshard::rehearsal::next_counts.clear();
}

void foreshard_rehearsal_on_read(foreshard_rehearsal_reader reader) {
  foreshard::rehearsal::reader = reader;
}
