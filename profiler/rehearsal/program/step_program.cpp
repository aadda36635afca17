#include "profiler/rehearsal/program/step_program.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "models/base/figures.hpp"
#include "models/hardware/host_times.hpp"
#include "models/llama/module_paths.hpp"
#include "profiler/rehearsal/program/moments.hpp"
#include "profiler/rehearsal/program/operator_cost.hpp"
#include "profiler/rehearsal/program/profiled_calls.hpp"

namespace foreshard::profiler {
namespace {

using traces::AllocatorAction;

using Called = DeviceCall::Kind;

// Handles of streams that the script did not make, on which transfers run beside each other.
constexpr std::uint64_t kOfTransfers = std::uint64_t{1} << 63;

CostKey bytes_key(Operator op, std::int64_t bytes, std::int64_t ranks = 0) {
  return {op, DType::fp32, DType::fp32, DType::fp32, {bytes, ranks}};
}

// Operators that our own lowering calls by the name of their key, whoever launches them.
bool has_own_name(Operator op) {
  switch (op) {
    case Operator::shard_cast:
    case Operator::all_gather_copy_in:
    case Operator::all_gather_copy_out:
    case Operator::copy_slice:
    case Operator::reduce_scatter_copy_in:
    case Operator::transpose:
    case Operator::adamw:
    case Operator::sgd:
    case Operator::fill_zero: return true;
    default: return is_matmul(op);
  }
}

// The rows of a program's tables, each made when it is first used.
class Tables {
 public:
  Tables(RankProgram& program, const CapturedStep& step) : program_(program), step_(step) {
    add_modules();
    stream(0);
  }

  // The first handle stands for the second one, until others do.
  void take_for(std::pair<std::uint64_t, std::uint64_t> handles) { taken_for_ = handles; }

  Stream stream(std::uint64_t handle) {
    if (handle == taken_for_.first) handle = taken_for_.second;
    const auto [found, is_new] = streams_.emplace(handle, program_.streams.size());
    if (is_new) {
      const auto priority = step_.log.priorities.find(handle);
      const bool is_known = priority != step_.log.priorities.end();
      program_.streams.push_back({"", StreamRole::compute, is_known ? priority->second : 0});
    }
    return static_cast<Stream>(found->second);
  }

  Group group(std::uint64_t communicator, int ranks) {
    const auto known = step_.groups.find(communicator);
    if (known == step_.groups.end()) return intern({"group of " + std::to_string(ranks), ranks, 1});
    const auto& members = known->second.ranks;
    if (members.size() < 2) return intern({known->second.name, 1, 1});
    return tiled(known->second.name, static_cast<int>(members.size()), members[1] - members[0],
                 members[0]);
  }

  // Of this rank and the one that a send or a receive names.
  Group pair(const DeviceCall& call) {
    const auto known = step_.groups.find(call.communicator);
    const auto most = std::max(call.rank, call.peer), least = std::min(call.rank, call.peer);
    if (known == step_.groups.end() || least < 0 ||
        most >= static_cast<int>(known->second.ranks.size())) {
      return intern({"pair", 2, 1});
    }
    const int one = known->second.ranks[static_cast<std::size_t>(call.rank)];
    const int other = known->second.ranks[static_cast<std::size_t>(call.peer)];
    const int apart = std::abs(one - other);
    return tiled("pairs " + std::to_string(apart) + " apart", 2, apart, std::min(one, other));
  }

  NameId name(const std::string& text) {
    const auto [found, is_new] = names_.emplace(text, program_.own_names.size());
    if (is_new) program_.own_names.push_back(text);
    return static_cast<NameId>(program_.tree.modules.size() + found->second);
  }

  UnitId unit(const std::string& text) {
    if (text.empty()) return kNone;
    const auto [found, is_new] = units_.emplace(text, program_.units.size());
    if (is_new) program_.units.emplace_back().name = text;
    return static_cast<UnitId>(found->second);
  }

