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
      by_(new SegmentedControl({tr("Unit"), tr("Operator"), tr("Code")})),
      tree_(new OwnerTree),
      ask_(new QPushButton(tr("What would lower it?"))),
      copy_(new QPushButton(tr("Copy as text"))),
      compare_(new QPushButton) {
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
  column->addWidget(compare_, 0, Qt::AlignLeft);
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
  compare_->setToolTip(tr("B"));
  connect(compare_, &QPushButton::clicked, this, &MemoryInspector::asked_to_compare);
  connect(block_, &FactList::followed, this,
          [this](int row) { Q_EMIT holder_chosen(links_[static_cast<std::size_t>(row)]); });
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
                                  std::shared_ptr<const MomentOfRank> moment, TimeText time) {
  memory_ = std::move(memory);
  moment_ = std::move(moment);
  time_text_ = std::move(time);
  const bool has_moment = moment_ != nullptr;
  const bool is_difference = has_moment && moment_->since;
  for (QWidget* widget :
       std::initializer_list<QWidget*>{where_, allocated_, reserved_, categories_, owners_title_,
                                       by_, tree_, ranks_, ask_, copy_, compare_}) {
    widget->setVisible(has_moment);
  }
  bar_->setVisible(has_moment && !is_difference);
  time_->set_text(has_moment ? time_text_(moment_->sample) : QString());
  if (!has_moment) return show_block({});
  const MemoryMoment& now = shown();
  where_->set_text(is_difference ? tr("changes since %1").arg(time_text_(moment_->since->sample))
                                 : now.where);
  compare_->setText(is_difference ? tr("Compare no longer") : tr("Compare with this moment"));
  const auto with_sign = [&](std::int64_t bytes) {
    Figure figure = bytes_figure(bytes);
    if (is_difference) figure.number = signed_text({figure.number, {}}, bytes < 0);
    return figure;
  };
  allocated_->set_figure(with_sign(now.allocated), tr("allocated"));
  reserved_->set_text(is_difference || now.reserved > 0
                          ? tr("%1 reserved").arg(bytes_text(now.reserved))
                          : QString());
  std::vector<Fact> facts;
  std::vector<Share> shares;
  for (const CategoryShare& share : now.categories) {
    Fact fact;
    fact.label = share.category.name;
    fact.value = bytes_text(share.bytes);
    if (!is_difference) {
      fact.note = percent_text(static_cast<double>(share.bytes) /
                               static_cast<double>(std::max<std::int64_t>(now.allocated, 1)));
    }
    fact.swatch = EventColour{share.category.role};
    fact.tooltip = exact_bytes(share.bytes);
    facts.push_back(fact);
    shares.push_back({static_cast<double>(share.bytes), {share.category.role}});
  }
  if (now.on_host != 0) {
    Fact fact;
    fact.label = tr("on the host, besides");
    fact.value = bytes_text(now.on_host);
    facts.push_back(fact);
  }
  categories_->set_facts(std::move(facts));
  if (!is_difference) bar_->set_shares(std::move(shares));
  const bool has_code = !moment_->moment.by_code.empty() || !now.by_code.empty();
  by_->set_choice_enabled(static_cast<int>(OwnersBy::code), has_code,
                          tr("No stacks of allocations were recorded."));
  if (!has_code && by_->current() == static_cast<int>(OwnersBy::code)) by_->set_current(0);
  show_owners();
}

QString MemoryInspector::bytes_text(std::int64_t bytes) const {
  const Figure figure = bytes_figure(bytes);
  return moment_->since ? signed_text(figure, bytes < 0) : figure.text();
}

void MemoryInspector::show_owners() {
  if (moment_ == nullptr) return;
  tree_->set_owners(shown().owners(static_cast<OwnersBy>(by_->current())),
                    moment_->since.has_value());
}

void MemoryInspector::show_block(std::optional<BlockLife> life) {
  for (QWidget* widget : std::initializer_list<QWidget*>{block_title_, block_name_, block_}) {
    widget->setVisible(life.has_value());
  }
  if (!life) return;
  const traces::MemoryEvent block = *life->allocation;
  const auto& strings = memory_->trace().strings;
  const MemoryCategory category = memory_category(strings[block.category]);
  const auto name_of = [&](const traces::MemoryEvent& event) {
    const QString owner = QString::fromStdString(strings[event.owner]);
    return owner.isEmpty() ? memory_category(strings[event.category]).name : owner;
  };
  block_name_->set_text(name_of(block));
  std::vector<Fact> facts;
  links_.clear();
  const auto add = [&](const QString& label, const QString& value,
                       const QString& tooltip = {}) -> Fact& {
    Fact fact;
    fact.label = label;
    fact.value = value;
    fact.tooltip = tooltip;
    links_.push_back(nullptr);
    return facts.emplace_back(std::move(fact));
  };
  const auto moment = [&](traces::MemoryEventPointer event) {
    return time_text_(memory_->sample_of(event));
  };
  add(tr("Category"), category.name).swatch = EventColour{category.role};
  add(tr("Size"), bytes_figure(block.bytes).text(), exact_bytes(block.bytes));
  add(tr("Requested"), bytes_figure(block.requested).text(), exact_bytes(block.requested));
  add(tr("Allocated"), moment(life->allocation));
  add(tr("Freed"), life->freed == nullptr ? tr("not recorded") : moment(life->freed));
  const bool has_waited =
      life->freed != nullptr && life->completed != nullptr && life->completed - life->freed > 1;
  if (has_waited) {
    add(tr("Free for others"), moment(life->completed),
        tr("Every stream that used it has passed its last use."));
  }
  if (block.lane >= 0) {
    const auto& lane = memory_->trace().lanes[static_cast<std::size_t>(block.lane)];
    add(tr("Pool"), QString::fromStdString(strings[lane.name]));
  }
  if (block.address != 0) {
    add(tr("Address"), QStringLiteral("0x") + QString::number(block.address, 16));
  }
  const auto add_holder = [&](const QString& label, traces::MemoryEventPointer holder) {
    if (holder == nullptr) return;
    Fact& fact = add(label, moment(holder),
                     name_of(*holder) + QLatin1Char('\n') + bytes_figure(holder->bytes).text());
    fact.is_link = true;
    links_.back() = holder;
  };
  add_holder(tr("Here before"), life->before);
  add_holder(tr("Here next"), life->after);
  const auto frames = program_frames(strings[block.stack]);
  for (std::size_t n = 0; n < frames.size(); ++n) {
    add(n == 0 ? tr("Code") : QString(), short_frame(frames[n]),
        QString::fromStdString(strings[block.stack]));
  }
  block_->set_facts(std::move(facts));
}

QString MemoryInspector::as_text() const {
  if (moment_ == nullptr) return {};
  QStringList lines{time_->text() + QLatin1Char('\t') + where_->text(),
                    tr("allocated\t%1").arg(exact_bytes(shown().allocated)),
                    tr("reserved\t%1").arg(exact_bytes(shown().reserved)), categories_->as_text(),
                    tree_->as_text()};
  return lines.join(QLatin1Char('\n'));
}

}  // namespace foreshard::gui
