// The completion script is written by hand; this keeps its lists of models and machines whole.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "models/llama_config.hpp"

namespace foreshard {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream stream(std::string(FORESHARD_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The words of `name="..."` in the script.
std::string words_of(const std::string& script, const std::string& name) {
  const auto begin = script.find(name + "=\"");
  if (begin == std::string::npos) return "";
  std::istringstream words(
      script.substr(begin + name.size() + 2,
                    script.find('"', begin + name.size() + 2) - begin - name.size() - 2));
  std::string spaced = " ";
  for (std::string word; words >> word;) spaced += word + " ";
  return spaced;
}

TEST(Completion, OffersEveryBundledModel) {
  const std::string models = words_of(text_of("scripts/completion/foreshard.bash"), "models");
  for (const auto& model : bundled_models()) {
    EXPECT_NE(models.find(" " + model + " "), std::string::npos) << model;
  }
}

TEST(Completion, OffersEveryMachineOfTheCatalogue) {
  const std::string machines = words_of(text_of("scripts/completion/foreshard.bash"), "machines");
  std::istringstream catalogue(text_of("models/catalogue/hardware.csv"));
  std::string row;
  std::getline(catalogue, row);
  int rows = 0;
  for (; std::getline(catalogue, row); ++rows) {
    const std::string machine = row.substr(0, row.find(','));
    EXPECT_NE(machines.find(" " + machine + " "), std::string::npos) << machine;
  }
  EXPECT_GT(rows, 10);
}

}  // namespace
}  // namespace foreshard