  ModuleId module(const std::string& path) const {
    const auto found = modules_.find(path);
    return found == modules_.end() ? kNone : static_cast<ModuleId>(found->second);
  }

  OperatorId op(const std::string& text, int launches) {
    const auto [found, is_new] =
        operators_.emplace(std::pair(text, launches), program_.operators.size());
    if (is_new) program_.operators.push_back({text, false, launches});
    return static_cast<OperatorId>(found->second);
  }

  // A row for each operator, as some are priced by their names.
  CostKeyId cost_key(const CostKey& key, OperatorId op) {
    const auto [found, is_new] =
        cost_keys_.emplace(std::pair(text(key), op), program_.cost_keys.size());
    if (is_new) program_.cost_keys.push_back(key);
    return static_cast<CostKeyId>(found->second);
  }

 private:
  // By path; names are numbered behind them.
  void add_modules() {
    std::set<std::string> paths;
    for (const auto& [id, op] : step_.operators) paths.insert(op.module);
    paths.erase("");
    std::vector<Module> modules;
    for (const std::string& path : paths) {
      modules_.emplace(path, modules.size());
      modules.push_back({.path = path,
                         .class_name = {},
                         .kind = {},
                         .layer = layer_in(path),
                         .children = {},
                         .parameters = {}});
    }
    program_.tree = ModuleTree(std::move(modules), {});
  }

  // Groups of so many ranks beside each other, of which one begins at rank `lowest`.
  Group tiled(const std::string& name, int ranks, int stride, int lowest) {
    const std::int64_t tile = std::int64_t{ranks} * std::max(stride, 1);
    const auto in_tile = static_cast<int>(lowest % tile);
    return intern({name, ranks, std::max(stride, 1), in_tile < stride ? 0 : in_tile});
  }

  Group intern(const GroupInfo& info) {
    auto found = std::find(program_.groups.begin(), program_.groups.end(), info);
    if (found == program_.groups.end()) found = program_.groups.insert(found, info);
    return static_cast<Group>(found - program_.groups.begin());
  }

  RankProgram& program_;
  const CapturedStep& step_;
  std::pair<std::uint64_t, std::uint64_t> taken_for_;  // handles of streams
  std::unordered_map<std::uint64_t, std::size_t> streams_;
  std::unordered_map<std::string, std::size_t> names_, units_, modules_;
  std::map<std::pair<std::string, int>, std::size_t> operators_;
  std::map<std::pair<std::string, OperatorId>, std::size_t> cost_keys_;
};

class Builder {
 public:
  explicit Builder(const CapturedStep& step)
      : step_(step),
        profiled_(step),
        moments_(moments_of(step, profiled_)),
        tables_(result_.program, step) {
    result_.program.device.kind = DeviceKind::cuda;
    result_.program.programs.resize(2);
    count(step.log.calls);
    for (const auto& [number, graph] : step.graphs) count(graph.calls);
  }

  RehearsedProgram build() {
    for (std::size_t n = 0; n < moments_.before; ++n) memory(n);
    begin_step();
    for (const Moment& moment : moments_.all) emit(moment);
    end_step();
    name_streams();
    return std::move(result_);
  }

 private:
  // What the kernels that one operator launches have in common.
  struct Work {
    int launches = 0;
    CostKey key;
    OperatorId op = kNone;
  };
  // An operator with a key is known by its beginning, any other by its number.
  using Owner = std::pair<bool, std::int64_t>;
  struct OwnerHash {
    std::size_t operator()(const Owner& of) const {
      return std::hash<std::int64_t>()(of.second) * 2 + (of.first ? 1 : 0);
    }
  };

  static bool is_kernel(Called kind) {
    return kind == Called::launch || kind == Called::product || kind == Called::cudnn;
  }

  void count(const std::vector<DeviceCall>& calls) {
    for (const DeviceCall& call : calls) {
      if (is_kernel(call.kind)) ++works_[owner(call)].launches;
      if (call.peer >= 0 && call.group != 0) transfers_[call.group].push_back(&call);
    }
  }

