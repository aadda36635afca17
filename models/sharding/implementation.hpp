// Whose Llama runs: a code base in a version. What its code does that decides memory and time has a
// name here, so that no one asks for the code base itself. Where it allocates and frees what all of
// them have is in lowering/operators/pytorch, which goes by these facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/llama/module_tree.hpp"
#include "models/plan/plan.hpp"
#include "models/sharding/chosen_attention.hpp"

namespace foreshard {

// How queries and keys are turned by their positions.
enum class Rotary : std::uint8_t {
  complex,           // one after the other, as complex numbers in fp32
  complex_together,  // the same of both at once (torchtitan's apply_rotary_emb)
  half,              // by their two halves (rotate_half), with tables that each block casts
  shared_half        // the same, with tables that LlamaRotaryEmbedding makes once a forward
};

struct Implementation {
  std::string_view assumed;  // what a plan that names it does not say

  ModuleTree (*modules)(const LlamaConfig&);
  bool has_query_key_norms;          // in its blocks, where a model has them
  std::optional<bool> repeats_keys;  // keys and values for all heads; nothing: as the plan says
  std::optional<Rotary> rotary;      // likewise

  // The decoder makes masks where tokens are padded or a sliding window is reached, for which attention
  // repeats keys and values by itself (create_causal_mask, sdpa_attention_forward).
  bool makes_masks;
  // LlamaRMSNorm: single operators on every version of PyTorch.
  bool norm_is_own;
  // The decoder is a module inside the root (LlamaModel): what its forward holds in variables, the
  // embedding's output and the position ids, dies at its end, before the head.
  bool has_inner_model;
  // ForCausalLMLoss: the root's forward is given labels, shifts them and computes the loss in fp32.
  bool loss_in_model;
  // apply_rotary_pos_emb works on [B, heads, S, d], so that its gradients are copied to rows.
  bool rotates_by_heads;
  // Of what was projected, the queries die before the keys once both are turned.
  bool queries_die_first;
  // torchtitan's repeat_kv: no slices, and keys and values live until both are repeated.
  bool repeats_together;
  // Attention's result by heads dies as soon as it was copied to rows: with the function that made it
  // (sdpa_attention_forward), or because the copy takes its name.
  bool drops_attention_result;
  // What was projected takes the name of attention's output, which dies before q, k and v.
  bool replaces_attention_output;
  // The final norm's result takes the name of its input, which otherwise lives until forward returns.
  bool norm_replaces_input;
  // hidden_states[:, slice_indices, :] before the head.
  bool slices_hidden_states;
  // What selective checkpointing saves names cuDNN's attention too, not flash and memory-efficient
  // attention alone (torchtitan's op_sac_save_list from 2025-12-01 on).
  bool saves_cudnn_attention;
};

// Where a plan names none, PyTorch's operators are torchtitan's; all others have the modules of
// transformers.
ImplementationName implementation_name(const Plan& plan);
const Implementation& implementation_of(const Plan& plan);

// Whether selective checkpointing keeps what attention returns, as the plan has it.
bool saves_attention(const Plan& plan, AttentionKernel kernel);

bool repeats_keys(const Plan& plan);
Rotary rotary_of(const Plan& plan);

// Bytes of the buffers that a module has: tables of angles, or the frequencies that they are made of.
std::vector<std::int64_t> rotary_buffers(const Module& module, const LlamaConfig& model,
                                         const Plan& plan);
// Their type; nothing: complex numbers.
std::optional<DType> rotary_buffer_type(const Plan& plan);

}  // namespace foreshard
