#include "simulator/search/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "simulator/predict/in_parallel.hpp"
#include "simulator/search/families.hpp"
#include "simulator/search/fronts.hpp"
#include "simulator/search/search_report.hpp"
#include "simulator/search/verification.hpp"

namespace foreshard::simulator {
namespace {

// Up to so many plans of a space, everything is predicted.
constexpr std::size_t kFewPlans = 500;
// Families that are predicted before bounds are compared with what was found: few at first, while little is.
constexpr std::size_t kFirstRound = 8, kRound = 64;

class Search {
 public:
  explicit Search(const SearchRequest& request)
      : request_(request),
        kinds_(target_kinds(request)),
        candidates_(request.base.plan, request.base_file, request.space, request.tokens_per_step) {}

  Result<SearchAnswer> run() {
    const auto start = std::chrono::steady_clock::now();
    answer_.warnings = request_.warnings;
    const std::clock_t work_start = std::clock();
    const bool is_bounded =
        request_.bounding == Bounding::always ||
        (request_.bounding == Bounding::where_many && candidates_.plans() > kFewPlans);
    is_bounded_ = is_bounded;
    Families families = find_families(request_, kinds_, candidates_, is_bounded);
    if (families.all.empty()) return tl::unexpected(families.without_plans.front().why);
    warn_of(families.without_plans);
    families_ = std::move(families.all);
    answer_.considered = families.members;
    if (is_bounded) sort_families();
    predict_families();
    report();
    add_bands(request_, answer_);
    warn_of_storage();
    count_work(static_cast<double>(std::clock() - work_start) /
               static_cast<double>(CLOCKS_PER_SEC));
    answer_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(answer_);
  }

 private:
  void warn_of(const std::vector<KindWithoutPlans>& without_plans) {
    for (const auto& [kind, why] : without_plans) {
      for (const std::size_t target : kinds_[kind].targets) {
        answer_.warnings.push_back("no plan of the space is one for " +
                                   target_name(request_.targets[target]) + ": " + why.text());
      }
    }
  }

  // Of the machines of the answers, each once.
  void warn_of_storage() {
    if (!request_.training) return;
    std::set<std::string> named;
    for (const auto* plans : {&answer_.top, &answer_.pareto, &answer_.pareto_cost}) {
      for (const FoundPlan& plan : *plans) {
        const std::string machine = machine_name(plan.target);
        if (plan.reliability || !named.insert(machine).second) continue;
        answer_.warnings.push_back(
            "the storage of " + machine +
            " is not known, so that checkpoints and failures are not counted; "
            "expected --storage-bandwidth");
      }
    }
  }

  const SearchTarget& target_of(const auto& of) const { return request_.targets[of.target]; }

