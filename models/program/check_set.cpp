#include "models/program/check_set.hpp"

#include <algorithm>
#include <optional>

namespace foreshard {
namespace {

std::string program_position(std::size_t number) {
  return "programs[" + std::to_string(number) + "]";
}

class SetCheck {
 public:
  SetCheck(const RankPrograms& set, const std::string& file) : set_(set), file_(file) {}

  Result<void> run() {
    classes();
    for (std::size_t c = 1; c < set_.programs.size() && !error_; ++c) compare(c);
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
    for (std::size_t s = 0; s < first.programs.size() && !error_; ++s) {
      compare_collectives(number, s);
    }
  }

  void compare_collectives(std::size_t number, std::size_t step) {
    const auto& expected = set_.programs[0].programs[step].instructions;
    const auto& ours = set_.programs[number].programs[step].instructions;
    const std::string position = program_position(number) + ".steps[" + std::to_string(step) + "]";
    auto a = expected.begin(), b = ours.begin();
    for (;; ++a, ++b) {
      a = std::ranges::find(a, expected.end(), Kind::collective, &Instruction::kind);
      b = std::ranges::find(b, ours.end(), Kind::collective, &Instruction::kind);
      if (a == expected.end() || b == ours.end()) break;
      if (a->group != b->group) return wait_forever(position, *b, b - ours.begin(), *a);
    }
    if (a == expected.end() && b == ours.end()) return;
    wrong(position, std::string("has ") + (a == expected.end() ? "more" : "fewer") +
                        " collectives than that step of programs[0], so that ranks would wait for "
                        "each other forever; expected as many");
  }

  void wait_forever(const std::string& position, const Instruction& ours, std::ptrdiff_t at,
                    const Instruction& expected) {
    wrong(position + ".instructions[" + std::to_string(at) + "]",
          "is a collective of group \"" + set_.programs[0].name(ours.group) +
              "\", so that ranks would wait for each other forever; expected one of \"" +
              set_.programs[0].name(expected.group) + "\", as in programs[0]");
  }

  const RankPrograms& set_;
  const std::string& file_;
  std::optional<Error> error_;
};

}  // namespace

Result<void> check_set(const RankPrograms& set, const std::string& file) {
  return SetCheck(set, file).run();
}

}  // namespace foreshard
