#include "profiler/rehearsal/program/captured_step.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/base/text_file.hpp"
#include "traces/import.hpp"

namespace foreshard::profiler {
namespace {

using nlohmann::json;
using Called = DeviceCall::Kind;

// A handle as C's %p writes it: (nil) or 0x...
std::uint64_t handle(const std::string& text) {
  if (text == "(nil)") return 0;
  std::uint64_t value = 0;
  const std::size_t begin = text.starts_with("0x") ? 2 : 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), value, 16);
  return value;
}

// Beyond these what is computed of them would overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;
constexpr int kMostRanks = 100'000;

bool is_between(std::int64_t value, std::int64_t least, std::int64_t most) {
  return least <= value && value <= most;
}

// The rest of a line of the log behind its kind. False: there is no such call.
bool read_call(std::istringstream& line, const std::string& kind, DeviceCall& call) {
  std::string stream, event, skipped;
  if (kind == "WAIT") {
    line >> call.what >> event;
    call.kind = call.what == "event"    ? Called::wait_event
                : call.what == "stream" ? Called::wait_stream
                                        : Called::wait_device;
    (call.kind == Called::wait_event ? call.event : call.stream) = handle(event);
    return true;
  }
  static constexpr std::array<std::pair<std::string_view, Called>, 9> kKinds{{
      {"LAUNCH", Called::launch},
      {"PRODUCT", Called::product},
      {"CUDNN", Called::cudnn},
      {"COLLECTIVE", Called::collective},
      {"GRAPH", Called::graph},
      {"COPY", Called::copy},
      {"SET", Called::set},
      {"RECORD", Called::record},
      {"AWAIT", Called::await},
  }};
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(),
                                         [&](const auto& row) { return row.first == kind; });
  if (found == kKinds.end()) return false;
  call.kind = found->second;
  line >> stream;
  call.stream = handle(stream);
  std::string communicator;
  switch (call.kind) {
    case Called::launch: line >> skipped >> skipped >> skipped >> call.what; break;
    case Called::collective:
      line >> call.what >> call.ranks >> call.bytes >> communicator >> call.rank >> call.peer >>
          call.group;
      call.communicator = handle(communicator);
      break;
    case Called::product:
      for (std::int64_t& size : call.product) line >> size;
      break;
    case Called::copy: line >> call.what >> call.bytes; break;
    case Called::graph: line >> call.graph; break;
    case Called::set: line >> call.bytes; break;
    case Called::record:
    case Called::await:
      line >> event;
      call.event = handle(event);
      break;
    default: break;
  }
  return is_between(call.bytes, 0, kMostBytes) && is_between(call.ranks, 0, kMostRanks);
}

// Throws where there is a fraction, an exponent or a number beyond the integer's range.
template <typename Integer>
Integer whole(const json& value) {
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<Integer>(value.get<std::uint64_t>())
          : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits) throw std::out_of_range("not a whole number");
  return value.get<Integer>();
}

template <typename Integer>
std::vector<Integer> whole_numbers(const json& list) {
  std::vector<Integer> numbers;
  for (const json& value : list) numbers.push_back(whole<Integer>(value));
  return numbers;
}

TensorArgument tensor(const json& value) {
  // Beyond it the bytes of complex numbers would overflow.
  constexpr std::int64_t kMostElements = std::int64_t{1} << 56;
  TensorArgument made{whole<std::uint64_t>(value.at(0)), whole<std::int64_t>(value.at(1)),
                      value.at(2).get<std::string>(), whole_numbers<std::int64_t>(value.at(3))};
  if (made.elements < 0 || made.elements > kMostElements) throw std::out_of_range("elements");
  return made;
}

bool is_tensor(const json& value) {
  return value.is_array() && value.size() == 4 && value[2].is_string();
}

Argument argument(const json& value) {
  if (value.is_number_integer()) return whole<std::int64_t>(value);
  if (value.is_boolean()) return value.get<bool>();
  if (is_tensor(value)) return tensor(value);
  if (!value.is_array()) return {};
  std::vector<TensorArgument> list;
  for (const json& element : value) {
    if (is_tensor(element)) list.push_back(tensor(element));
  }
  return list;
}

}  // namespace

std::int64_t TensorArgument::bytes() const {
  static constexpr std::array<std::pair<std::string_view, int>, 10> kSizes{{
      {"bfloat16", 2},
      {"float16", 2},
      {"int16", 2},
      {"float64", 8},
      {"int64", 8},
      {"complex64", 8},
      {"complex128", 16},
      {"bool", 1},
      {"uint8", 1},
      {"int8", 1},
  }};
  for (const auto& [name, size] : kSizes) {
    if (type == name) return elements * size;
  }
  return elements * (type.starts_with("float8") ? 1 : 4);
}

