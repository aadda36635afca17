#include "gui/views/memory/memory_inspector.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QVBoxLayout>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

QHBoxLayout* side_by_side(QWidget* left, QWidget* right) {
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(left, 1);
  row->addWidget(right);
  return row;
}

}  // namespace

MemoryInspector::MemoryInspector(QWidget* parent)
    : QWidget(parent),
      time_(new TextLabel(Text::title, Role::text)),
      where_(new TextLabel(Text::body, Role::text2)),
      reserved_(new TextLabel(Text::body, Role::text2)),
      owners_title_(new TextLabel(Text::secondary_strong, Role::text2)),
      block_title_(new TextLabel(Text::secondary_strong, Role::text2)),
      block_name_(new TextLabel(Text::strong, Role::text)),
      ranks_(new ChoiceList),
      allocated_(new NumberLabel(Text::key_figure)),
      bar_(new ShareBar),
      categories_(new FactList),
      block_(new FactList),
      by_(new SegmentedControl({tr("Unit"), tr("Operator")})),
      tree_(new OwnerTree),
      ask_(new QPushButton(tr("What would lower it?"))),
      copy_(new QPushButton(tr("Copy as text"))) {
  setAccessibleName(tr("Memory at the cursor"));
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(16, 14, 16, 12);
  column->setSpacing(6);
  column->addLayout(side_by_side(time_, ranks_));
  column->addWidget(where_);
  column->addLayout(side_by_side(allocated_, reserved_));
  column->addSpacing(4);
  column->addWidget(bar_);
  column->addSpacing(2);
  column->addWidget(categories_);
  column->addSpacing(12);
  column->addLayout(side_by_side(owners_title_, by_));
  column->addWidget(tree_);
  column->addSpacing(12);
  column->addWidget(block_title_);
  column->addWidget(block_name_);
  column->addWidget(block_);
  column->addStretch(1);

  auto* scroll = new QScrollArea;
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->viewport()->setAutoFillBackground(false);
  content->setAutoFillBackground(false);
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(16, 8, 16, 12);
  buttons->setSpacing(8);
  buttons->addWidget(ask_);
  buttons->addWidget(copy_);
  buttons->addStretch(1);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(scroll, 1);
  all->addLayout(buttons);

  ask_->setProperty("primary", true);
  ranks_->setAccessibleName(tr("Rank"));
  by_->setAccessibleName(tr("Owners by"));
  owners_title_->set_text(tr("Owners"));
  block_title_->set_text(tr("Selected block"));
  reserved_->set_alignment(Qt::AlignRight);
  connect(by_, &SegmentedControl::chosen, this, &MemoryInspector::show_owners);
  connect(tree_, &OwnerTree::buffer_chosen, this, &MemoryInspector::buffer_chosen);
  connect(ask_, &QPushButton::clicked, this, &MemoryInspector::asked_what_would_lower);
  connect(copy_, &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(as_text()); });
  connect(ranks_, &QComboBox::activated, this,
          [this](int index) { Q_EMIT rank_chosen(ranks_->itemData(index).toInt()); });
  show_moment(nullptr, nullptr, {});
}

void MemoryInspector::set_ranks(const std::vector<int>& ranks, int current) {
  ranks_->clear();
  for (const int rank : ranks) {
    ranks_->addItem(tr("rank %1").arg(rank), rank);
    if (rank == current) ranks_->setCurrentIndex(ranks_->count() - 1);
  }
  ranks_->setEnabled(ranks.size() > 1);
}

