#include "gui/views/what_if/value_editors.hpp"

#include <QHBoxLayout>
#include <QSignalBlocker>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/views/base/choice_list.hpp"

namespace foreshard::gui {
namespace {

// A layout with the one widget, named for the key.
void fill(ValueEditor& editor, QWidget& widget, const PlanControl& control,
          Qt::Alignment alignment = {}) {
  auto* layout = new QHBoxLayout(&editor);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(&widget, 0, alignment);
  widget.setAccessibleName(control.label);
  editor.setFocusProxy(&widget);
}

int index_of(const std::vector<ControlChoice>& choices, const std::string& value) {
  for (std::size_t n = 0; n < choices.size(); ++n) {
    if (choices[n].value == value) return static_cast<int>(n);
  }
  return 0;
}

QStringList texts_of(const std::vector<ControlChoice>& choices) {
  QStringList texts;
  for (const ControlChoice& choice : choices) texts << choice.text;
  return texts;
}

bool suits_segments(const std::vector<ControlChoice>& choices) {
  return choices.size() <= 6 && texts_of(choices).join(QString()).size() <= 30;
}

}  // namespace

SliderEditor::SliderEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(parent), control_(control), slider_(new NotchedSlider(this)) {
  fill(*this, *slider_, control);
  connect(slider_, &NotchedSlider::moved, this,
          [this](int notch) { Q_EMIT edited(choices_[static_cast<std::size_t>(notch)].value); });
  connect(slider_, &NotchedSlider::drag_began, this, &ValueEditor::drag_began);
  connect(slider_, &NotchedSlider::drag_ended, this, &ValueEditor::drag_ended);
}

void SliderEditor::show_value(const WhatIfSettings& settings) {
  const std::string& value = settings.plan.value(control_.key);
  // While the handle is dragged off a value of its own, that notch stays.
  if (choices_.empty() || choices_[static_cast<std::size_t>(slider_->current())].value != value) {
    choices_ = control_.choices_with(value);
  }
  slider_->set_notches(texts_of(choices_), index_of(choices_, value));
}

void SliderEditor::show_surroundings(const Surroundings* surroundings) {
  if (surroundings == nullptr) return;
  std::vector<QString> reasons;
  for (const ControlChoice& choice : choices_) {
    const Candidate* notch = surroundings->notch(control_.key, choice.value);
    QString& reason = reasons.emplace_back();
    if (notch == nullptr) continue;
    if (notch->error) reason = key_error_text(*notch->error);
    if (notch->oom) reason = tr("Does not fit: %1").arg(failure_text(*notch->oom));
  }
  slider_->set_misfits(std::move(reasons));
}

ChoiceEditor::ChoiceEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(parent), control_(control), choices_(control.choices) {
  if (suits_segments(choices_)) {
    segments_ = new SegmentedControl(texts_of(choices_), this);
    segments_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    fill(*this, *segments_, control);
    connect(segments_, &SegmentedControl::chosen, this, &ChoiceEditor::choose);
  } else {
    list_ = new ChoiceList(this);
    list_->addItems(texts_of(choices_));
    fill(*this, *list_, control);
    connect(list_, qOverload<int>(&QComboBox::activated), this, &ChoiceEditor::choose);
  }
}

void ChoiceEditor::choose(int choice) {
  Q_EMIT edited(choices_[static_cast<std::size_t>(choice)].value);
}

void ChoiceEditor::show_value(const WhatIfSettings& settings) {
  const std::string& value = settings.plan.value(control_.key);
  const auto choices = control_.choices_with(value);
  const bool are_others =
      choices.size() != choices_.size() || texts_of(choices) != texts_of(choices_);
  choices_ = choices;
  if (segments_ != nullptr) {
    if (are_others) segments_->set_choices(texts_of(choices_));
    segments_->set_current(index_of(choices_, value));
  } else {
    const QSignalBlocker quiet(list_);
    if (are_others) {
      list_->clear();
      list_->addItems(texts_of(choices_));
    }
    list_->setCurrentIndex(index_of(choices_, value));
  }
}

ToggleEditor::ToggleEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(parent), control_(control), switch_(new ToggleSwitch(this)) {
  fill(*this, *switch_, control, Qt::AlignRight);
  connect(switch_, &QAbstractButton::clicked, this,
          [this](bool is_on) { Q_EMIT edited(is_on ? "true" : "false"); });
}

void ToggleEditor::show_value(const WhatIfSettings& settings) {
  switch_->setChecked(settings.plan.value(control_.key) == "true");
}

FieldEditor::FieldEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(parent), control_(control), line_(new QLineEdit(this)) {
  fill(*this, *line_, control);
  connect(line_, &QLineEdit::editingFinished, this, [this] {
    const std::string typed = line_->text().trimmed().toStdString();
    const std::string value = control_.is_text ? in_quotes(typed) : typed;
    if (value != value_) Q_EMIT edited(value);
  });
}

void FieldEditor::show_value(const WhatIfSettings& settings) {
  value_ = settings.plan.value(control_.key);
  const QString text =
      QString::fromStdString(control_.is_text ? std::string(unquoted(value_)) : value_);
  if (text != line_->text()) line_->setText(text);
}

OutputsEditor::OutputsEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(parent), control_(control) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  for (const ControlChoice& choice : control.choices) {
    auto* chip = new CheckChip(choice.text, this);
    layout->addWidget(chip);
    chips_.push_back(chip);
    connect(chip, &QAbstractButton::clicked, this, [this] {
      QStringList words;
      for (std::size_t n = 0; n < chips_.size(); ++n) {
        if (chips_[n]->isChecked()) words << QString::fromStdString(control_.choices[n].value);
      }
      Q_EMIT edited(QStringLiteral("[%1]").arg(words.join(QStringLiteral(", "))).toStdString());
    });
  }
  layout->addStretch(1);
  setFocusProxy(chips_.front());
}

void OutputsEditor::show_value(const WhatIfSettings& settings) {
  const std::string& value = settings.plan.value(control_.key);
  for (std::size_t n = 0; n < chips_.size(); ++n) {
    chips_[n]->setChecked(value.find(control_.choices[n].value) != std::string::npos);
  }
}

}  // namespace foreshard::gui
