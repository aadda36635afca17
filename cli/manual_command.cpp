// foreshard manual: prints manual pages, or writes all of them.
#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "cli/manual.hpp"
#include "models/base/atomic_file.hpp"

namespace foreshard::cli {
namespace {

class Manual : public Command {
 public:
  CommandText text() const override {
    return {"manual",
            "Shell",
            "print a manual page",
            "Pages are in roff, for man. Without COMMAND it is that of the program itself.",
            {"foreshard manual predict | man -l -", "foreshard manual --all share/man/man1"}};
  }
  void add_to(Options& options) override {
    options.text("COMMAND", command_, {"COMMAND", "the command whose page to print"},
                 ValueKind::command);
    options.folder("--all", folder_,
                   {"DIR", "write every page into DIR, as foreshard.1 and foreshard-COMMAND.1"});
  }
  Result<int> run() override;

 private:
  std::string command_, folder_;
};

Result<int> Manual::run() {
  const CommandLine line;
  if (!folder_.empty()) {
    if (!command_.empty()) return fail("", "--all", "is for all commands; expected no COMMAND");
    const auto write = [&](const std::string& name, const std::string& page) {
      return write_atomically(folder_ + "/" + name + ".1", page);
    };
    auto done = write("foreshard", manual_page(line));
    for (const auto& entry : line.entries()) {
      if (done) done = write("foreshard-" + entry->text.name, manual_page(*entry));
    }
    return written(done);
  }
  if (command_.empty()) return written(show(manual_page(line)));
  if (const auto* entry = line.find(command_)) return written(show(manual_page(*entry)));
  return fail("", "manual", line.unknown_command(command_).message);
}

}  // namespace

std::unique_ptr<Command> make_manual() {
  return std::make_unique<Manual>();
}

}  // namespace foreshard::cli