  // Those that promise most first.
  void sort_families() {
    std::vector<std::pair<double, Family>> by_loss;
    for (Family& family : families_) {
      double least = std::numeric_limits<double>::infinity();
      for (const Member& member : family.members) least = std::min(least, least_loss(member));
      by_loss.emplace_back(least, std::move(family));
    }
    std::stable_sort(by_loss.begin(), by_loss.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    families_.clear();
    for (auto& [loss, family] : by_loss) families_.push_back(std::move(family));
  }

  double least_loss(const Member& member) const {
    return loss_of(request_.objective, target_of(member), member.bound.tokens_per_s(),
                   Nanoseconds(member.bound.step_ns));
  }

  void predict_families() {
    const auto threads = static_cast<std::size_t>(std::max(1, request_.threads));
    std::vector<Evaluation> evaluations;
    for (std::size_t t = 0; t < threads; ++t) evaluations.emplace_back(request_, kinds_);
    std::size_t round = kFirstRound, count = 0;
    for (std::size_t begin = 0; begin < families_.size(); begin += count) {
      count = std::min(round, families_.size() - begin);
      round = std::min(2 * round, kRound);
      std::vector<std::vector<Outcome>> outcomes(count);
      for (std::size_t n = 0; n < count; ++n) cut(families_[begin + n]);
      const std::vector<std::size_t> own = own_part(count, request_.share.process);
      in_parallel(own.size(), request_.threads, [&](std::size_t n, std::size_t thread) {
        outcomes[own[n]] = predicted(families_[begin + own[n]], evaluations[thread]);
      });
      if (request_.share.processes > 1) share(outcomes);
      const std::size_t first = outcomes_.size();
      for (const auto& of_family : outcomes) {
        for (const Outcome& outcome : of_family) take(outcome);
      }
      if (has_limits()) look_for_sure(first);
      if (request_.progress) {
        request_.progress("predicting plans", begin + count, families_.size());
      }
    }
  }

  // Of so many families, what a process predicts: neighbours are alike.
  std::vector<std::size_t> own_part(std::size_t count, int process) const {
    std::vector<std::size_t> own;
    const auto step = static_cast<std::size_t>(request_.share.processes);
    for (auto n = static_cast<std::size_t>(process); n < count; n += step) own.push_back(n);
    return own;
  }

  // Fills in what the other processes predicted. Outcomes are told as they lie in memory.
  void share(std::vector<std::vector<Outcome>>& outcomes) const {
    static_assert(std::is_trivially_copyable_v<Outcome>);
    std::string mine;
    for (const std::size_t n : own_part(outcomes.size(), request_.share.process)) {
      const std::size_t members = outcomes[n].size();
      mine.append(reinterpret_cast<const char*>(&members), sizeof(members));
      mine.append(reinterpret_cast<const char*>(outcomes[n].data()), members * sizeof(Outcome));
    }
    const std::vector<std::string> all = request_.share.exchange(mine);
    for (int process = 0; process < request_.share.processes; ++process) {
      if (process == request_.share.process) continue;
      const char* at = all[static_cast<std::size_t>(process)].data();
      for (const std::size_t n : own_part(outcomes.size(), process)) {
        std::size_t members = 0;
        std::memcpy(&members, at, sizeof(members));
        at += sizeof(members);
        outcomes[n].resize(members);
        std::memcpy(static_cast<void*>(outcomes[n].data()), at, members * sizeof(Outcome));
        at += members * sizeof(Outcome);
      }
    }
  }

  // What this process worked, and all others.
  void count_work(double processor_seconds) {
    answer_.processes = request_.share.processes;
    answer_.threads = request_.threads;
    answer_.processor_seconds = processor_seconds;
    if (answer_.processes == 1) return;
    const std::string mine =
        std::to_string(request_.threads) + " " + std::to_string(processor_seconds);
    answer_.threads = 0;
    answer_.processor_seconds = 0;
    for (const std::string& text : request_.share.exchange(mine)) {
      const std::size_t end_of_threads = text.find(' ');
      answer_.threads += std::stoi(text.substr(0, end_of_threads));
      answer_.processor_seconds += std::stod(text.substr(end_of_threads));
    }
  }

  // Leaves out what its bound proves to be no answer.
  void cut(Family& family) {
    for (Member& member : family.members) {
      if (member.bound.reserved > device_memory(member)) {
        ++answer_.out_of_memory;
        member.is_left_out = true;
      } else if (is_beaten(member)) {
        ++answer_.cut_by_bound;
        member.is_left_out = true;
      }
    }
  }

  std::int64_t device_memory(const Member& member) const {
    if (request_.device_memory) return *request_.device_memory;
    const Machine* const machine = target_of(member).machine;
    return machine == nullptr ? std::numeric_limits<std::int64_t>::max() : machine->memory.count;
  }

  // Whether whatever it reaches leaves it off every list of answers.
  bool is_beaten(const Member& member) const {
    const SearchTarget& target = target_of(member);
    const double gain = member.bound.tokens_per_s();
    const auto usd = usd_per_million_tokens(target, gain);
    if (limit_broken_by(target, gain) != Limit::none) return true;
    const double loss = least_loss(member);
    if (has_limits() && (!sure_ || std::get<0>(rank(*sure_)) >= loss)) return false;
    const bool is_of_top = best_losses_.size() < request_.top || best_losses_.back() >= loss;
    return !is_of_top && memory_front_.beats(gain, static_cast<double>(member.bound.reserved)) &&
           (!usd || cost_front_.beats(gain, *usd));
  }

  bool has_limits() const { return request_.training && request_.training->has_limits(); }

  Limit limit_broken_by(const SearchTarget& target, double kept_tokens_per_s) const {
    if (!has_limits()) return Limit::none;
    return broken_limit(*request_.training, training_cost(*request_.training, kept_tokens_per_s,
                                                          target.rent.usd_per_hour));
  }

  std::vector<Outcome> predicted(Family& family, Evaluation& evaluation) const {
    std::vector<Outcome> found;
    const int gpus = kinds_[family.kind].gpus;
    const auto first = std::find_if(family.members.begin(), family.members.end(),
                                    [](const Member& member) { return !member.is_left_out; });
    if (first == family.members.end()) return found;
    evaluation.lower(*candidates_.plan(first->plan, gpus), family.kind);
    if (is_bounded_) cut_by_time(family, evaluation, found);
    for (const Member& member : family.members) {
      if (member.is_left_out) continue;
      const Plan plan = *candidates_.plan(member.plan, gpus);
      found.push_back(evaluation.predict_on(member.target, plan, member.plan));
    }
    return found;
  }

  // Leaves out what is no answer by its time and by the least that its programs hold. The
  // allocator makes no step shorter.
  void cut_by_time(Family& family, Evaluation& evaluation, std::vector<Outcome>& found) const {
    const int gpus = kinds_[family.kind].gpus;
    for (const std::size_t target : kinds_[family.kind].targets) {
      std::vector<Member*> members;
      for (Member& member : family.members) {
        if (member.target == target && !member.is_left_out) members.push_back(&member);
      }
      if (members.empty()) continue;
      const auto time = evaluation.time_on(target);
      if (!time) continue;
      for (Member* const member : members) {
        member->bound.step_ns = time->count();
        const Plan plan = *candidates_.plan(member->plan, gpus);
        member->bound.reserved =
            std::max(member->bound.reserved, evaluation.least_reserved_on(target, plan));
        member->is_left_out = is_beaten(*member);
        if (member->is_left_out) found.push_back({member->plan, target, true});
      }
    }
  }

  void take(const Outcome& outcome) {
    ++answer_.predicted;
    if (outcome.is_beaten) {
      ++answer_.cut_by_bound;
      return;
    }
    ++(outcome.fits ? answer_.fitting : answer_.out_of_memory);
    if (!outcome.has_time()) return;
    const SearchTarget& target = target_of(outcome);
    switch (limit_broken_by(target, outcome.kept_tokens_per_s())) {
      case Limit::budget: ++answer_.over_budget; return;
      case Limit::deadline: ++answer_.too_late; return;
      case Limit::none: break;
    }
    const auto usd = usd_per_million_tokens(target, outcome.kept_tokens_per_s());
    outcomes_.push_back(outcome);
    memory_front_.add(outcome.tokens_per_s, static_cast<double>(outcome.peak_reserved));
    if (usd) cost_front_.add(outcome.tokens_per_s, *usd);
    best_losses_.insert(std::upper_bound(best_losses_.begin(), best_losses_.end(), loss(outcome)),
                        loss(outcome));
    if (best_losses_.size() > request_.top) best_losses_.pop_back();
  }

  double loss(const Outcome& outcome) const {
    return loss_of(request_.objective, target_of(outcome), outcome.kept_tokens_per_s(),
                   outcome.step_time);
  }

  // Better answers have a lower one. Of equal losses, among them those that are not known, the fastest is
  // first and then what reserves least.
  std::tuple<double, double, std::int64_t, std::size_t, std::size_t> rank(
      const Outcome& outcome) const {
    return {loss(outcome), -outcome.tokens_per_s, outcome.peak_reserved, outcome.plan,
            outcome.target};
  }

  // Of what was taken since the `first`, the best plan that keeps the limits even at the long end of its
  // band, where it is better than the one there is.
  void look_for_sure(std::size_t first) {
    std::vector<Outcome> better;
    for (std::size_t o = first; o < outcomes_.size(); ++o) {
      if (!sure_ || rank(outcomes_[o]) < rank(*sure_)) better.push_back(outcomes_[o]);
    }
    std::sort(better.begin(), better.end(),
              [&](const Outcome& a, const Outcome& b) { return rank(a) < rank(b); });
    for (const Outcome& outcome : better) {
      FoundPlan plan = found(outcome);
      add_band(request_, plan);
      const auto longest = plan.training_cost_at(*request_.training, plan.step_time_high);
      if (broken_limit(*request_.training, longest) != Limit::none) continue;
      sure_ = outcome;
      answer_.best_sure = std::move(plan);
      return;
    }
  }

  void report() {
    std::sort(outcomes_.begin(), outcomes_.end(),
              [&](const Outcome& a, const Outcome& b) { return rank(a) < rank(b); });
    for (std::size_t o = 0; o < std::min(request_.top, outcomes_.size()); ++o) {
      answer_.top.push_back(found(outcomes_[o]));
    }
    // Of equal points of a front the first one is listed: what reserves least.
    std::stable_sort(outcomes_.begin(), outcomes_.end(), [](const Outcome& a, const Outcome& b) {
      return std::tuple(a.peak_reserved, a.plan, a.target) <
             std::tuple(b.peak_reserved, b.plan, b.target);
    });
    std::vector<Point> memory, cost;
    for (std::size_t o = 0; o < outcomes_.size(); ++o) {
      const Outcome& outcome = outcomes_[o];
      memory.push_back({outcome.tokens_per_s, static_cast<double>(outcome.peak_reserved), o});
      const auto usd = usd_per_million_tokens(target_of(outcome), outcome.kept_tokens_per_s());
      if (usd) cost.push_back({outcome.tokens_per_s, *usd, o});
    }
    for (const Point& point : pareto_front(std::move(memory))) {
      answer_.pareto.push_back(found(outcomes_[point.index]));
    }
    for (const Point& point : pareto_front(std::move(cost))) {
      answer_.pareto_cost.push_back(found(outcomes_[point.index]));
    }
  }

  FoundPlan found(const Outcome& outcome) const {
    FoundPlan plan;
    plan.target = target_of(outcome);
    plan.plan = *candidates_.plan(outcome.plan, plan.target.gpus);
    plan.values = candidates_.values(plan.plan);
    plan.plan = question_on(request_, plan.target, plan.plan).plan;
    plan.step_time = outcome.step_time;
    plan.tokens_per_s = outcome.tokens_per_s;
    plan.peak_reserved = outcome.peak_reserved;
    plan.usd_per_million_tokens = usd_per_million_tokens(plan.target, outcome.kept_tokens_per_s());
    return plan;
  }

  const SearchRequest& request_;
  bool is_bounded_ = false;
  std::vector<TargetKind> kinds_;
  Candidates candidates_;
  std::vector<Family> families_;
  std::vector<Outcome> outcomes_;  // that have a time and are affordable
  Front memory_front_, cost_front_;
  std::vector<double> best_losses_;  // of the top, least first
  std::optional<Outcome> sure_;      // that keeps the limits even at the long end of its band
  SearchAnswer answer_;
};

}  // namespace

Result<SearchAnswer> search(const SearchRequest& request) {
  if (auto ok = check_size(request.space); !ok) return tl::unexpected(ok.error());
  return Search(request).run();
}

}  // namespace foreshard::simulator
