#include "cli/rehearsal_record.hpp"

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "models/base/input_file.hpp"
#include "models/base/json_limits.hpp"
#include "models/base/units.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::json;

constexpr int kDeepestRecord = 8;
constexpr Bytes kLargestRecord = 64 * kMiB;
// Of what is counted, bytes among it, and of kinds of collectives in a step: their sums are integers too.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;
constexpr std::size_t kMostCollectives = 4096;
constexpr std::int64_t kMostRanksOfRecord = 100'000;

constexpr const char* kExpectedRecord = "; expected what the hooks of a rehearsal write";

enum class Kind { text, text_or_null, count, rank, truth, answer };

struct Field {
  const char* name;
  Kind kind;
};

constexpr Field kStep[] = {
    {"step", Kind::count},
    {"peak_active_bytes", Kind::count},
    {"peak_allocated_bytes", Kind::count},
    {"peak_reserved_bytes", Kind::count},
    {"launches", Kind::count},
    {"matrix_products", Kind::count},
    {"cudnn_executions", Kind::count},
    {"cudnn_workspace_bytes", Kind::count},
    {"copies", Kind::count},
    {"host_reads", Kind::count},
    {"host_waits", Kind::count},
};
constexpr Field kCollective[] = {
    {"kind", Kind::text}, {"ranks", Kind::count}, {"count", Kind::count}, {"bytes", Kind::count}};
constexpr Field kAllocation[] = {
    {"step", Kind::count},
    {"rank", Kind::count},
    {"operator", Kind::text_or_null},
    {"module", Kind::text_or_null},
    {"where", Kind::text},
    {"requested_bytes", Kind::count},
    {"allocated_bytes", Kind::count},
    {"reserved_bytes", Kind::count},
};
constexpr Field kInvented[] = {
    {"what", Kind::text}, {"where", Kind::text}, {"count", Kind::count}, {"answer", Kind::answer}};
constexpr Field kRecord[] = {{"torch", Kind::text_or_null},
                             {"ranks", Kind::rank},
                             {"ended_because", Kind::text_or_null},
                             {"captured", Kind::truth},
                             {"has_ended", Kind::truth}};

bool is_count(const json& value) {
  return value.is_number_integer() && value >= 0 && value <= kMostCounted;
}

bool is_of_kind(const json& value, Kind kind) {
  switch (kind) {
    case Kind::text: return value.is_string();
    case Kind::text_or_null: return value.is_string() || value.is_null();
    case Kind::count: return is_count(value);
    case Kind::rank: return is_count(value) && value >= 1 && value <= kMostRanksOfRecord;
    case Kind::truth: return value.is_boolean();
    case Kind::answer: return value.is_number() || value.is_boolean() || value.is_null();
  }
  return false;
}

// The functions below name the first field that is not as it should be; "" where there is none.

template <std::size_t count>
std::string wrong_field(const json& row, const Field (&fields)[count], const std::string& place) {
  if (!row.is_object()) return place.empty() ? "the whole" : place;
  for (const Field& field : fields) {
    const auto value = row.find(field.name);
    if (value == row.end() || !is_of_kind(*value, field.kind)) {
      return place + (place.empty() ? "" : ".") + field.name;
    }
  }
  return "";
}

