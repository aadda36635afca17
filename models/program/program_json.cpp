#include "models/program/program_json.hpp"

#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/llama/module_paths.hpp"
#include "models/program/check_program.hpp"
#include "models/program/check_set.hpp"

namespace foreshard {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr int kMaxNesting = 8;

// --- writing ---------------------------------------------------------------------------------------

Json to_json(const Instruction& i) {
  return {name(i.kind),  static_cast<int>(i.stream),
          name(i.phase), static_cast<int>(i.group),
          i.micro_step,  i.op,
          i.unit,        i.target,
          i.module,      i.cost_key,
          i.aux,         i.operands,
          i.reads,       i.writes};
}

Json to_json(const Buffer& b) {
  return {b.bytes,          b.on_host, b.persistent, static_cast<int>(b.pool),
          name(b.category), b.unit,    b.owner,      b.role};
}

template <typename Row, typename Write>
Json list(const Row& rows, const Write& write) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(write(row));
  return out;
}

Json to_json(const Program& step) {
  return {{"events", step.events},
          {"operands", step.operands},
          {"instructions", list(step.instructions, [](const auto& i) { return to_json(i); })}};
}

Json to_json(const RankProgram& p) {
  const DeviceTraits& d = p.device;
  Json names = Json::array();
  for (std::size_t n = p.tree.modules.size(); n < p.name_count(); ++n) {
    names.push_back(p.name(static_cast<NameId>(n)));
  }
  Json json = {
      {"device",
       {static_cast<int>(d.kind), d.compute_capability, d.multiprocessors,
        d.matmul_workspace.count}},
      {"streams", list(p.streams,
                       [](const StreamInfo& s) -> Json {
                         return {s.name, name(s.role), s.priority};
                       })},
      {"groups", list(p.groups,
                      [](const GroupInfo& g) -> Json {
                        if (g.first == 0) return {g.name, g.ranks, g.stride};
                        return {g.name, g.ranks, g.stride, g.first};
                      })},
      {"operators", list(p.operators,
                         [](const OperatorInfo& o) -> Json {
                           return {o.name, o.only_moves_data, o.launches};
                         })},
      {"units", list(p.units, [](const UnitLayout& u) -> Json { return u.name; })},
      {"modules", list(p.tree.modules, [](const Module& m) -> Json { return m.path; })},
      {"names", names},
      {"cost_keys", list(p.cost_keys, [](const CostKey& key) -> Json { return text(key); })},
      {"buffers", list(p.buffers, [](const Buffer& b) { return to_json(b); })},
      {"closing", p.closing},
      {"steps", list(p.programs, [](const Program& step) { return to_json(step); })}};
  if (p.cycle != 1) json["cycle"] = p.cycle;
  if (!p.carried.empty()) {
    json["carried"] = list(p.carried, [](const RankProgram::CarriedBuffer& b) -> Json {
      return {b.made, b.left};
    });
  }
  return json;
}

// --- reading ---------------------------------------------------------------------------------------

// A place in the document. The first thing wrong anywhere ends the reading: what comes after reads as
// nothing.
class Node {
 public:
  Node(const Json& json, std::string path, std::optional<Error>& error, const std::string& file)
      : json_(json), path_(std::move(path)), error_(error), file_(file) {}

  Node operator[](const char* key) const {
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (json_.is_object() && json_.contains(key)) return {json_[key], path, error_, file_};
    static const Json kNothing;
    const Node missing(kNothing, path, error_, file_);
    missing.wrong("is missing; expected it, as in programs written by foreshard");
    return missing;
  }

  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  std::size_t size() const { return json_.size(); }

  // Calls `read` for each element of a list.
  template <typename Read>
  void each(const Read& read) const {
    if (!json_.is_array()) return wrong("is not a list; expected a list");
    for (std::size_t i = 0; i < json_.size() && !error_; ++i) {
      read(Node(json_[i], path_ + "[" + std::to_string(i) + "]", error_, file_));
    }
  }

  // Reads a list of exactly these, in their order.
  template <typename... Fields>
  void row(Fields&... fields) const {
    if (!json_.is_array() || json_.size() != sizeof...(fields)) {
      return wrong("is not such a row; expected a list of " + std::to_string(sizeof...(fields)) +
                   " values");
    }
    std::size_t i = 0;
    const auto next = [&](auto& field) {
      const std::size_t n = i++;
      if (error_) return;
      Node(json_[n], path_ + "[" + std::to_string(n) + "]", error_, file_).read(field);
    };
    (next(fields), ...);
  }

  void read(std::string& text) const {
    if (!json_.is_string()) return wrong("is not text; expected a string");
    text = json_.get<std::string>();
  }
  void read(bool& truth) const {
    if (!json_.is_boolean()) return wrong("is not a boolean; expected true or false");
    truth = json_.get<bool>();
  }
  template <std::integral Number>
  void read(Number& number) const {
    using Limits = std::numeric_limits<Number>;
    if (json_.is_number_integer()) {
      const bool is_negative = !json_.is_number_unsigned();
      const auto fits = is_negative ? std::in_range<Number>(json_.get<std::int64_t>())
                                    : std::in_range<Number>(json_.get<std::uint64_t>());
      if (fits) return void(number = json_.get<Number>());
    }
    wrong("is not such a number; expected a whole number from " + std::to_string(Limits::min()) +
          " to " + std::to_string(Limits::max()));
  }
  // Row numbers, and enumerations by their words.
  void read(Stream& stream) const { read_number(stream); }
  void read(Group& group) const { read_number(group); }
  void read(DeviceKind& kind) const {
    read_number(kind);
    if (kind > DeviceKind::xla) wrong("is not a kind of device; expected 0, 1 or 2");
  }
  void read(StreamRole& role) const { read_word(role, static_cast<int>(StreamRole::kCount)); }
  void read(Phase& phase) const { read_word(phase, static_cast<int>(Phase::kCount)); }
  void read(Category& category) const { read_word(category, static_cast<int>(Category::kCount)); }
  void read(Kind& kind) const { read_word(kind, kKinds); }
  void read(CostKey& key) const {
    std::string words;
    read(words);
    if (!error_ && !parse_cost_key(words, key)) {
      wrong(
          "is not a cost key; expected an operator, its types and its sizes, as \"copy_slice fp32 "
          "64\"");
    }
  }

