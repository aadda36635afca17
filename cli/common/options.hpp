// The options of one command, added to CLI11's parser. Beside it this keeps what the parser
// has no place for and help, completion, manual pages and the check of files need: what a value is, and what
// holds without it. Values are checked as they are parsed; what is wrong names the option, the value
// and what is expected.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/piped_recording.hpp"
#include "models/base/error.hpp"
#include "traces/import_options.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace foreshard::cli {

// What completion offers for a value.
enum class ValueKind { flag, text, file, folder, model, machine, choice, command, query };

// How an option is described. `fallback` describes the behaviour without it where there is no default value.
struct OptionText {
  std::string metavar;
  std::string help;
  bool is_required = false;
  std::string fallback = {};
};

struct OptionInfo {
  std::vector<std::string> names;  // "-o", "--output"; none: an argument without a name
  std::string metavar, help, fallback;
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices;
  bool is_required = false, is_repeated = false;

  bool is_positional() const { return names.empty(); }
  const std::string& name() const { return is_positional() ? metavar : names.back(); }
};

struct Range {
  std::int64_t least, most;
};

// What commas divide.
std::vector<std::string> parts_of(const std::string& list);

class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  void quiet(bool& value);
  // `names` as CLI11 takes them, "-o,--output"; an argument without a name is its metavar alone.
  void flag(const std::string& names, bool& value, const std::string& help);
  void text(const std::string& names, std::string& value, OptionText text,
            ValueKind kind = ValueKind::text);
  // Given as often as one likes, each time with one value.
  void texts(const std::string& names, std::vector<std::string>& values, OptionText text);
  void whole_number(const std::string& names, int& value, Range range, OptionText text);
  void whole_number(const std::string& names, std::int64_t& value, Range range, OptionText text);
  void whole_number(const std::string& names, std::optional<int>& value, Range range,
                    OptionText text);
  void number(const std::string& names, double& value, double most, OptionText text);  // above 0
  void size(const std::string& names, std::optional<std::int64_t>& bytes, OptionText text);
  // Numbers and ranges of them, "0,3" or "0-7".
  void ranges(const std::string& names, std::vector<traces::NumberRange>& ranges, OptionText text);
  void moment(const std::string& names, std::optional<std::int64_t>& ns, OptionText text);
  // In seconds: "30d", "12h", "90min" or "45s".
  void span(const std::string& names, std::optional<double>& seconds, OptionText text);
  void choice(const std::string& names, std::string& value, std::vector<std::string> choices,
              OptionText text);
  void model(std::string& value, bool is_required = true);
  void machine(std::string& value, OptionText text);
  // Files that are read. One that is given twice is read twice.
  void input(const std::string& names, std::string& path, OptionText text);
  void inputs(const std::string& names, std::vector<std::string>& paths, OptionText text);
  // Recordings among them: they may come through a pipe, and - is standard input.
  void recording(const std::string& names, std::string& path, OptionText text);
  void recordings(const std::string& names, std::vector<std::string>& paths, OptionText text);
  // A command of the system and what it is given.
  void words(const std::string& names, std::vector<std::string>& words, OptionText text);
  // A file that is written, which no other option of the same call may name.
  void output(const std::string& names, std::string& path, OptionText text);
  void folder(const std::string& names, std::string& path, OptionText text);

  // After parsing. No output is an input or another output; recordings that come through a pipe are
  // stored in temporary files.
  Result<void> prepare_files(PipedRecordings& piped) const;

  const std::vector<OptionInfo>& all() const { return all_; }

 private:
  struct File {
    std::string name;
    std::function<std::vector<std::string>()> paths;
    bool is_output;
    std::function<Result<void>(PipedRecordings&)> store = {};  // of recordings
  };

  CLI::Option& add(const std::string& names, OptionText text, ValueKind kind,
                   std::function<void(const std::string&)> take);
  CLI::Option& repeated(const std::string& names, std::vector<std::string>& values, OptionText text,
                        ValueKind kind);
  void integer(const std::string& names, Range range, OptionText text,
               std::function<void(std::int64_t)> take);

  CLI::App& app_;
  std::vector<OptionInfo> all_;
  std::vector<File> files_;
};

}  // namespace foreshard::cli
