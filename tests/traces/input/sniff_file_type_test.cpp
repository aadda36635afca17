// What messages call a file that was given to the wrong command.
#include "traces/input/sniff_file_type.hpp"

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::traces {
namespace {

const std::pair<std::string, std::string> kFiles[] = {
    {"", "is empty"},
    {"{\"schemaVersion\": 1, \"traceEvents\": [", "JSON from PyTorch's profiler"},
    {"{\n  \"traceEvents\": [\n", "JSON from PyTorch's profiler"},
    {"{\"hidden_size\": 16}", "a model config"},
    {"{\"schema\": \"1.1.1\", \"nodes\": [{\"name\": "
     "\"[pytorch|profiler|execution_trace|thread]\"}]}",
     "a PyTorch execution trace"},
    {"{\"format\":\"foreshard-costs\"", "written by foreshard fit"},
    {"{\"device\": 0, \"settings\": {}}\n", "an allocation history"},
    {"{\"a\": 1}", "is JSON"},
    {"[1, 2]", "is JSON"},
    {"[[true]]", "is JSON"},
    {"[batch]\nmicro_batch = 3\n", "text, but not JSON"},
    {"# a plan\n[batch]\n", "text, but not JSON"},
    {"start,end,name\n1,2,k\n", "text, but not JSON"},
    {std::string("SQLite format 3\0", 16), "an SQLite database"},
    {"\x80\x04}q", "pickle"},
    {std::string("\x08\0\0\0\0\0\0\0{\"a\":{}}", 16), "a safetensors file"},
    {"PK\x03\x04", "a zip archive"},
    {"\x89PNG\r\n", "a PNG image"},
    {std::string("\x01\x02\0\x03", 4), "binary data"},
};

TEST(ForeignFile, IsNamedByItsBeginning) {
  for (const auto& [bytes, word] : kFiles) {
    EXPECT_NE(sniff_content(bytes).find(word), std::string::npos)
        << bytes << ": " << sniff_content(bytes);
  }
}

TEST(ForeignFile, NoReaderOfTracesLeavesItUnnamed) {
  const tests::TemporaryFolder folder;
  for (const auto& [bytes, word] : kFiles) {
    if (bytes.find("traceEvents") != std::string::npos) continue;  // a recording cut short
    const auto trace = read_trace(folder.write("given", bytes));
    ASSERT_FALSE(trace) << bytes;
    const std::string message = trace.error().text();
    // Those are databases, only damaged ones.
    if (!bytes.starts_with("SQLite")) {
      EXPECT_NE(message.substr(0, message.find("expected")).find(word), std::string::npos)
          << message;
    }
  }
}

}  // namespace
}  // namespace foreshard::traces
