#include "cli/rehearsed_ranks.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/child_process.hpp"
#include "cli/common/command.hpp"
#include "cli/rehearsal_step.hpp"
#include "models/base/figures.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kInterrupted = 128 + 2;  // by Ctrl-C, which is meant for all that would follow

bool needs_less(const RehearsalAnswer& a, const RehearsalAnswer& b) {
  if (a.is_out_of_memory() != b.is_out_of_memory()) return b.is_out_of_memory();
  return a.peak_reserved() < b.peak_reserved();
}

}  // namespace

Result<RankChoice> RankChoice::read(const std::string& rank, const std::string& real_ranks) {
  RankChoice choice;
  choice.at_once_ = !real_ranks.empty();
  choice.all_shapes_ = !choice.at_once_ && rank == "all-shapes";
  if (choice.all_shapes_) return choice;
  choice.ranks_.clear();
  const std::string& text = choice.at_once_ ? real_ranks : rank;
  const char* const option = choice.at_once_ ? "--real-ranks" : "--rank";
  for (const char *at = text.data(), *end = at + text.size();; ++at) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || number >= kMostRanks ||
        (next != end && *next != ',')) {
      return fail(
          "", option,
          "'" + text + "' names no ranks; expected " +
              (choice.at_once_ ? "a list such as 0,4"
                               : "a number such as 3, a list such as 0,3,7, or all-shapes"));
    }
    if (std::find(choice.ranks_.begin(), choice.ranks_.end(), number) == choice.ranks_.end()) {
      choice.ranks_.push_back(number);
    }
    if (next == end) break;
    at = next;
  }
  const std::size_t count = choice.ranks_.size();
  if (choice.at_once_ && (count < 2 || count > kMostChildren)) {
    return fail("", option,
                "'" + text + "' names " + plural(static_cast<std::int64_t>(count), "rank") +
                    "; expected 2 to " + std::to_string(kMostChildren));
  }
  return choice;
}

Result<void> RankChoice::check(int ranks) const {
  for (const int rank : ranks_) {
    if (rank >= ranks) {
      return fail("", at_once_ ? "--real-ranks" : "--rank",
                  std::to_string(rank) + " is not a rank of the job; expected 0 to " +
                      std::to_string(ranks - 1));
    }
  }
  return {};
}

std::vector<int> RankChoice::first() const {
  return at_once_ ? ranks_ : std::vector{ranks_.front()};
}

std::vector<int> RankChoice::after(const RehearsalAnswer& done) const {
  if (at_once_) return {};
  std::vector<int> ranks = ranks_;
  if (all_shapes_) {
    ranks = done.representatives();
    ranks.push_back(done.ranks() - 1);
  }
  std::vector<int> following;
  for (const int rank : ranks) {
    if (rank != done.rank() &&
        std::find(following.begin(), following.end(), rank) == following.end()) {
      following.push_back(rank);
    }
  }
  return following;
}

std::vector<int> RankChoice::stages(const RehearsalAnswer& done) const {
  const std::size_t count = done.pipeline().size();
  return all_shapes_ && count > 1 && count <= kMostChildren ? done.pipeline() : std::vector<int>{};
}

Result<RehearsedRanks> RehearsedRanks::run(RehearsalJob& job, const RehearsalQuestion& question,
                                           const RankChoice& choice) {
  if (!choice.is_one()) job.begin_sequence();
  auto first = job.run(question, choice.first());
  if (!first) return tl::unexpected(first.error());
  std::vector<RehearsalAnswer> answers = std::move(*first);
  if (const auto stages = choice.stages(answers.front()); !stages.empty()) {
    auto of_stages = job.run(question, stages);
    if (!of_stages) return tl::unexpected(of_stages.error());
    answers = std::move(*of_stages);
  } else {
    for (const int rank : choice.after(answers.front())) {
      if (answers.back().status() == kInterrupted) break;
      auto following = job.run(question, {rank});
      if (!following) return tl::unexpected(following.error());
      answers.push_back(std::move(following->front()));
    }
  }
  RehearsedRanks ranks(std::move(answers), !choice.is_one());
  ranks.add_step(question, job);
  return ranks;
}

void RehearsedRanks::add_step(RehearsalQuestion question, const RehearsalJob& job) {
  std::vector<std::pair<int, RankProgram>> programs;
  for (RehearsalAnswer& answer : answers_) {
    question.ranks = std::max(question.ranks, answer.ranks());
    if (auto program = answer.take_program())
      programs.emplace_back(answer.rank(), std::move(*program));
  }
  const auto machine = job.machine();
  if (programs.empty() || !machine) return;
  answers_[leading_].add_step(
      rehearsed_step(std::move(programs), answers_.front().pipeline(), question, *machine));
}

RehearsedRanks::RehearsedRanks(std::vector<RehearsalAnswer> answers, bool is_list)
    : answers_(std::move(answers)),
      is_list_(is_list),
      leading_(static_cast<std::size_t>(
          std::max_element(answers_.begin(), answers_.end(), needs_less) - answers_.begin())) {}

ordered_json RehearsedRanks::fits() const {
  if (is_out_of_memory()) return false;
  const bool all_stepped = std::all_of(answers_.begin(), answers_.end(),
                                       [](const auto& answer) { return answer.fits() == true; });
  return all_stepped ? ordered_json(true) : ordered_json();
}

int RehearsedRanks::status() const {
  if (is_out_of_memory()) return kOutOfMemory;
  for (const RehearsalAnswer& answer : answers_) {
    if (answer.status() != kSuccess) return answer.status();
  }
  return kSuccess;
}

bool RehearsedRanks::was_interrupted() const {
  return answers_.back().status() == kInterrupted;
}

std::string RehearsedRanks::ended_because() const {
  for (const RehearsalAnswer& answer : answers_) {
    if (!answer.ended_because().empty()) return answer.ended_because();
  }
  return "";
}

ordered_json RehearsedRanks::as_json() const {
  ordered_json json = leading().as_json();
  if (!is_list_) return json;
  json["fits"] = fits();
  json["ranks_rehearsed"] = ordered_json::array();
  for (const RehearsalAnswer& answer : answers_)
    json["ranks_rehearsed"].push_back(answer.summary());
  return json;
}

std::string RehearsedRanks::ranks_text() const {
  std::string text = "\nRanks rehearsed, of which the one above needs most:\n";
  text += formatted("  %6s %5s %12s %12s  %s\n", "rank", "steps", "allocated", "reserved", "");
  for (const RehearsalAnswer& answer : answers_) {
    text += formatted("  %6d %5d %12s %12s  %s\n", answer.rank(), answer.steps_completed(),
                      binary_bytes(answer.peak_allocated()).c_str(),
                      binary_bytes(answer.peak_reserved()).c_str(),
                      answer.is_out_of_memory() ? "out of memory" : "");
  }
  return text;
}

std::string RehearsedRanks::text() const {
  return leading().text() + (is_list_ ? ranks_text() : "");
}

}  // namespace foreshard::cli
