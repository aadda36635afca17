#include "gui/views/memory/memory_inspector.hpp"

#include <QPushButton>
#include <algorithm>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

enum Section : std::uint8_t { kBar, kCategories, kOwners, kBlock, kSections };

Fact bytes_fact(const QString& label, std::int64_t bytes) {
  Fact fact{label, bytes_figure(bytes).text()};
  fact.tooltip = exact_bytes(bytes);
  return fact;
}

}  // namespace

MemoryInspector::MemoryInspector(QWidget* parent)
    : SidePanel(parent),
      by_(new SegmentedControl({tr("Unit"), tr("Operator")}, this)),
      tree_(new OwnerTree(this)),
      ask_(add_button(tr("What would lower it?"))),
      copy_(add_copy_button()) {
  setAccessibleName(tr("Memory at the cursor"));
  by_->setAccessibleName(tr("Owners by"));
  ask_->setProperty("primary", true);
  connect(by_, &SegmentedControl::chosen, this, &MemoryInspector::show_owners);
  connect(tree_, &OwnerTree::buffer_chosen, this, &MemoryInspector::buffer_chosen);
  connect(ask_, &QPushButton::clicked, this, &MemoryInspector::asked_what_would_lower);
  connect(&head(), &PanelHead::rank_chosen, this, &MemoryInspector::rank_chosen);
  for (QWidget* of_a_moment : std::initializer_list<QWidget*>{by_, tree_}) of_a_moment->hide();
  show_moment(nullptr, nullptr, {});
}

void MemoryInspector::set_ranks(const std::vector<int>& ranks, int current) {
  ranks_ = ranks;
  rank_ = current;
}

void MemoryInspector::show_moment(std::shared_ptr<const RankMemory> memory,
                                  std::shared_ptr<const MomentOfRank> moment, const QString& time) {
  memory_ = std::move(memory);
  moment_ = std::move(moment);
  PanelContent content{{time}, {}};
  for (QWidget* button : {ask_, copy_}) button->setVisible(moment_ != nullptr);
  if (moment_ == nullptr) return show_content(std::move(content));
  const MemoryMoment& now = moment_->moment;
  content.headline.rank = rank_;
  content.headline.ranks = ranks_;
  content.headline.detail = now.where;
  content.headline.figure = bytes_figure(now.allocated);
  content.headline.figure_note = tr("allocated");
  if (now.reserved > 0) {
    content.headline.figure_aside = tr("%1 reserved").arg(bytes_figure(now.reserved).text());
  }
  content.sections.resize(kSections);
  for (const CategoryShare& share : now.categories) {
    const auto bytes = static_cast<double>(share.bytes);
    Fact fact = bytes_fact(share.category.name, share.bytes);
    fact.note = percent_text(bytes / static_cast<double>(std::max<std::int64_t>(now.allocated, 1)));
    fact.swatch = EventColour{share.category.role};
    content.sections[kCategories].facts.push_back(fact);
    content.sections[kBar].shares.push_back({bytes, {share.category.role}});
  }
  if (now.on_host > 0) {
    content.sections[kCategories].facts.push_back(
        bytes_fact(tr("on the host, besides"), now.on_host));
  }
  content.sections[kOwners] = {tr("Owners")};
  content.sections[kOwners].aside = by_;
  content.sections[kOwners].plot = tree_;
  show_owners();
  show_content(std::move(content));
}

void MemoryInspector::show_owners() {
  if (moment_ == nullptr) return;
  tree_->set_owners(by_->current() == 0 ? moment_->moment.by_unit : moment_->moment.by_operator);
}

void MemoryInspector::show_block(traces::MemoryEventPointer allocation, const QString& alive) {
  if (moment_ == nullptr) return;
  PanelContent shown = content();
  PanelSection& block = shown.sections[kBlock];
  block = {tr("Selected block")};
  if (allocation == nullptr) return show_content(std::move(shown));
  const auto& strings = memory_->trace().strings;
  const MemoryCategory category = memory_category(strings[allocation->category]);
  const QString owner = QString::fromStdString(strings[allocation->owner]);
  block.facts = {{tr("Owner"), owner.isEmpty() ? category.name : owner},
                 {tr("Category"), category.name},
                 bytes_fact(tr("Size"), allocation->bytes),
                 bytes_fact(tr("Requested"), allocation->requested),
                 {tr("Alive"), alive}};
  block.facts[0].tooltip = owner;
  block.facts[1].swatch = EventColour{category.role};
  if (allocation->lane >= 0) {
    const auto& lane = memory_->trace().lanes[static_cast<std::size_t>(allocation->lane)];
    block.facts.push_back({tr("Pool"), QString::fromStdString(strings[lane.name])});
  }
  if (allocation->address != 0) {
    block.facts.push_back(
        {tr("Address"), QStringLiteral("0x") + QString::number(allocation->address, 16)});
  }
  if (const QString stack = QString::fromStdString(strings[allocation->stack]); !stack.isEmpty()) {
    block.facts.push_back({tr("Code"), stack.section(QLatin1Char('\n'), 0, 0)});
    block.facts.back().tooltip = stack;
  }
  show_content(std::move(shown));
}

QString MemoryInspector::as_text() const {
  if (moment_ == nullptr) return {};
  const QString exact =
      tr("allocated\t%1\nreserved\t%2")
          .arg(exact_bytes(moment_->moment.allocated), exact_bytes(moment_->moment.reserved));
  return QStringList{SidePanel::as_text(), exact, tree_->as_text()}.join(QStringLiteral("\n\n"));
}

}  // namespace foreshard::gui
