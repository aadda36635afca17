#include "gui/views/what_if/value_editors.hpp"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QHelpEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QSignalBlocker>
#include <QToolTip>
#include <QTreeWidget>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "models/llama/module_tree.hpp"

namespace foreshard::gui {
namespace {

constexpr double kHandle = 7, kTrackY = 14, kTrackHeight = 4;
constexpr int kPath = Qt::UserRole;  // of a module in the tree
constexpr int kTreeHeight = 9 * 22;

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

// The path with the first layer's number as `*`; empty for modules of other layers.
QString glob_of(const Module& module) {
  QString path = QString::fromStdString(module.path);
  if (module.layer == kNone) return path;
  if (module.layer > 0) return {};
  return path.replace(QStringLiteral("layers.0"), QStringLiteral("layers.*"));
}

QStringList globs_in(const QTreeWidgetItem& item) {
  QStringList globs;
  if (item.checkState(0) == Qt::Checked) globs << item.data(0, kPath).toString();
  for (int n = 0; n < item.childCount(); ++n) globs << globs_in(*item.child(n));
  return globs;
}

}  // namespace

void ValueEditor::hold(QWidget& widget, Qt::Alignment alignment) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(&widget, 0, alignment);
  widget.setAccessibleName(control_.label);
  setFocusProxy(&widget);
}

ValueEditor* make_editor(const PlanControl& control, QWidget* parent) {
  switch (control.kind) {
    case ControlKind::slider: return new SliderEditor(control, parent);
    case ControlKind::choice: return new ChoiceEditor(control, parent);
    case ControlKind::toggle:
    case ControlKind::outputs: return new CheckEditor(control, parent);
    case ControlKind::field: return new FieldEditor(control, parent);
    case ControlKind::modules: return new ModuleEditor(control, parent);
  }
  return nullptr;
}

NotchedSlider::NotchedSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {
  setPageStep(1);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize NotchedSlider::sizeHint() const {
  return {236, 26 + scaled(16)};
}

void NotchedSlider::set_notches(const QStringList& notches, int current) {
  if (notches == notches_ && current == value()) return;
  if (notches != notches_) misfits_.clear();
  const QSignalBlocker quiet(this);
  notches_ = notches;
  setRange(0, static_cast<int>(notches.size()) - 1);
  setValue(current);
  update();
}

void NotchedSlider::set_misfits(std::vector<QString> reasons) {
  if (reasons == misfits_) return;
  misfits_ = std::move(reasons);
  update();
}

QPointF NotchedSlider::notch_centre(int notch) const {
  const double left = kHandle + 3, right = width() - kHandle - 3;
  const auto last = std::max<qsizetype>(1, notches_.size() - 1);
  return {left + (right - left) * notch / static_cast<double>(last), kTrackY};
}

bool NotchedSlider::is_misfit(int notch) const {
  const auto n = static_cast<std::size_t>(notch);
  return n < misfits_.size() && !misfits_[n].isNull();
}

int NotchedSlider::notch_at(double x) const {
  const double step = notch_centre(1).x() - notch_centre(0).x();
  return std::clamp(static_cast<int>(std::lround((x - notch_centre(0).x()) / step)), 0, maximum());
}

void NotchedSlider::paint_track(QPainter& painter) const {
  const Theme& t = theme();
  const double left = notch_centre(0).x(), handle = notch_centre(value()).x();
  const double right = notch_centre(maximum()).x();
  const auto stretch = [&](double from, double to, const QBrush& brush) {
    painter.fillRect(QRectF(from, kTrackY - kTrackHeight / 2, to - from, kTrackHeight), brush);
  };
  stretch(left, right, t[Role::strong_line]);
  const double half = (notch_centre(1).x() - left) / 2;
  for (int n = 0; n < notches_.size(); ++n) {
    if (!is_misfit(n)) continue;
    const double at = notch_centre(n).x();
    const double from = std::max(left, at - half), to = std::min(right, at + half);
    stretch(from, to, t.towards_canvas(t[Role::error], 0.7));
    stretch(from, to, hatch(t[Role::error], Hatch::diagonal, 4));
  }
  stretch(left, handle, t[Role::ink]);
  painter.setPen(Qt::NoPen);
  for (int n = 0; n < notches_.size(); ++n) {
    painter.setBrush(n <= value() ? t[Role::ink] : is_misfit(n) ? t[Role::error] : t[Role::text3]);
    painter.drawEllipse(notch_centre(n), 2, 2);
  }
  painter.setBrush(t[Role::raised]);
  painter.setPen(QPen(is_misfit(value()) ? t[Role::error] : t[Role::ink], 2));
  painter.drawEllipse(notch_centre(value()), kHandle, kHandle);
  if (!hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(t[Role::focus], 2));
  painter.drawEllipse(notch_centre(value()), kHandle + 3, kHandle + 3);
}

void NotchedSlider::paint_labels(QPainter& painter) const {
  for (int n = 0; n < notches_.size(); ++n) {
    painter.setFont(gui::font(n == value() ? Text::secondary_strong : Text::tick));
    painter.setPen(theme()[is_misfit(n) ? Role::error : n == value() ? Role::text : Role::text3]);
    const double wide = figure_width(painter.font(), notches_[n]) + 2;
    const double left =
        std::clamp(notch_centre(n).x() - wide / 2, 0.0, std::max(0.0, width() - wide));
    draw_figure(painter, QRectF(left, 25, wide, scaled(16)), Qt::AlignCenter, notches_[n]);
  }
}

void NotchedSlider::paintEvent(QPaintEvent*) {
  if (notches_.isEmpty()) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (!isEnabled()) painter.setOpacity(0.45);
  paint_track(painter);
  paint_labels(painter);
}

// Where a press or a drag is goes the handle: Qt's own slider measures by the handle of the style.
void NotchedSlider::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return event->ignore();
  setSliderDown(true);
  setValue(notch_at(event->position().x()));
}

