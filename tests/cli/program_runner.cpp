#include "tests/cli/program_runner.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace foreshard::cli_tests {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto kLongestRun = std::chrono::minutes(20);
#else
constexpr auto kLongestRun = std::chrono::minutes(1);
#endif

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

[[noreturn]] void become_program(std::vector<std::string> command,
                                 const std::map<std::string, std::string>& environment,
                                 const std::filesystem::path& folder,
                                 const std::filesystem::path& out,
                                 const std::filesystem::path& err) {
  const int nothing = ::open("/dev/null", O_RDONLY);
  const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int to_err = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(nothing, 0);
  ::dup2(to_out, 1);
  ::dup2(to_err, 2);
  ::unsetenv("COLUMNS");  // reports are as wide as whoever runs the tests has it
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (auto& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (::chdir(folder.c_str()) == 0) ::execvp(pointers[0], pointers.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestRun;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Workplace::Workplace() {
  std::filesystem::create_directory(path("model"));
  write("model/config.json", small_llama().dump());
  write("plan.toml", "[batch]\nmicro_batch = 1\nsequence = 16\n[precision]\nparam = \"fp32\"\n");
}

void Workplace::write(const std::string& name, const std::string& text) const {
  std::filesystem::create_directories(path(name).parent_path());
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string Workplace::read(const std::string& name) const {
  return contents(path(name));
}

Outcome Workplace::run(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment) const {
  std::vector<std::string> command = {FORESHARD_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return execute(command, environment);
}

Outcome Workplace::run_processes(int processes, const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& wrapper) const {
  std::vector<std::string> command = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
                                      std::to_string(processes)};
  command.insert(command.end(), wrapper.begin(), wrapper.end());
  command.emplace_back(FORESHARD_PROGRAM);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return execute(command, {});
}

Outcome Workplace::shell(const std::string& line) const {
  return execute({"sh", "-c", line}, {{"FORESHARD", FORESHARD_PROGRAM}});
}

std::vector<Outcome> Workplace::run_together(
    const std::vector<std::string>& arguments,
    const std::vector<std::map<std::string, std::string>>& environments) const {
  return run_together(std::vector(environments.size(), arguments), environments);
}

std::vector<Outcome> Workplace::run_together(
    const std::vector<std::vector<std::string>>& arguments,
    const std::vector<std::map<std::string, std::string>>& environments) const {
  std::vector<Started> started;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    std::vector<std::string> command = {FORESHARD_PROGRAM};
    command.insert(command.end(), arguments[i].begin(), arguments[i].end());
    started.push_back(start(command, environments[i], std::to_string(i)));
  }
  std::vector<Outcome> outcomes;
  for (const Started& process : started) outcomes.push_back(finish(process));
  return outcomes;
}

Outcome Workplace::execute(const std::vector<std::string>& command,
                           const std::map<std::string, std::string>& environment) const {
  return finish(start(command, environment, ""));
}

Workplace::Started Workplace::start(const std::vector<std::string>& command,
                                    const std::map<std::string, std::string>& environment,
                                    const std::string& name) const {
  // Beside the folder, so that files() sees only what the program writes.
  Started process{0, folder_.path() + name + ".out", folder_.path() + name + ".err"};
  process.child = ::fork();
  if (process.child == 0) {
    become_program(command, environment, folder_.path(), process.out, process.err);
  }
  return process;
}

Outcome Workplace::finish(const Started& process) {
  Outcome outcome{wait_for(process.child), contents(process.out), contents(process.err)};
  std::filesystem::remove(process.out);
  std::filesystem::remove(process.err);
  return outcome;
}

nlohmann::json Workplace::run_json(std::vector<std::string> arguments, int status) const {
  arguments.insert(arguments.end(), {"--json", "-"});
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, status) << outcome.err;
  nlohmann::json answer = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(answer.is_object()) << outcome.out << outcome.err;
  return answer;
}

std::vector<std::string> Workplace::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    names.push_back(std::filesystem::relative(entry.path(), folder_.path()).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

nlohmann::json small_llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"hidden_size", 48},
          {"intermediate_size", 80},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"vocab_size", 256},
          {"max_position_embeddings", 256},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", false}};
}

std::vector<std::string> job(const std::string& command, int ranks,
                             const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      command, "--model", "model", "--plan", "plan.toml", "--ranks", std::to_string(ranks)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace foreshard::cli_tests
