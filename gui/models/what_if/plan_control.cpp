#include "gui/models/what_if/plan_control.hpp"

#include <QStringList>
#include <algorithm>
#include <array>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/what_if/plan_control_kinds.hpp"
#include "models/plan/plan_reference.hpp"

namespace foreshard::gui {
namespace {

constexpr Words translated("PlanControl");

struct SectionRow {
  const char* title;
  std::array<std::string_view, 2> sections;  // of the plan file
  bool is_open;
};
constexpr std::array<SectionRow, 9> kSections{{
    {QT_TRANSLATE_NOOP("PlanControl", "Batch"), {"batch"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Units and sharding"), {"wrap", "sharding"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Prefetch"), {"prefetch"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Checkpointing"), {"checkpointing"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Offload to host"), {"offload"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Precision"), {"precision"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Optimizer"), {"optimizer"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Allocator"), {"allocator"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Runtime and operators"), {"", "pytorch"}, false},
}};

std::string_view section_name(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? std::string_view() : std::string_view(key).substr(0, dot);
}

std::vector<ControlSection> make_controls() {
  std::vector<PlanControl> controls = control_kinds();
  for (const PlanKeyReference& row : plan_reference()) {
    const std::string key = row.section.empty() ? row.key : row.section + '.' + row.key;
    for (PlanControl& control : controls) {
      if (control.key != key) continue;
      control.tooltip =
          QStringLiteral("%1\n%2\n%3")
              .arg(QString::fromStdString(key), QString::fromStdString(row.meaning),
                   translated("Allowed: %1").arg(QString::fromStdString(row.allowed)));
    }
  }
  std::vector<ControlSection> sections;
  for (const SectionRow& row : kSections) {
    ControlSection section{translated(row.title), row.is_open, {}};
    for (const PlanControl& control : controls) {
      const std::string_view name = section_name(control.key);
      if (std::find(row.sections.begin(), row.sections.end(), name) == row.sections.end()) continue;
      if (name.empty() && !row.sections.front().empty())
        continue;  // the array's empty second entry
      section.controls.push_back(control);
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

QString word(const SpeltPlan& plan, std::string_view key) {
  return QString::fromStdString(std::string(unquoted(plan.value(key))));
}

}  // namespace

std::vector<ControlChoice> PlanControl::choices_with(const std::string& value) const {
  std::vector<ControlChoice> all = choices;
  const auto is_it = [&](const ControlChoice& choice) { return choice.value == value; };
  if (value.empty() || std::any_of(all.begin(), all.end(), is_it)) return all;
  const QString text = QString::fromStdString(std::string(unquoted(value)));
  const auto place = std::find_if(all.begin(), all.end(), [&](const ControlChoice& choice) {
    bool is_number = false;
    const double notch = QString::fromStdString(choice.value).toDouble(&is_number);
    return is_number && notch > text.toDouble();
  });
  all.insert(place, {text, value});
  return all;
}

const std::vector<ControlSection>& plan_controls() {
  static const std::vector<ControlSection> sections = make_controls();
  return sections;
}

const PlanControl* control_of(std::string_view key) {
  for (const ControlSection& section : plan_controls()) {
    for (const PlanControl& control : section.controls) {
      if (control.key == key) return &control;
    }
  }
  return nullptr;
}

QString section_summary(const ControlSection& section, const SpeltPlan& plan) {
  const std::string_view first = section_name(section.controls.front().key);
  if (first == "batch") {
    const std::int64_t tokens =
        word(plan, "batch.micro_batch").toLongLong() * word(plan, "batch.sequence").toLongLong();
    return translated("%1 tokens a rank").arg(count_figure(tokens).text());
  }
  if (first == "precision") {
    return translated("%1 compute, %2 reduce")
        .arg(word(plan, "precision.param"), word(plan, "precision.reduce"));
  }
  if (first == "optimizer") {
    return QStringLiteral("%1, %2").arg(word(plan, "optimizer.name"),
                                        word(plan, "optimizer.kernel"));
  }
  if (first.empty()) {
    return QStringLiteral("%1, %2").arg(word(plan, "runtime"), word(plan, "operators"));
  }
  const SpeltPlan defaults;
  std::size_t changed = 0;
  for (const PlanControl& control : section.controls) {
    if (plan.value(control.key) != defaults.value(control.key)) ++changed;
  }
  return changed == 0 ? translated("defaults") : translated("%n set", static_cast<int>(changed));
}

QString change_text(const std::string& key, const SpeltPlan& plan) {
  const PlanControl* control = control_of(key);
  const std::string& value = plan.value(key);
  QString text = QString::fromStdString(std::string(unquoted(value)));
  for (const ControlChoice& choice : control->choices) {
    if (choice.value == value) text = choice.text;
  }
  if (control->kind == ControlKind::toggle) {
    const QString name = control->full_label;
    return value == "true" ? name : translated("Not: %1").arg(name.toLower());
  }
  if (text.size() > 40) text = text.left(39) + QChar(0x2026);
  return QStringLiteral("%1 %2").arg(control->full_label, text);
}

}  // namespace foreshard::gui
