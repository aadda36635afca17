// The rules of the house that a compiler does not enforce: which folder may include which, where
// third-party headers may appear, and how a header opens. The rules are a function of the sources,
// so that the tests can also show it sources that break each of them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layering_rules.hpp"

namespace {

using Sources = std::map<std::string, std::string>;  // path from the root -> text
using namespace foreshard::tests;
using Complaints = std::vector<std::string>;

bool is_header(const std::string& path) {
  return path.ends_with(".hpp") || path.ends_with(".cuh");
}

std::string top_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

bool is_of_tests(const std::string& path) {
  return top_of(path) == "tests";
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// The folders that `folder` may include.
std::set<std::string> allowed_for(const std::string& folder) {
  std::set<std::string> allowed = {folder};
  std::vector<std::string> todo(kMayInclude.at(folder).begin(), kMayInclude.at(folder).end());
  while (!todo.empty()) {
    const std::string next = todo.back();
    todo.pop_back();
    if (!allowed.insert(next).second) continue;
    for (const std::string& further : kMayInclude.at(next)) {
      if (top_of(further) == top_of(next)) todo.push_back(further);
    }
  }
  return allowed;
}

struct Include {
  std::string target;
  bool quoted = false;
};

std::vector<Include> includes_of(const std::string& text) {
  std::vector<Include> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const auto word = line.find("include", hash);
    if (word == std::string::npos) continue;
    const auto open = line.find_first_of("<\"", word);
    if (open == std::string::npos) continue;
    const auto close = line.find_first_of(">\"", open + 1);
    if (close == std::string::npos) continue;
    found.push_back({line.substr(open + 1, close - open - 1), line[open] == '"'});
  }
  return found;
}

bool starts_with_any(const std::string& path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return path.starts_with(prefix); });
}

const ThirdParty* third_party_of(const std::string& header) {
  for (const auto& party : kThirdParties) {
    if (starts_with_any(header, party.headers)) return &party;
  }
  return nullptr;
}

// Headers of the project that a file includes, directly or not, itself among them.
std::set<std::string> reachable_from(const std::string& path, const Sources& sources) {
  std::set<std::string> seen = {path};
  std::vector<std::string> todo = {path};
  while (!todo.empty()) {
    const auto at = sources.find(todo.back());
    todo.pop_back();
    if (at == sources.end()) continue;
    for (const auto& include : includes_of(at->second)) {
      if (sources.contains(include.target) && seen.insert(include.target).second) {
        todo.push_back(include.target);
      }
    }
  }
  return seen;
}

// Whether a header's opening comment keeps it to the sources beside it.
bool is_private(const std::string& header) {
  std::string opening = header.substr(0, header.find("#pragma once"));
  std::replace(opening.begin(), opening.end(), '\n', ' ');
  for (std::size_t at; (at = opening.find(" // ")) != std::string::npos;) opening.erase(at, 3);
  return opening.find("for the sources of this folder") != std::string::npos;
}

void check_include(const std::string& path, const Include& include, const Sources& sources,
                   Complaints& complaints) {
  const std::string folder = folder_of(path);
  if (include.quoted && !sources.contains(include.target)) {
    complaints.push_back(path + ": \"" + include.target +
                         "\" is no file of the project; expected a path from its root");
    return;
  }
  if (is_of_tests(path) || !kMayInclude.contains(folder)) return;
  if (const ThirdParty* party = include.quoted ? nullptr : third_party_of(include.target)) {
    if (!party->allowed_only_in.empty() && !starts_with_any(path, party->allowed_only_in)) {
      complaints.push_back(path + ": <" + include.target + "> is " + party->name +
                           ", which belongs in " + party->allowed_only_in.front());
    }
  }
  if (top_of(path) == "models" && kImpure.contains(include.target)) {
    complaints.push_back(path + ": <" + include.target + "> in models/, which has no threads");
  }
  if (!include.quoted) return;
  const std::string target_folder = folder_of(include.target);
  if (is_of_tests(include.target)) {
    complaints.push_back(path + ": includes " + include.target + ", which is of the tests");
  } else if (!allowed_for(folder).contains(target_folder)) {
    complaints.push_back(path + ": includes " + include.target + ", but " + folder +
                         "/ may not include " + target_folder + "/");
  } else if (target_folder != folder && is_private(sources.at(include.target))) {
    complaints.push_back(path + ": includes " + include.target + ", which is for the sources of " +
                         target_folder + "/ only");
  }
}