void NotchedSlider::mouseMoveEvent(QMouseEvent* event) {
  if (isSliderDown()) setValue(notch_at(event->position().x()));
}

bool NotchedSlider::event(QEvent* event) {
  if (event->type() == QEvent::MouseButtonRelease) setSliderDown(false);
  if (event->type() == QEvent::ToolTip && !notches_.isEmpty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int notch = notch_at(help->pos().x());
    if (is_misfit(notch)) {
      QToolTip::showText(help->globalPos(), misfits_[static_cast<std::size_t>(notch)], this);
      return true;
    }
  }
  return QSlider::event(event);
}

SliderEditor::SliderEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(control, parent), slider_(new NotchedSlider(this)) {
  hold(*slider_);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int notch) { Q_EMIT edited(choices_[static_cast<std::size_t>(notch)].value); });
  connect(slider_, &QSlider::sliderPressed, this, &ValueEditor::drag_began);
  connect(slider_, &QSlider::sliderReleased, this, &ValueEditor::drag_ended);
}

void SliderEditor::show_value(const WhatIfSettings& settings) {
  const std::string& value = settings.plan.value(control().key);
  // While the handle is dragged off a value of its own, that notch stays.
  if (choices_.empty() || choices_[static_cast<std::size_t>(slider_->value())].value != value) {
    choices_ = control().choices_with(value);
  }
  slider_->set_notches(texts_of(choices_), index_of(choices_, value));
}

void SliderEditor::show_surroundings(const Surroundings* surroundings) {
  if (surroundings == nullptr) return;
  std::vector<QString> reasons;
  for (const ControlChoice& choice : choices_) {
    const Candidate* notch = surroundings->notch(control().key, choice.value);
    QString& reason = reasons.emplace_back();
    if (notch == nullptr) continue;
    if (notch->error) reason = key_error_text(*notch->error);
    if (notch->oom) reason = tr("Does not fit: %1").arg(failure_text(*notch->oom));
  }
  slider_->set_misfits(std::move(reasons));
}

ChoiceEditor::ChoiceEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(control, parent), choices_(control.choices) {
  if (suits_segments(choices_)) {
    segments_ = new SegmentedControl(texts_of(choices_), this);
    segments_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    hold(*segments_);
    connect(segments_, &SegmentedControl::chosen, this, &ChoiceEditor::choose);
  } else {
    list_ = new ChoiceList(this);
    list_->addItems(texts_of(choices_));
    hold(*list_);
    connect(list_, qOverload<int>(&QComboBox::activated), this, &ChoiceEditor::choose);
  }
}

void ChoiceEditor::choose(int choice) {
  Q_EMIT edited(choices_[static_cast<std::size_t>(choice)].value);
}

void ChoiceEditor::show_value(const WhatIfSettings& settings) {
  const std::string& value = settings.plan.value(control().key);
  const auto choices = control().choices_with(value);
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

CheckEditor::CheckEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(control, parent) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addStretch(1);
  const bool is_switch = control.kind == ControlKind::toggle;
  for (std::size_t n = 0; n < (is_switch ? 1 : control.choices.size()); ++n) {
    auto* box = boxes_.emplace_back(new QCheckBox(is_switch ? QString() : control.choices[n].text));
    box->setAccessibleName(is_switch ? control.label : control.choices[n].text);
    layout->addWidget(box);
    connect(box, &QCheckBox::clicked, this, [this] { Q_EMIT edited(value()); });
  }
  setFocusProxy(boxes_.front());
}

