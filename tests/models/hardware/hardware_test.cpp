#include "models/hardware/hardware.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "models/base/csv.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

TEST(Csv, ReadsQuotesCommasAndLineBreaksInFields) {
  const Result<CsvTable> table =
      parse_csv("\xEF\xBB\xBFid,notes\r\na,\"x, \"\"y\"\"\nz\"\r\n\r\nb,", "t.csv");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->columns, (std::vector<std::string>{"id", "notes"}));
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->at(table->rows[0], "notes"), "x, \"y\"\nz");
  EXPECT_EQ(table->at(table->rows[1], "id"), "b");
  EXPECT_EQ(table->at(table->rows[1], "notes"), "");
  EXPECT_EQ(table->at(table->rows[1], "absent"), "");
  EXPECT_EQ(table->rows[0].line, 2);
  EXPECT_EQ(table->rows[1].line, 5);
}

TEST(Csv, RefusesWhatIsNotCsv) {
  EXPECT_EQ(parse_csv("", "t.csv").error().file, "t.csv");
  EXPECT_EQ(parse_csv("a,b\n1,2\n3", "t.csv").error().file, "t.csv:3");
  EXPECT_EQ(parse_csv("a\n\"b", "t.csv").error().file, "t.csv:2");
  EXPECT_EQ(parse_csv("a\n\"b\"c", "t.csv").error().file, "t.csv:2");
  EXPECT_EQ(parse_csv("a\nb\"c", "t.csv").error().file, "t.csv:2");
}

TEST(Hardware, KnowsTheH100) {
  const Result<Machine> machine = load_machine("h100-sxm");
  ASSERT_TRUE(machine) << machine.error().text();
  EXPECT_EQ(machine->generation, "Hopper");
  EXPECT_EQ(machine->memory, 81089 * kMiB);
  EXPECT_FALSE(machine->memory_is_estimate);
  EXPECT_DOUBLE_EQ(machine->memory_bandwidth, 3.35e12);
  EXPECT_DOUBLE_EQ(machine->peak_flops(DType::bf16), 989e12);
  EXPECT_DOUBLE_EQ(machine->peak_flops(DType::fp16), 989e12);
  EXPECT_DOUBLE_EQ(machine->peak_flops(DType::fp8), 1979e12);
  EXPECT_DOUBLE_EQ(machine->peak_flops(DType::fp32), 67e12);
  EXPECT_DOUBLE_EQ(machine->link_bandwidth, 450e9);
  EXPECT_DOUBLE_EQ(machine->host_bandwidth, 63e9);
  EXPECT_EQ(machine->gpus_per_node, 8);
  EXPECT_DOUBLE_EQ(machine->network_bandwidth, 50e9);
  EXPECT_EQ(load_machine("H100-SXM")->id, "h100-sxm");
}

TEST(Hardware, EstimatesMemoryWhereNoReadingIsPublished) {
  // 80 GiB less 2 %, in whole MiB; torch is reported to show about 81 200 MiB.
  const Machine a100 = *load_machine("a100-sxm-80");
  EXPECT_TRUE(a100.memory_is_estimate);
  EXPECT_EQ(a100.memory, 80281 * kMiB);
  // 24 GiB of GDDR6 less 8 %; the A10G with the same memory shows 22 587 MiB.
  EXPECT_EQ(load_machine("l4")->memory, 22609 * kMiB);
}

TEST(Hardware, ADeviceWithoutBf16UnitsComputesItAtFp32Rate) {
  const Machine v100 = *load_machine("v100-sxm2-32");
  EXPECT_DOUBLE_EQ(v100.peak_flops(DType::bf16), 15.7e12);
}

TEST(Hardware, AnInstanceIsAPartWithItsOwnNetwork) {
  const Machine p5 = *load_machine("p5.48xlarge");
  EXPECT_EQ(p5.name, load_machine("h100-sxm")->name);
  EXPECT_DOUBLE_EQ(p5.network_bandwidth, 3200e9 / 8 / 8);
  EXPECT_EQ(load_machine("p5.4xlarge")->gpus_per_node, 1);
  EXPECT_EQ(load_machine("a4x-highgpu-4g")->gpus_per_node, 72);  // one NVLink domain
}

