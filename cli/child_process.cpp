#include "cli/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t processes[kMostChildren];  // 0 where one has ended

extern "C" void pass_on(int signal) {
  for (const volatile std::sig_atomic_t& process : processes) {
    if (process > 0) ::kill(static_cast<pid_t>(process), signal);
  }
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!variables.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

// Returns an error number. What this program ignores the command shall not.
int start(std::vector<std::string> command, const Variables& variables, ChildOutput output,
          pid_t& process) {
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

Result<std::vector<int>> run_children(const std::vector<std::string>& command,
                                      const std::vector<Variables>& each, ChildOutput output) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, pass_on);
  std::vector<int> statuses(each.size());
  std::optional<Error> error;
  int failure = 0;
  std::size_t running = 0;
  for (std::size_t n = 0; n < each.size(); ++n) {
    pid_t process = 0;
    if (const int number = start(command, each[n], output, process); number != 0) {
      error = Error{
          "", command.front(),
          std::string("cannot be started (") + std::strerror(number) + "); expected a program"};
      pass_on(SIGTERM);
      break;
    }
    processes[n] = process;
    ++running;
  }
  while (running > 0) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    auto* const found = std::find(std::begin(processes), std::end(processes), ended);
    if (ended < 0 && errno != EINTR) break;
    if (ended <= 0 || found == std::end(processes)) continue;
    *found = 0;
    --running;
    status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (status != 0 && failure == 0) {
      failure = status;
      pass_on(SIGTERM);
    }
    statuses[static_cast<std::size_t>(found - std::begin(processes))] = status == 0 ? 0 : failure;
  }
  std::signal(SIGTERM, SIG_DFL);
  if (error) return tl::unexpected(*error);
  return statuses;
}

Result<int> run_child(const std::vector<std::string>& command, const Variables& variables,
                      ChildOutput output) {
  const auto statuses = run_children(command, {variables}, output);
  if (!statuses) return tl::unexpected(statuses.error());
  return statuses->front();
}

std::string in_front(const std::string& entry, const char* name) {
  const char* const present = std::getenv(name);
  return present == nullptr || *present == '\0' ? entry : entry + ":" + present;
}

Result<ScratchFolder> ScratchFolder::beside(const std::string& output) {
  std::string path = output + ".XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return fail(output, "-o",
                std::string("no folder can be created next to it (") + std::strerror(errno) + ")");
  }
  return ScratchFolder(fs::absolute(path).string());
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace foreshard::cli
