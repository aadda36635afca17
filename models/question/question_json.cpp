#include "models/question/question_json.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/base/json_text.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"
#include "models/sharding/implementation.hpp"
#include "models/sharding/job.hpp"

namespace foreshard {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json plan_value_json(const PlanValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto* list = std::get_if<PlanList>(&value);
  if (list == nullptr) return nullptr;
  ordered_json items = ordered_json::array();
  for (const PlanValue& item : *list) items.push_back(plan_value_json(item));
  return items;
}

// Nothing of what no key may have: an object, or an integer beyond 64 bits.
std::optional<PlanValue> plan_value(const json& value, int depth = 0) {
  constexpr int kDeepest = 2;  // a list of lists
  switch (value.type()) {
    case json::value_t::boolean: return PlanValue(value.get<bool>());
    case json::value_t::number_integer: return PlanValue(value.get<std::int64_t>());
    case json::value_t::number_unsigned:
      if (value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return std::nullopt;
      }
      return PlanValue(value.get<std::int64_t>());
    case json::value_t::number_float: return PlanValue(value.get<double>());
    case json::value_t::string: return PlanValue(value.get<std::string>());
    case json::value_t::array: break;
    default: return std::nullopt;
  }
  if (depth == kDeepest) return std::nullopt;
  PlanList list;
  for (const json& item : value) {
    auto read = plan_value(item, depth + 1);
    if (!read) return std::nullopt;
    list.push_back(std::move(*read));
  }
  return PlanValue(std::move(list));
}

// The plan with every key; PyTorch's implementation as it is where the plan names none.
ordered_json plan_json(Plan plan) {
  if (describes_pytorch(plan.operators)) plan.pytorch.implementation = implementation_name(plan);
  ordered_json out = ordered_json::object();
  for (const PlanKey& key : plan_keys()) {
    ordered_json& section =
        key.section().empty() ? out : out[std::string(key.section())];
    section[std::string(key.short_name())] = plan_value_json(key.value_in(plan));
  }
  return out;
}

// "torchtitan" of "torchtitan-2025.12": the plan has the month.
std::string_view code_base(ImplementationName name) {
  const std::string_view spelt = word(name);
  return spelt.substr(0, spelt.find('-'));
}

std::string device_of(const Question& question) {
  if (describes_pytorch(question.plan.operators)) return "cuda";
  if (question.plan.operators == OperatorSetName::xla) return "xla";
  return question.own_device.kind == DeviceKind::cuda ? "cuda" : "cpu";
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json empty_question() {
  ordered_json out;
  for (const char* key : {"model", "operators", "pytorch", "runtime", "plan", "ranks", "nodes",
                          "machine", "device", "costs", "sequence", "micro_batch",
                          "tokens_per_step"}) {
    out[key] = nullptr;
  }
  return out;
}

// Reads one question's keys; what is wrong is kept, the first of it.
class Reader {
 public:
  Reader(const json& question, const std::string& file) : question_(question), file_(file) {}

  std::string text(const char* key, bool may_be_null) {
    const json& value = at(key);
    if (value.is_string()) return value.get<std::string>();
    if (!(may_be_null && value.is_null())) {
      complain(key, value, may_be_null ? "a text or null" : "a text");
    }
    return "";
  }

  int count(const char* key, std::int64_t most) {
    const json& value = at(key);
    const auto number = plan_value(value);
    const auto* integer = number ? std::get_if<std::int64_t>(&*number) : nullptr;
    if (integer != nullptr && *integer >= 1 && *integer <= most) return static_cast<int>(*integer);
    complain(key, value, "an integer from 1 to " + std::to_string(most));
    return 1;
  }

  // A key that says what the plan says as well.
  void same_as(const char* key, const char* plan_key, const ConvertedPlan& plan) {
    const auto own = question_.find(key);
    if (own == question_.end() || own->is_null()) return;
    const PlanValue in_plan = find_plan_key(plan_key)->value_in(plan.plan);
    if (!plan.writes(plan_key) || plan_value_json(in_plan) == ordered_json(*own)) return;
    complain(key, *own, "what plan." + std::string(plan_key) + " says, " + spelt(in_plan));
  }

  ConvertedPlan plan() {
    ConvertedPlan read;
    read.name = file_;
    const json& sections = at("plan");
    if (!sections.is_object()) {
      complain("plan", sections, "an object with the keys of a plan");
      return read;
    }
    for (const auto& [name, value] : sections.items()) {
      if (!value.is_object()) {
        take(name, value, read);
        continue;
      }
      for (const auto& [key, inner] : value.items()) take(name + '.' + key, inner, read);
    }
    return read;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  const json& at(const char* key) {
    static const json kNothing;
    const auto found = question_.find(key);
    return found == question_.end() ? kNothing : *found;
  }

  void take(const std::string& name, const json& value, ConvertedPlan& read) {
    const PlanKey* key = find_plan_key(name);
    if (key == nullptr) return complain("plan." + name, value, "keys of a plan alone");
    if (value.is_null()) return;
    const auto given = plan_value(value);
    if (!given || !key->set_in(read.plan, *given)) {
      return complain("plan." + name, value, key->allowed());
    }
    read.written.push_back({name, 0});
  }

  void complain(const std::string& key, const json& value, const std::string& expected) {
    constexpr std::size_t kShown = 60;
    if (error_) return;
    std::string shown = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
    error_ = Error{file_, "question." + key,
                   "is " + (value.is_null() ? "missing" : shown) + "; expected " + expected};
  }

  const json& question_;
  const std::string& file_;
  std::optional<Error> error_;
};

ordered_json merged(const std::vector<ordered_json>& values) {
  const bool are_objects = std::all_of(values.begin(), values.end(),
                                       [](const ordered_json& v) { return v.is_object(); });
  if (are_objects) {
    ordered_json out = ordered_json::object();
    for (const auto& [key, value] : values.front().items()) {
      std::vector<ordered_json> inner;
      for (const ordered_json& v : values) inner.push_back(v.value(key, ordered_json()));
      out[key] = merged(inner);
    }
    return out;
  }
  ordered_json distinct = ordered_json::array();
  for (const ordered_json& value : values) {
    if (std::find(distinct.begin(), distinct.end(), value) == distinct.end()) {
      distinct.push_back(value);
    }
  }
  return distinct.size() == 1 ? distinct.front() : distinct;
}

}  // namespace

std::string question_json(const Question& question) {
  const Plan& plan = question.plan;
  ordered_json out = empty_question();
  out["model"] = question.model_path.empty() ? question.model.name : question.model_path;
  out["operators"] = word(plan.operators);
  if (describes_pytorch(plan.operators)) {
    out["pytorch"] = {{"version", to_string(plan.pytorch.version)},
                      {"implementation", code_base(implementation_name(plan))},
                      {"attention", word(plan.pytorch.attention)}};
  }
  out["runtime"] = word(plan.runtime);
  out["plan"] = plan_json(plan);
  out["ranks"] = question.ranks;
  out["nodes"] = node_count(question);
  out["machine"] = text_or_null(question.machine_id);
  out["device"] = device_of(question);
  out["costs"] = text_or_null(question.costs);
  out["sequence"] = plan.batch.sequence;
  out["micro_batch"] = plan.batch.micro_batch;
  out["tokens_per_step"] = tokens_per_step(question);
  return json_text(out, -1);
}

std::string unknown_question_json(int ranks) {
  ordered_json out = empty_question();
  out["ranks"] = ranks;
  return json_text(out, -1);
}

std::string merged_question_json(const std::vector<std::string>& questions) {
  std::vector<ordered_json> all;
  for (const std::string& question : questions) {
    all.push_back(ordered_json::parse(question, nullptr, false));
  }
  return all.empty() ? "" : json_text(merged(all), -1);
}

std::optional<OperatorSetName> operators_in(std::string_view question) {
  const json parsed = json::parse(question, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  const auto found = parsed.find("operators");
  if (found == parsed.end() || !found->is_string()) return std::nullopt;
  return operators_named(found->get<std::string>());
}

Result<Asked> parse_question(std::string_view text, const std::string& file) {
  constexpr int kMaxNesting = 32;
  if (const std::string excess = json_excess(text, kMaxNesting); !excess.empty()) {
    return fail(file, "question", excess + "; expected a result of Foreshard (JSON)");
  }
  const json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) {
    return fail(file, "question",
                "is not there; expected a result of Foreshard (JSON) or a trace, which restate "
                "their question, or that object itself");
  }
  const bool is_result = parsed.contains("question");
  const json& question = is_result ? parsed["question"] : parsed;
  if (!question.is_object() || !question.contains("plan")) {
    return fail(file, "question",
                "is no question; expected an object with the keys model, plan, ranks and others, "
                "as results restate it");
  }
  const ordered_json known = empty_question();
  for (const auto& [key, value] : question.items()) {
    if (known.contains(key)) continue;
    return fail(file, "question." + key, "is no key of a question; expected those of docs/json.md");
  }
  constexpr std::int64_t kMostRanks = 1'000'000;
  Reader reader(question, file);
  Asked asked;
  asked.model = reader.text("model", false);
  asked.plan = reader.plan();
  asked.ranks = reader.count("ranks", kMostRanks);
  const int nodes = reader.count("nodes", kMostRanks);
  asked.machine = reader.text("machine", true);
  asked.device = reader.text("device", true);
  asked.costs = reader.text("costs", true);
  for (const auto& [key, plan_key] : {std::pair("operators", "operators"), {"runtime", "runtime"},
                                      {"sequence", "batch.sequence"},
                                      {"micro_batch", "batch.micro_batch"}}) {
    reader.same_as(key, plan_key, asked.plan);
  }
  if (reader.error()) return tl::unexpected(*reader.error());
  if (asked.ranks % nodes == 0) asked.nodes = nodes;  // else they are filled one after another
  if (asked.device != "cpu" && asked.device != "cuda") asked.device.clear();
  return asked;
}

}  // namespace foreshard