  Owner owner(const DeviceCall& call) const {
    const ProfiledCall& profiled = profiled_.of(call.correlation);
    const KeyedOperator* const keyed =
        profiled.cost_key.empty() ? nullptr : profiled_.keyed_around(profiled);
    if (keyed != nullptr) return {true, keyed->start_ns};
    return {false, call.external != 0 ? call.external : -call.correlation};
  }

  void begin_step() {
    for (const auto& [address, buffer] : live_) found_.insert(buffer);
    categorize(step_.parameters, Category::parameters);
    categorize(step_.optimizer_states, Category::optimizer_states);
    in_step_ = true;
  }

  void categorize(const std::vector<std::uint64_t>& addresses, Category category) {
    for (const std::uint64_t address : addresses) {
      const auto found = live_.find(address);
      if (found != live_.end()) buffer(found->second).category = category;
    }
  }

  Buffer& buffer(BufferId id) { return result_.program.buffers[static_cast<std::size_t>(id)]; }
  Program& program() { return result_.program.programs[in_step_ ? 1 : 0]; }

  Instruction& add(Kind kind, Stream on, std::int32_t target = kNone) {
    Instruction& i = program().instructions.emplace_back();
    i.kind = kind;
    i.stream = on;
    i.phase = phase_;
    i.micro_step = micro_step_;
    i.unit = unit_;
    i.module = module_;
    i.target = target;
    return i;
  }

  void emit(const Moment& moment) {
    switch (moment.what) {
      case Moment::What::memory: return memory(moment.index);
      case Moment::What::call: return call(step_.log.calls[moment.index]);
      case Moment::What::range_begin: {
        const traces::Event event = step_.profile.events[moment.index];
        ranges_.push_back(step_.profile.strings[event.name]);
        if (ranges_.back().starts_with("FSDP::")) gradients_ = Category::unsharded_gradients;
        add(Kind::range_begin, Stream{}, tables_.name(ranges_.back()));
        return;
      }
      case Moment::What::range_end:
        add(Kind::range_end, Stream{}, tables_.name(ranges_.back()));
        ranges_.pop_back();
        return;
    }
  }

  // --- memory ---

  void memory(std::size_t n) {
    const traces::SnapshotEvent& event = moments_.history[n];
    const auto address = static_cast<std::uint64_t>(event.address);
    if (event.action == AllocatorAction::alloc && event.bytes > 0) {
      allocate(address, event);
    } else if (event.action == AllocatorAction::free_requested) {
      const auto found = live_.find(address);
      if (found == live_.end()) return;
      const BufferId id = found->second;
      live_.erase(found);
      if (is_deferred(n)) add(Kind::record_stream, other_stream(buffer(id).pool), id);
      free(id);
    } else if (event.action == AllocatorAction::segment_free) {
      const bool is_first = n == 0 || moments_.history[n - 1].action != event.action;
      if (is_first) add(Kind::empty_cache, Stream{});
    }
  }

  // Whether other streams had still to pass when the block was freed.
  bool is_deferred(std::size_t n) const {
    const auto& history = moments_.history;
    return n + 1 < history.size() && (history[n + 1].action != AllocatorAction::free_completed ||
                                      history[n + 1].address != history[n].address);
  }

  // The history does not tell which stream used a block besides its own.
  Stream other_stream(Stream pool) const {
    return pool == Stream{} && result_.program.streams.size() > 1 ? static_cast<Stream>(1)
                                                                  : Stream{};
  }

  void allocate(std::uint64_t address, const traces::SnapshotEvent& event) {
    const auto id = static_cast<BufferId>(result_.program.buffers.size());
    Buffer& made = result_.program.buffers.emplace_back();
    made.bytes = event.bytes;
    made.pool = tables_.stream(static_cast<std::uint64_t>(event.stream));
    made.category = category_now();
    made_in_.push_back(phase_);
    live_[address] = id;
    if (in_step_) {
      allocated_ += event.bytes;
      unnamed_.push_back({program().instructions.size(), id});
    }
    allocations_[in_step_ ? 1 : 0].push_back({program().instructions.size(), id});
    add(Kind::alloc, made.pool, id);
  }