// Of an array, with what is asked of each element.
template <typename Check>
std::string wrong_element(const json& owner, const char* name, const std::string& place,
                          const Check& wrong_in) {
  const std::string path = place + name;
  const auto list = owner.find(name);
  if (list == owner.end() || !list->is_array()) return path;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string wrong = wrong_in((*list)[i], path + "[" + std::to_string(i) + "]");
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// Steps are numbered from 1 and none is missing; what is allocated is active, and what is active lies in
// reserved memory.
std::string wrong_step(const json& step, const std::string& place, int number) {
  if (std::string wrong = wrong_field(step, kStep, place); !wrong.empty()) return wrong;
  if (step["step"] != number) return place + ".step";
  if (step["peak_allocated_bytes"] > step["peak_active_bytes"]) return place + ".peak_active_bytes";
  if (step["peak_active_bytes"] > step["peak_reserved_bytes"]) {
    return place + ".peak_reserved_bytes";
  }
  if (const auto kinds = step.find("collectives");
      kinds != step.end() && kinds->size() > kMostCollectives) {
    return place + ".collectives";
  }
  return wrong_element(step, "collectives", place + ".",
                       [](const json& collective, const std::string& where) {
                         return wrong_field(collective, kCollective, where);
                       });
}

std::string wrong_steps(const json& record, int most_steps) {
  int number = 0;
  return wrong_element(record, "steps", "", [&](const json& step, const std::string& place) {
    return ++number > most_steps ? place : wrong_step(step, place, number);
  });
}

std::string wrong_packages(const json& record) {
  const auto packages = record.find("packages");
  if (packages == record.end() || !packages->is_object()) return "packages";
  for (const auto& [name, version] : packages->items()) {
    if (!version.is_string()) return "packages." + name;
  }
  return "";
}

std::string wrong_allocation(const json& record, const char* name) {
  const auto allocation = record.find(name);
  if (allocation == record.end()) return name;
  return allocation->is_null() ? "" : wrong_field(*allocation, kAllocation, name);
}

std::string wrong_ranks(const json& record, const char* name) {
  return wrong_element(record, name, "", [&](const json& rank, const std::string& place) {
    return is_count(rank) && rank < record["ranks"] ? "" : place;
  });
}

std::string wrong_in(const json& record, int most_steps) {
  // What follows reads these fields.
  if (std::string wrong = wrong_field(record, kRecord, ""); !wrong.empty()) return wrong;
  for (const std::string& wrong :
       {wrong_packages(record), wrong_steps(record, most_steps), wrong_allocation(record, "oom"),
        wrong_allocation(record, "refused_allocation"),
        wrong_element(record, "invented", "",
                      [](const json&row, const std::string&place) {
                        return wrong_field(row, kInvented, place);
                      }),
        wrong_ranks(record, "representatives"), wrong_ranks(record, "pipeline"),
        wrong_element(record, "notes", "", [](const json&note, const std::string&place) {
          return note.is_string() ? "" : place;
        })}) {
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

Result<json> parse_rehearsal_record(std::string_view text, int most_steps,
                                    const std::string& program) {
  if (const std::string excess = json_excess(text, kDeepestRecord); !excess.empty()) {
    return fail("", program, "left a record that " + excess + kExpectedRecord);
  }
  json record = json::parse(text, nullptr, false);
  if (!record.is_object()) {
    return fail("", program,
                std::string("left a record that is not a JSON object") + kExpectedRecord);
  }
  if (const auto refused = record.find("refused"); refused != record.end()) {
    if (refused->is_string()) return fail("", "", refused->get<std::string>());
    return fail("", program,
                std::string("left a record of which `refused` is wrong") + kExpectedRecord);
  }
  if (const std::string wrong = wrong_in(record, most_steps); !wrong.empty()) {
    return fail("", program, "left a record of which `" + wrong + "` is wrong" + kExpectedRecord);
  }
  return record;
}

Result<json> read_rehearsal_record(const std::string& path, int most_steps,
                                   const std::string& program) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail("", program,
                "ran no Python that loads sitecustomize; expected a Python interpreter and a "
                "script, without -S, -E and -I");
  }
  auto file = InputFile::open_regular(path, "the record of a rehearsal");
  if (!file) return tl::unexpected(file.error());
  std::string text;
  char block[1 << 16];
  while (const std::size_t size = file->read(block, sizeof block)) {
    text.append(block, size);
    if (static_cast<std::int64_t>(text.size()) > kLargestRecord.count) {
      return fail("", program,
                  "left a record larger than " + std::to_string(kLargestRecord.count / kMiB.count) +
                      " MiB" + kExpectedRecord);
    }
  }
  return parse_rehearsal_record(text, most_steps, program);
}

}  // namespace foreshard::cli
