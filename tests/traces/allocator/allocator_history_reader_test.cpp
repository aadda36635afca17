// Event lists that make no sense, that nest or repeat without end, or that are none.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"
#include "traces/allocator/labelled_history.hpp"

namespace foreshard::traces {
namespace {

struct BadFile {
  const char* text;
  const char* place;
  const char* message;
};

TEST(AllocatorHistoryReader, NamesWhatIsWrong) {
  const tests::TemporaryFolder folder;
  const std::string file = folder.path("history.jsonl");
  const BadFile bad[] = {
      {"", "", "empty"},
      {"{\"settings\":{}}\nnonsense\n", "line 2", "JSON object"},
      {"{\"action\":\"alloc\"}\n", "line 1", "header"},
      {"{\"settings\":{}}\n{\"action\":\"aloc\",\"addr\":1,\"size\":1,\"stream\":0}\n",
       "line 2: action", "expected 'alloc'"},
      {"{\"settings\":{}}\n{\"action\":\"alloc\",\"addr\":1,\"size\":-1,\"stream\":0}\n",
       "line 2: size", "-1"},
      {"{\"settings\":{}}\n{\"action\":\"alloc\",\"addr\":1,\"stream\":0}\n", "line 2: size",
       "missing"},
      {"{\"settings\":{}}\n{\"action\":\"alloc\",\"addr\":18446744073709551615,\"size\":1,"
       "\"stream\":0}\n",
       "line 2: addr", "whole number"},
      {"{\"settings\":{}}\n{\"action\":\"release_pool\"}\n", "line 2: pool_id",
       "not name a private pool"},
      {"{\"settings\":{}}\n{\"action\":\"empty_cache\",\"pool_id\":[1]}\n", "line 2: pool_id",
       "two whole numbers"},
      {"{\"settings\":{\"garbage_collection_threshold\":7}}\n",
       "line 1: settings: garbage_collection_threshold", "from 0 to 1"},
      {"{\"settings\":{\"per_process_memory_fraction\":\"all\"}}\n",
       "line 1: settings: per_process_memory_fraction", "from 0 to 1"},
      {"{\"settings\":{\"roundup_power2_divisions\":{\"4\":3}}}\n",
       "line 1: settings: roundup_power2_divisions: 4", "power of two"},
      {"{\"initial_segments\":[{\"address\":0,\"total_size\":512,\"stream\":0,\"type\":\"big\"}]}"
       "\n",
       "line 1: initial_segments[0]: type", "small or large"},
      {"{\"streams\":[0]}\n", "line 1: streams", "names of streams"},
      {"{\"streams\":[]}\n", "line 1: streams", "names of streams"},
      {"{\"streams\":[\"compute\"]}\n{\"action\":\"alloc\",\"addr\":1,\"size\":1,\"stream\":0}\n",
       "line 2: stream", "expected a string"},
      {"{\"streams\":[\"compute\"]}\n{\"action\":\"alloc\",\"addr\":1,\"size\":1,\"stream\":"
       "\"copy\"}\n",
       "line 2: stream", "one of the streams of the header"},
      {"{\"streams\":[\"s\"]}\n{\"action\":\"alloc\",\"addr\":1,\"size\":1,\"stream\":\"s\","
       "\"step\":4294967296}\n",
       "line 2: step", "a smaller number"},
      {"{\"streams\":[\"s\"]}\n{\"action\":\"alloc\",\"addr\":1,\"size\":1,\"stream\":\"s\","
       "\"op\":7}\n",
       "line 2: op", "expected a string"},
  };
  for (const BadFile& b : bad) {
    std::ofstream(file) << b.text;
    const auto history = read_allocator_history(file);
    ASSERT_FALSE(history) << b.text;
    EXPECT_EQ(history.error().field, b.place) << b.text;
    EXPECT_NE(history.error().message.find(b.message), std::string::npos) << history.error().text();
  }
  EXPECT_FALSE(read_allocator_history(folder.path("missing.jsonl")));
}

// As PyTorch's histories are recorded: streams by name, and what the program was doing.
TEST(AllocatorHistoryReader, ReadsLabels) {
  const auto read = parse_labelled_history(
      "{\"case\":{},\"streams\":[\"all_gather\",\"compute\"]}\n"
      "{\"n\":0,\"action\":\"segment_alloc\",\"addr\":512,\"size\":2097152,\"stream\":\"compute\"}"
      "\n"
      "{\"n\":1,\"action\":\"alloc\",\"addr\":512,\"size\":4,\"stream\":\"compute\",\"step\":2,"
      "\"phase\":\"backward\",\"module\":\"layers.0\",\"call\":\"\",\"op\":\"aten::mm\","
      "\"node\":\"MmBackward0\",\"category\":\"temp\"}\n",
      "h.jsonl");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->streams, std::vector<std::string>{"compute"});  // the others have no events
  ASSERT_EQ(read->labels.size(), 2u);
  EXPECT_EQ(read->labels[0], EventLabels{});
  const EventLabels& labels = read->labels[1];
  EXPECT_EQ(labels.step, 2);
  EXPECT_EQ(read->texts[labels.phase], "backward");
  EXPECT_EQ(read->texts[labels.module], "layers.0");
  EXPECT_EQ(labels.call, 0);
  EXPECT_EQ(read->texts[labels.op], "aten::mm");
  EXPECT_EQ(read->texts[labels.node], "MmBackward0");
  EXPECT_EQ(read->texts[labels.category], "temp");
}

const std::string kEventsHeader = "{\"settings\":{}}\n";

std::string message_of(const std::string& text) {
  const auto history = parse_allocator_history(text, "h.jsonl");
  return history ? "" : history.error().text();
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

// A parser makes a tower of objects of it, and whoever writes that for a message uses up the stack.
TEST(AllocatorHistoryReader, RefusesWhatNestsDeeply) {
  for (const std::size_t depth : {17u, 300'000u}) {
    const std::string deep = repeated("[", depth) + repeated("]", depth);
    for (const char* key : {"action", "addr", "size", "stream", "pool_id", "x"}) {
      std::string event = "{\"action\":\"alloc\",\"addr\":1,\"size\":1,\"stream\":0,\"x\":0}";
      const std::string value = std::string("\"") + key + "\":";
      const std::size_t at = event.find(value);
      if (at == std::string::npos) {
        event.insert(1, value + deep + ",");
      } else {
        event.replace(at + value.size(), event.find_first_of(",}", at) - at - value.size(), deep);
      }
      const std::string message = message_of(kEventsHeader + event + "\n");
      EXPECT_NE(message.find("line 2: nests deeper than"), std::string::npos) << key << message;
      EXPECT_LT(message.size(), 200u);
    }
    EXPECT_NE(message_of("{\"settings\":{\"x\":" + deep + "}}\n").find("line 1: nests deeper than"),
              std::string::npos);
  }
}

TEST(AllocatorHistoryReader, MessagesRepeatLittleOfTheFile) {
  const std::string word(1 << 20, 'a');
  for (const std::string& event :
       {"{\"action\":\"" + word + "\"}",
        "{\"action\":\"alloc\",\"addr\":\"" + word + "\",\"size\":1,\"stream\":0}",
        "{\"action\":\"alloc\",\"addr\":[" + repeated("1,", 60'000) +
            "1],\"size\":1,\"stream\":0}"}) {
    const std::string message = message_of(kEventsHeader + event + "\n");
    EXPECT_NE(message.find("expected"), std::string::npos) << message;
    EXPECT_LT(message.size(), 300u);
  }
}

// Objects take fifty times the bytes of their text.
TEST(AllocatorHistoryReader, RefusesMoreValuesThanItWouldParse) {
  const std::string many = repeated("{},", (1 << 22) + 1) + "{}";
  EXPECT_NE(message_of("{\"initial_segments\":[" + many + "]}\n").find("line 1: holds more than"),
            std::string::npos);
  EXPECT_NE(message_of(kEventsHeader + "{\"action\":\"alloc\",\"x\":[" + many + "]}\n")
                .find("line 2: holds more than"),
            std::string::npos);
}

TEST(AllocatorHistoryReader, TakesNothingElseForAHeader) {
  const std::pair<std::string, std::string> cases[] = {
      {"{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\"}]}", "JSON from PyTorch's profiler"},
      {"{\"hidden_size\":16}", "a model config"},
      {"{}", "expected an allocation history"},
      {"{\n", "is JSON, but not on one line"},
      {"{\"settings\":{},\"initial_segment\":[]}", "initial_segment: is not a key"},
  };
  for (const auto& [text, words] : cases) {
    EXPECT_NE(message_of(text).find(words), std::string::npos) << message_of(text);
  }
  EXPECT_EQ(message_of("{\"initial_segments\":[]}"), "");
  EXPECT_EQ(message_of("{\"device\":3,\"settings\":{}}\n"), "");
}

TEST(AllocatorHistoryReader, ReadsTextAsItReadsFiles) {
  const tests::TemporaryFolder folder;
  const std::string file = folder.path("history.jsonl");
  const std::string header = "{\"settings\":{}}",
                    event = "{\"action\":\"alloc\",\"addr\":1,\"size\":1,\"stream\":0}";
  std::string many = header + "\n";
  for (int i = 0; i < 5000; ++i) many += event + "\n";
  for (const std::string& text : {header, header + "\n" + event, many, header + "\n\n",
                                  header + std::string("\0\n", 2), std::string()}) {
    std::ofstream(file, std::ios::binary) << text;
    const auto read = read_allocator_history(file), parsed = parse_allocator_history(text, file);
    ASSERT_EQ(read.has_value(), parsed.has_value()) << text;
    if (!read) {
      EXPECT_EQ(read.error().text(), parsed.error().text());
      continue;
    }
    EXPECT_EQ(read->events.size(), parsed->events.size());
  }
  EXPECT_EQ(parse_allocator_history(many, file)->events.size(), 5000u);
}

// torch.cuda.set_per_process_memory_fraction refuses requests while the device has memory left.
TEST(AllocatorHistoryReader, CapacityOfALimitedProcessIsItsLimit) {
  const std::string header = "{\"settings\":{}}\n";
  const std::string segment = R"({"action":"segment_alloc","addr":4096,"size":41943040,"stream":0})"
                              "\n";
  const auto capacity = [&](const std::string& oom) {
    return parse_allocator_history(header + segment + oom + "\n", "list")->capacity;
  };
  EXPECT_EQ(capacity(R"({"action":"oom","addr":0,"size":33554432,"stream":0,)"
                     R"("device_free":1099511627776})"),
            41943040 + 33554432 - 1);
  EXPECT_EQ(capacity(R"({"action":"oom","addr":0,"size":33554432,"stream":0,"device_free":512})"),
            41943040 + 512);
}

}  // namespace
}  // namespace foreshard::traces
