#include "tests/property/random_pytorch_case.hpp"

#include <algorithm>

namespace foreshard::tests {
namespace {

using nlohmann::json;

json model(JobDrawer& draw) {
  const std::int64_t kv_heads = draw.integer(1, 4), heads = kv_heads * draw.integer(1, 4);
  const std::int64_t head_dim = draw.chance(0.2)
                                    ? 64 * draw.integer(3, 4)
                                    : 8 * draw.one_of({draw.integer(1, 16), draw.integer(1, 4)});
  return {{"model_type", "llama"},
          {"hidden_size", draw.chance(0.5) ? heads * head_dim : 8 * draw.integer(1, 80)},
          {"intermediate_size", draw.integer(8, 900)},
          {"num_hidden_layers", draw.integer(1, 5)},
          {"num_attention_heads", heads},
          {"num_key_value_heads", kv_heads},
          {"head_dim", head_dim},
          {"max_position_embeddings", 1 << 17},
          {"vocab_size", draw.one_of({draw.integer(32, 1000), draw.integer(1000, 9000)})}};
}

// Beside the blocks and their parts no module is large enough for a unit of its own: the script has
// neither units of one linear nor transformers' LlamaModel as a unit.
bool is_described(const json& words, std::int64_t least) {
  const json& m = words["config"];
  const std::int64_t hidden = m["hidden_size"], layers = m["num_hidden_layers"];
  const std::int64_t queries = m["num_attention_heads"].get<std::int64_t>() *
                               m["head_dim"].get<std::int64_t>(),
                     kv = m["num_key_value_heads"].get<std::int64_t>() *
                          m["head_dim"].get<std::int64_t>(),
                     wide = m["intermediate_size"],
                     rows = m["vocab_size"].get<std::int64_t>() * hidden;
  const std::int64_t attention = 2 * hidden * (queries + kv), mlp = 3 * hidden * wide;
  if (least <= hidden * std::max(queries, wide)) return false;
  std::int64_t left = 2 * hidden;  // of a block
  for (const std::int64_t part : {attention, mlp}) left += part < least ? part : 0;
  const std::int64_t below_root =
      (rows < least ? rows : 0) + (left < least ? layers * left : 0) + hidden;
  return words["impl"] == "titan" || below_root < least;
}

std::string wrap(JobDrawer& draw, const json& words) {
  const json& m = words["config"];
  const std::int64_t hidden = m["hidden_size"];
  switch (draw.integer(0, 6)) {
    case 0: return "none";
    case 1: return "attn_mlp";
    case 2: return "titan";
    case 3: return "every:" + std::to_string(draw.integer(1, 3));
    case 4: {
      const std::int64_t attention = 2 * hidden * m["head_dim"].get<std::int64_t>() *
                                     (m["num_attention_heads"].get<std::int64_t>() +
                                      m["num_key_value_heads"].get<std::int64_t>());
      const std::int64_t mlp = 3 * hidden * m["intermediate_size"].get<std::int64_t>();
      const std::int64_t least =
          draw.one_of({attention, mlp, attention + mlp}) + draw.integer(-1, 1);
      if (is_described(words, least)) return "size:" + std::to_string(least);
      return "layers";
    }
    default: return "layers";
  }
}

// Where embedding and head are two units they cannot share their weight.
bool may_be_tied(const json& words) {
  const std::string wrap = words["wrap"];
  const std::int64_t rows = words["config"]["vocab_size"].get<std::int64_t>() *
                            words["config"]["hidden_size"].get<std::int64_t>();
  return wrap != "titan" && !(wrap.starts_with("size:") && rows >= std::stoll(wrap.substr(5)));
}

void draw_operators(JobDrawer& draw, json& words) {
  const int minor = static_cast<int>(draw.integer(6, 15));
  words["version"] = "2." + std::to_string(minor);
  const bool is_titan = draw.chance(0.6), is_repeated = is_titan && draw.chance(0.3);
  words["impl"] = is_titan ? "titan" : "hf";
  words["gqa"] = is_repeated ? "repeat" : "native";
  words["rope"] = is_titan && draw.chance(0.3) ? "half" : "complex";
  words["loss"] = is_titan && draw.chance(0.2) ? "bf16" : "fp32";
  words["precision"] = draw.one_of<const char*>(
      {"fp32", "bf16_fp32", "bf16", "bf16_none", "pure_bf16", "pure_bf16_fp32"});
  // In 16 bits the script has neither the math path nor memory-efficient attention's larger heads.
  const json& m = words["config"];
  const bool is_grouped = !is_repeated && m["num_attention_heads"] != m["num_key_value_heads"];
  const bool may_be_efficient = (!is_grouped || minor >= 14) && m["head_dim"] <= 128;
  words["sdpa"] = may_be_efficient && draw.chance(0.3) ? "efficient" : "flash";
  words["ac"] = draw.one_of<const char*>({"none", "none", "none", "full", "full_early", "every2",
                                          "selective", is_titan ? "none" : "hf"});
}

void draw_tokens(JobDrawer& draw, json& words) {
  // Of the scratch that sorts the tokens the script is right up to here, and beyond it now and then.
  constexpr std::int64_t kMost = 4096;
  const std::int64_t sequences = draw.one_of({1, 1, 2, 3});
  words["batch"] = sequences;
  words["seq"] = std::min(
      kMost / sequences,
      draw.one_of({draw.integer(2, 700), 32 * draw.integer(1, 32), draw.integer(700, kMost)}));
}

void draw_ranks(JobDrawer& draw, json& words) {
  std::int64_t shards = draw.one_of({draw.integer(1, 4), draw.integer(1, 9), draw.integer(1, 64)});
  std::int64_t ranks = shards;
  const bool is_hybrid = draw.chance(0.25);
  words["mesh"] = "1d";
  if (is_hybrid) {
    const std::int64_t replicas = draw.integer(2, 4);
    shards = draw.integer(1, 8);
    ranks = replicas * shards;
    words["mesh"] = std::to_string(replicas) + "x" + std::to_string(shards);
  }
  words["world"] = ranks;
  words["rank"] = draw.integer(0, ranks - 1);
  words["reshard"] = draw.one_of<const char*>({"auto", "auto", "true", "false"});
  words["shard_dim1"] = !is_hybrid && shards > 1 && draw.chance(0.15) ? 1 : 0;
  const std::int64_t group = draw.integer(2, 8);
  if (group < shards && shards % group == 0 && words["shard_dim1"] == 0) words["reshard"] = group;
  words["accum"] = draw.one_of({1, 1, 2, 3});
  words["accum_sync"] = draw.one_of<const char*>(
      {"every", "every", "last", "last_keep", is_hybrid ? "no_all_reduce" : "every"});
}

}  // namespace

json random_pytorch_case(JobDrawer& draw) {
  json words = {{"api", "fsdp2"}, {"layers", 0}, {"config", model(draw)}};
  draw_tokens(draw, words);
  draw_operators(draw, words);
  draw_ranks(draw, words);
  words["wrap"] = wrap(draw, words);
  words["tie"] = may_be_tied(words) && draw.chance(0.3) ? 1 : 0;
  const bool can_prefetch = words["wrap"] == "layers" || words["wrap"] == "titan";
  words["fwd_prefetch"] = can_prefetch && draw.chance(0.3) ? draw.integer(1, 3) : 0;
  words["bwd_prefetch"] = can_prefetch && draw.chance(0.3) ? draw.integer(1, 3) : 0;
  words["offload"] = words["shard_dim1"] == 0 && draw.chance(0.15) ? "cpu" : "none";
  words["optim"] = draw.one_of<const char*>(
      {"adamw_foreach", "adamw_fused", "adamw_loop", "sgd_foreach", "sgd_loop"});
  words["clip"] = draw.chance(0.7) ? 1 : 0;
  words["zero_grad"] = draw.chance(0.2) ? "zero" : "none";
  const bool reshards_to_group = words["reshard"].is_number();
  words["embed_in_bwd"] =
      words["wrap"] == "titan" && !reshards_to_group && draw.chance(0.2) ? 0 : 1;
  words["async_unshard"] =
      words["offload"] == "none" && !reshards_to_group && draw.chance(0.1) ? 1 : 0;
  // Gradients that are added to those of before die elsewhere in PyTorch than in the script here, and
  // columns that wait for their reduction are in its type.
  if (words["mesh"] != "1d" || words["shard_dim1"] == 1) words["zero_grad"] = "none";
  if (words["mesh"] != "1d" && words["accum_sync"] == "every") words["accum"] = 1;
  if (words["shard_dim1"] == 1) words["accum"] = 1;
  return words;
}

}  // namespace foreshard::tests