// Types of other libraries must not travel: nothing a top folder includes from another may lead to
// them.
void check_what_travels(const std::string& path, const Sources& sources, Complaints& complaints) {
  if (is_of_tests(path)) return;
  for (const auto& header : reachable_from(path, sources)) {
    if (top_of(header) == top_of(path)) continue;
    for (const auto& include : includes_of(sources.at(header))) {
      const ThirdParty* party = include.quoted ? nullptr : third_party_of(include.target);
      if (party != nullptr) {
        complaints.push_back(path + ": reaches <" + include.target + "> (" + party->name +
                             ") through " + header + ", a header of another folder");
      }
    }
  }
}

Complaints complaints_about(const Sources& sources) {
  Complaints complaints;
  for (const auto& [path, text] : sources) {
    for (const auto& include : includes_of(text)) {
      check_include(path, include, sources, complaints);
    }
    check_what_travels(path, sources, complaints);
    if (!is_of_tests(path) && !kMayInclude.contains(folder_of(path))) {
      complaints.push_back(path + ": no rule defines what " + folder_of(path) + "/ may include");
    }
    if (!is_header(path)) continue;
    if (!text.starts_with("// ")) {
      complaints.push_back(path + ": expected to open with its purpose, as a // comment");
    }
    if (text.find("\n#pragma once\n") == std::string::npos) {
      complaints.push_back(path + ": no #pragma once");
    }
  }
  return complaints;
}

Sources sources_of_the_project() {
  namespace fs = std::filesystem;
  const fs::path root = FORESHARD_SOURCE_DIR;
  const std::set<std::string> extensions = {".h", ".hpp", ".cpp", ".inl", ".cu", ".cuh"};
  Sources sources;
  for (const auto* top :
       {"models", "traces", "profiler", "simulator", "executor", "gui", "cli", "tests"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !extensions.contains(entry.path().extension())) continue;
      std::ifstream file(entry.path());
      std::ostringstream text;
      text << file.rdbuf();
      sources[fs::relative(entry.path(), root).generic_string()] = text.str();
    }
  }
  return sources;
}

std::string joined(const Complaints& complaints) {
  std::string text;
  for (const auto& complaint : complaints) text += complaint + "\n";
  return text;
}

const std::string kGoodHeader = "// What this is for.\n#pragma once\n";

TEST(Layering, TheProjectKeepsItsRules) {
  const Sources sources = sources_of_the_project();
  ASSERT_GT(sources.size(), 10u);
  EXPECT_EQ(joined(complaints_about(sources)), "");
}

TEST(Layering, AcceptsWhatTheTableAllows) {
  const Sources sources = {
      {"models/plan/plan.hpp", kGoodHeader + "#include <string>\n"},
      {"models/plan/reader.cpp", "#include \"models/plan/plan.hpp\"\n#include <toml++/toml.h>\n"},
      {"simulator/engine/graph.hpp", kGoodHeader + "#include <boost/graph/graph_traits.hpp>\n"},
      {"simulator/engine/graph.cpp", "#include \"simulator/engine/graph.hpp\"\n"},
      {"profiler/record/recorder.hpp", kGoodHeader + "#include \"models/plan/plan.hpp\"\n"},
      {"executor/run/run.cpp", "#include \"profiler/record/recorder.hpp\"\n#include <mpi.h>\n"},
      {"tests/x_test.cpp", "#include \"simulator/engine/graph.hpp\"\n"},
  };
  EXPECT_EQ(joined(complaints_about(sources)), "");
}

// The one source of each case breaks one rule; `word` is what the complaint must name.
struct BadCase {
  std::string path, text, word;

