#include "cli/common/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "models/base/atomic_file.hpp"
#include "models/base/figures.hpp"
#include "models/base/moment.hpp"
#include "models/base/utf8.hpp"

namespace foreshard::cli {
namespace {

// Parser of memory sizes such as 80GiB.

struct Unit {
  const char* suffix;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"KiB", 1024},
                           {"MiB", 1048576},
                           {"GiB", 1073741824},
                           {"TiB", 1099511627776.0},
                           {"KB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12}};

// "2GiB", "512 MiB", "80GB", "1000000": bytes. Nothing where it is none of these.
std::optional<std::int64_t> byte_size(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc()) return std::nullopt;
  const char* suffix = read.ptr;
  while (suffix != end && *suffix == ' ') ++suffix;
  for (const Unit& unit : kUnits) {
    const double bytes = number * unit.bytes;
    if (std::string(suffix, end) == unit.suffix && bytes >= 1 && bytes < 9e18) {
      return static_cast<std::int64_t>(bytes);
    }
  }
  return std::nullopt;
}

// "30d", "12h", "90min", "45s": seconds, above 0. Nothing where it is none of these.
std::optional<double> span_of(const std::string& text) {
  constexpr std::pair<const char*, double> kSpans[] = {
      {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc()) return std::nullopt;
  for (const auto& [suffix, seconds] : kSpans) {
    const double span = number * seconds;
    if (std::string(read.ptr, end) == suffix && span > 0 && span < 1e15) return span;
  }
  return std::nullopt;
}

std::optional<std::int32_t> whole_number(const std::string& digits) {
  std::int32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

// "3" or "0-7".
std::optional<traces::NumberRange> number_range(const std::string& text) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto first = whole_number(text.substr(0, dash));
  const auto last = dash == text.size() ? first : whole_number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return traces::NumberRange{*first, *last};
}

constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

std::string expected(Range range) {
  std::string text = "a whole number from " + std::to_string(range.least);
  return text + (range.most == kNoBound ? " on" : " to " + std::to_string(range.most));
}

[[noreturn]] void refuse(const std::string& name, const std::string& value,
                         const std::string& wanted) {
  throw CLI::ValidationError(name, "is '" + excerpt(value) + "'; expected " + wanted);
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

namespace fs = std::filesystem;

// Where a file of this name is written: a link under the name is replaced, not followed.
fs::path written_at(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return fs::weakly_canonical(whole.parent_path(), error) / whole.filename();
}

bool would_overwrite(const std::string& output, const std::string& input) {
  std::error_code error;
  const fs::path at = written_at(output);
  return at == written_at(input) || at == fs::weakly_canonical(fs::absolute(input, error), error);
}

}  // namespace

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

CLI::Option& Options::add(const std::string& names, OptionText text, ValueKind kind,
                          std::function<void(const std::string&)> take) {
  OptionInfo info;
  const bool is_positional = names == text.metavar;
  if (!is_positional) info.names = parts_of(names);
  info.metavar = std::move(text.metavar);
  info.help = std::move(text.help);
  info.fallback = std::move(text.fallback);
  info.is_required = text.is_required;
  info.kind = kind;
  CLI::Option* option = app_.add_option_function<std::string>(names, std::move(take), info.help);
  option->required(info.is_required)->type_name(info.metavar);
  all_.push_back(std::move(info));
  return *option;
}

void Options::flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag(names, value, help);
  OptionInfo info;
  info.names = parts_of(names);
  info.help = help;
  info.kind = ValueKind::flag;
  all_.push_back(std::move(info));
}

void Options::quiet(bool& value) {
  flag("-q,--quiet", value, "print no progress and no notes; warnings stay");
}

void Options::text(const std::string& names, std::string& value, OptionText text, ValueKind kind) {
  add(names, std::move(text), kind, [&value](const auto& given) { value = given; });
}

void Options::integer(const std::string& names, Range range, OptionText text,
                      std::function<void(std::int64_t)> take) {
  const std::string name = parts_of(names).back();
  add(names, std::move(text), ValueKind::text,
      [range, name, take = std::move(take)](const std::string& given) {
        std::int64_t number = 0;
        const char* const end = given.data() + given.size();
        const auto read = std::from_chars(given.data(), end, number);
        const bool is_number = read.ec == std::errc() && read.ptr == end;
        if (!is_number || number < range.least || number > range.most) {
          refuse(name, given, expected(range));
        }
        take(number);
      });
}

void Options::whole_number(const std::string& names, int& value, Range range, OptionText text) {
  if (!text.is_required && text.fallback.empty()) text.fallback = std::to_string(value);
  integer(names, range, std::move(text),
          [&value](auto number) { value = static_cast<int>(number); });
}

void Options::whole_number(const std::string& names, std::int64_t& value, Range range,
                           OptionText text) {
  if (!text.is_required && text.fallback.empty()) text.fallback = std::to_string(value);
  integer(names, range, std::move(text), [&value](auto number) { value = number; });
}

void Options::whole_number(const std::string& names, std::optional<int>& value, Range range,
                           OptionText text) {
  integer(names, range, std::move(text),
          [&value](auto number) { value = static_cast<int>(number); });
}

void Options::number(const std::string& names, double& value, double most, OptionText text) {
  if (text.fallback.empty()) text.fallback = formatted("%g", value);
  const std::string name = parts_of(names).back();
  add(names, std::move(text), ValueKind::text, [&value, most, name](const std::string& given) {
    const char* const end = given.data() + given.size();
    const auto read = std::from_chars(given.data(), end, value);
    const bool is_number = read.ec == std::errc() && read.ptr == end;
    if (!is_number || !(value > 0) || value > most) {
      refuse(name, given, formatted("a number above 0, at most %g", most));
    }
  });
}

void Options::size(const std::string& names, std::optional<std::int64_t>& bytes, OptionText text) {
  const std::string name = parts_of(names).back();
  add(names, std::move(text), ValueKind::text, [&bytes, name](const std::string& given) {
    bytes = byte_size(given);
    if (!bytes) refuse(name, given, "bytes, or a number with a unit such as 80GiB");
  });
}

void Options::ranges(const std::string& names, std::vector<traces::NumberRange>& ranges,
                     OptionText text) {
  const std::string name = parts_of(names).back();
  add(names, std::move(text), ValueKind::text, [&ranges, name](const std::string& given) {
    for (const std::string& part : parts_of(given)) {
      const auto range = number_range(part);
      if (!range) refuse(name, given, "a number, a list such as 0,3 or a range such as 0-7");
      ranges.push_back(*range);
    }
  });
}

void Options::moment(const std::string& names, std::optional<std::int64_t>& ns, OptionText text) {
  const std::string name = parts_of(names).back();
  add(names, std::move(text), ValueKind::text, [&ns, name](const std::string& given) {
    ns = parse_moment(given);
    const bool has_unit = given.ends_with('s');
    if (!ns || *ns < 0 || !has_unit)
      refuse(name, given, "a time with a unit such as 350ms or 1.2s");
  });
}

void Options::span(const std::string& names, std::optional<double>& seconds, OptionText text) {
  const std::string name = parts_of(names).back();
  add(names, std::move(text), ValueKind::text, [&seconds, name](const std::string& given) {
    seconds = span_of(given);
    if (!seconds) refuse(name, given, "a time with a unit such as 30d, 12h, 90min or 45s");
  });
}

void Options::choice(const std::string& names, std::string& value, std::vector<std::string> choices,
                     OptionText text) {
  if (!text.is_required && text.fallback.empty()) text.fallback = value;
  const std::string name = parts_of(names).back();
  add(names, std::move(text), ValueKind::choice, [&value, choices, name](const std::string& given) {
    if (std::find(choices.begin(), choices.end(), given) == choices.end()) {
      refuse(name, given, alternatives(choices));
    }
    value = given;
  });
  all_.back().choices = std::move(choices);
}

void Options::model(std::string& value, bool is_required) {
  add("--model",
      {"MODEL",
       "Hugging Face model folder, its config.json, or a name that `foreshard list models` prints",
       is_required, is_required ? "" : "that of --question"},
      ValueKind::model, [&value](const auto& given) { value = given; });
  files_.push_back({"--model", [&value] { return std::vector{value}; }, false});
}

void Options::machine(std::string& value, OptionText text) {
  add("--machine", std::move(text), ValueKind::machine,
      [&value](const auto& given) { value = given; });
}

void Options::input(const std::string& names, std::string& path, OptionText text) {
  add(names, std::move(text), ValueKind::file, [&path](const auto& given) { path = given; });
  files_.push_back({all_.back().name(), [&path] { return std::vector{path}; }, false});
}

CLI::Option& Options::repeated(const std::string& names, std::vector<std::string>& values,
                               OptionText text, ValueKind kind) {
  OptionInfo info;
  if (names != text.metavar) info.names = parts_of(names);
  info.metavar = text.metavar;
  info.help = text.help;
  info.kind = kind;
  info.is_required = text.is_required;
  info.is_repeated = true;
  CLI::Option* const option = app_.add_option(names, values, info.help)
                                  ->required(info.is_required)
                                  ->type_name(info.metavar);
  all_.push_back(std::move(info));
  return *option;
}

void Options::texts(const std::string& names, std::vector<std::string>& values, OptionText text) {
  repeated(names, values, std::move(text), ValueKind::text).allow_extra_args(false);
}

void Options::words(const std::string& names, std::vector<std::string>& words, OptionText text) {
  repeated(names, words, std::move(text), ValueKind::file);
}

void Options::inputs(const std::string& names, std::vector<std::string>& paths, OptionText text) {
  words(names, paths, std::move(text));
  files_.push_back({all_.back().name(), [&paths] { return paths; }, false});
}

void Options::recording(const std::string& names, std::string& path, OptionText text) {
  input(names, path, std::move(text));
  files_.back().store = [&path](PipedRecordings& piped) { return piped.store(path); };
}

void Options::recordings(const std::string& names, std::vector<std::string>& paths,
                         OptionText text) {
  inputs(names, paths, std::move(text));
  files_.back().store = [&paths](PipedRecordings& piped) -> Result<void> {
    for (std::string& path : paths) {
      if (auto stored = piped.store(path); !stored) return stored;
    }
    return {};
  };
}

void Options::output(const std::string& names, std::string& path, OptionText text) {
  add(names, std::move(text), ValueKind::file, [&path](const auto& given) { path = given; });
  files_.push_back({all_.back().name(), [&path] { return std::vector{path}; }, true});
}

void Options::folder(const std::string& names, std::string& path, OptionText text) {
  add(names, std::move(text), ValueKind::folder, [&path](const auto& given) { path = given; });
}

Result<void> Options::prepare_files(PipedRecordings& piped) const {
  for (const File& output : files_) {
    if (!output.is_output) continue;
    const std::string path = output.paths().front();
    if (path.empty() || path == "-" || is_written_through(path)) continue;
    for (const File& other : files_) {
      if (&other == &output) continue;
      for (const std::string& used : other.paths()) {
        const bool is_same =
            other.is_output ? written_at(path) == written_at(used) : would_overwrite(path, used);
        if (used.empty() || !is_same) continue;
        return fail(path, output.name,
                    "is also what " + other.name + (other.is_output ? " writes" : " reads") +
                        "; expected a file of its own");
      }
    }
  }
  for (const File& file : files_) {
    if (!file.store) continue;
    if (auto stored = file.store(piped); !stored) return stored;
  }
  return {};
}

}  // namespace foreshard::cli
