#include "simulator/search/families.hpp"

#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "simulator/predict/in_parallel.hpp"

namespace foreshard::simulator {
namespace {

// Counts what has been looked at on all kinds of targets.
class FindingProgress {
 public:
  static constexpr std::size_t kRound = 4096;  // families, some tens of milliseconds

  FindingProgress(const SearchRequest& request, std::size_t all)
      : progress_(request.progress), all_(all) {}

  void add_round() {
    const std::lock_guard lock(mutex_);
    done_ += kRound;
    if (progress_) progress_("finding plans", done_, all_);
  }

 private:
  const std::function<void(std::string_view, std::size_t, std::size_t)>& progress_;
  std::size_t done_ = 0, all_;
  std::mutex mutex_;
};

// The families on the targets of one kind.
class KindFamilies {
 public:
  KindFamilies(const SearchRequest& request, const std::vector<TargetKind>& kinds,
               std::size_t number, const Candidates& candidates, FindingProgress& progress)
      : kind_(kinds[number]),
        number_(number),
        candidates_(candidates),
        progress_(progress),
        jobs_(request, kind_),
        bounds_(request, kind_, candidates) {}

  Families find(bool is_bounded) {
    for (std::size_t f = 0; f < candidates_.families(); ++f) {
      if (f > 0 && f % FindingProgress::kRound == 0) progress_.add_round();
      find_family(f, is_bounded);
    }
    if (found_.all.empty() && why_not_) found_.without_plans = {{number_, *why_not_}};
    return std::move(found_);
  }

 private:
  void find_family(std::size_t family_number, bool is_bounded) {
    Family family{number_, {}};
    PlanBounds bounds;
    for (std::size_t i = 0; i < candidates_.family_size(); ++i) {
      const std::size_t plan_number = family_number * candidates_.family_size() + i;
      const auto plan = candidates_.plan(plan_number, kind_.gpus);
      if (!plan) {
        note(plan.error());
        continue;
      }
      if (family.members.empty()) {
        if (!keys_.insert(program_key(*plan, kind_.gpus, kind_.nodes)).second) return;
        const auto job = jobs_.job(*plan);
        if (!job) return note(job.error());
        if (is_bounded) bounds = bounds_.of(candidates_.choices(plan_number), *plan);
      }
      for (std::size_t t = 0; t < kind_.targets.size(); ++t) {
        family.members.push_back(
            {plan_number, kind_.targets[t], is_bounded ? bounds[t] : PlanBound{}});
      }
    }
    if (family.members.empty()) return;
    found_.members += family.members.size();
    found_.all.push_back(std::move(family));
  }

  void note(const Error& error) {
    if (!why_not_) why_not_ = error;
  }

  const TargetKind& kind_;
  std::size_t number_;
  const Candidates& candidates_;
  FindingProgress& progress_;
  KindJobs jobs_;
  Bounds bounds_;
  std::unordered_set<std::string> keys_;  // of the programs there are
  std::optional<Error> why_not_;          // the first combination that is no candidate
  Families found_;
};

}  // namespace

Families find_families(const SearchRequest& request, const std::vector<TargetKind>& kinds,
                       const Candidates& candidates, bool is_bounded) {
  std::vector<Families> of_kind(kinds.size());
  FindingProgress progress(request, kinds.size() * candidates.families());
  in_parallel(kinds.size(), request.threads, [&](std::size_t k, std::size_t) {
    of_kind[k] = KindFamilies(request, kinds, k, candidates, progress).find(is_bounded);
  });
  Families found;
  for (Families& of : of_kind) {
    found.members += of.members;
    std::move(of.all.begin(), of.all.end(), std::back_inserter(found.all));
    std::move(of.without_plans.begin(), of.without_plans.end(),
              std::back_inserter(found.without_plans));
  }
  return found;
}

}  // namespace foreshard::simulator
