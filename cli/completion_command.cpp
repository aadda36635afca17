// foreshard completion: prints a completion script.
#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "cli/completion.hpp"

namespace foreshard::cli {
namespace {

class Completion : public Command {
 public:
  CommandText text() const override {
    return {"completion",
            "Shell",
            "print a completion script for a shell",
            "It completes commands, options, choices, and the names of bundled models and "
            "machines.",
            {"source <(foreshard completion bash)", "source <(foreshard completion zsh)",
             "foreshard completion fish | source"}};
  }
  void add_to(Options& options) override {
    options.choice("SHELL", shell_, {"bash", "zsh", "fish"}, {"SHELL", "the shell", true});
  }
  Result<int> run() override {
    const CommandLine line;
    return written(show(shell_ == "bash"  ? bash_completion(line)
                        : shell_ == "zsh" ? zsh_completion(line)
                                          : fish_completion(line)));
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion() {
  return std::make_unique<Completion>();
}

}  // namespace foreshard::cli
