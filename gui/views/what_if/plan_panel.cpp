#include "gui/views/what_if/plan_panel.hpp"

#include <QHBoxLayout>
#include <QPainter>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>
#include <set>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "models/hardware/hardware.hpp"
#include "models/plan/plan_keys.hpp"

namespace foreshard::gui {
namespace {

constexpr int kPanelWidth = 376, kScrollBar = 11;
constexpr int kLabelWidth = 92, kLeft = 32;
constexpr int kRankChoices[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

void offer(QComboBox& list, int value) {
  const QSignalBlocker quiet(&list);
  const QString text = QString::number(value);
  if (list.findText(text) < 0) list.addItem(text);
  list.setCurrentText(text);
}

}  // namespace

// A section of the panel that folds: a title with a triangle, a summary at the right, rows below.
class FoldSection : public QWidget {
 public:
  FoldSection(const QString& title, bool is_open, QWidget* parent)
      : QWidget(parent),
        header_(new QToolButton(this)),
        summary_(new TextLabel(Text::secondary, Role::text3, header_)),
        body_(new QWidget(this)) {
    header_->setText(title);
    header_->setCheckable(true);
    header_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    header_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    header_->setProperty("fold", true);
    summary_->setAttribute(Qt::WA_TransparentForMouseEvents);
    summary_->set_alignment(Qt::AlignRight);
    auto* over = new QHBoxLayout(header_);
    over->setContentsMargins(scaled(140), 0, 16, 0);
    over->addWidget(summary_);
    auto* rows = new QVBoxLayout(body_);
    rows->setContentsMargins(0, 0, 0, 10);
    rows->setSpacing(2);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(header_);
    layout->addWidget(body_);
    connect(header_, &QToolButton::toggled, this, &FoldSection::show_body);
    header_->setChecked(is_open);
    show_body(is_open);
  }

  void add_row(QWidget* row) { body_->layout()->addWidget(row); }
  void set_summary(const QString& summary) { summary_->set_text(summary); }
  void open() { header_->setChecked(true); }

 private:
  void show_body(bool is_open) {
    header_->setArrowType(is_open ? Qt::DownArrow : Qt::RightArrow);
    body_->setVisible(is_open);
  }

  QToolButton* header_;
  TextLabel* summary_;
  QWidget* body_;
};

ControlRow::ControlRow(const QString& label, QWidget* control, bool is_wide, QWidget* parent)
    : PaintedWidget(parent),
      control_(control),
      is_wide_(is_wide),
      label_(new TextLabel(Text::body, Role::text, this)) {
  control_->setParent(this);
  label_->set_text(label);
  auto* beside = is_wide ? static_cast<QBoxLayout*>(new QVBoxLayout()) : new QHBoxLayout();
  beside->setSpacing(is_wide ? 4 : 0);
  if (is_wide) {
    beside->addWidget(label_);
  } else {
    const auto fit = [this] { label_->setFixedWidth(scaled(kLabelWidth)); };
    fit();
    connect(&Appearance::instance(), &Appearance::changed, label_, fit);
    beside->addWidget(label_, 0, Qt::AlignVCenter);
  }
  beside->addWidget(control_, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kLeft, 3, 16, 3);
  layout->setSpacing(2);
  layout->addLayout(beside);
}

void ControlRow::set_changed(bool is_changed) {
  if (is_changed == is_changed_) return;
  is_changed_ = is_changed;
  update();
}

void ControlRow::set_error(const QString& sentence) {
  say(error_, sentence);
}

void ControlRow::set_warning(const QString& sentence) {
  say(warning_, sentence);
}

void ControlRow::say(Message& message, const QString& sentence) {
  if (sentence == message.sentence) return;
  message.sentence = sentence;
  if (message.shown == nullptr) {
    message.shown = new Paragraph(Paragraph::Frame::none, message.role, this);
    layout()->addWidget(message.shown);
  }
  message.shown->set_sentence(QString(), sentence);
  message.shown->setVisible(!sentence.isEmpty());
}

void ControlRow::set_unused(const QString& why) {
  if (why == why_unused_) return;
  why_unused_ = why;
  if (is_wide_) setVisible(why.isEmpty());
  control_->setEnabled(why.isEmpty());
  label_->set_role(why.isEmpty() ? Role::text : Role::text3);
  control_->setToolTip(why);
}

void ControlRow::paintEvent(QPaintEvent*) {
  if (!is_changed_) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme()[Role::focus]);
  painter.drawEllipse(QPointF(22, label_->geometry().center().y() + 0.5), 3, 3);
}

PlanPanel::PlanPanel(WhatIf& what_if, QWidget* parent) : QWidget(parent), what_if_(what_if) {
  auto* content = new QWidget();
  const auto fit = [this, content] {
    setFixedWidth(scaled(kPanelWidth));
    content->setFixedWidth(scaled(kPanelWidth) - kScrollBar);
  };
  fit();
  connect(&Appearance::instance(), &Appearance::changed, content, fit);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 4, 0, 0);
  column->setSpacing(0);
  add_head(*column);
  add_run_section(*column);
  add_plan_sections(*column);
  column->addStretch(1);

  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 1, 0);
  all->setSpacing(0);
  all->addWidget(scrolled(content), 1);
  add_buttons(*all);

  connect(&Appearance::instance(), &Appearance::changed, this, qOverload<>(&QWidget::update));
  connect(&what_if_, &WhatIf::settings_changed, this, &PlanPanel::show_settings);
  connect(&what_if_, &WhatIf::outcome_changed, this, &PlanPanel::show_messages);
  connect(&what_if_, &WhatIf::pins_changed, this, &PlanPanel::show_settings);
  connect(&what_if_, &WhatIf::surroundings_changed, this, [this] {
    for (const auto& [key, editor] : editors_) {
      editor->show_surroundings(what_if_.surroundings().get());
    }
  });
  show_settings();
}