  void free(BufferId id) {
    Buffer& freed = buffer(id);
    const Phase made_in = made_in_[static_cast<std::size_t>(id)];
    const bool is_backward = phase_ == Phase::backward || phase_ == Phase::recompute;
    const bool was_saved = is_backward && (made_in == Phase::forward || made_in == Phase::loss ||
                                           made_in == Phase::recompute);
    if (was_saved && freed.category == Category::temporaries) {
      freed.category = Category::activations;
    }
    if (in_step_ && found_.contains(id)) left_.push_back(id);
    add(Kind::free, freed.pool, id);
  }

  // By the innermost of FSDP's ranges.
  Category category_now() const {
    for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
      if (range->starts_with("FSDP::all_gather_copy_out")) return Category::unsharded_parameters;
      if (range->starts_with("FSDP::all_gather")) return Category::all_gather;
      if (range->starts_with("FSDP::post_backward_reduce")) return Category::reduce_scatter;
    }
    return Category::temporaries;
  }

  // What was allocated since the work before is of this one.
  void name_allocations(const std::string& of, Operator op) {
    for (const auto& [instruction, id] : unnamed_) {
      Instruction& alloc = program().instructions[instruction];
      alloc.phase = phase_;
      alloc.unit = unit_;
      alloc.module = module_;
      buffer(id).unit = unit_;
      buffer(id).owner = module_;  // modules are the first names
      buffer(id).role = tables_.name(of);
      if (op == Operator::matmul_weight_gradient) buffer(id).category = gradients_;
    }
    unnamed_.clear();
  }

  // --- order ---

  void call(const DeviceCall& call) {
    switch (call.kind) {
      case Called::record:
        events_[call.event] = program().events++;
        add(Kind::record_event, tables_.stream(call.stream), events_[call.event]);
        return;
      case Called::await: return wait(Kind::wait_event, call);
      case Called::wait_event: return wait(Kind::host_wait, call);
      case Called::wait_stream: return wait_for(tables_.stream(call.stream));
      case Called::wait_device: return wait_for_all();
      default: return work(call);
    }
  }

  // What was recorded before the step has long been reached.
  void wait(Kind kind, const DeviceCall& call) {
    const auto event = events_.find(call.event);
    if (event != events_.end()) add(kind, tables_.stream(call.stream), event->second);
  }

  void wait_for(Stream on) {
    const EventId event = program().events++;
    add(Kind::record_event, on, event);
    add(Kind::host_wait, on, event);
  }

  void wait_for_all() {
    for (std::size_t s = 0; s < result_.program.streams.size(); ++s) {
      wait_for(static_cast<Stream>(s));
    }
  }

  // --- work ---

  void work(const DeviceCall& call) {
    const ProfiledCall& profiled = profiled_.of(call.correlation);
    const auto found = step_.operators.find(call.external);
    const CapturedOperator* const made_by =
        found == step_.operators.end() ? nullptr : &found->second;
    if (!is_placed_ || says_where(profiled, made_by)) enter(profiled, made_by);
    switch (call.kind) {
      case Called::collective: return call.peer >= 0 ? transfers(call) : collective(call, profiled);
      case Called::copy: return copy(call);
      case Called::graph: return graph(call, profiled);
      case Called::set:
        return launch(call, bytes_key(Operator::fill_zero, call.bytes), tables_.op("fill_zero", 1),
                      call.external);
      default: return kernel(call, profiled);
    }
  }

  bool says_where(const ProfiledCall& profiled, const CapturedOperator* made_by) const {
    return !profiled.phase.empty() || is_in_module(made_by);
  }

