#include "gui/views/shell/viewer_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "gui/views/shell/unattended.hpp"
#include "models/base/moment.hpp"

namespace foreshard::gui {
namespace {

constexpr int kLargestSide = 16384;
// In the order of MainWindow::views().
constexpr std::array<std::string_view, 4> kViewNames = {"timeline", "memory", "whatif", "compare"};

constexpr const char* kHelp = R"(Usage: foreshard-gui [OPTIONS] [FILE...]

Shows recordings and predictions of FSDP runs: traces (.fst), recordings of
PyTorch's profiler (JSON, or a folder with one of each rank), Nsight Systems
exports (SQLite), CUDA memory snapshots, allocation histories (JSON lines),
and plans: Foreshard's (.toml), and configurations of torchtitan, Accelerate,
DeepSpeed, transformers' Trainer, axolotl and LLaMA-Factory.

Options:
  --view VIEW         begin with timeline, memory, whatif or compare
  --theme THEME       light or dark; as the system has it without this
  --size WxH          of the window or the picture, in pixels (1600x1000)
  --range FROM..TO    of the trace's time to show, such as 120ms..1.5s
  --steps A..B        read these steps of the traces (.fst) and no others
  --render PICTURE    write a picture (.png or .svg) and end; needs no display
  --describe FILE     write what the view states, its question, headline, figures
                      and warnings, as JSON (-: to standard output), and end;
                      needs no display
  --timings FILE      draw a fixed tour of zooms and pans, write how long its
                      frames took as JSON, and end; needs no display
  -h, --help          print this and end
  --version           print the version and end

Exit status: 0, or 2 where a file cannot be read or an option is wrong.
)";

std::optional<QSize> parse_size(std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return {};
  int width = 0, height = 0;
  const auto* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), text.data() + cross, width);
  const auto second = std::from_chars(text.data() + cross + 1, end, height);
  const bool is_whole = first.ec == std::errc() && first.ptr == text.data() + cross &&
                        second.ec == std::errc() && second.ptr == end;
  const bool is_sensible =
      width >= 1 && height >= 1 && width <= kLargestSide && height <= kLargestSide;
  return is_whole && is_sensible ? std::optional(QSize(width, height)) : std::nullopt;
}

std::optional<traces::Interval> parse_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {};
  const auto from = parse_moment(text.substr(0, dots)), to = parse_moment(text.substr(dots + 2));
  if (!from || !to || *from >= *to) return {};
  return traces::Interval{*from, *to};
}

std::optional<traces::StepRange> parse_steps(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return {};
  const auto number = [](std::string_view digits) {
    std::int32_t value = -1;
    const auto* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value);
    return parsed.ec == std::errc() && parsed.ptr == end ? value : -1;
  };
  const std::int32_t first = number(text.substr(0, dots)), last = number(text.substr(dots + 2));
  if (first < 0 || last < first) return {};
  return traces::StepRange{first, last};
}

Result<void> set_option(ViewerOptions& options, const std::string& name, const std::string& value) {
  const auto wrong = [&](const char* expected) {
    return fail("", name, "is \"" + value + "\"; expected " + expected);
  };
  if (name == "--render") {
    options.picture = value;
    return check_picture_name(value);
  }
  if (name == "--timings") {
    options.timings = value;
  } else if (name == "--describe") {
    options.description = value;
  } else if (name == "--view") {
    const auto view = std::find(kViewNames.begin(), kViewNames.end(), value);
    if (view == kViewNames.end()) return wrong("timeline, memory, whatif or compare");
    options.view = static_cast<int>(view - kViewNames.begin());
  } else if (name == "--theme") {
    if (value != "light" && value != "dark") return wrong("light or dark");
    options.theme = value == "dark" ? ThemeName::dark : ThemeName::light;
  } else if (name == "--size") {
    const auto size = parse_size(value);
    if (!size) return wrong("width and height in pixels, such as 1600x1000");
    options.size = *size;
    options.has_size = true;
  } else if (name == "--steps") {
    options.steps = parse_steps(value);
    if (!options.steps)
      return wrong("two numbers of steps, the first not the larger, such as 5..7");
  } else {
    options.range = parse_range(value);
    if (!options.range)
      return wrong("two moments, the first before the second, such as 120ms..1.5s");
  }
  return {};
}

bool takes_value(const std::string& name) {
  static const std::array<std::string, 8> kNames = {
      "--render", "--describe", "--timings", "--view", "--theme", "--size", "--range", "--steps"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

Result<ViewerOptions> parse_viewer_options(const std::vector<std::string>& arguments) {
  ViewerOptions options;
  bool only_files = false;
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const std::string& argument = arguments[n];
    if (only_files || argument.size() < 2 || argument.front() != '-') {
      options.files.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (argument == "--") {
      only_files = true;
    } else if (argument == "-h" || argument == "--help") {
      options.shows_help = true;
    } else if (argument == "--version") {
      options.shows_version = true;
    } else if (!takes_value(name)) {
      return fail("", argument, "is not an option; `foreshard-gui --help` lists them");
    } else if (equals == std::string::npos && n + 1 == arguments.size()) {
      return fail("", name, "has no value; `foreshard-gui --help` says what it takes");
    } else {
      const std::string value =
          equals == std::string::npos ? arguments[++n] : argument.substr(equals + 1);
      if (auto set = set_option(options, name, value); !set) return tl::unexpected(set.error());
    }
  }
  return options;
}

std::string view_name(int view) {
  return std::string(kViewNames.at(static_cast<std::size_t>(view)));
}

std::string viewer_help() {
  return kHelp;
}

}  // namespace foreshard::gui
