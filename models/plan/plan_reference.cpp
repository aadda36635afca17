#include "models/plan/plan_reference.hpp"

#include <algorithm>
#include <cstddef>

#include "models/base/figures.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard {
namespace {

constexpr std::size_t kCommentWidth = 96;

template <typename Words>
std::string one_of(const Words& words) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : ", ") + ('"' + std::string(word) + '"');
  return text;
}

std::string allowed(Integers bounds) {
  return "an integer from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
}
std::string allowed(Numbers bounds) {
  return formatted("a number from %g to %s%g", bounds.least, bounds.most_excluded ? "below " : "",
                   bounds.most);
}

std::string allowed(const bool&, Anything) {
  return "true, false";
}
std::string allowed(const std::int64_t&, Integers bounds) {
  return allowed(bounds);
}
std::string allowed(const std::optional<std::int64_t>&, Integers bounds) {
  return allowed(bounds) + ", \"none\"";
}
std::string allowed(const double&, Numbers bounds) {
  return allowed(bounds);
}
std::string allowed(const Pair<const double>&, Numbers bounds) {
  return "a list of two numbers, each " + allowed(bounds);
}
template <PlanWord E>
std::string allowed(const E&, Anything) {
  return one_of(kWords<E>);
}
std::string allowed(const std::optional<DType>&, Anything) {
  return one_of(kWords<DType>) + ", \"gradient\"";
}
template <PlanWord E>
std::string allowed(const std::optional<E>&, Anything) {
  return one_of(kWords<E>);
}
std::string allowed(const PyTorchVersion&, Anything) {
  return "a version in quotes; described are " + to_string(kOldestPyTorch) + " to " +
         to_string(kNewestPyTorch);
}
std::string allowed(const std::string&, Anything) {
  return "a string";
}
std::string allowed(const ReshardAfterForward&, Integers bounds) {
  return "\"auto\", true, false, " + allowed(bounds);
}
std::string allowed(const std::vector<std::string>&, Anything) {
  return "a list of strings";
}
std::string allowed(const std::vector<WrapGroup>&, Anything) {
  return "a list of globs, or of lists of globs";
}
std::string allowed(const SavedOutputs<const bool>&, Anything) {
  return "a list of \"attention\", \"matmul\", \"every_second_matmul\"";
}

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

}  // namespace

std::vector<PlanKeyReference> plan_reference() {
  std::vector<PlanKeyReference> keys;
  const Plan defaults;
  const std::vector<SpeltKey> spelt = spelt_keys(defaults);
  visit_plan_keys(defaults, [&](std::string_view section, std::string_view name, const auto& field,
                                const auto& bounds) {
    const SpeltKey& key = spelt[keys.size()];
    keys.push_back({std::string(section), std::string(name), key.value, allowed(field, bounds),
                    std::string(meaning_of(key.name))});
  });
  return keys;
}

std::string commented_default_plan() {
  std::string text =
      "# Every key of a plan with its default. All keys are optional.\n"
      "# Checked by `foreshard plan --check FILE`.\n";
  std::string section;
  for (const PlanKeyReference& key : plan_reference()) {
    if (key.section != section) {
      section = key.section;
      text += "\n" + as_comment(std::string(section_meaning(section))) + "[" + section + "]\n";
    }
    text += "\n" + as_comment(key.meaning + " Allowed: " + key.allowed + ".");
    text += key.value.empty() ? "# " + key.key + " =\n" : key.key + " = " + key.value + "\n";
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
  std::string section = "-";
  for (const PlanKeyReference& key : plan_reference()) {
    if (key.section != section) {
      section = key.section;
      text += "\n## " + (section.empty() ? "Top of the file" : "[" + section + "]") + "\n\n" +
              std::string(section_meaning(section)) +
              "\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n";
    }
    text += "| `" + key.key + "` | " + code(key.value) + " | " + key.allowed + " | " + key.meaning +
            " |\n";
  }
  return text;
}

}  // namespace foreshard
