#include "gui/views/memory/memory_inspector.hpp"

#include <QPushButton>
#include <algorithm>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

enum Section : std::uint8_t { kBar, kCategories, kCompare, kOwners, kBlock, kSections };

Fact bytes_fact(const QString& label, std::int64_t bytes, bool is_difference = false) {
  Fact fact{label, bytes_text(bytes, is_difference)};
  fact.tooltip = exact_bytes(bytes);
  return fact;
}

}  // namespace

MemoryInspector::MemoryInspector(QWidget* parent)
    : SidePanel(parent),
      by_(new SegmentedControl({tr("Unit"), tr("Operator"), tr("Code")}, this)),
      tree_(new OwnerTree(this)),
      ask_(add_button(tr("What would lower it?"))),
      compare_(new QPushButton(this)),
      copy_(add_copy_button()) {
  setAccessibleName(tr("Memory at the cursor"));
  by_->setAccessibleName(tr("Owners by"));
  ask_->setProperty("primary", true);
  connect(by_, &SegmentedControl::chosen, this, &MemoryInspector::show_owners);
  connect(tree_, &OwnerTree::buffer_chosen, this, &MemoryInspector::buffer_chosen);
  compare_->setToolTip(tr("B"));
  connect(compare_, &QPushButton::clicked, this, &MemoryInspector::asked_to_compare);
  connect(ask_, &QPushButton::clicked, this, &MemoryInspector::asked_what_would_lower);
  connect(&head(), &PanelHead::rank_chosen, this, &MemoryInspector::rank_chosen);
  for (QWidget* of_a_moment : std::initializer_list<QWidget*>{by_, tree_, compare_})
    of_a_moment->hide();
  show_moment(nullptr, nullptr, {});
}

void MemoryInspector::set_ranks(const std::vector<int>& ranks, int current) {
  ranks_ = ranks;
  rank_ = current;
}

void MemoryInspector::show_moment(std::shared_ptr<const RankMemory> memory,
                                  std::shared_ptr<const MomentOfRank> moment, TimeText time) {
  memory_ = std::move(memory);
  moment_ = std::move(moment);
  time_text_ = std::move(time);
  for (QWidget* button : {ask_, copy_}) button->setVisible(moment_ != nullptr);
  if (moment_ == nullptr) return show_content({});
  const bool is_difference = moment_->since.has_value();
  const MemoryMoment& now = shown();
  PanelContent content{{time_text_(moment_->sample)}, {}};
  Headline& headline = content.headline;
  headline.rank = rank_;
  headline.ranks = ranks_;
  headline.detail =
      is_difference ? tr("changes since %1").arg(time_text_(moment_->since->sample)) : now.where;
  headline.figure = bytes_figure(now.allocated);
  if (is_difference) {
    headline.figure.number = signed_text({headline.figure.number, {}}, now.allocated < 0);
  }
  headline.figure_note = tr("allocated");
  if (is_difference || now.reserved > 0) {
    headline.figure_aside = tr("%1 reserved").arg(bytes_text(now.reserved, is_difference));
  }
  content.sections.resize(kSections);
  for (const CategoryShare& share : now.categories) {
    const auto bytes = static_cast<double>(share.bytes);
    const auto all = static_cast<double>(std::max<std::int64_t>(now.allocated, 1));
    Fact fact = bytes_fact(share.category.name, share.bytes, is_difference);
    fact.swatch = EventColour{share.category.role};
    if (!is_difference) {
      fact.note = percent_text(bytes / all);
      content.sections[kBar].shares.push_back({bytes, {share.category.role}});
    }
    content.sections[kCategories].facts.push_back(fact);
  }
  if (now.on_host != 0) {
    content.sections[kCategories].facts.push_back(
        bytes_fact(tr("on the host, in addition"), now.on_host, is_difference));
  }
  compare_->setText(is_difference ? tr("Compare no longer") : tr("Compare with this moment"));
  content.sections[kCompare].plot = compare_;
  content.sections[kOwners] = {tr("Owners")};
  content.sections[kOwners].aside = by_;
  content.sections[kOwners].plot = tree_;
  const bool has_code = !moment_->moment.by_code.empty() || !now.by_code.empty();
  by_->set_choice_enabled(static_cast<int>(OwnersBy::code), has_code,
                          tr("No stacks of allocations were recorded."));
  if (!has_code && by_->current() == static_cast<int>(OwnersBy::code)) by_->set_current(0);
  show_owners();
  show_content(std::move(content));
}

void MemoryInspector::show_owners() {
  if (moment_ == nullptr) return;
  tree_->set_owners(shown().owners(static_cast<OwnersBy>(by_->current())),
                    moment_->since.has_value());
}

void MemoryInspector::show_block(std::optional<BlockLife> life) {
  if (moment_ == nullptr) return;
  PanelContent all = content();
  PanelSection& section = all.sections[kBlock];
  section = {tr("Selected block")};
  if (!life) return show_content(std::move(all));
  const traces::MemoryEvent block = *life->allocation;
  const auto& strings = memory_->trace().strings;
  const MemoryCategory category = memory_category(strings[block.category]);
  const auto name_of = [&](const traces::MemoryEvent& event) {
    const QString owner = QString::fromStdString(strings[event.owner]);
    return owner.isEmpty() ? memory_category(strings[event.category]).name : owner;
  };
  const auto moment = [&](traces::MemoryEventPointer event) {
    return time_text_(memory_->sample_of(event));
  };
  section.facts = {
      {tr("Owner"), name_of(block)},
      {tr("Category"), category.name},
      bytes_fact(tr("Size"), block.bytes),
      bytes_fact(tr("Requested"), block.requested),
      {tr("Allocated"), moment(life->allocation)},
      {tr("Freed"), life->freed == nullptr ? tr("not until the end") : moment(life->freed)}};
  section.facts[0].tooltip = name_of(block);
  section.facts[1].swatch = EventColour{category.role};
  const auto add = [&](const QString& label, const QString& value,
                       const QString& tooltip = {}) -> Fact& {
    Fact& fact = section.facts.emplace_back(Fact{label, value});
    fact.tooltip = tooltip;
    return fact;
  };
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
    const QString what = name_of(*holder) + QLatin1Char('\n') + bytes_figure(holder->bytes).text();
    add(label, moment(holder), what).leads_to = holder;
  };
  add_holder(tr("Here before"), life->before);
  add_holder(tr("Here next"), life->after);
  const auto frames = program_frames(strings[block.stack]);
  for (std::size_t n = 0; n < frames.size(); ++n) {
    add(n == 0 ? tr("Code") : QString(), short_frame(frames[n]),
        QString::fromStdString(strings[block.stack]));
  }
  show_content(std::move(all));
}

QString MemoryInspector::as_text() const {
  if (moment_ == nullptr) return {};
  const QString exact = tr("allocated\t%1\nreserved\t%2")
                            .arg(exact_bytes(shown().allocated), exact_bytes(shown().reserved));
  return QStringList{SidePanel::as_text(), exact, tree_->as_text()}.join(QStringLiteral("\n\n"));
}

}  // namespace foreshard::gui
