// A question as JSON, the object "question" of every result (docs/json.md): written into results and traces,
// and read back from them, so that the same question can be asked again when its files are gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/question/asked.hpp"

namespace foreshard {

// One line, in the order of docs/json.md.
std::string question_json(const Question& question);

// A recording that holds neither model nor plan: every key, and null for all but the ranks.
std::string unknown_question_json(int ranks);

// Several questions in one object, each one of those above: a key in which they differ has a list of its
// values. An empty text of none.
std::string merged_question_json(const std::vector<std::string>& questions);

// What runs, as such an object says it; nothing where it is not known, or there are several.
std::optional<OperatorSetName> operators_in(std::string_view question);

// `json` is such an object, or a result that holds one as "question". `file` is used in messages only.
// Errors name the key, what is wrong and what is expected.
Result<Asked> parse_question(std::string_view json, const std::string& file);

}  // namespace foreshard