  // What the model itself runs behind its modules is its loss, unless all of it is compiled.
  bool is_in_module(const CapturedOperator* made_by) const {
    if (made_by == nullptr) return false;
    if (!made_by->is_of_model) return !made_by->module.empty();
    return std::ranges::any_of(ranges_, [](const std::string& range) {
      return range.starts_with("## Call CompiledFxGraph");
    });
  }

  void enter(const ProfiledCall& profiled, const CapturedOperator* made_by) {
    unit_ = tables_.unit(profiled.unit);
    module_ = made_by == nullptr ? kNone : tables_.module(made_by->module);
    if (made_by != nullptr && made_by->is_again) {
      phase_ = Phase::recompute;
    } else if (profiled.phase == "forward" || (profiled.phase.empty() && is_in_module(made_by))) {
      if (phase_ == Phase::loss) what_was_loss_is_forward();
      if (phase_ == Phase::backward || is_after_backward_) ++micro_step_;
      phase_ = Phase::forward;
      is_after_backward_ = false;
    } else if (profiled.phase == "backward") {
      phase_ = Phase::backward;
    } else if (profiled.phase == "optimizer") {
      phase_ = Phase::optimizer;
    } else if (phase_ == Phase::forward || phase_ == Phase::loss) {
      const bool is_of_model = made_by != nullptr && made_by->is_of_model;
      if (phase_ == Phase::forward) loss_begin_ = program().instructions.size();
      if (!is_of_model) loss_begin_ = program().instructions.max_size();
      phase_ = Phase::loss;
    } else if (phase_ == Phase::backward || phase_ == Phase::recompute) {
      is_after_backward_ = true;
      phase_ = Phase::optimizer;  // gradients are clipped
    }
  }

  // What the model itself ran before one more of its modules.
  void what_was_loss_is_forward() {
    auto& all = program().instructions;
    for (std::size_t n = loss_begin_; n < all.size(); ++n) {
      if (all[n].phase == Phase::loss) all[n].phase = Phase::forward;
    }
  }

  Instruction& append(Kind kind, Stream on, const CostKey& key, OperatorId op) {
    Instruction& i = add(kind, on);
    i.op = op;
    i.cost_key = tables_.cost_key(key, op);
    i.operands = static_cast<std::int32_t>(program().operands.size());
    const std::string name(result_.program.operator_name(i));
    name_allocations(name, key.op);
    works_on_[on].insert(name);
    return i;
  }

  void launch(const DeviceCall& call, const CostKey& key, OperatorId op, std::int64_t external) {
    Instruction& i = append(Kind::launch, tables_.stream(call.stream), key, op);
    const auto made_by = step_.operators.find(external);
    if (made_by == step_.operators.end()) return;
    for (const Argument& argument : made_by->second.arguments) {
      if (const auto* const one = std::get_if<TensorArgument>(&argument)) read(i, *one);
      if (const auto* const list = std::get_if<std::vector<TensorArgument>>(&argument)) {
        for (const TensorArgument& tensor : *list) read(i, tensor);
      }
    }
  }

  void read(Instruction& i, const TensorArgument& tensor) {
    const auto found = live_.find(tensor.address);
    if (found == live_.end()) return;
    program().operands.push_back(found->second);
    ++i.reads;
  }

  void unpriced(const DeviceCall& call, const std::string& name) {
    launch(call, bytes_key(Operator::opaque, 0), tables_.op(name, 1), 0);
  }

