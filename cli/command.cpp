#include "cli/command.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <ostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "models/base/atomic_file.hpp"
#include "models/base/utf8.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::cli {

namespace {

// The version of the form of all answers: docs/json.md says when it changes.
constexpr int kSchemaVersion = 1;

// An answer begins with its version. It can be large, so that its text is not parsed again.
std::string with_schema_version(const std::string& object) {
  const std::string version = std::to_string(kSchemaVersion);
  return (object.starts_with("{\n") ? "{\n  \"schema_version\": " : "{\"schema_version\":") +
         version + "," + object.substr(1);
}

}  // namespace

int complain(const Error& error, int status) {
  std::fprintf(stderr, "foreshard: error: %s\n", error.text().c_str());
  return status;
}

int complain(const std::exception& error) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return complain({"", "", is_memory ? "this machine's memory is used up" : error.what()},
                  kRunFailed);
}

Result<void> show(const std::string& text) {
  const std::string shown = printable(text, Lines::kept);
  if (std::fputs(shown.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
  return fail("standard output", "",
              std::string("cannot be written (") + std::strerror(errno) + ")");
}

void warn(const std::string& warning) {
  std::fprintf(stderr, "foreshard: warning: %s\n", Error{"", "", warning}.text().c_str());
}

nlohmann::ordered_json peaks_json(std::int64_t allocated, std::int64_t reserved,
                                  std::int64_t active) {
  return {{"peak_allocated_bytes", allocated},
          {"peak_reserved_bytes", reserved},
          {"peak_active_bytes", active}};
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

int status_of(const Result<int>& done) {
  return done ? *done : complain(done.error());
}

int written(const Result<void>& done) {
  return done ? kSuccess : complain(done.error(), kRunFailed);
}

void JobFlags::add_to(CLI::App& app) {
  app.add_option("--model", model,
                 "Hugging Face folder, its config.json, or a bundled model's name")
      ->required()
      ->type_name("M");
  app.add_option("--plan", plan, "plan file (TOML)")->required()->type_name("P");
  app.add_option("--ranks", ranks, "number of ranks")->required()->type_name("N");
  app.add_option("--nodes", nodes, "nodes the ranks are spread over")->type_name("N");
}

Result<Job> JobFlags::load() const {
  if (ranks < 1 || ranks > 1'000'000) {
    return fail("", "--ranks", std::to_string(ranks) + " ranks cannot run; expected 1 to 1000000");
  }
  if (nodes < 0 || nodes > ranks) {
    return fail("", "--nodes",
                std::to_string(nodes) + " nodes cannot hold " + std::to_string(ranks) +
                    " ranks; expected 1 to the number of ranks");
  }
  if (nodes > 0 && ranks % nodes != 0) {
    return fail("", "--nodes",
                "--ranks " + std::to_string(ranks) + " cannot be spread evenly over --nodes " +
                    std::to_string(nodes) + "; expected a number of nodes that divides the ranks");
  }
  auto config = load_llama_config(model);
  if (!config) return tl::unexpected(config.error());
  auto loaded = load_plan(plan);
  if (!loaded) return tl::unexpected(loaded.error());
  return make_job(*config, *loaded, plan, ranks, nodes);
}

Result<std::int64_t> parse_bytes(const std::string& text, const std::string& flag) {
  static constexpr struct {
    const char* suffix;
    double factor;
  } kUnits[] = {{"", 1},
                {"B", 1},
                {"KiB", 1024},
                {"MiB", 1048576},
                {"GiB", 1073741824},
                {"TiB", 1099511627776.0},
                {"KB", 1e3},
                {"MB", 1e6},
                {"GB", 1e9},
                {"TB", 1e12}};
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string suffix(read.ptr, text.data() + text.size());
  suffix.erase(0, suffix.find_first_not_of(' ') == std::string::npos
                      ? suffix.size()
                      : suffix.find_first_not_of(' '));
  for (const auto& unit : kUnits) {
    const double bytes = number * unit.factor;
    if (read.ec == std::errc() && suffix == unit.suffix && bytes >= 1 && bytes < 9e18) {
      return static_cast<std::int64_t>(bytes);
    }
  }
  return fail("", flag,
              "'" + text +
                  "' is no amount of memory; expected bytes, or a number with a unit "
                  "such as 80GiB");
}

Result<void> check_output(const std::string& path, const std::string& flag) {
  if (path.empty()) return {};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(path, flag, "is a folder; expected the name of a file to write");
  }
  if (is_written_through(path)) return {};
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    return fail(path, flag,
                "the folder " + folder.string() + " does not exist; expected a folder to write to");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    return fail(path, flag,
                "the folder " + folder.string() + " cannot be written to (" + std::strerror(errno) +
                    "); expected a folder to write to");
  }
  return {};
}

Result<void> check_trace_output(const std::string& path, const std::string& flag) {
  if (is_written_through(path)) {
    return fail(path, flag, "is a device or a pipe; expected a file to write the trace to");
  }
  return check_output(path, flag);
}

Result<void> write_output(const std::string& path, const std::string& flag,
                          const std::function<void(std::ostream& out)>& produce) {
  auto written = write_atomically(path, produce);
  if (!written) written.error().field = flag;
  return written;
}

void JsonOutput::add_to(CLI::App& app) {
  app.add_option("--json", path_, "write the answer as JSON to a file, or - for standard output")
      ->type_name("F");
}

Result<void> JsonOutput::check() const {
  return is_standard_output() ? Result<void>() : check_output(path_, "--json");
}

Result<void> JsonOutput::write(const nlohmann::ordered_json& json, int indent) const {
  return is_wanted() ? write_text(json_text(json, indent)) : Result<void>();
}

Result<void> JsonOutput::write_text(const std::string& json) const {
  if (path_.empty()) return {};
  const std::string answer = with_schema_version(json);
  if (!is_standard_output()) {
    return write_output(path_, "--json", [&](std::ostream& out) { out << answer << '\n'; });
  }
  if (std::fputs(answer.c_str(), stdout) < 0 || std::fputc('\n', stdout) < 0 ||
      std::fflush(stdout) != 0) {
    return fail(path_, "--json", std::string("cannot be written (") + std::strerror(errno) + ")");
  }
  return {};
}

Result<void> JsonOutput::answer(const std::string& json, const std::string& text) const {
  if (auto ok = write_text(json); !ok) return ok;
  return is_standard_output() ? Result<void>() : show(text);
}

Progress::Progress(std::int64_t total)
    : total_(total), is_terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::at(std::int64_t done, const std::string& note) {
  if (is_terminal_) {
    constexpr std::int64_t kWidth = 30;
    const std::int64_t filled = total_ > 0 ? kWidth * done / total_ : 0;
    std::fprintf(stderr, "\r[%s%s] %lld/%lld %s\033[K",
                 std::string(static_cast<std::size_t>(filled), '=').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - filled), ' ').c_str(),
                 static_cast<long long>(done), static_cast<long long>(total_), note.c_str());
    has_bar_ = true;
  } else if (done == total_ || done - last_line_ >= std::max<std::int64_t>(1, total_ / 20)) {
    std::fprintf(stderr, "%lld/%lld %s\n", static_cast<long long>(done),
                 static_cast<long long>(total_), note.c_str());
    last_line_ = done;
  }
  std::fflush(stderr);
}

Progress::~Progress() {
  if (has_bar_) std::fputc('\n', stderr);
}

}  // namespace foreshard::cli
