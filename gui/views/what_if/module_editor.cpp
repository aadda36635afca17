#include "gui/views/what_if/module_editor.hpp"

#include <QSignalBlocker>
#include <QVBoxLayout>
#include <map>

#include "gui/paint/fonts.hpp"
#include "gui/views/what_if/module_rows.hpp"
#include "models/llama/module_tree.hpp"

namespace foreshard::gui {
namespace {

constexpr int kPath = Qt::UserRole;
constexpr int kTreeHeight = 9 * 22;

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

ModuleEditor::ModuleEditor(const PlanControl& control, QWidget* parent)
    : ValueEditor(parent),
      control_(control),
      tree_(new QTreeWidget(this)),
      line_(new QLineEdit(this)) {
  tree_->setHeaderHidden(true);
  tree_->setItemDelegate(new ModuleRows(tree_));
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
  const std::string& value = settings.plan.value(control_.key);
  if (value == value_ && !is_other) return;
  value_ = value;
  line_->setText(QString::fromStdString(value_));
  tick(value_);
}

}  // namespace foreshard::gui