  // One call of the host's, on the stream that it names. Events that are recorded in a graph are its own.
  void graph(const DeviceCall& launched, const ProfiledCall& profiled) {
    const auto found = step_.graphs.find(launched.graph);
    if (found == step_.graphs.end()) return unpriced(launched, "CUDA graph");
    const CapturedGraph& graph = found->second;
    const auto made_by = step_.operators.find(launched.external);
    is_placed_ =
        says_where(profiled, made_by == step_.operators.end() ? nullptr : &made_by->second);
    auto of_others = std::exchange(events_, {});
    allocated_ = 0;
    tables_.take_for({graph.stream, launched.stream});
    const NameId range = tables_.name(std::string(kGraphLaunch));
    add(Kind::range_begin, Stream{}, range);
    for (const Moment& moment : moments_of(graph, profiled_)) {
      if (moment.what == Moment::What::memory) {
        allocated_ += graph.profile.memory[moment.index].bytes;
        continue;
      }
      const DeviceCall& captured = graph.calls[moment.index];
      if (can_be_captured(captured.kind)) call(captured);
    }
    add(Kind::range_end, Stream{}, range);
    tables_.take_for({});
    events_ = std::move(of_others);
    is_placed_ = false;
  }

  static bool can_be_captured(Called kind) {
    return kind != Called::wait_event && kind != Called::wait_stream &&
           kind != Called::wait_device && kind != Called::graph;
  }

  void kernel(const DeviceCall& call, const ProfiledCall& profiled) {
    Work& work = works_.at(owner(call));
    if (work.op == kNone) describe(work, call, profiled);
    launch(call, work.key, work.op, call.external);
  }

  void describe(Work& work, const DeviceCall& call, const ProfiledCall& profiled) {
    const auto made_by = step_.operators.find(call.external);
    const bool has_operator = made_by != step_.operators.end();
    const std::string& kernel = profiled.kernel.empty() ? call.what : profiled.kernel;
    std::string name = has_operator ? made_by->second.name : kernel;
    if (!profiled.cost_key.empty() && parse_cost_key(profiled.cost_key, work.key)) {
      const KeyedOperator* const keyed = profiled_.keyed_around(profiled);
      if (keyed != nullptr && keyed->name != "aten::copy_") name = keyed->name;
    } else if (has_operator) {
      work.key = cost_of(made_by->second, {call, kernel, work.launches, allocated_});
      if (is_timed_by_arguments(kernel)) note(kernel + " is timed by the bytes of its arguments");
    } else {
      work.key = bytes_key(Operator::opaque, 0);
    }
    allocated_ = 0;
    if (has_own_name(work.key.op)) name = foreshard::name(work.key.op);
    work.op = tables_.op(name, work.launches);
  }

  void copy(const DeviceCall& call) {
    const Operator direction = call.what == "host-to-device"   ? Operator::copy_host_to_device
                               : call.what == "device-to-host" ? Operator::copy_device_to_host
                                                               : Operator::copy_device_to_device;
    if (call.what == "host-to-host") return;
    append(Kind::copy, tables_.stream(call.stream), bytes_key(direction, call.bytes), kNone);
  }

  void collective(const DeviceCall& call, const ProfiledCall& profiled) {
    const Group group = tables_.group(call.communicator, call.ranks);
    CostKey key;
    if (profiled.cost_key.empty() || !parse_cost_key(profiled.cost_key, key) ||
        !is_collective(key.op)) {
      key = collective_key(call);
    }
    if (!is_collective(key.op)) return unpriced(call, call.what);
    const bool is_named = foreshard::name(key.op) == call.what;
    const OperatorId op = is_named ? kNone : tables_.op(call.what, 1);
    append(Kind::collective, tables_.stream(call.stream), key, op).group = group;
  }

  static CostKey collective_key(const DeviceCall& call) {
    const Operator op = call.what == "reduce" ? Operator::broadcast : operator_named(call.what);
    const bool is_of_shards = op == Operator::all_gather || op == Operator::reduce_scatter;
    return bytes_key(op, is_of_shards ? call.bytes * call.ranks : call.bytes, call.ranks);
  }

  // Sends and receives of one group are one kernel, issued with the last of them.
  void transfers(const DeviceCall& call) {
    if (call.group == 0) return exchange({&call});
    const auto& all = transfers_.at(call.group);
    if (all.back() == &call) exchange(all);
  }

