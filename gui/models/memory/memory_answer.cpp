#include "gui/models/memory/memory_answer.hpp"

#include <QCoreApplication>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

struct AnswerText {
  Q_DECLARE_TR_FUNCTIONS(MemoryAnswer)
};

constexpr double kOnlyJust = 0.05;  // of the capacity: less to spare than that is a warning

QString gib(std::int64_t bytes) {
  return bytes_figure(bytes).text();
}

// "forward of step 1"; of recordings without steps "forward".
QString place_of(const OomReport& report) {
  const QString phase = QString::fromStdString(report.phase);
  if (report.step <= 0) return phase.isEmpty() ? AnswerText::tr("the program") : phase;
  return AnswerText::tr("%1 of step %2").arg(phase).arg(report.step);
}

// "forward of step 1 asks 5.87 GiB, 1.46 GiB of 79.19 GiB are not allocated."
QString failed_request(const OomReport& report, std::optional<std::int64_t> capacity) {
  const OutOfMemory& request = report.request;
  if (!capacity) {
    return AnswerText::tr("%1 asks %2 with %3 allocated and %4 reserved.")
        .arg(place_of(report), gib(request.requested), gib(request.allocated),
             gib(request.reserved));
  }
  const std::int64_t free = std::max<std::int64_t>(*capacity - request.allocated, 0);
  return AnswerText::tr("%1 asks %2, %3 of %4 are not allocated.")
      .arg(place_of(report), gib(request.requested), gib(free), gib(*capacity));
}

struct Holder {
  QString name;
  std::int64_t bytes = 0;
};

// In the words of the training step where the program is known, else by category.
std::vector<Holder> holders_of(const MemoryMoment& moment,
                               const simulator::PeakExplanation* explanation) {
  std::vector<Holder> holders;
  if (explanation != nullptr) {
    for (const auto& held : explanation->held) {
      holders.push_back({QString::fromStdString(held.what), held.bytes});
    }
  } else {
    for (const auto& share : moment.categories) {
      holders.push_back({share.category.name, share.bytes});
    }
  }
  return holders;
}

// "At the peak (backward · lm_head) activations hold 36.12 GiB of 50.74 GiB, optimizer states 7.48
// GiB."
QString peak_text(const MemoryMoment& moment, const std::vector<Holder>& holders) {
  if (holders.empty()) return {};
  const QString where =
      moment.where.isEmpty() ? QString() : AnswerText::tr(" (%1)").arg(moment.where);
  QString text = AnswerText::tr("At the peak%1, %2 hold %3 of %4")
                     .arg(where, holders[0].name, gib(holders[0].bytes), gib(moment.allocated));
  if (holders.size() > 1) {
    text += AnswerText::tr(", %1 %2").arg(holders[1].name, gib(holders[1].bytes));
  }
  return text + QLatin1Char('.');
}

// "Of 6.53 GiB reserved but free, 6.00 GiB lie in other pools than compute's."
QString unused(const MemoryMoment& moment, const BlockMap& map) {
  std::int64_t free = map.pools.empty() ? moment.reserved - moment.allocated : 0, elsewhere = 0;
  for (const MapPool& pool : map.pools) {
    const std::int64_t of_pool = pool.reserved - pool.allocated - pool.awaiting_free;
    free += of_pool;
    if (&pool != &map.pools.front()) elsewhere += of_pool;
  }
  if (free <= 0) return {};
  if (elsewhere <= 0) return AnswerText::tr("%1 are reserved but free.").arg(gib(free));
  return AnswerText::tr("Of %1 reserved but free, %2 lie in other pools than %3.")
      .arg(gib(free), gib(elsewhere), map.pools.front().name);
}

}  // namespace

MemoryAnswer memory_answer(const MemoryCurve& curve, const MemoryKnowledge& known,
                           const MemoryMoment& at_peak, const BlockMap& map) {
  MemoryAnswer answer;
  const std::int64_t reserved = curve.peak_reserved(), allocated = curve.allocated(curve.peak());
  const QString why = peak_text(at_peak, holders_of(at_peak, known.explanation));
  answer.detail = QStringList{why, unused(at_peak, map)}.join(QLatin1Char(' ')).trimmed();
  if (known.explanation != nullptr) {
    answer.explanation = QString::fromStdString(simulator::peak_sentence(*known.explanation));
  }
  const bool ran_out = known.analysis != nullptr && known.analysis->ran_out;
  if (ran_out) {
    answer.state = Role::error;
    answer.lead =
        known.is_predicted ? AnswerText::tr("Does not fit:") : AnswerText::tr("Out of memory:");
    answer.text = failed_request(*known.analysis->ran_out, known.capacity);
  } else if (!known.capacity) {
    answer.lead = AnswerText::tr("Peak:");
    answer.text =
        reserved > 0
            ? AnswerText::tr("%1 allocated, %2 reserved. What the device has is not recorded.")
                  .arg(gib(allocated), gib(reserved))
            : AnswerText::tr("%1 allocated.").arg(gib(allocated));
  } else {
    const std::int64_t spare = *known.capacity - reserved;
    const bool is_tight =
        static_cast<double>(spare) < kOnlyJust * static_cast<double>(*known.capacity);
    answer.state = is_tight ? Role::warn : Role::ok;
    answer.lead =
        is_tight ? AnswerText::tr("Fits, but only just:") : AnswerText::tr("The step fits:");
    answer.text = AnswerText::tr("peak %1 reserved of %2, %3 to spare.")
                      .arg(gib(reserved), gib(*known.capacity), gib(spare));
  }
  return answer;
}

MemoryAnswer no_memory_answer() {
  MemoryAnswer answer;
  answer.state = Role::warn;
  answer.lead = AnswerText::tr("This trace holds no events of device memory.");
  answer.detail = AnswerText::tr(
      "Recordings of Foreshard, PyTorch's profiler with profile_memory=True and memory snapshots "
      "have them.");
  return answer;
}

}  // namespace foreshard::gui
