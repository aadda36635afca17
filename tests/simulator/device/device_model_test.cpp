// The device's model: its arithmetic by hand, and laws that hold of every part.
#include "simulator/device/device_model.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/base/csv.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "simulator/device/matrix_product.hpp"

namespace foreshard::simulator {
namespace {

CostKey bf16_key(Operator op, CostDims dims) {
  return {op, DType::bf16, DType::bf16, DType::bf16, dims};
}

Machine part(const char* id) {
  return load_machine(id).value();
}

// On 100 multiprocessors of 1 flop a nanosecond each, tiles of 128 x 128.
double product(double rows, double columns, double inner, double batch = 1) {
  return product_ns({rows, columns, inner, batch}, {100, 100, 128, 128});
}

// 10 x 10 tiles are one wave; one more row of tiles is a second one.
TEST(MatrixProduct, PaysForWholeWaves) {
  const double wave = 2.0 * 128 * 128 * (8192 + 128);
  EXPECT_DOUBLE_EQ(product(1280, 1280, 8192), wave);
  EXPECT_GT(product(1281, 1280, 8192), 1.05 * wave);
  EXPECT_LT(product(1281, 1280, 8192), 2 * wave);
  EXPECT_DOUBLE_EQ(product(1280, 1280, 8192, 50), 50 * wave);
}

// One tile alone uses one multiprocessor of 100; split eightfold it uses eight.
TEST(MatrixProduct, SplitsTheInnerDimensionWhereTilesAreFew) {
  const double alone = 2.0 * 128 * 128 * (65536 + 128);
  EXPECT_LT(product(128, 128, 65536), alone / 7);
  EXPECT_GT(product(128, 128, 65536), alone / 100);
}

RC_GTEST_PROP(MatrixProduct, MoreWorkNeverTakesLess, ()) {
  const auto size = [] { return 8.0 * *rc::gen::inRange(1, 2'500); };  // aligned
  const double rows = size(), columns = size(), inner = size();
  const double before = product(rows, columns, inner);
  RC_ASSERT(product(rows + size(), columns, inner) >= before);
  RC_ASSERT(product(rows, columns + size(), inner) >= before);
  RC_ASSERT(product(rows, columns, inner + size()) >= before);
  RC_ASSERT(before * 100 >= 2 * rows * columns * inner);
}

// 700 W are what the rates were read at. At 500 W there are 360 of 560 W left for the clock.
TEST(DeviceModel, APowerLimitLowersTheClock) {
  Machine h100 = part("h100-sxm");
  h100.measured_bf16_flops = 0;
  const double full = DeviceModel(h100).sustained_product_flops(DType::bf16);
  h100.watts = 500;
  const double limited = DeviceModel(h100).sustained_product_flops(DType::bf16);
  EXPECT_NEAR(limited / full, std::pow(360.0 / 560, 0.45), 1e-9);
  h100.watts = 0;  // unknown
  EXPECT_DOUBLE_EQ(DeviceModel(h100).sustained_product_flops(DType::bf16), full);
}

// An H100 at 1200 of 1830 MHz needs no more than its power: products lose what the clock loses, beyond what
// the power limit took anyway.
TEST(DeviceModel, ALockedClockTakesThePlaceOfThePowerLimit) {
  Machine h100 = part("h100-sxm");
  const DeviceModel full(h100);
  const double left_by_power = kernel_rates(h100).under_load.value;
  const CostKey attention = bf16_key(Operator::attention, {1, 131072, 32, 8, 128});
  for (const double clock : {1200.0, 1750.0, 1830.0, 2000.0}) {
    h100.clock_mhz = clock;
    const DeviceModel locked(h100);
    EXPECT_NEAR(
        locked.sustained_product_flops(DType::bf16) / full.sustained_product_flops(DType::bf16),
        std::min(1.0, clock / 1830 / left_by_power), 1e-9);
    EXPECT_NEAR(locked.kernel_ns(attention) / full.kernel_ns(attention),
                std::max(1.0, 1830 / clock), 0.01);
  }
}

TEST(DeviceModel, TellsTheKernelsOfAttentionApart) {
  const DeviceModel model(part("h100-sxm"));
  const CostKey key = bf16_key(Operator::attention, {1, 8192, 32, 8, 128});
  const double flash = model.kernel_ns(key, "aten::_scaled_dot_product_flash_attention");
  const double efficient = model.kernel_ns(key, "aten::_scaled_dot_product_efficient_attention");
  const double cudnn = model.kernel_ns(key, "aten::_scaled_dot_product_cudnn_attention");
  EXPECT_LT(cudnn, flash);
  EXPECT_LT(flash, efficient);
  EXPECT_DOUBLE_EQ(model.kernel_ns(key), cudnn);
}

// x[T,K] w[N,K], dy[T,N] w[N,K] and dy[T,N] x[T,K]: rows are as long as N and K, whatever T is.
TEST(DeviceModel, TokensAlignNothingAndVocabulariesDo) {
  const DeviceModel model(part("h100-sxm"));
  constexpr std::int64_t kTokens = 8192, kWidth = 4096, kVocabulary = 32000;
  const auto times = [&](std::int64_t T, std::int64_t N) {
    return std::array{model.kernel_ns(bf16_key(Operator::matmul, {T, N, kWidth})),
                      model.kernel_ns(bf16_key(Operator::matmul_input_gradient, {T, kWidth, N})),
                      model.kernel_ns(bf16_key(Operator::matmul_weight_gradient, {N, kWidth, T}))};
  };
  const auto aligned = times(kTokens, kVocabulary), odd_tokens = times(kTokens - 1, kVocabulary),
             odd_vocabulary = times(kTokens, kVocabulary + 1);
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    EXPECT_NEAR(odd_tokens[i] / aligned[i], 1, 0.05) << i;
    EXPECT_NEAR(odd_vocabulary[i] / aligned[i], 3.5, 0.1) << i;
  }
}

RC_GTEST_PROP(DeviceModel, BeatsNoDataSheet, ()) {
  const Machine machine = *rc::gen::elementOf(bundled_machines());
  const DeviceModel model(machine);
  const auto size = [] { return static_cast<std::int64_t>(*rc::gen::inRange(1, 10'000)); };
  const CostKey key =
      *rc::gen::element(bf16_key(Operator::matmul, {size(), size(), size()}),
                        bf16_key(Operator::attention, {1, size(), 32, 8, 128}),
                        bf16_key(Operator::attention_backward, {1, size(), 32, 8, 64}),
                        bf16_key(Operator::memory_bound, {1000 * size(), 1000 * size()}));
  const double ns = model.kernel_ns(key);
  RC_ASSERT(ns >= 1e9 * bytes_moved(key) / machine.memory_bandwidth);
  if (rate_of(key.op) != Rate::memory) {
    const double above_its_clock = std::max(1.0, kernel_rates(machine).best_product.value);
    RC_ASSERT(ns >= 1e9 * flops(key) / machine.peak_flops(DType::bf16) / above_its_clock);
  }
}

TEST(KernelRates, EveryGenerationOfTheCatalogueHasPlausibleOnes) {
  for (const Machine& machine : bundled_machines()) {
    const KernelRates rates = kernel_rates(machine);
    for (const KernelRate& share :
         {rates.best_product, rates.best_fp8_product, rates.fp32_product, rates.under_load,
          rates.idle_power, rates.flash_forward, rates.flash_backward, rates.cudnn_forward,
          rates.cudnn_backward, rates.efficient_forward, rates.efficient_backward, rates.memory}) {
      EXPECT_GT(share.value, 0.05) << machine.id;
      EXPECT_LT(share.value, 1.1) << machine.id;
      EXPECT_GT(share.spread, 0) << machine.id;
    }
    EXPECT_GE(rates.tile_rows.value, 64) << machine.id;
  }
}

// Figures of the older of two generations under both names: kernels of the newer may gain from it, but are
// not others.
TEST(KernelRates, AreInheritedByNewerGenerations) {
  struct Family {
    const char *part, *newer;
  };
  for (const auto& [id, newer] : {Family{"h100-sxm", "Blackwell"},
                                  {"b200", "Blackwell Ultra"},
                                  {"mi300x", "CDNA4"},
                                  {"a100-sxm-80", "Hopper"},
                                  {"l40s", "Blackwell GB202"}}) {
    Machine older = part(id);
    older.measured_bf16_flops = 0;
    older.watts = 0;
    Machine as_newer = older;
    as_newer.generation = newer;
    for (const std::int64_t tokens : {2048, 32768, 131072}) {
      for (const char* const name : {"", "aten::_scaled_dot_product_flash_attention"}) {
        for (const auto op : {Operator::attention, Operator::attention_backward}) {
          const CostKey key = bf16_key(op, {1, tokens, 32, 8, 128});
          EXPECT_NEAR(
              DeviceModel(as_newer).kernel_ns(key, name) / DeviceModel(older).kernel_ns(key, name),
              1, 0.3)
              << id << " " << newer << " " << tokens << name;
        }
      }
    }
    const CostKey product = bf16_key(Operator::matmul, {8192, 8192, 8192});
    EXPECT_NEAR(DeviceModel(as_newer).kernel_ns(product) / DeviceModel(older).kernel_ns(product), 1,
                0.2)
        << id;
  }
}

TEST(KernelRates, NamesOfGenerationsAreTheSameInAnyLetters) {
  Machine machine = part("h100-sxm");
  machine.generation = "hOPPER";
  EXPECT_EQ(kernel_rates(machine).flash_forward_limit.value,
            kernel_rates(part("h100-sxm")).flash_forward_limit.value);
  EXPECT_TRUE(is_known_generation("blackwell ultra"));
  EXPECT_FALSE(is_known_generation("any"));
  EXPECT_FALSE(is_known_generation("Hoper"));
  for (const Machine& one : bundled_machines()) EXPECT_TRUE(is_known_generation(one.generation));
}

// A GeForce part's peak is that of accumulation at half rate, which its products reach; an L40S, of the
// same generation, has four times the rate of its fp32 units.
TEST(KernelRates, PartsThatAccumulateAtHalfRateReachTheirPeak) {
  EXPECT_GT(kernel_rates(part("rtx4090")).best_product.value, 0.95);
  EXPECT_LT(kernel_rates(part("l40s")).best_product.value, 0.8);
  Machine mistaken = part("h100-sxm");  // TF32's peak in the place of fp32's
  mistaken.measured_bf16_flops = 0;
  mistaken.fp32_flops = mistaken.tf32_flops;
  EXPECT_LT(kernel_rates(mistaken).best_product.value, 0.9);
  EXPECT_EQ(kernel_rates(part("b300")).best_product.value, 1769.0 / 2250);
}

TEST(KernelRates, HaveSources) {
  const CsvTable table = parse_csv(kernel_rates_csv(), "kernel_rates.csv").value();
  for (const CsvRow& row : table.rows) EXPECT_FALSE(table.at(row, "source").empty()) << row.line;
}

}  // namespace
}  // namespace foreshard::simulator