TEST(Hardware, EveryMachineIsWhole) {
  for (const Machine& machine : bundled_machines()) {
    EXPECT_GT(machine.memory, 8 * kGiB) << machine.id;
    EXPECT_LT(machine.memory, 300 * kGiB) << machine.id;
    EXPECT_GT(machine.memory_bandwidth, 1e11) << machine.id;
    EXPECT_GT(machine.peak_flops(DType::bf16), 8e12) << machine.id;
    EXPECT_LE(machine.measured_bf16_flops, machine.bf16_flops) << machine.id;
    EXPECT_FALSE(machine.name.empty() || machine.sources.empty()) << machine.id;
    EXPECT_EQ(load_machine(machine.id)->id, machine.id);
  }
}

TEST(Hardware, AnUnknownMachineGetsASuggestion) {
  const Result<Machine> machine = load_machine("h100-smx");
  ASSERT_FALSE(machine);
  EXPECT_NE(machine.error().text().find("did you mean 'h100-sxm'"), std::string::npos);
  EXPECT_NE(load_machine("h9000").error().text().find("h9000"), std::string::npos);
}

class OwnCatalogue : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path_) << text; }
  void TearDown() override { unsetenv("FORESHARD_CATALOGUE"); }

  tests::TemporaryFolder folder_;
  std::string path_ = folder_.path("own catalogue.csv");
};

TEST_F(OwnCatalogue, AddsMachinesByPathOrEnvironment) {
  write("id,usable_mib,memory_tb_s,fp32_tflops,launch_us\nmine,1000,0.5,10,2.5\n");
  const Result<Machine> mine = load_machine(path_ + ":mine");
  ASSERT_TRUE(mine) << mine.error().text();
  EXPECT_EQ(mine->memory, 1000 * kMiB);
  EXPECT_EQ(mine->launch_overhead, Nanoseconds{2500});
  EXPECT_EQ(mine->gpus_per_node, Machine{}.gpus_per_node);

  EXPECT_FALSE(load_machine("mine"));
  setenv("FORESHARD_CATALOGUE", path_.c_str(), 1);
  EXPECT_EQ(*load_machine("mine"), *mine);
  EXPECT_EQ(load_machine("h100-sxm")->id, "h100-sxm");
}

TEST_F(OwnCatalogue, ErrorsNameLineAndColumn) {
  write("id,usable_mib,memory_tb_s,fp32_tflops\nmine,many,0.5,10\n");
  const Error value = load_machine(path_ + ":mine").error();
  EXPECT_EQ(value.file, path_ + ":2");
  EXPECT_EQ(value.field, "usable_mib");

  write("id,usable_mb,memory_tb_s,fp32_tflops\nmine,1,0.5,10\n");
  EXPECT_NE(load_machine(path_ + ":mine").error().text().find("usable_mib"), std::string::npos);

  write("id,memory_tb_s,fp32_tflops\nmine,0.5,10\n");
  EXPECT_EQ(load_machine(path_ + ":mine").error().field, "usable_mib");

  const std::string needed = "id,usable_mib,memory_tb_s,fp32_tflops";
  for (const auto& [column, text] : {std::pair{"placement", "anywhere"},
                                     {"oversubscription", "0.5"},
                                     {"clock_mhz", "1200"},
                                     {"multiprocessors", "0"}}) {
    write(needed + "," + column + "\nmine,1,0.5,10," + text + "\n");
    EXPECT_EQ(load_machine(path_ + ":mine").error().field, column);
  }

  write("id,usable_mib,memory_tb_s,fp32_tflops\nmine,1,0.5,10\n");
  EXPECT_EQ(load_machine(path_ + ":mine")->name, "mine");
  EXPECT_EQ(load_machine(path_ + ":other").error().field, "other");
  EXPECT_FALSE(load_machine("/nowhere/x.csv:mine"));
}

TEST(Hardware, HasMeasuredCollectives) {
  // 8 x H200, 16 GiB all-reduce over NVLS: 480 GB/s of bus bandwidth.
  bool found = false;
  for (const InterconnectFact& fact : interconnect_facts()) {
    found = found || (fact.kind == "measured" && fact.algorithm == "NVLS" && fact.gpus == 8 &&
                      fact.payload == 16 * kGiB && fact.value == 480e9);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace foreshard
