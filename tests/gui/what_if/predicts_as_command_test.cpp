// The figures of the what-if view beside those of `foreshard predict` for the plan that it saves.
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <random>

#include <gtest/gtest.h>

#include "gui/models/what_if/plan_control.hpp"
#include "gui/views/what_if/what_if_view.hpp"
#include "tests/gui/command_line.hpp"
#include "tests/gui/what_if/settled.hpp"

namespace foreshard::gui {
namespace {

template <typename T>
const T& one_of(const std::vector<T>& all, std::mt19937& random) {
  return all[random() % all.size()];
}

// A few keys at other values that they offer, on one of the small models.
WhatIfSettings random_settings(std::mt19937& random) {
  Asked asked;
  asked.model = one_of<std::string>({"llama-tiny-3m", "llama-small-14m", "llama-3.2-1b"}, random);
  asked.machine = one_of<std::string>({"h100-sxm", "a100-sxm-80"}, random);
  asked.ranks = one_of<int>({1, 2, 4, 8}, random);
  asked.operators = OperatorSetName::foreshard;
  WhatIfSettings settings = *settings_of(std::move(asked));
  for (int change = 0; change < 4; ++change) {
    const PlanControl& control = one_of(one_of(plan_controls(), random).controls, random);
    const bool is_toggle = control.kind == ControlKind::toggle;
    if (control.choices.empty() && !is_toggle) continue;
    if (control.kind == ControlKind::outputs) continue;
    WhatIfSettings changed = settings;
    changed.plan.set(control.key, is_toggle ? one_of<std::string>({"true", "false"}, random)
                                            : one_of(control.choices, random).value);
    if (make_job(changed)) settings = changed;
  }
  return settings;
}

QJsonObject predicted_by_command(const WhatIfSettings& settings, const QString& plan) {
  const QJsonObject answer = command_answer(
      {QStringLiteral("predict"), QStringLiteral("--model"),
       QString::fromStdString(settings.question.model_path), QStringLiteral("--machine"),
       QString::fromStdString(settings.question.machine_id), QStringLiteral("--ranks"),
       QString::number(settings.question.ranks), QStringLiteral("--nodes"),
       QString::number(settings.nodes()), QStringLiteral("--plan"), plan});
  EXPECT_FALSE(answer.isEmpty());
  return answer;
}

double highest(const QJsonObject& answer, const char* key) {
  double most = 0;
  for (const QJsonValue& rank : answer[QLatin1String("ranks_memory")].toArray()) {
    most = std::max(most, rank.toObject()[QLatin1String(key)].toDouble());
  }
  return most;
}

TEST(PredictsAsCommand, TheSavedPlanOfTwentyRandomSettings) {
  std::mt19937 random(20);
  Session session;
  WhatIfView view(session);
  WhatIf& what_if = view.what_if();
  const QTemporaryDir folder;
  const QString plan = folder.filePath(QStringLiteral("plan.toml"));
  std::size_t fits = 0;
  for (int n = 0; n < 20; ++n) {
    what_if.start_from(random_settings(random));
    ASSERT_TRUE(answers(what_if));
    ASSERT_EQ(view.save_plan(plan), QString());
    const QJsonObject answer = predicted_by_command(what_if.settings(), plan);
    const Outcome& shown = *what_if.outcome();
    SCOPED_TRACE(shown.settings.title().toStdString() + "\n" + shown.settings.plan.toml());
    const auto number = [&](const char* key) { return answer[QLatin1String(key)].toDouble(); };
    EXPECT_EQ(shown.fits, answer[QLatin1String("fits")].toBool());
    EXPECT_EQ(shown.step_ns, number("step_time_ns"));
    EXPECT_EQ(shown.low_ns, number("step_time_low_ns"));
    EXPECT_EQ(shown.high_ns, number("step_time_high_ns"));
    EXPECT_DOUBLE_EQ(shown.tokens_per_s, number("tokens_per_s"));
    EXPECT_DOUBLE_EQ(shown.mfu, number("mfu"));
    EXPECT_EQ(shown.exposed_ns, number("exposed_communication_ns"));
    EXPECT_EQ(static_cast<double>(shown.allocated), highest(answer, "peak_allocated_bytes"));
    EXPECT_EQ(static_cast<double>(shown.reserved), highest(answer, "peak_reserved_bytes"));
    const QJsonArray warnings = answer[QLatin1String("warnings")].toArray();
    ASSERT_EQ(static_cast<qsizetype>(shown.warnings.size()), warnings.size());
    for (qsizetype k = 0; k < warnings.size(); ++k) {
      EXPECT_EQ(shown.warnings[static_cast<std::size_t>(k)], warnings[k].toString().toStdString());
    }
    if (shown.fits) ++fits;
  }
  EXPECT_GT(fits, 10U);
}

}  // namespace
}  // namespace foreshard::gui
