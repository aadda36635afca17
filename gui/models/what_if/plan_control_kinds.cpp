#include "gui/models/what_if/plan_control_kinds.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>

#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard::gui {
namespace {

struct Notch {
  std::string_view key;
  const char* text;
  std::string_view value;
};
// Keys whose values are offered by notches or words that their types do not have.
constexpr Notch kNotches[] = {
    {"batch.micro_batch", "1", "1"},
    {"batch.micro_batch", "2", "2"},
    {"batch.micro_batch", "3", "3"},
    {"batch.micro_batch", "4", "4"},
    {"batch.micro_batch", "6", "6"},
    {"batch.micro_batch", "8", "8"},
    {"batch.micro_batch", "16", "16"},
    {"batch.sequence", "512", "512"},
    {"batch.sequence", "1k", "1024"},
    {"batch.sequence", "2k", "2048"},
    {"batch.sequence", "4k", "4096"},
    {"batch.sequence", "8k", "8192"},
    {"batch.sequence", "16k", "16384"},
    {"batch.sequence", "32k", "32768"},
    {"batch.accumulation", "1", "1"},
    {"batch.accumulation", "2", "2"},
    {"batch.accumulation", "4", "4"},
    {"batch.accumulation", "8", "8"},
    {"batch.accumulation", "16", "16"},
    {"wrap.policy", QT_TRANSLATE_NOOP("PlanControl", "none"), "\"none\""},
    {"wrap.policy", QT_TRANSLATE_NOOP("PlanControl", "blocks"), "\"transformer\""},
    {"wrap.policy", QT_TRANSLATE_NOOP("PlanControl", "size"), "\"size\""},
    {"wrap.policy", QT_TRANSLATE_NOOP("PlanControl", "by hand"), "\"modules\""},
    {"sharding.reshard_after_forward", QT_TRANSLATE_NOOP("PlanControl", "auto"), "\"auto\""},
    {"sharding.reshard_after_forward", QT_TRANSLATE_NOOP("PlanControl", "yes"), "true"},
    {"sharding.reshard_after_forward", QT_TRANSLATE_NOOP("PlanControl", "no"), "false"},
    {"sharding.reshard_after_forward", QT_TRANSLATE_NOOP("PlanControl", "by 2"), "2"},
    {"sharding.reshard_after_forward", QT_TRANSLATE_NOOP("PlanControl", "by 4"), "4"},
    {"sharding.shard_dim", "0", "0"},
    {"sharding.shard_dim", "1", "1"},
    {"prefetch.forward", QT_TRANSLATE_NOOP("PlanControl", "rule"), "0"},
    {"prefetch.forward", "1", "1"},
    {"prefetch.forward", "2", "2"},
    {"prefetch.forward", "3", "3"},
    {"prefetch.forward", "4", "4"},
    {"prefetch.backward", QT_TRANSLATE_NOOP("PlanControl", "off"), "\"none\""},
    {"prefetch.backward", QT_TRANSLATE_NOOP("PlanControl", "rule"), "0"},
    {"prefetch.backward", "1", "1"},
    {"prefetch.backward", "2", "2"},
    {"prefetch.backward", "3", "3"},
    {"checkpointing.fraction", "0", "0.0"},
    {"checkpointing.fraction", "¼", "0.25"},
    {"checkpointing.fraction", "½", "0.5"},
    {"checkpointing.fraction", "¾", "0.75"},
    {"checkpointing.fraction", QT_TRANSLATE_NOOP("PlanControl", "all"), "1.0"},
    {"checkpointing.every", "1", "1"},
    {"checkpointing.every", "2", "2"},
    {"checkpointing.every", "3", "3"},
    {"checkpointing.every", "4", "4"},
    {"checkpointing.every", "8", "8"},
};

struct Label {
  std::string_view key;
  const char* text;
};
// Where the key's name does not read well beside its section.
constexpr Label kLabels[] = {
    {"batch.micro_batch", QT_TRANSLATE_NOOP("PlanControl", "Micro-batch")},
    {"wrap.policy", QT_TRANSLATE_NOOP("PlanControl", "Wrap policy")},
    {"wrap.layer_class", QT_TRANSLATE_NOOP("PlanControl", "Layer classes")},
    {"wrap.min_num_params", QT_TRANSLATE_NOOP("PlanControl", "Smallest unit")},
    {"wrap.modules", QT_TRANSLATE_NOOP("PlanControl", "Modules")},
    {"sharding.reshard_after_forward", QT_TRANSLATE_NOOP("PlanControl", "Reshard")},
    {"sharding.reshard_after_backward", QT_TRANSLATE_NOOP("PlanControl", "After backward")},
    {"sharding.keep_after_forward", QT_TRANSLATE_NOOP("PlanControl", "Keep gathered")},
    {"prefetch.unshard_before_forward", QT_TRANSLATE_NOOP("PlanControl", "Unshard early")},
    {"prefetch.forward_prefetch", QT_TRANSLATE_NOOP("PlanControl", "FSDP1 forward")},
    {"prefetch.backward_prefetch", QT_TRANSLATE_NOOP("PlanControl", "FSDP1 backward")},
    {"prefetch.limit_all_gathers", QT_TRANSLATE_NOOP("PlanControl", "Limit gathers")},
    {"precision.param", QT_TRANSLATE_NOOP("PlanControl", "Compute")},
    {"precision.optimizer_state", QT_TRANSLATE_NOOP("PlanControl", "Optimizer")},
    {"checkpointing.every", QT_TRANSLATE_NOOP("PlanControl", "Every nth")},
    {"checkpointing.save", QT_TRANSLATE_NOOP("PlanControl", "Keep")},
    {"optimizer.lr", QT_TRANSLATE_NOOP("PlanControl", "Learning rate")},
    {"allocator.max_split_size_mb", QT_TRANSLATE_NOOP("PlanControl", "Split up to, MiB")},
    {"allocator.roundup_power2_divisions", QT_TRANSLATE_NOOP("PlanControl", "Round up, parts")},
    {"allocator.garbage_collection_threshold", QT_TRANSLATE_NOOP("PlanControl", "Collect from")},
    {"pytorch.version", QT_TRANSLATE_NOOP("PlanControl", "PyTorch")},
    {"pytorch.keep_sharded_in_backward", QT_TRANSLATE_NOOP("PlanControl", "Stay sharded")},
    {"pytorch.cublas_workspace_config", QT_TRANSLATE_NOOP("PlanControl", "cuBLAS config")},
    {"pytorch.checkpoint_early_stop", QT_TRANSLATE_NOOP("PlanControl", "Early stop")},
    {"pytorch.gradient_as_bucket_view", QT_TRANSLATE_NOOP("PlanControl", "Bucket views")},
};

QString label_of(std::string_view key, std::string_view name) {
  for (const Label& label : kLabels) {
    if (label.key == key) return QCoreApplication::translate("PlanControl", label.text);
  }
  QString text = QString::fromLatin1(name.data(), static_cast<int>(name.size()));
  text.replace(QLatin1Char('_'), QLatin1Char(' '));
  text[0] = text[0].toUpper();
  return text;
}

// Where the label does not say enough away from its section.
constexpr Label kFullLabels[] = {
    {"prefetch.forward", QT_TRANSLATE_NOOP("PlanControl", "Prefetch forward")},
    {"prefetch.backward", QT_TRANSLATE_NOOP("PlanControl", "Prefetch backward")},
    {"precision.storage", QT_TRANSLATE_NOOP("PlanControl", "Parameters in")},
    {"precision.param", QT_TRANSLATE_NOOP("PlanControl", "Compute in")},
    {"precision.reduce", QT_TRANSLATE_NOOP("PlanControl", "Reduce gradients in")},
    {"precision.optimizer_state", QT_TRANSLATE_NOOP("PlanControl", "Optimizer states in")},
    {"offload.parameters", QT_TRANSLATE_NOOP("PlanControl", "Offload parameters")},
    {"offload.optimizer", QT_TRANSLATE_NOOP("PlanControl", "Offload optimizer")},
    {"offload.activations", QT_TRANSLATE_NOOP("PlanControl", "Offload activations")},
    {"checkpointing.mode", QT_TRANSLATE_NOOP("PlanControl", "Checkpointing")},
    {"checkpointing.fraction", QT_TRANSLATE_NOOP("PlanControl", "Checkpointed share")},
    {"checkpointing.every", QT_TRANSLATE_NOOP("PlanControl", "Checkpoint every")},
    {"optimizer.name", QT_TRANSLATE_NOOP("PlanControl", "Optimizer")},
    {"optimizer.kernel", QT_TRANSLATE_NOOP("PlanControl", "Optimizer kernel")},
    {"sharding.reshard_after_forward", QT_TRANSLATE_NOOP("PlanControl", "Reshard after forward:")},
    {"sharding.reshard_after_backward",
     QT_TRANSLATE_NOOP("PlanControl", "Reshard after backward:")},
    {"pytorch.logits", QT_TRANSLATE_NOOP("PlanControl", "Logits in")},
};

QString full_label_of(std::string_view key, const QString& label) {
  for (const Label& row : kFullLabels) {
    if (row.key == key) return QCoreApplication::translate("PlanControl", row.text);
  }
  return label;
}

QString shown(std::string_view word) {
  QString text = QString::fromLatin1(word.data(), static_cast<int>(word.size()));
  return text.replace(QLatin1Char('_'), QLatin1Char(' '));
}

void add_words(PlanControl& control, std::span<const std::string_view> words) {
  control.kind = ControlKind::choice;
  for (const std::string_view word : words)
    control.choices.push_back({shown(word), in_quotes(word)});
}

// Which control values of a type have.
template <typename T>
void describe(PlanControl& control, const T&) {
  control.kind = ControlKind::field;
}
void describe(PlanControl& control, const bool&) {
  control.kind = ControlKind::toggle;
}
template <PlanWord E>
void describe(PlanControl& control, const E&) {
  add_words(control, kWords<E>);
}
template <PlanWord E>
void describe(PlanControl& control, const std::optional<E>&) {
  add_words(control, kWords<E>);
  if constexpr (std::is_same_v<E, DType>) {
    control.choices.push_back({shown("gradient"), in_quotes("gradient")});
  } else {
    control.choices.insert(control.choices.begin(), {shown("auto"), ""});
  }
}
void describe(PlanControl& control, const std::string&) {
  control.is_text = true;
}
void describe(PlanControl& control, const PyTorchVersion&) {
  control.is_text = true;
}
void describe(PlanControl& control, const SavedOutputs<const bool>&) {
  control.kind = ControlKind::outputs;
  for (const std::string_view word : {"attention", "matmul", "every_second_matmul"}) {
    control.choices.push_back(
        {word == "every_second_matmul" ? QStringLiteral("2nd matmul") : shown(word),
         in_quotes(word)});
  }
}
void describe(PlanControl& control, const std::vector<WrapGroup>&) {
  control.kind = ControlKind::modules;
}

void add_notches(PlanControl& control) {
  const bool has_notches = std::any_of(std::begin(kNotches), std::end(kNotches),
                                       [&](const Notch& n) { return n.key == control.key; });
  if (has_notches) control.choices.clear();
  for (const Notch& notch : kNotches) {
    if (notch.key != control.key) continue;
    const bool is_slid = control.key == "batch.micro_batch" || control.key == "batch.sequence";
    control.kind = is_slid ? ControlKind::slider : ControlKind::choice;
    control.choices.push_back(
        {QCoreApplication::translate("PlanControl", notch.text), std::string(notch.value)});
  }
}

}  // namespace

std::vector<PlanControl> control_kinds() {
  std::vector<PlanControl> controls;
  const Plan plan;
  visit_plan_keys(
      plan, [&](std::string_view section, std::string_view name, const auto& field, const auto&) {
        PlanControl control;
        control.key =
            section.empty() ? std::string(name) : std::string(section) + '.' + std::string(name);
        control.label = label_of(control.key, name);
        control.full_label = full_label_of(control.key, control.label);
        describe(control, field);
        add_notches(control);
        controls.push_back(std::move(control));
      });
  return controls;
}

}  // namespace foreshard::gui
