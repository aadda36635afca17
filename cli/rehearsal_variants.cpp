#include "cli/rehearsal_variants.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <utility>

#include "cli/common/command.hpp"
#include "models/base/figures.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr std::size_t kMostVariants = 64;

bool is_assignment(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// The alternatives of the first braces that hold a comma; nothing where there are none.
struct Braces {
  std::string before, after;
  Words alternatives;
};

Braces first_braces(const std::string& word) {
  for (auto open = word.find('{'); open != std::string::npos; open = word.find('{', open + 1)) {
    const auto close = word.find('}', open);
    if (close == std::string::npos) break;
    const std::string within = word.substr(open + 1, close - open - 1);
    if (within.find(',') == std::string::npos || within.find('{') != std::string::npos) continue;
    Braces found{word.substr(0, open), word.substr(close + 1), {""}};
    for (const char c : within) {
      if (c == ',') {
        found.alternatives.emplace_back();
      } else {
        found.alternatives.back() += c;
      }
    }
    return found;
  }
  return {};
}

Words expanded(const std::string& word) {
  const Braces braces = first_braces(word);
  if (braces.alternatives.empty()) return {word};
  Words all;
  for (const std::string& alternative : braces.alternatives) {
    for (std::string& rest : expanded(braces.after)) {
      all.push_back(braces.before + alternative + std::move(rest));
      if (all.size() > kMostVariants) return all;
    }
  }
  return all;
}

Error too_many() {
  return Error{"", "--vary",
               "expands to more than " + std::to_string(kMostVariants) +
                   " variants; expected fewer alternatives"};
}

}  // namespace

std::string Variant::text() const {
  std::string text;
  const auto add = [&text](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  for (const auto& [name, value] : environment) add(name + "=" + value);
  for (const std::string& word : words) add(word);
  return text;
}

Result<std::vector<Variant>> variants_of(const std::vector<std::string>& texts) {
  std::vector<Variant> all(1);
  for (const std::string& text : texts) {
    std::istringstream words(text);
    bool in_front = true;
    for (std::string word; words >> word;) {
      in_front = in_front && is_assignment(word);
      std::vector<Variant> more;
      for (const Variant& variant : all) {
        for (const std::string& one : expanded(word)) {
          more.push_back(variant);
          if (in_front) {
            const auto equals = one.find('=');
            more.back().environment[one.substr(0, equals)] = one.substr(equals + 1);
          } else {
            more.back().words.push_back(one);
          }
        }
        if (more.size() > kMostVariants) return tl::unexpected(too_many());
      }
      all = std::move(more);
    }
  }
  if (all.size() == 1) {
    return fail("", "--vary",
                "has no alternatives; expected braces with a comma, such as '--layers {2,4}'");
  }
  return all;
}

std::string numbered_file(const std::string& path, std::size_t number) {
  const std::filesystem::path file(path);
  std::filesystem::path numbered = file.stem();
  numbered += "." + std::to_string(number);
  numbered += file.extension();
  return (file.parent_path() / numbered).string();
}

const RehearsedVariant* RehearsedVariants::best() const {
  const RehearsedVariant* best = nullptr;
  for (const RehearsedVariant& one : all_) {
    if (one.ranks.fits() != true) continue;
    if (best == nullptr ||
        one.ranks.leading().peak_reserved() < best->ranks.leading().peak_reserved()) {
      best = &one;
    }
  }
  return best;
}

int RehearsedVariants::status() const {
  if (best() != nullptr) return kSuccess;
  for (const RehearsedVariant& one : all_) {
    if (one.ranks.is_out_of_memory()) return kOutOfMemory;
  }
  return all_.front().ranks.status();
}

std::string RehearsedVariants::ended_because() const {
  for (const RehearsedVariant& one : all_) {
    if (const std::string why = one.ranks.ended_because(); !why.empty()) return why;
  }
  return "";
}

ordered_json RehearsedVariants::as_json() const {
  ordered_json rows = ordered_json::array();
  ordered_json place;
  for (const RehearsedVariant& one : all_) {
    if (&one == best()) place = rows.size();
    const ordered_json answer = one.ranks.as_json();
    ordered_json row{{"command", answer.at("question").at("command")},
                     {"environment", one.variant.environment},
                     {"trace", one.file}};
    row.update(answer);
    rows.push_back(std::move(row));
  }
  return {{"variants", rows}, {"best", place}};
}

std::string RehearsedVariants::text() const {
  std::string text =
      "Variants rehearsed: " + std::to_string(all_.size()) + ".\n\n" +
      formatted("    %12s %12s %5s  %s\n", "allocated", "reserved", "steps", "variant");
  for (const RehearsedVariant& one : all_) {
    const RehearsalAnswer& answer = one.ranks.leading();
    text += formatted("  %s %12s %12s %5d  %s (%s)%s\n", &one == best() ? "*" : " ",
                      binary_bytes(answer.peak_allocated()).c_str(),
                      binary_bytes(answer.peak_reserved()).c_str(), answer.steps_completed(),
                      one.variant.text().c_str(), one.file.c_str(),
                      answer.is_out_of_memory()         ? ", out of memory"
                      : !answer.ended_because().empty() ? ", ended by the rehearsal"
                      : answer.status() != kSuccess     ? ", ended with an error"
                                                        : "");
  }
  return text +
         (best() == nullptr ? "\nNone fits.\n" : "\n* fits with the least memory reserved.\n");
}

}  // namespace foreshard::cli
