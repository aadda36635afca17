#include "cli/common/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <ostream>
#include <sstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/common/colour.hpp"
#include "models/base/atomic_file.hpp"
#include "models/base/json_text.hpp"
#include "models/base/utf8.hpp"

namespace foreshard::cli {

namespace {

// `foreshard: KIND: what`, on standard error.
void say(std::string_view kind, Colour colour, const Error& what) {
  std::fprintf(stderr, "foreshard: %s %s\n",
               coloured(kind, colour, has_colour(STDERR_FILENO)).c_str(), what.text().c_str());
}

// Standard output's reader may leave when it has seen enough: what it does not take is no error.
Result<void> print(const std::string& text, const std::string& file, const std::string& field) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
  if (errno != EPIPE) {
    return fail(file, field, std::string("cannot be written (") + std::strerror(errno) + ")");
  }
  std::clearerr(stdout);
  return {};
}

}  // namespace

int complain(const Error& error, int status) {
  say("error:", Colour::red, error);
  return status;
}

int complain(const std::exception& error) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return complain({"", "", is_memory ? "out of host memory" : error.what()}, kRunFailed);
}

Result<void> show(const std::string& text) {
  const std::string safe = printable(text, Lines::kept);
  return print(has_colour(STDOUT_FILENO) ? with_coloured_warnings(safe) : safe, "standard output",
               "");
}

void warn(const std::string& warning) {
  say("warning:", Colour::yellow, {"", "", warning});
}

void note(const std::string& note) {
  say("note:", Colour::cyan, {"", "", note});
}

int written(const Result<void>& done) {
  return done ? kSuccess : complain(done.error(), kRunFailed);
}

Result<void> check_output(const std::string& path, const std::string& option) {
  if (path.empty()) return {};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(path, option, "is a folder; expected the name of a file to write");
  }
  if (is_written_through(path)) return {};
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    return fail(path, option,
                "the folder " + folder.string() + " does not exist; expected a folder to write to");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    return fail(path, option,
                "the folder " + folder.string() + " cannot be written to (" + std::strerror(errno) +
                    "); expected a folder to write to");
  }
  return {};
}

Result<void> check_trace_output(const std::string& path, const std::string& option) {
  if (is_written_through(path)) {
    return fail(path, option, "is a device or a pipe; expected a file to write the trace to");
  }
  return check_output(path, option);
}

Result<void> write_output(const std::string& path, const std::string& option,
                          const std::function<void(std::ostream& out)>& produce) {
  auto written = write_atomically(path, produce);
  if (!written) written.error().field = option;
  return written;
}

void JsonOutput::add_to(Options& options) {
  options.output("--json", path_,
                 {"FILE", "write the result as JSON to FILE; - is standard output"});
}

Result<void> JsonOutput::check() const {
  return is_standard_output() ? Result<void>() : check_output(path_, "--json");
}

Result<void> JsonOutput::write(const nlohmann::ordered_json& json, int indent) const {
  return is_wanted() ? write(json_text(json, indent)) : Result<void>();
}

Result<void> JsonOutput::write(const std::string& json) const {
  if (path_.empty()) return {};
  const std::string answer = with_schema_version(json);
  if (!is_standard_output()) {
    return write_output(path_, "--json", [&](std::ostream& out) { out << answer << '\n'; });
  }
  return print(answer + '\n', path_, "--json");
}

Result<void> JsonOutput::write_members(
    const std::function<void(std::ostream& out)>& members) const {
  if (!is_wanted()) return {};
  const auto produce = [&](std::ostream& out) {
    out << "{\n  \"schema_version\": " << kSchemaVersion << ",\n";
    members(out);
    out << "}\n";
  };
  if (!is_standard_output()) return write_output(path_, "--json", produce);
  std::ostringstream text;
  produce(text);
  return print(text.str(), path_, "--json");
}

Result<void> JsonOutput::answer(const std::string& json, const std::string& text) const {
  if (auto ok = write(json); !ok) return ok;
  return is_standard_output() ? Result<void>() : show(text);
}

}  // namespace foreshard::cli
