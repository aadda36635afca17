// How long the device did what in a recording:
//   traces RECORDING
#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include <foreshard/traces.hpp>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: traces RECORDING\n";
    return 2;
  }
  const auto trace = foreshard::api::Trace::open(argv[1]);
  if (!trace) {
    std::cerr << trace.error().text() << '\n';
    return 2;
  }
  std::map<std::string, std::int64_t> nanoseconds;
  trace->for_each_event([&nanoseconds](const foreshard::api::Event& event) {
    if (event.on_device) nanoseconds[std::string(event.kind)] += event.end_ns - event.start_ns;
  });
  for (const auto& [kind, time] : nanoseconds) std::cout << kind << ' ' << time << '\n';

  const auto table = trace->query(
      "SELECT name, sum(duration) FROM EVENTS WHERE device GROUP BY name ORDER BY 2 DESC LIMIT 1");
  if (!table) {
    std::cerr << table.error().text() << '\n';
    return 2;
  }
  for (const auto& row : table->rows) {
    std::cout << "longest " << std::get<std::int64_t>(row[1]) << ' '
              << std::get<std::string>(row[0]) << '\n';
  }
}
