#include "gui/models/what_if/plan_control.hpp"

#include <QStringList>
#include <algorithm>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "models/plan/plan_keys.hpp"

namespace foreshard::gui {
namespace {

constexpr Words translated("PlanControl");

struct SectionRow {
  const char* title;
  std::vector<std::string_view> sections;  // of the plan file
  bool is_open;
};
const std::vector<SectionRow> kSections{{
    {QT_TRANSLATE_NOOP("PlanControl", "Batch"), {"batch"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Units and sharding"), {"wrap", "sharding"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Prefetch"), {"prefetch"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Checkpointing"), {"checkpointing"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Offload to host"), {"offload"}, true},
    {QT_TRANSLATE_NOOP("PlanControl", "Precision"), {"precision"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Optimizer"), {"optimizer"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Allocator"), {"allocator"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Adapters"), {"lora"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Evaluation"), {"evaluation"}, false},
    {QT_TRANSLATE_NOOP("PlanControl", "Runtime and operators"), {"", "pytorch"}, false},
}};

std::string_view section_name(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? std::string_view() : std::string_view(key).substr(0, dot);
}

QString text_of(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<int>(text.size()));
}

QString with_spaces(std::string_view word) {
  return text_of(word).replace(QLatin1Char('_'), QLatin1Char(' '));
}

// What the row of a key offers, else what the type of its values does.
std::vector<ControlChoice> choices_of(const PlanKey& key) {
  std::vector<ControlChoice> choices;
  for (const OfferedValue& step : key.view.steps) {
    const std::string value = spelt(step.value);
    const std::string text(step.text.empty() ? unquoted(value) : step.text);
    choices.push_back({translated(text.c_str()), value});
  }
  if (!choices.empty()) return choices;
  const AllowedValues& allowed = key.field.allowed;
  if (allowed.may_be_unwritten) choices.push_back({translated("auto"), ""});
  for (const std::string_view word : allowed.words) {
    choices.push_back({with_spaces(word), in_quotes(word)});
  }
  return choices;
}

ControlKind kind_of(const PlanKey& key) {
  const AllowedValues& allowed = key.field.allowed;
  if (key.view.slides) return ControlKind::slider;
  if (!key.view.steps.empty()) return ControlKind::choice;
  if (allowed.list == AllowedValues::List::choices) return ControlKind::outputs;
  if (allowed.list == AllowedValues::List::groups) return ControlKind::modules;
  if (allowed.integers || allowed.numbers) return ControlKind::field;
  if (!allowed.words.empty()) return ControlKind::choice;
  return allowed.flags ? ControlKind::toggle : ControlKind::field;
}

PlanControl make_control(const PlanKey& key) {
  QString label = key.view.label.empty() ? with_spaces(key.short_name())
                                         : translated(std::string(key.view.label).c_str());
  label[0] = label[0].toUpper();
  PlanControl control;
  control.key = key.name();
  control.label = label;
  control.full_label =
      key.view.full_label.empty() ? label : translated(std::string(key.view.full_label).c_str());
  control.tooltip = QStringLiteral("%1\n%2\n%3")
                        .arg(text_of(key.name()), text_of(key.meaning),
                             translated("Allowed: %1").arg(QString::fromStdString(key.allowed())));
  control.kind = kind_of(key);
  if (control.kind != ControlKind::field) control.choices = choices_of(key);
  control.is_text = !key.field.allowed.text.empty();
  return control;
}

std::vector<ControlSection> make_controls() {
  std::vector<ControlSection> sections;
  for (const SectionRow& row : kSections) {
    ControlSection section{translated(row.title), row.is_open, {}};
    for (const PlanKey& key : plan_keys()) {
      const bool is_here =
          std::find(row.sections.begin(), row.sections.end(), key.section()) != row.sections.end();
      if (is_here) section.controls.push_back(make_control(key));
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
