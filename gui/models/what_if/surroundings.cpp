#include "gui/models/what_if/surroundings.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <chrono>
#include <utility>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/models/what_if/plan_control.hpp"
#include "models/plan/plan_keys.hpp"

namespace foreshard::gui {
namespace {

// A value of each kind of control beside the present one.
std::vector<std::string> values_beside(const PlanControl& control, const std::string& value) {
  if (control.kind == ControlKind::toggle) return {value == "true" ? "false" : "true"};
  if (control.kind != ControlKind::choice && control.kind != ControlKind::slider) return {};
  const auto choices = control.choices_with(value);
  const auto present = std::find_if(choices.begin(), choices.end(),
                                    [&](const ControlChoice& c) { return c.value == value; });
  std::vector<std::string> values;
  if (present == choices.end()) return values;
  if (present != choices.begin()) values.push_back(std::prev(present)->value);
  if (std::next(present) != choices.end()) values.push_back(std::next(present)->value);
  return values;
}

// Other operators are no change beside the present plan where they would run on another machine.
std::vector<Changes> changes_beside(const WhatIfSettings& settings) {
  const SpeltPlan& plan = settings.plan;
  std::vector<Changes> all;
  for (const ControlSection& section : plan_controls()) {
    for (const PlanControl& control : section.controls) {
      if (control.key == "operators" && !settings.question.machine) continue;
      for (std::string& value : values_beside(control, plan.value(control.key))) {
        SpeltPlan changed = plan;
        changed.set(control.key, value);
        const Result<Plan> valid = changed.plan();
        if (valid && find_plan_key(control.key)->missing_in(*valid).empty()) {
          all.push_back({{control.key, std::move(value)}});
        }
      }
    }
  }
  all.push_back(
      {{"wrap.policy", "\"modules\""},
       {"wrap.modules", R"(["model.embed_tokens", "model.layers.*", ["model.norm", "lm_head"]])"}});
  return all;
}

QString text_of(const Changes& changes, const SpeltPlan& plan) {
  if (changes.size() > 1) {
    return QCoreApplication::translate("WhatIf", "Embedding and head as units of their own");
  }
  SpeltPlan changed = plan;
  changed.set(changes.front().name, changes.front().value);
  return change_text(changes.front().name, changed);
}

std::vector<Neighbour> neighbours_of(const Outcome& present, std::vector<Candidate> candidates) {
  std::vector<Neighbour> neighbours;
  for (Candidate& candidate : candidates) {
    if (candidate.error) continue;
    Neighbour neighbour;
    neighbour.text = text_of(candidate.changes, present.settings.plan);
    if (present.tokens_per_s > 0) {
      neighbour.more_tokens = candidate.tokens_per_s / present.tokens_per_s - 1;
    }
    neighbour.more_reserved = candidate.reserved - present.reserved;
    const bool changes_nothing = candidate.fits && candidate.tokens_per_s == present.tokens_per_s &&
                                 neighbour.more_reserved == 0;
    if (changes_nothing) continue;
    if (!candidate.fits && candidate.oom) {
      neighbour.note = QCoreApplication::translate("WhatIf", "does not fit: %1")
                           .arg(failing_work(*candidate.oom));
    }
    neighbour.candidate = std::move(candidate);
    neighbours.push_back(std::move(neighbour));
  }
  std::stable_sort(neighbours.begin(), neighbours.end(), [](const auto& a, const auto& b) {
    if (a.candidate.fits != b.candidate.fits) return a.candidate.fits;
    if (a.more_tokens != b.more_tokens) return a.more_tokens > b.more_tokens;
    return a.more_reserved < b.more_reserved;
  });
  return neighbours;
}

std::vector<Changes> slider_notches(const SpeltPlan& plan) {
  std::vector<Changes> all;
  for (const ControlSection& section : plan_controls()) {
    for (const PlanControl& control : section.controls) {
      if (control.kind != ControlKind::slider) continue;
      for (const ControlChoice& notch : control.choices_with(plan.value(control.key))) {
        all.push_back({{control.key, notch.value}});
      }
    }
  }
  return all;
}

std::vector<ControlChoice> swept_values(const std::string& key, const SpeltPlan& plan) {
  const PlanControl* control = key.empty() ? nullptr : control_of(key);
  if (control == nullptr) return {{QString(), std::string()}};
  if (control->kind == ControlKind::toggle) {
    return {{QCoreApplication::translate("WhatIf", "off"), "false"},
            {QCoreApplication::translate("WhatIf", "on"), "true"}};
  }
  return control->choices_with(plan.value(key));
}

Sweep sweep_of(const SweepKeys& keys, const SpeltPlan& plan, std::vector<Changes>& all) {
  Sweep sweep{keys.first, keys.second, {}, {}, {}};
  const auto first = swept_values(keys.first, plan), second = swept_values(keys.second, plan);
  for (const ControlChoice& choice : first) sweep.first_values.push_back(choice.text);
  for (const ControlChoice& choice : second) sweep.second_values.push_back(choice.text);
  for (std::size_t a = 0; a < first.size(); ++a) {
    for (std::size_t b = 0; b < second.size(); ++b) {
      Changes changes{{keys.first, first[a].value}};
      if (!keys.second.empty()) changes.push_back({keys.second, second[b].value});
      sweep.points.push_back({{}, a, b, false});
      all.push_back(std::move(changes));
    }
  }
  return sweep;
}

void fill(Sweep& sweep, std::vector<Candidate> candidates) {
  std::vector<SweepPoint> points;
  for (std::size_t n = 0; n < candidates.size(); ++n) {
    const Candidate& made = candidates[n];
    const bool is_possible = !made.error && (made.tokens_per_s > 0 || !made.fits);
    if (!is_possible || !made.fits) {
      ++(is_possible ? sweep.misfits : sweep.impossible);
      continue;
    }
    SweepPoint point = sweep.points[n];
    point.candidate = std::move(candidates[n]);
    points.push_back(std::move(point));
  }
  mark_front(points);
  sweep.points = std::move(points);
}

}  // namespace

const Candidate* Surroundings::notch(std::string_view key, std::string_view value) const {
  for (const Candidate& candidate : notches) {
    const SpeltKey& change = candidate.changes.front();
    if (change.name == key && change.value == value) return &candidate;
  }
  return nullptr;
}

void mark_front(std::vector<SweepPoint>& points) {
  for (SweepPoint& point : points) {
    const Candidate& a = point.candidate;
    point.is_on_front = std::none_of(points.begin(), points.end(), [&](const SweepPoint& other) {
      const Candidate& b = other.candidate;
      return b.tokens_per_s >= a.tokens_per_s && b.reserved <= a.reserved &&
             (b.tokens_per_s > a.tokens_per_s || b.reserved < a.reserved);
    });
  }
}

std::shared_ptr<const Surroundings> survey(const OutcomePtr& present, const SweepKeys& sweep,
                                           int threads, const std::atomic<bool>& is_unwanted) {
  const WhatIfSettings& base = present->settings;
  auto found = std::make_shared<Surroundings>();
  auto notches = predict_candidates(base, slider_notches(base.plan), threads, is_unwanted);
  if (!notches) return nullptr;
  found->notches = std::move(*notches);
  auto beside = predict_candidates(base, changes_beside(base), threads, is_unwanted);
  if (!beside) return nullptr;
  found->neighbours = neighbours_of(*present, std::move(*beside));
  const auto start = std::chrono::steady_clock::now();
  std::vector<Changes> swept;
  found->sweep = sweep_of(sweep, base.plan, swept);
  auto points = predict_candidates(base, swept, threads, is_unwanted);
  if (!points) return nullptr;
  fill(found->sweep, std::move(*points));
  found->sweep.took_ns = static_cast<double>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return found;
}

}  // namespace foreshard::gui
