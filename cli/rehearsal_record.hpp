// What the hooks of a rehearsal leave behind. A process wrote it that may have been killed at any moment,
// and that ran a script which may write anything: every field is looked at before it is used.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "models/base/error.hpp"

namespace foreshard::cli {

// The record of at most `most_steps` steps, whose fields, if the hooks refused nothing, are there and of
// their kinds, so that .at() and .get<>() of them succeed. An error is the hooks' refusal in their own
// words, or names `program` and the field that is not as it should be.
Result<nlohmann::json> parse_rehearsal_record(std::string_view text, int most_steps,
                                              const std::string& program);
// The same of a file.
Result<nlohmann::json> read_rehearsal_record(const std::string& path, int most_steps,
                                             const std::string& program);

}  // namespace foreshard::cli
