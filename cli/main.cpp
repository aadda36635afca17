#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "cli/command.hpp"

namespace foreshard::cli {
namespace {

void print_help() {
  std::printf(
      "usage: foreshard COMMAND [options]\n\n"
      "Trains Llama models under FSDP, records what happened, and predicts memory and step time "
      "of\n"
      "any other plan or machine.\n\n");
  for (const Command& command : commands())
    std::printf("  %-9s %s\n", command.name, command.summary);
  std::printf("\n`foreshard COMMAND --help` lists a command's options.\n");
}

const Command* find(const std::string& name) {
  for (const Command& command : commands()) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

int unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  const std::string near = nearest(name, names);
  return complain(
      {"", name,
       "is no command; expected " + (near.empty() ? std::string("one that `foreshard --help` lists")
                                                  : "'" + near + "', perhaps")});
}

// A flag that does not exist is answered with the one it may have been meant to be.
std::string explain(const CLI::ParseError& error, const std::vector<std::string>& arguments,
                    CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  for (const std::string& argument : arguments) {
    const std::string flag = argument.substr(0, argument.find('='));
    const bool is_known = std::find(known.begin(), known.end(), flag) != known.end();
    if (argument.rfind("--", 0) != 0 || is_known) continue;
    const std::string near = nearest(flag, known);
    return flag + " is no option; expected " +
           (near.empty() ? "one that --help lists" : near + ", perhaps");
  }
  return error.what();
}

int run(const Command& command, std::vector<std::string> arguments) {
  CLI::App app(command.summary, std::string("foreshard ") + command.name);
  app.footer(std::string("Example:\n  ") + command.example);
  command.add_flags(app);
  const std::vector<std::string> given = arguments;
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    std::printf("%s", app.help().c_str());
    return kSuccess;
  } catch (const CLI::ParseError& error) {
    return complain({"", command.name, explain(error, given, app)});
  }
  return command.run();
}

// A standard stream that is closed would give its number to the next file that is opened, and what
// is printed would land there. Opened the wrong way round, each use of it is an error instead.
void occupy_standard_streams() {
  constexpr int kWrongWay[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) static_cast<void>(::open("/dev/null", kWrongWay[stream]));
  }
}

// What was printed may still wait in a buffer, and an earlier part may be lost already.
int flush_output(int status) {
  const bool was_lost = std::ferror(stdout) != 0;
  const bool is_whole = std::fflush(stdout) == 0 && !was_lost;
  if (is_whole || status == kRunFailed || status == kBadInput) return status;
  const int failed = complain({"", "standard output",
                               std::string("cannot be written (") + std::strerror(errno) +
                                   "); expected room for the whole answer"},
                              kRunFailed);
  return status == kSuccess ? failed : status;
}

int start(int argc, char** argv) {
  occupy_standard_streams();
  // A reader that goes away, and a file that grows too large, are failed writes, not deaths.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc < 2) {
    print_help();
    return kBadInput;
  }
  const std::string first = argv[1];
  if (first == "--help" || first == "-h" || first == "help") {
    print_help();
    return kSuccess;
  }
  if (first == "--version") {
    std::printf("foreshard %s\n", FORESHARD_VERSION);
    return kSuccess;
  }
  const Command* command = find(first);
  if (command == nullptr) return unknown_command(first);
  return run(*command, std::vector<std::string>(argv + 2, argv + argc));
}

}  // namespace
}  // namespace foreshard::cli

int main(int argc, char** argv) {
  try {
    return foreshard::cli::flush_output(foreshard::cli::start(argc, argv));
  } catch (const std::exception& error) {
    return foreshard::cli::complain(error);
  }
}