  struct Transfer {
    std::int64_t sent = 0, received = 0;
    const DeviceCall* call = nullptr;
    std::int64_t bytes() const { return std::max(sent, received); }
  };

  // PyTorch's exchanges between all ranks of a communicator are made of sends and receives too.
  void exchange(const std::vector<const DeviceCall*>& calls) {
    const DeviceCall& last = *calls.back();
    std::map<int, Transfer> with;
    Transfer all;
    for (const DeviceCall* const call : calls) {
      for (Transfer* const to : {&with[call->peer], &all}) {
        (call->what == "send" ? to->sent : to->received) += call->bytes;
        to->call = call;
      }
    }
    const auto made_by = step_.operators.find(last.external);
    const auto is_by = [&](std::string_view word) {
      return made_by != step_.operators.end() &&
             made_by->second.name.find(word) != std::string::npos;
    };
    if (is_by("alltoall") || is_by("all_to_all")) {
      return among_all(bytes_key(Operator::all_to_all, all.bytes(), last.ranks), kNone, last);
    }
    for (const char* const name : {"gather", "scatter"}) {
      if (!is_by(name)) continue;
      return among_all(bytes_key(Operator::broadcast, all.bytes(), last.ranks), tables_.op(name, 1),
                       last);
    }
    with.erase(last.rank);
    beside_each_other(with, last.stream);
  }

  void among_all(const CostKey& key, OperatorId op, const DeviceCall& call) {
    append(Kind::collective, tables_.stream(call.stream), key, op).group =
        tables_.group(call.communicator, call.ranks);
  }

  // Transfers with several ranks: the first on the stream itself, the others on streams of their own.
  void beside_each_other(const std::map<int, Transfer>& with, std::uint64_t handle) {
    const Stream stream = tables_.stream(handle);
    std::vector<Stream> streams{stream};
    if (with.size() > 1) {
      const EventId fork = program().events++;
      add(Kind::record_event, stream, fork);
      for (std::uint64_t n = 1; n < with.size(); ++n) {
        streams.push_back(tables_.stream(kOfTransfers + n));
        add(Kind::wait_event, streams.back(), fork);
      }
    }
    auto on = streams.begin();
    for (const auto& [peer, transfer] : with) {
      append(Kind::collective, *on++, bytes_key(Operator::transfer, transfer.bytes(), 2), kNone)
          .group = tables_.pair(*transfer.call);
    }
    for (std::size_t n = 1; n < streams.size(); ++n) {
      const EventId join = program().events++;
      add(Kind::record_event, streams[n], join);
      add(Kind::wait_event, stream, join);
    }
  }

  void note(const std::string& sentence) {
    auto& notes = result_.notes;
    if (std::find(notes.begin(), notes.end(), sentence) == notes.end()) notes.push_back(sentence);
  }

  // --- the end ---

  void end_step() {
    wait_for_all();
    categorize(step_.gradients, Category::gradients);
    categorize(step_.optimizer_states, Category::optimizer_states);
    describe_earlier_steps();
    // By size and pool, in the order in which they were freed.
    std::map<std::pair<std::int64_t, Stream>, std::deque<BufferId>> left;
    for (const BufferId id : left_) left[{buffer(id).bytes, buffer(id).pool}].push_back(id);
    std::vector<BufferId> made;
    for (const auto& [address, id] : live_) {
      if (!found_.contains(id)) made.push_back(id);
    }
    std::sort(made.begin(), made.end());
    std::int64_t grown = 0;
    for (const BufferId id : made) {
      auto& like = left[{buffer(id).bytes, buffer(id).pool}];
      if (like.empty()) {
        add(Kind::free, buffer(id).pool, id);
        grown += buffer(id).bytes;
        continue;
      }
      buffer(like.front()).category = buffer(id).category;
      result_.program.carried.push_back({id, like.front()});
      like.pop_front();
    }
    std::unordered_set<BufferId> kept;
    for (const auto& [size, ids] : left) kept.insert(ids.begin(), ids.end());
    std::erase_if(program().instructions, [&](const Instruction& i) {
      return i.kind == Kind::free && kept.contains(i.target);
    });
    if (grown > 0) {
      note("the step leaves " + binary_bytes(grown) +
           " that it did not find; in the program it frees them");
    }
  }

