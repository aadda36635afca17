#include "models/program/check_set.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/program/untimed_run.hpp"

namespace foreshard {
namespace {

std::string program_position(std::size_t number) {
  return "programs[" + std::to_string(number) + "]";
}

// Whether two programs come to collectives of the same groups in the same order.
bool meet_alike(const Program& one, const Program& other) {
  const auto &ours = one.instructions, &theirs = other.instructions;
  auto a = ours.begin(), b = theirs.begin();
  for (;; ++a, ++b) {
    a = std::ranges::find(a, ours.end(), Kind::collective, &Instruction::kind);
    b = std::ranges::find(b, theirs.end(), Kind::collective, &Instruction::kind);
    if (a == ours.end() || b == theirs.end()) return a == ours.end() && b == theirs.end();
    if (a->group != b->group) return false;
  }
}

class SetCheck {
 public:
  SetCheck(const RankPrograms& set, const std::string& file) : set_(set), file_(file) {}

  Result<void> run() {
    classes();
    for (std::size_t c = 1; c < set_.programs.size() && !error_; ++c) compare(c);
    if (!error_ && is_staged(set_)) stages();
    if (error_) return tl::unexpected(*error_);
    return {};
  }

 private:
  void wrong(const std::string& field, const std::string& message) {
    if (!error_) error_ = Error{file_, field, message};
  }

  void classes() {
    if (set_.programs.empty()) return wrong("programs", "is empty; expected a program");
    if (set_.class_of_rank.empty()) return wrong("class_of_rank", "is empty; expected a rank");
    std::vector<bool> is_used(set_.programs.size());
    for (const int c : set_.class_of_rank) {
      if (c < 0 || c >= static_cast<int>(set_.programs.size())) {
        return wrong("class_of_rank", "holds " + std::to_string(c) + "; expected 0 to " +
                                          std::to_string(set_.programs.size() - 1));
      }
      is_used[static_cast<std::size_t>(c)] = true;
    }
    const auto unused = std::find(is_used.begin(), is_used.end(), false);
    if (unused == is_used.end()) return;
    wrong("class_of_rank", "lacks " + std::to_string(unused - is_used.begin()) +
                               "; expected each program to be some rank's");
  }

  // The program of that number with the first one.
  void compare(std::size_t number) {
    const RankProgram &first = set_.programs[0], &other = set_.programs[number];
    const std::string position = program_position(number);
    if (other.groups != first.groups) {
      return wrong(position + ".groups",
                   "differ from those of programs[0]; expected the same table");
    }
    const auto same_count = [&](const char* field, std::size_t ours, std::size_t expected) {
      if (ours == expected) return;
      wrong(position + "." + field, "counts " + std::to_string(ours) + "; expected " +
                                        std::to_string(expected) + ", as in programs[0]");
    };
    same_count("steps", other.programs.size(), first.programs.size());
    same_count("closing", other.closing, first.closing);
  }

  void stages() {
    for (std::size_t s = 0; s < set_.programs[0].programs.size() && !error_; ++s) {
      compare_collectives(s);
    }
    if (error_) return;
    const auto endless = endless_wait(set_);
    if (!endless) return;
    const auto [program, step, instruction] = *endless;
    const Instruction& i = set_.programs[program].programs[step].instructions[instruction];
    wrong(program_position(program) + ".steps[" + std::to_string(step) + "].instructions[" +
              std::to_string(instruction) + "]",
          "is a collective of group \"" + set_.programs[program].name(i.group) +
              "\" at which ranks would wait for each other forever; expected that all of them come "
              "to it");
  }

  // Of each communicator among the classes' lowest ranks.
  void compare_collectives(std::size_t step) {
    struct Count {
      std::size_t program = 0;
      std::int64_t collectives = 0;
    };
    std::map<std::pair<std::size_t, int>, Count> first_of;  // by group and its first rank
    for (std::size_t number = 0; number < set_.programs.size(); ++number) {
      const RankProgram& program = set_.programs[number];
      const auto lowest = std::ranges::find(set_.class_of_rank, static_cast<int>(number));
      const RankPlace place =
          place_in(program.groups, static_cast<int>(lowest - set_.class_of_rank.begin()));
      std::vector<std::int64_t> counts(program.groups.size());
      for (const Instruction& i : program.programs[step].instructions) {
        if (i.kind == Kind::collective) ++counts[static_cast<std::size_t>(i.group)];
      }
      for (std::size_t g = 0; g < counts.size(); ++g) {
        const auto [other, is_new] =
            first_of.emplace(std::pair(g, place.groups[g].first_rank), Count{number, counts[g]});
        if (is_new || other->second.collectives == counts[g]) continue;
        return wrong(program_position(number) + ".steps[" + std::to_string(step) + "]",
                     "has " + std::to_string(counts[g]) + " collectives of group \"" +
                         program.groups[g].name +
                         "\", so that ranks would wait for each other "
                         "forever; expected " +
                         std::to_string(other->second.collectives) + ", as in programs[" +
                         std::to_string(other->second.program) + "]");
      }
    }
  }

  const RankPrograms& set_;
  const std::string& file_;
  std::optional<Error> error_;
};

}  // namespace

bool is_staged(const RankPrograms& set) {
  for (std::size_t c = 1; c < set.programs.size(); ++c) {
    for (std::size_t s = 0; s < set.programs[0].programs.size(); ++s) {
      if (!meet_alike(set.programs[0].programs[s], set.programs[c].programs[s])) return true;
    }
  }
  return false;
}

Result<void> check_set(const RankPrograms& set, const std::string& file) {
  return SetCheck(set, file).run();
}

}  // namespace foreshard