ControlRow* PlanPanel::row(const std::string& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : found->second;
}

ValueEditor* PlanPanel::editor(const std::string& key) const {
  const auto found = editors_.find(key);
  return found == editors_.end() ? nullptr : found->second;
}

QComboBox* PlanPanel::make_list(const QString& name) {
  auto* list = new ChoiceList(this);
  list->setAccessibleName(name);
  list->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  return list;
}

void PlanPanel::add_row(FoldSection& section, const QString& label, QWidget* control,
                        std::initializer_list<const char*> keys) {
  auto* row = new ControlRow(label, control, false, this);
  for (const char* key : keys) rows_[key] = row;
  section.add_row(row);
}

// How many ranks, and beside it on how many nodes.
QWidget* PlanPanel::ranks_and_nodes() {
  auto* pair = new QWidget(this);
  auto* layout = new QHBoxLayout(pair);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(ranks_, 1);
  layout->addWidget(new TextLabel(Text::body, Role::text, tr("nodes"), pair));
  layout->addWidget(nodes_, 1);
  return pair;
}

void PlanPanel::add_head(QVBoxLayout& column) {
  base_ = new TextLabel(Text::secondary, Role::text2, this);
  start_from_other_ = new QPushButton(this);
  start_from_other_->hide();
  auto* head = new QVBoxLayout();
  head->setContentsMargins(16, 8, 8, 4);
  head->setSpacing(4);
  head->addWidget(base_);
  head->addWidget(start_from_other_, 0, Qt::AlignLeft);
  column.addLayout(head);
  connect(start_from_other_, &QPushButton::clicked, this, &PlanPanel::other_base_wanted);
}

void PlanPanel::show_base(const QString& base, const QString& other) {
  base_->set_text(base);
  start_from_other_->setText(start_from_other_->fontMetrics().elidedText(
      tr("Start from %1").arg(other), Qt::ElideMiddle, scaled(kPanelWidth) - kScrollBar - 64));
  start_from_other_->setVisible(!other.isEmpty());
}

void PlanPanel::add_run_section(QVBoxLayout& column) {
  auto* section = new FoldSection(tr("Model and machine"), true, this);
  column.addWidget(section);
  models_ = make_list(tr("Model"));
  machines_ = make_list(tr("Machine"));
  ranks_ = make_list(tr("Ranks"));
  nodes_ = make_list(tr("Nodes"));
  add_row(*section, tr("Model"), models_, {"model"});
  add_row(*section, tr("Machine"), machines_, {"machine"});
  add_row(*section, tr("Ranks"), ranks_and_nodes(), {"ranks", "nodes"});
  for (const std::string& name : bundled_models()) models_->addItem(QString::fromStdString(name));
  for (const Machine& machine : bundled_machines()) {
    const std::string& name = machine.name.empty() ? machine.id : machine.name;
    machines_->addItem(QString::fromStdString(name), QString::fromStdString(machine.id));
  }
  for (const int ranks : kRankChoices) {
    ranks_->addItem(QString::number(ranks));
    nodes_->addItem(QString::number(ranks));
  }
  connect(models_, &QComboBox::textActivated, this,
          [this](const QString& name) { what_if_.set_model(name.toStdString()); });
  connect(machines_, qOverload<int>(&QComboBox::activated), this, [this](int index) {
    what_if_.set_machine(machines_->itemData(index).toString().toStdString());
  });
  connect(ranks_, &QComboBox::textActivated, this,
          [this](const QString& ranks) { what_if_.set_ranks(ranks.toInt()); });
  connect(nodes_, &QComboBox::textActivated, this, [this](const QString& nodes) {
    WhatIfSettings settings = what_if_.settings();
    settings.question.nodes = nodes.toInt();
    what_if_.change(settings);
  });
}

