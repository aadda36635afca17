#include "tests/models/lowering/allocator_requests.hpp"

#include <algorithm>
#include <map>

namespace foreshard::tests {

Requests requests(const RankProgram& program, int first, int last) {
  Requests lines;
  std::map<BufferId, std::size_t> numbers;  // of a buffer's latest allocation
  std::size_t next = 0;
  for (int step = first; step <= last; ++step) {
    for (const Instruction& i : program.step(step).instructions) {
      if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(i.target)];
      if (buffer.on_host) continue;
      if (i.kind == Kind::alloc) {
        numbers[i.target] = next++;
        lines.push_back("+ " + std::to_string(buffer.bytes) + " " + program.name(buffer.pool));
      } else if (numbers.contains(i.target)) {
        lines.push_back("- " + std::to_string(numbers[i.target]));
      }
    }
    for (const auto& [made, left] : program.carried) {
      if (const auto number = numbers.extract(made)) numbers[left] = number.mapped();
    }
  }
  return lines;
}

Requests requests(const std::vector<nlohmann::json>& log) {
  Requests lines;
  std::map<std::int64_t, std::size_t> numbers;  // of what is alive, by address
  std::size_t next = 0;
  for (const nlohmann::json& event : log) {
    const std::string action = event.value("action", "");
    if (action == "alloc") {
      numbers[event["addr"]] = next++;
      lines.push_back("+ " + event["size"].dump() + " " + event["stream"].get<std::string>());
    } else if (action == "free_requested") {
      lines.push_back("- " + std::to_string(numbers.at(event["addr"])));
    }
  }
  return lines;
}

std::string difference(const Requests& ours, const Requests& theirs) {
  constexpr std::size_t kAround = 6;
  const auto parted = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end()).first;
  const auto at = static_cast<std::size_t>(parted - ours.begin());
  if (at == ours.size() && at == theirs.size()) return "";
  const auto line = [](const Requests& list, std::size_t n) {
    return n < list.size() ? list[n] : std::string("(end)");
  };
  std::string text =
      "request " + std::to_string(at) + " of " + std::to_string(theirs.size()) + "\n";
  for (std::size_t n = at - std::min(at, kAround); n < at + kAround; ++n) {
    text += (n == at ? "> " : "  ") + line(ours, n) + "   |   " + line(theirs, n) + "\n";
  }
  return text;
}

}  // namespace foreshard::tests
