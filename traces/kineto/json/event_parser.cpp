#include "traces/kineto/json/event_parser.hpp"

#include <bit>
#include <charconv>
#include <cstring>

namespace foreshard::traces::kineto {
namespace {

namespace ondemand = simdjson::ondemand;

template <std::size_t N>
bool is(const char* key, const char (&word)[N]) {
  return std::memcmp(key, word, N - 1) == 0 && key[N - 1] == '"';
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

// Text of a string or of any other scalar. A string without escapes needs no copy.
std::string_view text(ondemand::value value) {
  std::string_view token = trimmed(value.raw_json_token());
  if (token.empty() || token.front() != '"') return token;
  token.remove_prefix(1);
  if (!token.empty() && token.back() == '"' &&
      std::memchr(token.data(), '\\', token.size()) == nullptr) {
    token.remove_suffix(1);
    return token;
  }
  std::string_view unescaped;
  return value.get_string().get(unescaped) == simdjson::SUCCESS ? unescaped : std::string_view();
}

std::int64_t integer(ondemand::value value) {
  std::string_view token = trimmed(value.raw_json_token());
  if (token.size() >= 2 && token.front() == '"') token = token.substr(1, token.size() - 2);
  std::int64_t number = RawEvent::kAbsent;
  const char* end = token.data() + token.size();
  if (std::from_chars(token.data(), end, number).ec == std::errc()) return number;
  std::uint64_t large = 0;
  if (std::from_chars(token.data(), end, large).ec == std::errc()) {
    return static_cast<std::int64_t>(large);
  }
  return RawEvent::kAbsent;
}

bool is_container(ondemand::value value) {
  const std::string_view token = value.raw_json_token();
  return !token.empty() && (token.front() == '[' || token.front() == '{');
}

simdjson::error_code read_raw(ondemand::value value, std::string_view& out) {
  ondemand::array array;
  if (const auto error = value.get_array().get(array)) return error;
  return array.raw_json().get(out);
}

// Unused values are left to the iterator, which skips them.
simdjson::error_code read_argument(const char* key, ondemand::value value, RawEvent& event) {
  switch (key[0]) {
    case 'I':
      if (is(key, "Input Dims") || is(key, "Input dims")) {
        if (is_container(value)) return read_raw(value, event.input_dims);
      } else if (is(key, "Input type")) {
        if (is_container(value)) return read_raw(value, event.input_types);
      } else if (is(key, "Input Strides")) {
        if (is_container(value)) return read_raw(value, event.input_strides);
      } else if (is(key, "In msg nelems")) {
        event.in_elements = integer(value);
      }
      break;
    case 'E':
    case 'e':
      if (is(key + 1, "xternal id")) event.external_id = integer(value);
      break;
    case 'c':
      if (is(key, "correlation")) event.correlation = integer(value);
      break;
    case 'P':
      if (is(key, "Process Group Name")) event.group_name = text(value);
      if (is(key, "Process Group Ranks")) event.group_ranks = text(value);
      break;
    case 'S':
      if (is(key, "Seq")) event.sequence = integer(value);
      break;
    case 's':
      if (is(key, "stream")) event.stream = integer(value);
      break;
    case 'd':
      if (is(key, "device")) event.device = integer(value);
      if (is(key, "dtype")) event.element_type = text(value);
      break;
    case 'b':
      if (is(key, "bytes")) event.bytes = integer(value);
      break;
    case 'B':
      if (is(key, "Bytes")) event.bytes = integer(value);
      break;
    case 'A':
      if (is(key, "Addr")) event.address = integer(value);
      break;
    case 'T':
      if (is(key, "Total Allocated")) event.total_allocated = integer(value);
      if (is(key, "Total Reserved")) event.total_reserved = integer(value);
      break;
    case 'D':
      if (is(key, "Device Type")) event.device_type = integer(value);
      if (is(key, "Device Id")) event.device_id = integer(value);
      break;
    case 'C':
      if (is(key, "Concrete Inputs")) {
        if (is_container(value)) return read_raw(value, event.concrete_inputs);
      } else if (is(key, "Collective name")) {
        event.collective = text(value);
      }
      break;
    case 'O':
      if (is(key, "Out msg nelems")) event.out_elements = integer(value);
      break;
    case 'G':
      if (is(key, "Group size")) event.group_size = integer(value);
      break;
    case 'n':
      if (is(key, "name")) event.label = text(value);
      break;
    default: break;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_arguments(ondemand::value value, RawEvent& event) {
  ondemand::object arguments;
  if (value.raw_json_token().front() != '{') return simdjson::SUCCESS;
  if (const auto error = value.get_object().get(arguments)) return error;
  const bool may_be_counter = event.phase.empty() || event.phase == "C";
  for (auto result : arguments) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    const char* key = field.key().raw();
    if (may_be_counter) {
      std::string_view name;
      if (const auto error = field.unescaped_key().get(name)) return error;
      event.series.emplace_back(name, trimmed(field.value().raw_json_token()));
    }
    if (const auto error = read_argument(key, field.value(), event)) return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_event(ondemand::object object, RawEvent& event) {
  for (auto result : object) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    const char* key = field.key().raw();
    if (is(key, "args")) {
      if (const auto error = read_arguments(field.value(), event)) return error;
    } else if (is(key, "ph")) {
      event.phase = text(field.value());
      event.is_event = true;
    } else if (is(key, "cat")) {
      event.category = text(field.value());
    } else if (is(key, "name")) {
      event.name = text(field.value());
    } else if (is(key, "pid")) {
      event.process = text(field.value());
    } else if (is(key, "tid")) {
      event.thread = text(field.value());
    } else if (is(key, "ts")) {
      event.timestamp = text(field.value());
    } else if (is(key, "dur")) {
      event.duration = text(field.value());
    } else if (is(key, "id")) {
      event.flow = integer(field.value());
    }
  }
  return simdjson::SUCCESS;
}

}  // namespace

simdjson::error_code EventParser::iterate(std::string_view text, ondemand::document& document) {
  if (parser_.capacity() < text.size()) {
    if (const auto error = parser_.allocate(std::bit_ceil(text.size()))) return error;
  }
  return parser_.iterate(simdjson::padded_string_view(text, text.size() + kPadding)).get(document);
}

EventParser::Progress EventParser::parse_array(std::string_view array, const Use& use) {
  ondemand::document document;
  ondemand::array events;
  if (iterate(array, document) || document.get_array().get(events)) return {};
  Progress progress;
  for (auto result : events) {
    ondemand::value value;
    if (std::move(result).get(value)) break;
    const std::string_view token = value.raw_json_token();
    progress = {static_cast<std::size_t>(token.data() - array.data()), false};
    ondemand::object object;
    RawEvent event;
    if (value.get_object().get(object) || read_event(object, event)) break;
    use(event);
    progress.is_used = true;
  }
  return progress;
}

bool EventParser::parse_as_it_is(std::string_view object, const Use& use) {
  ondemand::document document;
  ondemand::object root;
  RawEvent event;
  if (iterate(object, document) || document.get_object().get(root) || read_event(root, event)) {
    return false;
  }
  use(event);
  return true;
}

bool EventParser::parse_object(std::string_view object, const Use& use) {
  if (parse_as_it_is(object, use)) return true;
  const bool is_utf8 = simdjson::validate_utf8(object.data(), object.size());
  bool is_mended = !is_utf8;
  copy_.assign(object);
  for (char& c : copy_) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ') {
      is_mended = true;
      c = ' ';
    } else if (byte >= 0x80 && !is_utf8) {
      c = '?';
    }
  }
  if (!is_mended) return false;
  copy_.reserve(copy_.size() + kPadding);
  if (!parse_as_it_is(copy_, use)) return false;
  ++mended_;
  return true;
}

}  // namespace foreshard::traces::kineto
