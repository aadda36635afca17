#include "simulator/network/collective_terms.hpp"

#include <optional>

#include "models/base/csv.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::string_view kLibrary = "NCCL";
constexpr double kMebibyte = 1024 * 1024;

struct Term {
  std::string_view column;
  double LinkTerms::*field;
};

constexpr Term kTerms[] = {{"efficiency", &LinkTerms::efficiency},
                           {"startup_us", &LinkTerms::startup_us},
                           {"hop_us", &LinkTerms::hop_us},
                           {"pipeline_us", &LinkTerms::pipeline_us},
                           {"least_ranks", &LinkTerms::least_ranks}};

Result<double> term(const CsvTable& table, const CsvRow& row, std::string_view column,
                    const std::string& file) {
  const std::string_view field = table.at(row, column);
  const std::optional<double> value = csv_number(field);
  if (value && *value >= 0) return *value;
  return fail(file + ":" + std::to_string(row.line), std::string(column),
              "is \"" + std::string(field) + "\"; expected a number of 0 or more");
}

}  // namespace

std::string_view CollectiveTerms::name_of(std::string_view technology,
                                          std::string_view otherwise) const {
  std::string_view longest;
  for (const auto& [name, terms] : technologies) {
    if (technology.starts_with(name) && name.size() > longest.size()) longest = name;
  }
  return longest.empty() ? otherwise : longest;
}

const LinkTerms& CollectiveTerms::of(std::string_view technology,
                                     std::string_view otherwise) const {
  return technologies.find(name_of(technology, otherwise))->second;
}

Result<CollectiveTerms> parse_collective_terms(std::string_view csv, const std::string& file) {
  const Result<CsvTable> table = parse_csv(csv, file);
  if (!table) return tl::unexpected(table.error());
  CollectiveTerms all;
  for (const CsvRow& row : table->rows) {
    const std::string_view name = table->at(row, "technology");
    if (name == kLibrary) {
      const auto launch = term(*table, row, "startup_us", file);
      const auto filling = term(*table, row, "filling_mib", file);
      if (!launch) return tl::unexpected(launch.error());
      if (!filling) return tl::unexpected(filling.error());
      all.launch_us = *launch;
      all.filling_bytes = *filling * kMebibyte;
      continue;
    }
    LinkTerms& terms = all.technologies[std::string(name)];
    for (const Term& read : kTerms) {
      const auto value = term(*table, row, read.column, file);
      if (!value) return tl::unexpected(value.error());
      terms.*read.field = *value;
    }
    if (terms.efficiency <= 0 || terms.efficiency > 1) {
      return fail(file + ":" + std::to_string(row.line), "efficiency",
                  "is outside of (0, 1]; expected a share of the data sheet's bandwidth");
    }
  }
  return all;
}

const CollectiveTerms& bundled_collective_terms() {
  static const CollectiveTerms terms =
      parse_collective_terms(collectives_csv(), "collectives.csv").value();
  return terms;
}

}  // namespace foreshard::simulator
