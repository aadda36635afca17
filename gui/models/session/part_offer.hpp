// What is offered where all of a recording is too much: some of its steps. The last ones, as many as
// fit into the memory that is free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "traces/import_options.hpp"
#include "traces/open/recording_kind.hpp"

namespace foreshard::gui {

struct PartOffer {
  std::string path;
  traces::RecordingKind kind = traces::RecordingKind::other;
  std::int64_t needed_bytes = 0, free_bytes = 0;  // to open all of it; 0: not known
  std::optional<traces::StepRange> recorded;      // nothing: it cannot be opened in part
  traces::StepRange proposed;
};

// Looks into the file, which takes a moment where it is compressed.
PartOffer offer_part(const std::string& path, std::int64_t free_bytes);

}  // namespace foreshard::gui
