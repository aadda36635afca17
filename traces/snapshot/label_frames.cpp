#include "traces/snapshot/label_frames.hpp"

#include <algorithm>
#include <charconv>

namespace foreshard::traces {
namespace {

constexpr std::string_view kStep = "step";

// Innermost first, before the step.
constexpr std::array kFrames{
    std::pair{"owner", &EventLabels::owner}, std::pair{"category", &EventLabels::category},
    std::pair{"op", &EventLabels::op},       std::pair{"node", &EventLabels::node},
    std::pair{"call", &EventLabels::call},   std::pair{"module", &EventLabels::module},
    std::pair{"phase", &EventLabels::phase}};
static_assert(kFrames.size() == kTextLabels.size());

}  // namespace

StackId LabelFrames::stack_of(const EventLabels& labels) {
  Key key;
  for (const auto& [name, label] : kFrames) {
    if (labels.*label != 0) key.push_back(frame(name, texts_[labels.*label]));
  }
  key.push_back(frame(kStep, std::to_string(labels.step)));
  const auto next = static_cast<StackId>(snapshot_.stacks.size());
  const auto [stack, is_new] = known_stacks_.try_emplace(std::move(key), next);
  if (is_new) snapshot_.stacks.push_back(stack->first);
  return stack->second;
}

std::int32_t LabelFrames::frame(std::string_view key, std::string_view function) {
  const SnapshotFrame frame{.function = text(function), .file = text(key)};
  const auto next = static_cast<std::int32_t>(snapshot_.frames.size());
  const auto [known, is_new] = known_frames_.try_emplace({frame.file, frame.function}, next);
  if (is_new) snapshot_.frames.push_back(frame);
  return known->second;
}

TextId LabelFrames::text(std::string_view text) {
  const auto known = known_texts_.find(text);
  if (known != known_texts_.end()) return known->second;
  const auto id = static_cast<TextId>(snapshot_.texts.size());
  snapshot_.texts.emplace_back(text);
  known_texts_.emplace(text, id);
  return id;
}

std::optional<std::string_view> label_of(const Snapshot& snapshot,
                                         const std::vector<std::int32_t>& stack,
                                         std::string_view key) {
  const auto file = [&](std::int32_t id) -> std::string_view {
    return snapshot.text(snapshot.frame(id).file);
  };
  if (stack.empty() || file(stack.back()) != kStep) return std::nullopt;
  const auto found = std::find_if(stack.begin(), stack.end(),
                                  [&](std::int32_t frame) { return file(frame) == key; });
  if (found == stack.end()) return std::string_view();
  return snapshot.text(snapshot.frame(*found).function);
}

std::optional<EventLabels> labels_of(const Snapshot& snapshot,
                                     const std::vector<std::int32_t>& stack, Strings& texts) {
  const auto step = label_of(snapshot, stack, kStep);
  if (!step) return std::nullopt;
  EventLabels labels;
  std::from_chars(step->data(), step->data() + step->size(), labels.step);
  for (const auto& [key, label] : kFrames) {
    labels.*label = texts.intern(*label_of(snapshot, stack, key));
  }
  return labels;
}

}  // namespace foreshard::traces
