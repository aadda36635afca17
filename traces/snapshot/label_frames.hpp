// Labels of an allocation history as the frames of a stack, as snapshots of predictions have them:
// each frame's file is the key of a label and its function the label's text. The innermost frame tells
// what the memory is, the outermost one in which step it was requested.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/allocator/labelled_history.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

// Makes stacks for a snapshot; equal labels share one.
class LabelFrames {
 public:
  LabelFrames(Snapshot& snapshot, const Strings& texts) : snapshot_(snapshot), texts_(texts) {}
  StackId stack_of(const EventLabels& labels);

 private:
  using Key = std::vector<std::int32_t>;
  std::int32_t frame(std::string_view key, std::string_view text);
  TextId text(std::string_view text);

  Snapshot& snapshot_;
  const Strings& texts_;
  std::map<std::string, TextId, std::less<>> known_texts_;
  std::map<std::pair<TextId, TextId>, std::int32_t> known_frames_;
  std::map<Key, StackId> known_stacks_;
};

// Nothing of a stack that does not consist of labels.
std::optional<EventLabels> labels_of(const Snapshot& snapshot,
                                     const std::vector<std::int32_t>& stack, Strings& texts);
// The text of one label of such a stack, empty where it has none; nothing of other stacks.
std::optional<std::string_view> label_of(const Snapshot& snapshot,
                                         const std::vector<std::int32_t>& stack,
                                         std::string_view key);

}  // namespace foreshard::traces
