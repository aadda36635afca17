// foreshard manual: prints manual pages, or writes all of them.
#include <algorithm>
#include <cctype>
#include <string>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "cli/help.hpp"
#include "models/base/atomic_file.hpp"

namespace foreshard::cli {
namespace {

// Manual pages in roff, made from the commands' texts and options as help is.

// Text as roff prints it: hyphens of options are minus signs, and no line is a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string roff_paragraphs(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", begin), text.size());
    out += (begin == 0 ? "" : ".PP\n") + roff(text.substr(begin, end - begin)) + "\n";
    begin = end + 2;
  }
  return out;
}

std::string heading(const std::string& name, const std::string& summary) {
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return ".TH " + title + " 1 \"\" \"foreshard " FORESHARD_VERSION "\" \"Foreshard manual\"\n" +
         ".SH NAME\n" + roff(name) + " \\- " + roff(summary) + "\n";
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + roff(tag) + "\n" + roff(text) + "\n";
}

std::string options_section(const std::string& title, const std::vector<OptionInfo>& options,
                            bool positional) {
  std::string text;
  for (const OptionInfo& option : options) {
    if (option.is_positional() == positional)
      text += tagged(signature(option), description(option));
  }
  if (!positional) text += tagged("-h, --help", "print help");
  return text.empty() ? "" : ".SH " + title + "\n" + text;
}

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nsuccess\n.TP\n.B 1\nfailure of the run\n.TP\n.B 2\nbad usage or input\n"
    ".TP\n.B 3\nout of device memory\n"
    ".TP\n.B 130, 143\ntraining ended by SIGINT, SIGTERM\n";

// The page of one command, foreshard-COMMAND(1), and that of the program, foreshard(1).
std::string manual_page(const CommandLine::Entry& entry) {
  std::string text = heading("foreshard-" + entry.text.name, entry.text.summary);
  text += ".SH SYNOPSIS\n.B foreshard " + roff(usage_line(entry)) + "\n";
  if (!entry.text.details.empty())
    text += ".SH DESCRIPTION\n" + roff_paragraphs(entry.text.details);
  text += options_section("ARGUMENTS", entry.options.all(), true) +
          options_section("OPTIONS", entry.options.all(), false) + ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : entry.text.examples) text += roff(example) + "\n";
  return text + ".fi\n" + kExitStatus + ".SH SEE ALSO\n.BR foreshard (1)\n";
}

std::string manual_page(const CommandLine& line) {
  std::string text = heading("foreshard",
                             "memory and step time of FSDP training, predicted and "
                             "measured") +
                     ".SH SYNOPSIS\n.B foreshard \\fICOMMAND\\fR [options]\n"
                     ".SH DESCRIPTION\nTrains Llama models under fully sharded data parallelism "
                     "(FSDP), records what happened, and predicts memory and step time of other "
                     "plans and machines.\n.SH COMMANDS\n";
  for (const auto& entry : line.entries()) {
    text += ".TP\n.BR foreshard\\-" + roff(entry->text.name) + " (1)\n" +
            roff(entry->text.summary) + "\n";
  }
  return text + kExitStatus;
}

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
