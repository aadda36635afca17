// What cuDNN 9.19 asks for in attention, in tests/models/program/cudnn_workspaces.csv, which scripts/cudnn_workspaces
// writes: a row for each attention, a column for each architecture and pass.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/program/attention_workspace.hpp"

namespace foreshard::tests {

struct DescribedGpu {
  int compute_capability = 0;
  std::int64_t multiprocessors = 0;
  std::int64_t shared_memory = 0;  // of a block at most, bytes

  DeviceTraits traits(bool is_deterministic) const {
    return {.kind = DeviceKind::cuda,
            .compute_capability = compute_capability,
            .multiprocessors = static_cast<int>(multiprocessors),
            .has_fused_attention = true,
            .is_deterministic = is_deterministic};
  }
};

// A100, L40S, H100, B200, RTX PRO 6000 (CUDA programming guide, "Technical Specifications per Compute Capability").
constexpr DescribedGpu kDescribedGpus[] = {{80, 108, 166'912},
                                           {89, 142, 101'376},
                                           {90, 132, 232'448},
                                           {100, 148, 232'448},
                                           {120, 188, 101'376}};

struct AttentionPass {
  const char* name;
  Operator op;
  bool is_deterministic;

  // What a launch computes.
  AttentionPart part(const CostKey& attention, const DescribedGpu& gpu) const {
    return cudnn_backward_part(attention, gpu.traits(is_deterministic));
  }
};

constexpr AttentionPass kPasses[] = {{"forward", Operator::attention, false},
                                     {"backward", Operator::attention_backward, false},
                                     {"deterministic", Operator::attention_backward, true}};

struct WorkspaceRow {
  CostKey attention;
  std::vector<std::int64_t> bytes;  // by GPU, then pass
};

inline CostKey attention_key(std::int64_t B, std::int64_t S, std::int64_t H, std::int64_t K,
                             std::int64_t d) {
  return {Operator::attention, DType::bf16, DType::bf16, DType::bf16, {B, S, H, K, d}};
}

inline std::vector<WorkspaceRow> read_workspaces() {
  std::ifstream file(FORESHARD_SOURCE_DIR "/tests/models/program/cudnn_workspaces.csv");
  std::string line;
  std::getline(file, line);
  std::vector<WorkspaceRow> rows;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::vector<std::int64_t> numbers;
    for (std::string field; std::getline(fields, field, ',');) numbers.push_back(std::stoll(field));
    WorkspaceRow& row = rows.emplace_back();
    row.attention = attention_key(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
    row.bytes.assign(numbers.begin() + 5, numbers.end());
  }
  return rows;
}

}  // namespace foreshard::tests
