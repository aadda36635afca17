// From JSON text to events: a run of whole event objects at full speed, or one object that may need
// mending. Only for the sources of this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "traces/kineto/json/raw_event.hpp"

namespace foreshard::traces::kineto {

// Bytes that must be readable, whatever they hold, behind all text given to a parser.
constexpr std::size_t kPadding = simdjson::SIMDJSON_PADDING;

class EventParser {
 public:
  using Use = std::function<void(const RawEvent&)>;

  // Where the last event that was looked at begins, 0 where there is none.
  struct Progress {
    std::size_t last = 0;
    bool is_used = false;  // otherwise it is damaged, and what follows has not been looked at
  };

  // `array` is "[{...},{...}]". Uses its events in order up to the first that is damaged.
  Progress parse_array(std::string_view array, const Use& use);

  // `object` is "{...}". Control characters and broken UTF-8 in its text are replaced where nothing
  // else is wrong, and counted. False where it is damaged.
  bool parse_object(std::string_view object, const Use& use);

  std::int64_t mended() const { return mended_; }

 private:
  bool parse_as_it_is(std::string_view object, const Use& use);
  simdjson::error_code iterate(std::string_view text, simdjson::ondemand::document& document);

  simdjson::ondemand::parser parser_;
  std::string copy_;
  std::int64_t mended_ = 0;
};

}  // namespace foreshard::traces::kineto
