// The device's model against single kernels that were measured on an H100.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/base/csv.hpp"
#include "models/hardware/csv_numbers.hpp"
#include "simulator/device/device_model.hpp"
#include "traces/input/byte_source.hpp"

namespace foreshard::simulator {
namespace {

struct MeasuredKernel {
  CostKey key;
  std::string name;  // PyTorch's
  double ns;
};

CostKey measured_product(const std::string& op, DType type, std::array<std::int64_t, 3> d) {
  if (op == "matmul_input_gradient") std::swap(d[1], d[2]);
  if (op == "matmul_weight_gradient") d = {d[1], d[2], d[0]};
  return {Operator::matmul, type, type, type, {d[0], d[1], d[2]}};
}

// Products in bf16 and in fp32 without TF32, attention by flash and cuDNN, and elementwise kernels that read or write more than
// the cache holds.
std::vector<MeasuredKernel> measured_kernels() {
  const std::string file =
      std::string(FORESHARD_SOURCE_DIR) + "/traces/samples/pytorch_gpu/h100/operators.csv.gz";
  const CsvTable table =
      parse_csv(traces::first_bytes(file, 8 << 20, "a table").value(), file).value();
  std::vector<MeasuredKernel> kernels;
  for (const CsvRow& row : table.rows) {
    const std::string op(table.at(row, "operator")), shape(table.at(row, "shape"));
    const std::string_view type = table.at(row, "dtype");
    const bool is_product = op.starts_with("matmul_") && (type == "bf16" || type == "fp32");
    if (!is_product && type == "fp32") continue;
    const double ns = 1000 * csv_number(table.at(row, "median_us")).value_or(0);
    std::int64_t a = 0, b = 0, c = 0, d = 0, e = 0;
    if (is_product && std::sscanf(shape.c_str(), "%ldx%ldx%ld", &a, &b, &c) == 3) {
      kernels.push_back(
          {measured_product(op, type == "fp32" ? DType::fp32 : DType::bf16, {a, b, c}), "aten::mm",
           ns});
    } else if (std::sscanf(shape.c_str(), "b%ld h%ld/%ld s%ld d%ld", &a, &b, &c, &d, &e) == 5 &&
               (op.starts_with("attention_flash") || op.starts_with("attention_cudnn"))) {
      const Operator which =
          op.ends_with("backward") ? Operator::attention_backward : Operator::attention;
      kernels.push_back({{which, DType::bf16, DType::bf16, DType::bf16, {a, d, b, c, e}}, op, ns});
    } else if (table.at(row, "group") == "memory_bound") {
      const auto bytes = static_cast<std::int64_t>(csv_number(table.at(row, "bytes")).value_or(0));
      const bool is_simple = op == "copy" || op == "add" || op == "multiply" || op == "fill";
      if (is_simple && bytes > 100'000'000)
        kernels.push_back({{Operator::memory_bound,
                            DType::fp32,
                            DType::fp32,
                            DType::fp32,
                            {bytes - bytes / 3, bytes / 3}},
                           "",
                           ns});
    }
  }
  return kernels;
}

// Single kernels of PyTorch on an H100 (traces/samples/pytorch_gpu), each for so short a time that the
// part is far from its power limit.
TEST(DeviceModel, IsNearWhatWasMeasured) {
  const DeviceModel model(load_machine("h100-sxm").value());
  const double cool = kernel_rates(*load_machine("h100-sxm")).under_load.value / 0.99;
  std::map<Rate, std::vector<double>> errors;
  for (const MeasuredKernel& kernel : measured_kernels()) {
    const Rate rate = rate_of(kernel.key.op);
    const bool is_limited = rate == Rate::product && kernel.key.dtype != DType::fp32;
    const double clock = is_limited ? cool : 1;
    const double ns = clock * model.kernel_ns(kernel.key, kernel.name);
    errors[rate].push_back(std::abs(std::log(ns / kernel.ns)));
  }
  for (auto& [rate, of_rate] : errors) {
    std::sort(of_rate.begin(), of_rate.end());
    EXPECT_GE(of_rate.size(), rate == Rate::memory ? 8u : 80u);
    EXPECT_LT(of_rate[of_rate.size() / 2], 0.10) << kRateNames[static_cast<std::size_t>(rate)];
    EXPECT_LT(of_rate[of_rate.size() * 9 / 10], 0.35) << kRateNames[static_cast<std::size_t>(rate)];
  }
}

// Casts of bf16 to fp32 are limited by what they have in flight: an H200 is 7 % faster at them than an
// H100, where its memory is 43 % faster.
TEST(DeviceModel, WideningCastsTakeWhatTheyTakeOnBothParts) {
  for (const std::string part : {"h100", "h200"}) {
    const std::string file = std::string(FORESHARD_SOURCE_DIR) + "/traces/samples/pytorch_gpu/" +
                             part + "/operators.csv.gz";
    const CsvTable table =
        parse_csv(traces::first_bytes(file, 8 << 20, "a table").value(), file).value();
    const DeviceModel model(load_machine(part == "h100" ? "h100-sxm" : "h200").value());
    int casts = 0;
    for (const CsvRow& row : table.rows) {
      const auto elements = csv_number(table.at(row, "shape"));
      if (table.at(row, "operator") != "cast_bf16_to_fp32" || elements.value_or(0) < 3e7) continue;
      const auto n = static_cast<std::int64_t>(*elements);
      const CostKey cast{Operator::cast, DType::fp32, DType::bf16, DType::fp32, {n}};
      const double ns = 1000 * csv_number(table.at(row, "median_us")).value();
      EXPECT_NEAR(model.kernel_ns(cast) / ns, 1, 0.06) << part << " " << n;
      ++casts;
    }
    EXPECT_GE(casts, 2) << part;
  }
}

}  // namespace
}  // namespace foreshard::simulator
