#include "executor/data/checkpoint_series.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "executor/data/replace_folder.hpp"
#include "models/base/atomic_file.hpp"

namespace foreshard::executor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".foreshard-";
constexpr const char* kRemoving = ".foreshard-removing";

// Of "step-<n>"; -1: it is called otherwise.
std::int64_t step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  constexpr std::size_t kMostDigits = 18;
  const bool is_number = !name.empty() && name.size() <= kMostDigits &&
                         name.find_first_not_of("0123456789") == name.npos;
  return is_number ? std::stoll(std::string(name)) : -1;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

bool belongs_to_series(const std::string& name) {
  return name.starts_with("latest") ||
         step_of(std::string_view(name).substr(0, name.find(kUnfinished))) >= 0;
}

Result<void> point_latest_at(const std::string& folder, std::int64_t step) {
  const std::string link = folder + "/latest", made = link + std::string(kUnfinished) + "writing";
  std::error_code error;
  fs::remove(made, error);
  fs::create_symlink(fs::path(step_path(folder, step)).filename(), made, error);
  if (!error) fs::rename(made, link, error);
  if (error) return fail(link, "", "cannot be written: " + error.message());
  return {};
}

}  // namespace

std::string step_path(const std::string& folder, std::int64_t step) {
  return plain_path(folder) + "/" + std::string(kPrefix) + std::to_string(step);
}

std::vector<std::int64_t> steps_in(const std::string& folder) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(folder)) {
    if (step_of(name) >= 0) steps.push_back(step_of(name));
  }
  std::ranges::sort(steps);
  return steps;
}

Result<void> check_series_target(const std::string& given, std::int64_t step) {
  const std::string folder = plain_path(given);
  std::error_code error;
  if (!fs::exists(folder, error)) return check_checkpoint_target(folder);
  const auto names = names_in(folder);
  if (!fs::is_directory(folder, error) || !std::ranges::all_of(names, belongs_to_series)) {
    return fail(folder, "",
                "is no folder of checkpoints; expected a new name, or a folder that holds step-<n> "
                "alone");
  }
  for (const std::int64_t other : steps_in(folder)) {
    if (other > step && Checkpoint::open(step_path(folder, other))) {
      return fail(step_path(folder, other), "",
                  "is of a later step than " + std::to_string(step) +
                      ", behind which this run begins; expected another folder, or --resume");
    }
  }
  return {};
}

Result<void> begin_series(const std::string& given) {
  const std::string folder = plain_path(given);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return fail(folder, "", "cannot be created: " + error.message());
  for (const std::string& name : names_in(folder)) {
    if (name.find(kUnfinished) != name.npos) fs::remove_all(folder + "/" + name, error);
  }
  return {};
}

Result<void> advance_series(const std::string& folder, std::int64_t step, std::int64_t keep) {
  if (auto ok = point_latest_at(plain_path(folder), step); !ok) return ok;
  auto steps = steps_in(folder);
  std::erase_if(steps, [step](std::int64_t other) { return other > step; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < steps.size(); ++i) {
    const std::string path = step_path(folder, steps[i]), removed = path + kRemoving;
    std::error_code error;
    fs::rename(path, removed, error);
    if (!error) fs::remove_all(removed, error);
    if (error) return fail(path, "", "cannot be removed: " + error.message());
  }
  return {};
}

Result<FoundCheckpoint> find_checkpoint(const std::string& path) {
  FoundCheckpoint found;
  auto steps = steps_in(path);
  if (steps.empty()) {
    auto checkpoint = Checkpoint::open(path);
    if (!checkpoint) return tl::unexpected(checkpoint.error());
    found.checkpoint = std::move(*checkpoint);
    found.path = path;
    return found;
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    found.path = step_path(path, *step);
    auto checkpoint = Checkpoint::open(found.path);
    if (checkpoint) {
      found.checkpoint = std::move(*checkpoint);
      return found;
    }
    found.damaged.push_back(checkpoint.error());
  }
  return tl::unexpected(found.damaged.front());
}

}  // namespace foreshard::executor