  friend std::ostream& operator<<(std::ostream& out, const BadCase& c) {
    return out << c.path << " with " << testing::PrintToString(c.text);
  }
};

class LayeringRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(LayeringRefuses, ABrokenRule) {
  Sources sources = {
      {"models/plan/plan.hpp", kGoodHeader},
      {"simulator/engine/engine.hpp", kGoodHeader},
      {"simulator/engine/graph.hpp", kGoodHeader + "#include <boost/graph/graph_traits.hpp>\n"},
      {"simulator/engine/view.hpp", kGoodHeader + "#include \"simulator/engine/graph.hpp\"\n"},
      {"traces/fst/inner.hpp",
       "// What is shared. Only for the\n// sources of this folder.\n#pragma once\n"},
      {"traces/fst/file.hpp", kGoodHeader + "#include <sqlite3.h>\n"},
      {"executor/run/run.hpp", kGoodHeader},
      {"profiler/record/recorder.hpp", kGoodHeader},
      {"tests/helper.hpp", kGoodHeader},
  };
  sources[GetParam().path] = GetParam().text;
  const Complaints complaints = complaints_about(sources);
  ASSERT_EQ(complaints.size(), 1u) << joined(complaints);
  EXPECT_TRUE(complaints[0].starts_with(GetParam().path)) << complaints[0];
  EXPECT_NE(complaints[0].find(GetParam().word), std::string::npos) << complaints[0];
}

INSTANTIATE_TEST_SUITE_P(
    Rules, LayeringRefuses,
    testing::Values(
        BadCase{"models/base/a.cpp", "#include \"simulator/engine/engine.hpp\"\n",
                "may not include simulator/engine/"},
        BadCase{"executor/run/a.cpp", "#include \"simulator/engine/engine.hpp\"\n",
                "may not include"},
        BadCase{"executor/run/a.cpp", "  #  include \"simulator/engine/engine.hpp\"\n",
                "may not include"},
        BadCase{"simulator/engine/a.cpp", "#include \"executor/run/run.hpp\"\n",
                "may not include executor/run/"},
        BadCase{"profiler/analysis/a.cpp", "#include \"profiler/record/recorder.hpp\"\n",
                "may not include profiler/record/"},
        BadCase{"gui/a.cpp", "#include \"profiler/record/recorder.hpp\"\n", "may not include"},
        BadCase{"models/base/a.cpp", "#include \"tests/helper.hpp\"\n", "of the tests"},
        BadCase{"models/base/a.cpp", "#include \"plan.hpp\"\n", "path from its root"},
        BadCase{"models/base/a.cpp", "#include <thread>\n", "no threads"},
        BadCase{"executor/run/a.cpp", "#include <cuda_runtime.h>\n", "CUDA"},
        BadCase{"cli/a.cpp", "#include <boost/graph/graph_traits.hpp>\n", "Boost"},
        BadCase{"cli/a.cpp", "#include <QString>\n", "Qt"},
        BadCase{"profiler/record/a.cpp", "#include \"traces/fst/file.hpp\"\n", "SQLite"},
        BadCase{"models/base/a.cpp", "#include \"models/plan/plan.hpp\"\n",
                "models/base/ may not include models/plan/"},
        BadCase{"traces/open/a.cpp", "#include \"traces/fst/inner.hpp\"\n", "traces/fst/ only"},
        BadCase{"cli/a.cpp", "#include <simdjson.h>\n", "simdjson"},
        BadCase{"cli/a.cpp", "#include <yaml-cpp/yaml.h>\n", "yaml-cpp"},
        BadCase{"cli/a.cpp", "#include \"simulator/engine/view.hpp\"\n",
                "simulator/engine/graph.hpp"},
        BadCase{"profiler/a.cpp", "", "no rule defines"},
        BadCase{"models/base/a.hpp", "/* Purpose. */\n#pragma once\n", "purpose"},
        BadCase{"models/base/a.hpp", "// Purpose.\n", "#pragma once"}));

}  // namespace