void MemoryInspector::show_moment(std::shared_ptr<const RankMemory> memory,
                                  std::shared_ptr<const MomentOfRank> moment, const QString& time) {
  memory_ = std::move(memory);
  moment_ = std::move(moment);
  const bool has_moment = moment_ != nullptr;
  time_->set_text(time);
  for (QWidget* widget :
       std::initializer_list<QWidget*>{where_, allocated_, reserved_, bar_, categories_,
                                       owners_title_, by_, tree_, ranks_, ask_, copy_}) {
    widget->setVisible(has_moment);
  }
  show_block(nullptr, {});
  if (!has_moment) return;
  const MemoryMoment& now = moment_->moment;
  where_->set_text(now.where);
  allocated_->set_figure(bytes_figure(now.allocated), tr("allocated"));
  reserved_->set_text(now.reserved > 0 ? tr("%1 reserved").arg(bytes_figure(now.reserved).text())
                                       : QString());
  std::vector<Fact> facts;
  std::vector<Share> shares;
  for (const CategoryShare& share : now.categories) {
    Fact fact;
    fact.label = share.category.name;
    fact.value = bytes_figure(share.bytes).text();
    fact.note = percent_text(static_cast<double>(share.bytes) /
                             static_cast<double>(std::max<std::int64_t>(now.allocated, 1)));
    fact.swatch = EventColour{share.category.role};
    fact.tooltip = exact_bytes(share.bytes);
    facts.push_back(fact);
    shares.push_back({static_cast<double>(share.bytes), {share.category.role}});
  }
  if (now.on_host > 0) {
    Fact fact;
    fact.label = tr("on the host, besides");
    fact.value = bytes_figure(now.on_host).text();
    facts.push_back(fact);
  }
  categories_->set_facts(std::move(facts));
  bar_->set_shares(std::move(shares));
  show_owners();
}

void MemoryInspector::show_owners() {
  if (moment_ == nullptr) return;
  tree_->set_owners(by_->current() == 0 ? moment_->moment.by_unit : moment_->moment.by_operator);
}

void MemoryInspector::show_block(traces::MemoryEventPointer allocation, const QString& alive) {
  for (QWidget* widget : std::initializer_list<QWidget*>{block_title_, block_name_, block_}) {
    widget->setVisible(allocation != nullptr);
  }
  if (allocation == nullptr) return;
  const auto& strings = memory_->trace().strings;
  const MemoryCategory category = memory_category(strings[allocation->category]);
  const QString owner = QString::fromStdString(strings[allocation->owner]);
  block_name_->set_text(owner.isEmpty() ? category.name : owner);
  std::vector<Fact> facts;
  const auto add = [&](const QString& label, const QString& value, const QString& tooltip = {}) {
    Fact fact;
    fact.label = label;
    fact.value = value;
    fact.tooltip = tooltip;
    facts.push_back(fact);
  };
  add(tr("Category"), category.name);
  facts.back().swatch = EventColour{category.role};
  add(tr("Size"), bytes_figure(allocation->bytes).text(), exact_bytes(allocation->bytes));
  add(tr("Requested"), bytes_figure(allocation->requested).text(),
      exact_bytes(allocation->requested));
  add(tr("Alive"), alive);
  if (allocation->lane >= 0) {
    const auto& lane = memory_->trace().lanes[static_cast<std::size_t>(allocation->lane)];
    add(tr("Pool"), QString::fromStdString(strings[lane.name]));
  }
  if (allocation->address != 0) {
    add(tr("Address"), QStringLiteral("0x") + QString::number(allocation->address, 16));
  }
  const QString stack = QString::fromStdString(strings[allocation->stack]);
  if (!stack.isEmpty()) add(tr("Code"), stack.section(QLatin1Char('\n'), 0, 0), stack);
  block_->set_facts(std::move(facts));
}

QString MemoryInspector::as_text() const {
  if (moment_ == nullptr) return {};
  QStringList lines{time_->text() + QLatin1Char('\t') + where_->text(),
                    tr("allocated\t%1").arg(exact_bytes(moment_->moment.allocated)),
                    tr("reserved\t%1").arg(exact_bytes(moment_->moment.reserved)),
                    categories_->as_text(), tree_->as_text()};
  return lines.join(QLatin1Char('\n'));
}

}  // namespace foreshard::gui
