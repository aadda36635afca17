#include "gui/models/memory/memory_curves.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace foreshard::gui {
namespace {

struct SharedCurve {
  std::shared_ptr<const traces::Trace> trace;  // which the curve reads
  std::once_flag once;
  MemoryCurve curve;
};

// Traces by identity: a weak pointer stays that of its trace when that is gone.
using CurveKey = std::pair<std::weak_ptr<const traces::Trace>, int>;
struct IsCurveBefore {
  bool operator()(const CurveKey& a, const CurveKey& b) const {
    if (a.first.owner_before(b.first)) return true;
    return !b.first.owner_before(a.first) && a.second < b.second;
  }
};

class SharedCurves {
 public:
  std::shared_ptr<SharedCurve> of(const std::shared_ptr<const traces::Trace>& trace, int rank) {
    const std::lock_guard lock(mutex_);
    std::erase_if(curves_, [](const auto& known) { return known.second.expired(); });
    std::weak_ptr<SharedCurve>& known = curves_[{trace, rank}];
    auto shared = known.lock();
    if (shared == nullptr) {
      known = shared = std::make_shared<SharedCurve>();
      shared->trace = trace;
    }
    return shared;
  }

 private:
  std::mutex mutex_;
  std::map<CurveKey, std::weak_ptr<SharedCurve>, IsCurveBefore> curves_;
};

}  // namespace

std::shared_ptr<const MemoryCurve> memory_curve(const std::shared_ptr<const traces::Trace>& trace,
                                                int rank) {
  static SharedCurves curves;
  const auto shared = curves.of(trace, rank);
  std::call_once(shared->once, [&] { shared->curve = MemoryCurve(*trace, rank); });
  return {shared, &shared->curve};
}

}  // namespace foreshard::gui
