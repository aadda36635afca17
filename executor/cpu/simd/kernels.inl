// All inner loops for one instruction set and their table. The including file defines kWidth,
// kTileRows, kTileVectors and kName, selects the instruction set, and opens a namespace of its own;
// where the processor multiplies pairs of bf16 it defines FORESHARD_ADD_PAIRS (see pairs.inl), where
// it multiplies tiles of them FORESHARD_TILE_LOAD and its kin (see tiles.inl).

// clang-format off
#include "executor/cpu/simd/vector.inl"
#include "executor/cpu/simd/product.inl"
#include "executor/cpu/simd/pack.inl"
#include "executor/cpu/simd/gemm.inl"
#if defined(FORESHARD_ADD_PAIRS) || defined(FORESHARD_TILE_LOAD)
#include "executor/cpu/simd/pairs.inl"
#endif
#if defined(FORESHARD_TILE_LOAD)
#include "executor/cpu/simd/tiles.inl"
#endif
#include "executor/cpu/simd/rows.inl"
#include "executor/cpu/simd/elements.inl"
#include "executor/cpu/simd/attention_products.inl"
#if defined(FORESHARD_ADD_PAIRS) || defined(FORESHARD_TILE_LOAD)
#include "executor/cpu/simd/attention_pairs.inl"
#endif
#if defined(FORESHARD_TILE_LOAD)
#include "executor/cpu/simd/attention_tiles.inl"
#endif
#include "executor/cpu/simd/attention.inl"
#include "executor/cpu/simd/attention_backward.inl"
// clang-format on

using H = BFloat16;

#if defined(FORESHARD_TILE_LOAD)
constexpr ProductKernels kHalvesProduct = kTileProduct;
#elif defined(FORESHARD_ADD_PAIRS)
constexpr ProductKernels kHalvesProduct = kProduct<PackPairs>;
#else
constexpr ProductKernels kHalvesProduct = kProduct<PackElements<BFloat16>>;
#endif

using FloatsAttention = WidenedAttention<float>;
using FloatsGradients = WidenedGradients<float>;
#if defined(FORESHARD_TILE_LOAD)
using HalvesAttention = TileAttention;
using HalvesGradients = TileGradients;
#elif defined(FORESHARD_ADD_PAIRS)
using HalvesAttention = PairAttention;
using HalvesGradients = PairGradients;
#else
using HalvesAttention = WidenedAttention<H>;
using HalvesGradients = WidenedGradients<H>;
#endif

constexpr SimdKernels kKernels = {
    .name = kName,
    .product = {kProduct<PackElements<float>>, kHalvesProduct},
    .attention = {attention<FloatsAttention>, attention<HalvesAttention>},
    .attention_backward = {attention_backward<FloatsGradients>,
                           attention_backward<HalvesGradients>},
    .attention_query_gradients = {attention_query_gradients<FloatsGradients>,
                                  attention_query_gradients<HalvesGradients>},
    .attention_key_gradients = {attention_key_gradients<FloatsGradients>,
                                attention_key_gradients<HalvesGradients>},
    .rms_norm = {rms_norm<float>, rms_norm<H>},
    .rms_norm_backward = {rms_norm_backward<float>, rms_norm_backward<H>},
    .rope = {rope<float>, rope<H>},
    .swiglu = {swiglu<float>, swiglu<H>},
    .swiglu_backward = {swiglu_backward<float>, swiglu_backward<H>},
    .cross_entropy = {cross_entropy<float>, cross_entropy<H>},
    .cross_entropy_backward = {cross_entropy_backward<float>, cross_entropy_backward<H>},
    .sum_rows = {sum_rows<float>, sum_rows<H>},
    .sum_of_squares = {sum_of_squares<float>, sum_of_squares<H>},
    .cast = {{cast<float, float>, cast<float, H>}, {cast<H, float>, cast<H, H>}},
    .add = {{add<float, float>, add<float, H>}, {add<H, float>, add<H, H>}},
    .add_and_divide = {add_and_divide<float>, add_and_divide<H>},
    .adamw = {{{adamw<float, float, float>, adamw<float, float, H>},
               {adamw<float, H, float>, adamw<float, H, H>}},
              {{adamw<H, float, float>, adamw<H, float, H>}, {adamw<H, H, float>, adamw<H, H, H>}}},
    .sgd = {{sgd<float, float>, sgd<float, H>}, {sgd<H, float>, sgd<H, H>}},
};