DeviceLog parse_device_log(std::istream& text) {
  DeviceLog log;
  CapturedGraph* captured = nullptr;  // what calls go into
  std::string row;
  while (std::getline(text, row)) {
    std::istringstream line(row);
    std::string time, thread, kind;
    DeviceCall call;
    line >> time >> thread >> call.correlation >> call.external >> kind;
    if (kind == "STREAM") {
      std::string stream;
      int priority = 0;
      line >> stream >> priority;
      log.priorities[handle(stream)] = priority;
    } else if (kind == "CAPTURE") {
      std::string stream;
      std::uint64_t graph = 0;
      line >> stream >> graph;
      captured = &log.graphs[graph];
      captured->stream = handle(stream);
    } else if (kind == "CAPTURED") {
      captured = nullptr;
    } else if (read_call(line, kind, call)) {
      (captured == nullptr ? log.calls : captured->calls).push_back(std::move(call));
    }
  }
  return log;
}

Result<void> parse_operators(std::string_view text, const std::string& file, CapturedStep& step) {
  constexpr int kDeepest = 8;
  constexpr std::size_t kMostValues = std::size_t{1}
                                      << 26;  // of hundreds of thousands of operators
  if (const std::string excess = json_excess(text, kDeepest, kMostValues); !excess.empty()) {
    return fail(file, "", excess + "; expected what the hooks of a rehearsal wrote");
  }
  const json all = json::parse(text, nullptr, false);
  const auto addresses = [&](const char* name) {
    return whole_numbers<std::uint64_t>(all.at("tensors").at(name));
  };
  try {
    for (const auto& [id, row] : all.at("operators").items()) {
      CapturedOperator& made = step.operators[std::stoll(id)];
      made.name = row.at(0);
      if (row.at(1).is_string()) made.module = row.at(1);
      made.is_of_model = row.at(1).is_string() && made.module.empty();
      made.is_again = row.at(2);
      for (const json& value : row.at(3)) made.arguments.push_back(argument(value));
    }
    for (const json& group : all.at("groups")) {
      CapturedGroup& made = step.groups[whole<std::uint64_t>(group.at("communicator"))];
      made = {group.at("name"), whole_numbers<int>(group.at("ranks"))};
      for (const int rank : made.ranks) {
        if (!is_between(rank, 0, kMostRanks)) throw std::out_of_range("rank");
      }
    }
    step.parameters = addresses("parameters");
    step.gradients = addresses("gradients");
    step.optimizer_states = addresses("optimizer_states");
  } catch (const std::exception&) {
    return fail(file, "", "is damaged; expected what the hooks of a rehearsal wrote");
  }
  return {};
}

namespace {

// What a folder has of the step or of a graph. Numbers of calls, operators and graphs are the process's, so that
// those of one folder are no other's.
Result<traces::Trace> read_profiled(const std::string& folder, CapturedStep& step, DeviceLog& log) {
  std::ifstream lines(folder + "/device.log");
  log = parse_device_log(lines);
  const std::string operators = folder + "/operators.json";
  const auto text = read_text_file(operators, "the operators of a rehearsal", 512 * kMiB);
  if (!text) return tl::unexpected(text.error());
  if (auto ok = parse_operators(*text, operators, step); !ok) return tl::unexpected(ok.error());
  auto profiles = traces::import_kineto({folder + "/profile.json"});
  if (!profiles) return tl::unexpected(profiles.error());
  return std::move(profiles->front());
}

}  // namespace

Result<CapturedStep> read_captured_step(const std::string& folder) {
  CapturedStep step;
  for (int n = 1;; ++n) {
    const std::string of_graph = folder + "/graph-" + std::to_string(n);
    if (!std::filesystem::exists(of_graph + "/operators.json")) break;
    DeviceLog log;
    auto profile = read_profiled(of_graph, step, log);
    if (!profile) return tl::unexpected(profile.error());
    for (auto& [number, graph] : log.graphs) graph.profile = *profile;
    step.graphs.merge(log.graphs);
  }
  auto profile = read_profiled(folder, step, step.log);
  if (!profile) return tl::unexpected(profile.error());
  step.profile = std::move(*profile);
  auto allocations = traces::read_snapshot(folder + "/allocations.pickle");
  if (!allocations) return tl::unexpected(allocations.error());
  step.allocations = std::move(*allocations);
  return step;
}

}  // namespace foreshard::profiler
