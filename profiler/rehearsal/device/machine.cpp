#include "profiler/rehearsal/device/machine.hpp"

#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include "profiler/rehearsal/device/notes.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

namespace foreshard::rehearsal {
namespace {

template <class Number>
Number number(std::string_view what, std::string_view text, Number least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    stop(std::string(what) + " is '" + std::string(text) + "', which is not a number of at least " +
         std::to_string(least));
  return value;
}

void describe(Machine& machine, std::string_view text) {
  const std::map<std::string_view, int*> numbers = {
      {"cc", &machine.capability},
      {"sms", &machine.multiprocessors},
      {"l2", &machine.l2_bytes},
      {"clock_khz", &machine.clock_khz},
      {"memory_clock_khz", &machine.memory_clock_khz},
      {"bus_bits", &machine.bus_bits},
      {"threads_per_sm", &machine.threads_per_multiprocessor},
      {"blocks_per_sm", &machine.blocks_per_multiprocessor},
      {"shared_per_sm", &machine.shared_per_multiprocessor},
      {"shared_per_block", &machine.shared_per_block},
  };
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(';'));
    text.remove_prefix(pair.size() == text.size() ? pair.size() : pair.size() + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    if (key == "name")
      machine.name = value;
    else if (const auto at = numbers.find(key); at != numbers.end())
      *at->second =
          number(std::string("FORESHARD_REHEARSAL_DEVICE's ") + std::string(key), value, 1);
    else
      stop("FORESHARD_REHEARSAL_DEVICE has no key '" + std::string(key) + "'");
  }
}

bool is_late(std::string_view timing) {
  if (timing != "ready" && timing != "late")
    stop("FORESHARD_REHEARSAL_GPU_TIMING is '" + std::string(timing) + "'; expected ready or late");
  if (timing == "ready") return false;
  note(
      "the GPU is taken to be late: FSDP1, and whatever else calls record_stream, holds as much "
      "memory as can be");
  return true;
}

Machine read() {
  Machine machine;
  if (const char* text = std::getenv("FORESHARD_REHEARSAL_DEVICES"))
    machine.devices = number("FORESHARD_REHEARSAL_DEVICES", text, 0);
  if (const char* text = std::getenv("FORESHARD_REHEARSAL_MEMORY"))
    machine.memory_bytes = number("FORESHARD_REHEARSAL_MEMORY", text, std::size_t{0});
  if (const char* text = std::getenv("FORESHARD_REHEARSAL_GPU_TIMING"))
    machine.is_late = is_late(text);
  if (const char* text = std::getenv("FORESHARD_REHEARSAL_DEVICE")) describe(machine, text);
  return machine;
}

}  // namespace

// Never destroyed: libraries still call when the process ends.
const Machine& machine() {
  static const auto& machine = *new Machine(read());
  return machine;
}

}  // namespace foreshard::rehearsal
