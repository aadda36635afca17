#include "gui/models/timeline/row_kind.hpp"

namespace foreshard::gui {

RowKind row_kind(const traces::Trace& trace, const traces::Lane& lane, LaneEvents events) {
  if (!lane.device) return RowKind::host;
  const std::string& name = trace.strings[lane.name];
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("copy") || has("memcpy")) return RowKind::copies;
  if (has("all_gather")) return RowKind::all_gather;
  if (has("reduce_scatter")) return RowKind::reduce_scatter;
  if (has("all_reduce")) return RowKind::all_reduce;
  if (has("compute")) return RowKind::compute;
  // Of others' recordings, by what runs there most.
  std::int64_t kernels = 0, collectives = 0, copies = 0;
  for (std::size_t n = events.first; n < events.end; ++n) {
    const traces::EventKind kind = trace.events[n].kind;
    kernels += kind == traces::EventKind::compute;
    collectives += kind == traces::EventKind::communication;
    copies += kind == traces::EventKind::memory;
  }
  if (kernels > collectives && kernels >= copies) return RowKind::compute;
  return collectives == 0 && copies > 0 ? RowKind::copies : RowKind::stream;
}

}  // namespace foreshard::gui
