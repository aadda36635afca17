#include "cli/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t command_process = 0;

extern "C" void pass_on(int signal) {
  if (command_process > 0) ::kill(static_cast<pid_t>(command_process), signal);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!variables.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

// Returns an error number. What this program ignores the command shall not.
int start(std::vector<std::string> command, const std::map<std::string, std::string>& variables,
          ChildOutput output, pid_t& process) {
  std::vector<std::string> environment = environment_with(variables);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  if (output == ChildOutput::standard_error) {
    ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  }
  const int error = ::posix_spawnp(&process, command.front().c_str(), &files, &attributes,
                                   pointers_to(command).data(), pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& command,
                      const std::map<std::string, std::string>& variables, ChildOutput output) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, pass_on);
  pid_t process = 0;
  if (const int error = start(command, variables, output, process); error != 0) {
    return fail(
        "", command.front(),
        std::string("cannot be started (") + std::strerror(error) + "); expected a program");
  }
  command_process = process;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  command_process = 0;
  std::signal(SIGTERM, SIG_DFL);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<ScratchFolder> ScratchFolder::beside(const std::string& output) {
  std::string path = output + ".XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return fail(output, "-o",
                std::string("no folder can be made beside it (") + std::strerror(errno) + ")");
  }
  return ScratchFolder(fs::absolute(path).string());
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace foreshard::cli
