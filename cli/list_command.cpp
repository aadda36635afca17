// foreshard list: the bundled models and the machines of the hardware catalogue.
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "models/base/figures.hpp"
#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"
#include "profiler/report/format.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;
using profiler::TextTable;

// The text and the JSON of a list.
struct Answer {
  TextTable table;
  ordered_json json;
};

std::string or_unknown(double rate) {
  return rate > 0 ? formatted("%.0f", rate / 1e9) : "unknown";
}

Answer machines() {
  Answer answer{
      TextTable({"machine", "GPU", "GPUs/node", "memory", "link GB/s", "network GB/s"}, {0, 1}),
      {}};
  ordered_json rows = ordered_json::array();
  for (const Machine& machine : bundled_machines()) {
    const double network =
        machine.network_bandwidth * static_cast<double>(machine.gpus_per_node);  // of one node
    rows.push_back({{"id", machine.id},
                    {"name", machine.name},
                    {"gpus_per_node", machine.gpus_per_node},
                    {"memory_bytes", machine.memory.count},
                    {"link_gb_s", machine.link_bandwidth / 1e9},
                    {"network_gb_s", network / 1e9}});
    answer.table.add({machine.id, machine.name, std::to_string(machine.gpus_per_node),
                      binary_bytes(machine.memory.count),
                      machine.link_bandwidth > 0 ? or_unknown(machine.link_bandwidth) : "none",
                      or_unknown(network)});
  }
  answer.json["machines"] = std::move(rows);
  return answer;
}

Result<Answer> models() {
  Answer answer{TextTable({"model", "parameters", "layers", "hidden", "heads", "KV heads",
                           "vocabulary", "context"}),
                {}};
  ordered_json rows = ordered_json::array();
  for (const std::string& name : bundled_models()) {
    const auto model = load_llama_config(name);
    if (!model) return tl::unexpected(model.error());
    rows.push_back({{"name", name},
                    {"parameters", model->parameters()},
                    {"layers", model->layers},
                    {"hidden_size", model->hidden},
                    {"intermediate_size", model->intermediate},
                    {"heads", model->heads},
                    {"kv_heads", model->kv_heads},
                    {"vocabulary", model->vocabulary},
                    {"context", model->context}});
    answer.table.add({name, with_thousands(model->parameters()), std::to_string(model->layers),
                      std::to_string(model->hidden), std::to_string(model->heads),
                      std::to_string(model->kv_heads), std::to_string(model->vocabulary),
                      std::to_string(model->context)});
  }
  answer.json["models"] = std::move(rows);
  return answer;
}

class List : public Command {
 public:
  CommandText text() const override {
    return {"list",
            "Prediction",
            "list the bundled models or the known machines",
            "Models are the names that --model takes besides folders and files. Machines are the "
            "names that --machine takes: GPUs, and instances that cloud providers rent. Link is "
            "the bandwidth of one GPU to the others of its node, network that of one node, both "
            "one way.",
            {"foreshard list models", "foreshard list machines --json -"}};
  }
  void add_to(Options& options) override {
    options.choice("WHAT", what_, {"models", "machines"}, {"WHAT", "what to list", true});
    json_.add_to(options);
  }
  Result<int> run() override {
    if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
    const Result<Answer> answer = what_ == "models" ? models() : Result<Answer>(machines());
    if (!answer) return tl::unexpected(answer.error());
    if (auto ok = json_.write(answer->json); !ok || json_.is_standard_output()) return written(ok);
    return written(show(answer->table.text()));
  }

 private:
  std::string what_;
  JsonOutput json_;
};

}  // namespace

std::unique_ptr<Command> make_list() {
  return std::make_unique<List>();
}

}  // namespace foreshard::cli
