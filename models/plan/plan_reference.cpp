#include "models/plan/plan_reference.hpp"

#include <algorithm>
#include <cstddef>

#include "models/plan/plan_keys.hpp"

namespace foreshard {
namespace {

constexpr std::size_t kCommentWidth = 96;

std::string as_comment(const std::string& text) {
  std::string out, line = "#";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = " " + text.substr(begin, end - begin);
    if (line.size() + word.size() > kCommentWidth) {
      out += line + "\n";
      line = "#";
    }
    line += word;
    begin = end + 1;
  }
  return out + line + "\n";
}

// For a cell of a table: "|" divides cells.
std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + text + "`";
}

std::string meaning(const PlanKey& key) {
  const bool learns = key.is_learning_only != nullptr && key.is_learning_only(Plan{});
  return std::string(key.meaning) +
         (learns ? " It changes what is learned, neither memory nor time." : "");
}

std::string needs(const PlanKey& key) {
  std::string text;
  for (const PlanNeed& need : key.needs) text.append(text.empty() ? "" : ", ").append(need.text);
  return text;
}

}  // namespace

std::string commented_default_plan() {
  std::string text =
      "# Every key of a plan with its default. All keys are optional.\n"
      "# Checked by `foreshard plan --check FILE`.\n";
  for (const PlanSection& section : plan_sections()) {
    if (!section.name.empty()) {
      text +=
          "\n" + as_comment(std::string(section.meaning)) + "[" + std::string(section.name) + "]\n";
    }
    for (const PlanKey& key : plan_keys()) {
      if (key.section() != section.name) continue;
      const std::string value = spelt(key.value_in(Plan{}));
      text += "\n" + as_comment(meaning(key) + " Allowed: " + key.allowed() + ".");
      text.append(value.empty() ? "# " : "").append(key.short_name()).append(" =");
      text += value.empty() ? "\n" : " " + value + "\n";
    }
  }
  return text;
}

std::string plan_reference_markdown() {
  std::string text =
      "# Plan files\n\n"
      "A plan is a TOML file that describes how a model is trained: batch, wrapping, sharding, "
      "prefetch,\nprecision, offload, checkpointing, optimizer and allocator. Every key is "
      "optional; unknown keys and\nimpossible values are errors. `foreshard plan --defaults` "
      "prints a plan with every key,\n`foreshard plan --check FILE` checks one. This page is "
      "written by\n`foreshard plan --defaults --markdown`.\n";
  for (const PlanSection& section : plan_sections()) {
    text += "\n## " +
            (section.name.empty() ? "Top of the file" : "[" + std::string(section.name) + "]") +
            "\n\n" + std::string(section.meaning) +
            "\n\n| key | default | allowed | meaning | read with |\n|---|---|---|---|---|\n";
    for (const PlanKey& key : plan_keys()) {
      if (key.section() != section.name) continue;
      text += "| `" + std::string(key.short_name()) + "` | " + code(spelt(key.value_in(Plan{}))) +
              " | " + key.allowed() + " | " + meaning(key) + " | " + needs(key) + " |\n";
    }
  }
  return text;
}

}  // namespace foreshard