std::string CheckEditor::value() const {
  if (control().kind == ControlKind::toggle) return boxes_.front()->isChecked() ? "true" : "false";
  QStringList words;
  for (std::size_t n = 0; n < boxes_.size(); ++n) {
    if (boxes_[n]->isChecked()) words << QString::fromStdString(control().choices[n].value);
  }
  return QStringLiteral("[%1]").arg(words.join(QStringLiteral(", "))).toStdString();
}

void CheckEditor::show_value(const WhatIfSettings& settings) {
  const std::string& value = settings.plan.value(control().key);
  const bool is_switch = control().kind == ControlKind::toggle;
  for (std::size_t n = 0; n < boxes_.size(); ++n) {
    boxes_[n]->setChecked(is_switch ? value == "true"
                                    : value.find(control().choices[n].value) != std::string::npos);
  }
}

FieldEditor::FieldEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(control, parent), line_(new QLineEdit(this)) {
  hold(*line_);
  connect(line_, &QLineEdit::editingFinished, this, [this] {
    const std::string typed = line_->text().trimmed().toStdString();
    const std::string value = this->control().is_text ? in_quotes(typed) : typed;
    if (value != value_) Q_EMIT edited(value);
  });
}

void FieldEditor::show_value(const WhatIfSettings& settings) {
  value_ = settings.plan.value(this->control().key);
  const QString text =
      QString::fromStdString(this->control().is_text ? std::string(unquoted(value_)) : value_);
  if (text != line_->text()) line_->setText(text);
}

ModuleEditor::ModuleEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(control, parent), tree_(new QTreeWidget(this)), line_(new QLineEdit(this)) {
  tree_->setHeaderHidden(true);
  tree_->setUniformRowHeights(true);
  tree_->setFixedHeight(scaled(kTreeHeight));
  tree_->setIndentation(14);
  tree_->setAccessibleName(tr("Modules that are units of their own"));
  line_->setAccessibleName(control.label);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(tree_);
  layout->addWidget(line_);
  setFocusProxy(tree_);
  connect(tree_, &QTreeWidget::itemChanged, this, [this] { Q_EMIT edited(checked()); });
  connect(line_, &QLineEdit::editingFinished, this, [this] {
    const std::string typed = line_->text().trimmed().toStdString();
    if (typed != value_) Q_EMIT edited(typed);
  });
}

void ModuleEditor::build(const WhatIfSettings& settings) {
  model_ = settings.question.model;
  tree_->clear();
  const ModuleTree modules = llama_modules(model_);
  std::map<ModuleId, QTreeWidgetItem*> items;
  for (std::size_t n = 1; n < modules.modules.size(); ++n) {
    const Module& module = modules.modules[n];
    const QString glob = glob_of(module);
    if (glob.isEmpty()) continue;
    const auto parent = items.find(module.parent);
    auto* item =
        parent == items.end() ? new QTreeWidgetItem(tree_) : new QTreeWidgetItem(parent->second);
    item->setText(0, glob.section(QLatin1Char('.'), -1) == QLatin1String("*")
                         ? tr("* (each of %n layers)", nullptr, static_cast<int>(model_.layers))
                         : glob.section(QLatin1Char('.'), -1));
    item->setData(0, kPath, glob);
    item->setToolTip(0, glob);
    item->setSizeHint(0, {0, scaled(22)});
    item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
    item->setCheckState(0, Qt::Unchecked);
    items[static_cast<ModuleId>(n)] = item;
    item->setExpanded(module.layer == kNone);
  }
}

void ModuleEditor::tick(const std::string& value) {
  QTreeWidgetItemIterator each(tree_);
  for (; *each != nullptr; ++each) {
    const std::string glob = in_quotes((*each)->data(0, kPath).toString().toStdString());
    const bool is_in = value.find(glob) != std::string::npos;
    (*each)->setCheckState(0, is_in ? Qt::Checked : Qt::Unchecked);
  }
}

std::string ModuleEditor::checked() const {
  QStringList globs;
  for (int n = 0; n < tree_->topLevelItemCount(); ++n) globs << globs_in(*tree_->topLevelItem(n));
  for (QString& glob : globs) glob = QLatin1Char('"') + glob + QLatin1Char('"');
  return QStringLiteral("[%1]").arg(globs.join(QStringLiteral(", "))).toStdString();
}

void ModuleEditor::show_value(const WhatIfSettings& settings) {
  const QSignalBlocker quiet(tree_);
  const bool is_other = !(settings.question.model == model_);
  if (is_other) build(settings);
  const std::string& value = settings.plan.value(control().key);
  if (value == value_ && !is_other) return;
  value_ = value;
  line_->setText(QString::fromStdString(value_));
  tick(value_);
}

}  // namespace foreshard::gui