  // Steps before this one did the same, as far back as they asked for the same sizes: what the step knows of
  // its allocations is true of theirs.
  void describe_earlier_steps() {
    const auto& [before, now] = allocations_;
    std::size_t n = 0;
    for (; n < before.size() && !now.empty(); ++n) {
      const Allocated& earlier = before[before.size() - 1 - n];
      const Allocated& like = now[now.size() - 1 - n % now.size()];
      Buffer& of = buffer(earlier.buffer);
      const Buffer& known = buffer(like.buffer);
      if (of.bytes != known.bytes || of.pool != known.pool) return;
      const Instruction& as = program().instructions[like.instruction];
      Instruction& alloc = result_.program.programs[0].instructions[earlier.instruction];
      alloc.phase = as.phase;
      alloc.unit = of.unit = known.unit;
      alloc.module = as.module;
      of.owner = known.owner;
      of.role = known.role;
      if (of.category == Category::temporaries) of.category = known.category;
    }
  }

  // A stream is called what runs on it, if that is one thing.
  void name_streams() {
    auto& streams = result_.program.streams;
    std::set<std::string> taken{"compute"};
    streams[0].name = "compute";
    for (std::size_t s = 1; s < streams.size(); ++s) {
      const std::set<std::string>& works = works_on_[static_cast<Stream>(s)];
      const std::string base = works.size() == 1 ? *works.begin() : "stream " + std::to_string(s);
      std::string name = base;
      for (int n = 2; !taken.insert(name).second; ++n) name = base + " " + std::to_string(n);
      streams[s].name = name;
      const auto is_copy_of_host = [](const std::string& work) {
        return work.starts_with("copy_host") || work.starts_with("copy_device_to_host");
      };
      if (std::ranges::all_of(works, is_copy_of_host))
        streams[s].role = StreamRole::copy;
      else if (works.size() <= 2)
        streams[s].role = StreamRole::communication;
    }
  }

  RehearsedProgram result_;
  const CapturedStep& step_;
  std::unordered_map<int, std::vector<const DeviceCall*>> transfers_;  // by NCCL's group
  const ProfiledCalls profiled_;
  const Moments moments_;
  Tables tables_;
  std::unordered_map<Owner, Work, OwnerHash> works_;
  struct Allocated {
    std::size_t instruction = 0;
    BufferId buffer = kNone;
  };
  std::array<std::vector<Allocated>, 2> allocations_;  // before the step and in it
  std::vector<Allocated> unnamed_;                     // since the last work
  std::unordered_map<std::uint64_t, BufferId> live_;   // by address
  std::unordered_set<BufferId> found_;                 // that the step found
  std::vector<BufferId> left_;                         // and freed
  std::vector<Phase> made_in_;                         // by buffer
  std::int64_t allocated_ = 0;                         // bytes, since an operator began to launch
  std::unordered_map<std::uint64_t, EventId> events_;  // by handle, as it was recorded last
  std::map<Stream, std::set<std::string>> works_on_;
  std::vector<std::string> ranges_;  // that are open
  Phase phase_ = Phase::setup;
  std::size_t loss_begin_ = 0;  // instruction, where it is the loss's phase
  std::int16_t micro_step_ = 0;
  UnitId unit_ = kNone;
  ModuleId module_ = kNone;
  Category gradients_ =
      Category::gradients;  // as products make them: of whole parameters under FSDP
  bool in_step_ = false, is_after_backward_ = false;
  bool is_placed_ = false;  // within the launch of a graph whose caller says where it runs
};

}  // namespace

RehearsedProgram step_program(const CapturedStep& step) {
  return Builder(step).build();
}

}  // namespace foreshard::profiler