void PlanPanel::add_plan_sections(QVBoxLayout& column) {
  for (const ControlSection& section : plan_controls()) {
    auto* fold = new FoldSection(section.title, section.is_open, this);
    sections_.emplace_back(&section, fold);
    column.addWidget(fold);
    for (const PlanControl& control : section.controls) {
      ValueEditor* editor = make_editor(control, this);
      auto* row = new ControlRow(control.label, editor, editor->takes_whole_row(), this);
      row->setToolTip(control.tooltip);
      fold->add_row(row);
      rows_[control.key] = row;
      editors_[control.key] = editor;
      connect(editor, &ValueEditor::edited, this, [this, &control](const std::string& value) {
        what_if_.set_value(control.key, value);
      });
      connect(editor, &ValueEditor::drag_began, &what_if_, &WhatIf::begin_drag);
      connect(editor, &ValueEditor::drag_ended, &what_if_, &WhatIf::end_drag);
    }
  }
  problem_ = new TextLabel(Text::secondary, Role::error, this);
  column.addWidget(problem_);
}

void PlanPanel::add_buttons(QVBoxLayout& column) {
  pin_ = new QPushButton(this);
  pin_->setProperty("primary", true);
  auto* save = new QPushButton(tr("Save plan…"), this);
  reset_ = new QPushButton(tr("Reset"), this);
  reset_->setFlat(true);
  changes_ = new TextLabel(Text::secondary, Role::text2, this);
  auto* bar = new QHBoxLayout();
  bar->setContentsMargins(16, 12, 8, 12);
  bar->setSpacing(8);
  bar->addWidget(pin_);
  bar->addWidget(save);
  bar->addStretch(1);
  bar->addWidget(changes_);
  bar->addWidget(reset_);
  column.addLayout(bar);
  connect(pin_, &QPushButton::clicked, &what_if_, &WhatIf::pin);
  connect(save, &QPushButton::clicked, this, &PlanPanel::save_wanted);
  connect(reset_, &QPushButton::clicked, &what_if_, &WhatIf::reset);
}

void PlanPanel::show_run() {
  const WhatIfSettings& settings = what_if_.settings();
  const QSignalBlocker quiet_models(models_), quiet_machines(machines_);
  const QString model = QString::fromStdString(settings.question.model.name);
  if (models_->findText(model) < 0) models_->addItem(model);
  models_->setCurrentText(model);
  // The place of the start comes first where it is none of the catalogue's.
  const auto listed = [this](const WhatIfSettings& s) {
    const QString id = QString::fromStdString(s.question.machine_id);
    return s.costs == nullptr && !id.isEmpty() ? machines_->findData(id) : -1;
  };
  if (machines_->itemData(0).isNull()) machines_->removeItem(0);
  const bool is_listed = listed(what_if_.start()) >= 0;
  if (!is_listed) machines_->insertItem(0, what_if_.start().place());
  machines_->setCurrentIndex(std::max(0, listed(settings)));
  offer(*ranks_, settings.question.ranks);
  offer(*nodes_, settings.nodes());
}

void PlanPanel::show_settings() {
  show_run();
  const auto changed = what_if_.changed_keys();
  std::set<const ControlRow*> moved;
  for (const std::string& key : changed) moved.insert(row(key));
  for (const auto& [key, row] : rows_) row->set_changed(moved.count(row) > 0);
  const Result<Plan> plan = what_if_.settings().plan.plan();
  for (const auto& [key, editor] : editors_) {
    editor->show_value(what_if_.settings());
    if (!plan) continue;
    const PlanKey* of_plan = find_plan_key(key);
    const std::string missing = of_plan == nullptr ? "" : of_plan->missing_in(*plan);
    rows_[key]->set_unused(
        missing.empty()
            ? QString()
            : tr("Has no effect here; it needs %1.").arg(QString::fromStdString(missing)));
  }
  for (const auto& [section, fold] : sections_) {
    fold->set_summary(section_summary(*section, what_if_.settings().plan));
  }
  pin_->setText(tr("Pin as %1").arg(what_if_.next_letter()));
  changes_->set_text(changed.empty() ? QString()
                     : changed.size() == 1
                         ? tr("1 change")
                         : tr("%n changes", nullptr, static_cast<int>(changed.size())));
  reset_->setEnabled(!changed.empty());
  show_messages();
}

void PlanPanel::show_messages() {
  const auto& error = what_if_.error();
  const ControlRow* wrong = error ? row(error->field) : nullptr;
  for (const auto& [key, row] : rows_) {
    row->set_error(row == wrong ? key_error_text(*error) : QString());
  }
  for (const auto& [section, fold] : sections_) {
    for (const PlanControl& control : section->controls) {
      if (error && error->field == control.key) fold->open();
    }
  }
  if (!what_if_.is_stale()) {
    const QStringList warnings = warnings_of(*what_if_.outcome());
    for (const auto& [key, editor] : editors_) {
      QStringList of_key;
      for (const QString& warning : warnings) {
        if (key_of_warning(warning) == key) of_key << warning;
      }
      rows_[key]->set_warning(of_key.join(QLatin1Char(' ')));
    }
  }
  const bool is_elsewhere = error && wrong == nullptr;
  problem_->set_text(is_elsewhere ? key_error_text(*error) : QString());
  problem_->setVisible(is_elsewhere);
}

void PlanPanel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRectF(width() - 1, 0, 1, height()), theme()[Role::line]);
}

}  // namespace foreshard::gui