  void wrong(const std::string& message) const {
    if (!error_) error_ = Error{file_, path_, message};
  }

 private:
  template <typename Enum>
  void read_number(Enum& value) const {
    std::underlying_type_t<Enum> number{};
    read(number);
    value = static_cast<Enum>(number);
  }

  template <typename Enum>
  void read_word(Enum& value, int count) const {
    std::string word;
    read(word);
    for (int v = 0; v < count; ++v) {
      value = static_cast<Enum>(v);
      if (name(value) == word) return;
    }
    wrong("is \"" + word + "\"; expected a word such as \"" + std::string(name(Enum{})) + "\"");
  }

  const Json& json_;
  std::string path_;
  std::optional<Error>& error_;
  const std::string& file_;
};

template <typename Row, typename Read>
std::vector<Row> rows(const Node& list, const Read& read) {
  std::vector<Row> out;
  list.each([&](const Node& node) { read(node, out.emplace_back()); });
  return out;
}

const auto kValue = [](const Node& node, auto& value) { node.read(value); };

Instruction instruction_of(const Node& node) {
  Instruction i;
  node.row(i.kind, i.stream, i.phase, i.group, i.micro_step, i.op, i.unit, i.target, i.module,
           i.cost_key, i.aux, i.operands, i.reads, i.writes);
  return i;
}

RankProgram program_of(const Node& node) {
  RankProgram p;
  DeviceTraits& d = p.device;
  node["device"].row(d.kind, d.compute_capability, d.multiprocessors, d.matmul_workspace.count);
  p.streams = rows<StreamInfo>(node["streams"],
                               [](const Node& n, auto& s) { n.row(s.name, s.role, s.priority); });
  p.groups = rows<GroupInfo>(node["groups"], [](const Node& n, auto& g) {
    constexpr std::size_t kWithFirst = 4;
    n.size() == kWithFirst ? n.row(g.name, g.ranks, g.stride, g.first)
                           : n.row(g.name, g.ranks, g.stride);
  });
  p.operators = rows<OperatorInfo>(node["operators"], [](const Node& n, auto& o) {
    n.row(o.name, o.only_moves_data, o.launches);
  });
  p.units = rows<UnitLayout>(node["units"], [](const Node& n, auto& unit) { n.read(unit.name); });
  p.tree = ModuleTree(rows<Module>(node["modules"],
                                   [](const Node& n, auto& module) {
                                     n.read(module.path);
                                     module.layer = layer_in(module.path);
                                   }),
                      {});
  p.own_names = rows<std::string>(node["names"], kValue);
  p.cost_keys = rows<CostKey>(node["cost_keys"], kValue);
  p.buffers = rows<Buffer>(node["buffers"], [](const Node& n, auto& b) {
    n.row(b.bytes, b.on_host, b.persistent, b.pool, b.category, b.unit, b.owner, b.role);
  });
  node["closing"].read(p.closing);
  if (node.has("cycle")) node["cycle"].read(p.cycle);
  if (node.has("carried")) {
    p.carried = rows<RankProgram::CarriedBuffer>(
        node["carried"], [](const Node& n, auto& b) { n.row(b.made, b.left); });
  }
  p.programs = rows<Program>(node["steps"], [](const Node& n, auto& step) {
    n["events"].read(step.events);
    step.operands = rows<BufferId>(n["operands"], kValue);
    step.instructions = rows<Instruction>(n["instructions"],
                                          [](const Node& of, auto& i) { i = instruction_of(of); });
  });
  return p;
}

}  // namespace

std::string to_json(const RankPrograms& set) {
  const Json json = {
      {"format", kFormat},
      {"class_of_rank", set.class_of_rank},
      {"programs", list(set.programs, [](const RankProgram& p) { return to_json(p); })}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RankPrograms> parse_programs(std::string_view json, const std::string& file) {
  if (const std::string excess = json_excess(json, kMaxNesting); !excess.empty()) {
    return fail(file, "", excess + "; expected programs written by foreshard");
  }
  const Json document = Json::parse(json, nullptr, false);
  if (document.is_discarded()) return fail(file, "", "is not JSON; expected programs as JSON");
  std::optional<Error> error;
  const Node root(document, "", error, file);
  int format = 0;
  root["format"].read(format);
  if (!error && format != kFormat) {
    root["format"].wrong("is " + std::to_string(format) + "; expected " + std::to_string(kFormat));
  }
  RankPrograms set;
  set.class_of_rank = rows<int>(root["class_of_rank"], kValue);
  set.programs =
      rows<RankProgram>(root["programs"], [](const Node& n, auto& p) { p = program_of(n); });
  if (error) return tl::unexpected(*error);
  for (std::size_t c = 0; c < set.programs.size(); ++c) {
    const std::string position = "programs[" + std::to_string(c) + "]";
    if (auto ok = check_program(set.programs[c], file, position); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  if (auto ok = check_set(set, file); !ok) return tl::unexpected(ok.error());
  return set;
}

}  // namespace foreshard
