// foreshard gui: starts the viewer, a program of its own, so that this one needs no Qt.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/common/options.hpp"

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kViewer = "foreshard-gui";

class Gui : public Command {
 public:
  CommandText text() const override {
    return {
        "gui",
        "Recordings",
        "explore recordings, predictions and plans in a window",
        "Opens traces (.fst), PyTorch profiler recordings (a file, or a folder with one of each "
        "rank), Nsight Systems exports, CUDA memory snapshots, allocation histories (JSON lines) "
        "and plans; two recordings are compared. The viewer is the program foreshard-gui, which is "
        "built where Qt 6 is "
        "installed. `foreshard-gui --help` describes its options; it also writes pictures, for "
        "which "
        "no display is needed. --describe writes what a view states as JSON.",
        {"foreshard gui run.fst", "foreshard gui measured.fst predicted.fst",
         "foreshard gui plan.toml", "foreshard gui --view whatif --describe - predicted.fst"}};
  }
  void add_to(Options& options) override {
    options.choice("--view", view_, {"timeline", "memory", "whatif", "compare"},
                   {"VIEW", "what to begin with", false, "what fits the files"});
    options.output("--describe", description_,
                   {"JSON",
                    "write what the view states, its question, headline, figures and warnings, as "
                    "JSON (-: to standard output), and end"});
    options.output("--render", picture_,
                   {"PICTURE", "write a picture of the view (.png or .svg) and end"});
    options.inputs("FILE", files_, {"FILE", "what to open"});
  }
  Result<int> run() override;

 private:
  std::string view_, description_, picture_;
  std::vector<std::string> files_;
};

// The viewer of the same build or installation; where there is none, the one that PATH has.
std::string viewer() {
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / kViewer;
  return !error && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : kViewer;
}

Result<int> Gui::run() {
  std::vector<std::string> words{viewer()};
  for (const auto& [option, value] :
       {std::pair("--view", &view_), {"--describe", &description_}, {"--render", &picture_}}) {
    if (!value->empty()) words.insert(words.end(), {option, *value});
  }
  words.emplace_back("--");
  words.insert(words.end(), files_.begin(), files_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // What is ignored here would be ignored there.
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  ::execvp(arguments.front(), arguments.data());
  if (errno == ENOENT) {
    return fail("", kViewer,
                "was not built or installed; expected next to foreshard or in PATH "
                "(`scripts/setup --gui` installs the Qt 6 that building it takes)");
  }
  return fail("", words.front(), std::string("cannot be started (") + std::strerror(errno) + ")");
}

}  // namespace

std::unique_ptr<Command> make_gui() {
  return std::make_unique<Gui>();
}

}  // namespace foreshard::cli
