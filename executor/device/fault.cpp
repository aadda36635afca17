#include "executor/device/fault.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace foreshard::executor {
namespace {

constexpr const char* kFaultVariable = "FORESHARD_FAULT";

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0;
}

}  // namespace

void Fault::maybe_fail(int at_rank, std::int64_t at_step) const {
  if (at_rank != rank || at_step != step) return;
  switch (kind) {
    case Kind::throws:
      throw std::runtime_error("ordered to throw in step " + std::to_string(step) + " by " +
                               kFaultVariable);
    case Kind::exits: _exit(1);
    case Kind::hangs:
      for (;;) pause();
  }
}

Result<Fault> parse_fault(std::string_view text) {
  Fault fault;
  if (text.empty()) return fault;
  bool has_step = false, has_kind = false;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t colon = item.find(':');
    const std::string_view key = item.substr(0, colon);
    const std::string_view value = colon == item.npos ? "" : item.substr(colon + 1);
    const auto wrong = [&](const char* expected) {
      return fail(kFaultVariable, std::string(key),
                  "\"" + std::string(value) + "\" is not understood; expected " + expected);
    };
    if (key == "rank") {
      if (!read_number(value, fault.rank)) return wrong("a rank, 0 or more");
    } else if (key == "step") {
      if (!read_number(value, fault.step)) return wrong("a step, 0 or more");
      has_step = true;
    } else if (key == "kind") {
      if (value == "throw") {
        fault.kind = Fault::Kind::throws;
      } else if (value == "exit") {
        fault.kind = Fault::Kind::exits;
      } else if (value == "hang") {
        fault.kind = Fault::Kind::hangs;
      } else {
        return wrong("throw, exit or hang");
      }
      has_kind = true;
    } else {
      return fail(kFaultVariable, std::string(key), "unknown key; expected rank, step and kind");
    }
  }
  if (fault.rank == kNoRank || !has_step || !has_kind) {
    return fail(kFaultVariable, "", "incomplete; expected rank:R,step:S,kind:throw|exit|hang");
  }
  return fault;
}

Result<Fault> fault_from_environment() {
  const char* text = std::getenv(kFaultVariable);
  return parse_fault(text == nullptr ? "" : text);
}

}  // namespace foreshard::executor
