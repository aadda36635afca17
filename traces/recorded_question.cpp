#include "traces/recorded_question.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "models/question/question_json.hpp"
#include "models/question/question_text.hpp"

namespace foreshard::traces {
namespace {

std::string text_of(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

constexpr const char* kFile = "trace";

// The words of the command; empty where the question is none of a rehearsal.
std::string rehearsed_command(const Metadata& metadata) {
  const auto question = nlohmann::json::parse(text_of(metadata, kQuestionKey), nullptr, false);
  if (!question.is_object() || !question.contains("command")) return "";
  std::string words;
  for (const auto& word : question["command"]) {
    if (word.is_string()) words += (words.empty() ? "" : " ") + word.get<std::string>();
  }
  return words;
}

// The devices of a trace, in place of those that this machine has.
OwnDevice device_of(const Metadata& metadata) {
  return [&metadata](const std::string&, const std::optional<Machine>&) {
    return recorded_device(metadata, kFile);
  };
}

Result<Question> question_in(const Metadata& metadata, const std::string& file) {
  auto asked = recorded_question(metadata, file);
  if (!asked) return tl::unexpected(asked.error());
  return question_of(*asked, {}, device_of(metadata));
}

int ranks_of(const Metadata& metadata) {
  return static_cast<int>(integer_between(metadata, "ranks", 1, 1 << 20, 1, kFile).value_or(1));
}

}  // namespace

Result<Asked> recorded_question(const Metadata& metadata, const std::string& file) {
  const std::string stored = text_of(metadata, kQuestionKey), model = text_of(metadata, "model"),
                    plan = text_of(metadata, "plan");
  if (stored.empty() && (model.empty() || plan.empty())) {
    return fail(file, "question",
                "is not known: the recording holds no model and plan; expected a trace of "
                "`foreshard train` or a prediction");
  }
  if (!rehearsed_command(metadata).empty()) {
    return fail(file, "question",
                "is of a rehearsal; expected a trace of `foreshard train` or a prediction. "
                "`foreshard whatif` asks of "
                "rehearsals, and `foreshard rehearse` asks it again");
  }
  Asked asked;
  if (stored.empty()) {
    auto read = parse_any_plan(plan, file);
    if (!read) return tl::unexpected(read.error());
    asked.plan = std::move(*read);
    asked.ranks = ranks_of(metadata);
  } else {
    auto parsed = parse_question(stored, file);
    if (!parsed) return parsed;
    asked = std::move(*parsed);
  }
  if (model.empty()) return asked;
  auto config = parse_llama_config(model, file);
  if (!config) return tl::unexpected(config.error());
  asked.config = std::move(*config);
  return asked;
}

std::string recorded_question_json(const Metadata& metadata) {
  if (const std::string stored = text_of(metadata, kQuestionKey); !stored.empty()) {
    if (parse_question(stored, kFile)) return stored;
  }
  const auto question = question_in(metadata, kFile);
  return question ? question_json(*question) : unknown_question_json(ranks_of(metadata));
}

std::string recorded_question_line(const Metadata& metadata) {
  const auto question = question_in(metadata, kFile);
  if (question) return question_line(*question);
  const int ranks = ranks_of(metadata);
  if (const std::string command = rehearsed_command(metadata); !command.empty()) {
    return "A rehearsal of " + command + " on " + std::to_string(ranks) +
           (ranks == 1 ? " rank." : " ranks.");
  }
  return "A recording of " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
         "; its model and plan are not recorded.";
}

}  // namespace foreshard::traces
