#include "cli/manual.hpp"

#include <algorithm>
#include <cctype>

#include "cli/help.hpp"

namespace foreshard::cli {
namespace {

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
    ".TP\n.B 3\nout of device memory\n";

}  // namespace

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

}  // namespace foreshard::cli
