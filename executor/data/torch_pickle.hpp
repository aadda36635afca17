// Writes Python pickles of protocol 2, all that torch.load reads without trusting a file: plain values, and
// objects as calls of what Python imports by name.
//
//   TorchPickle pickle;
//   pickle.global("torch", "Size"), pickle.mark(), pickle.integer(2), pickle.tuple();
//   pickle.tuple(1), pickle.call();            // torch.Size((2,))
//   pickle.finish();
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace foreshard::executor {

class TorchPickle {
 public:
  TorchPickle();

  void none() { opcode('N'); }
  void boolean(bool value) { opcode(value ? '\x88' : '\x89'); }
  void integer(std::int64_t value);
  void real(double value);
  void text(std::string_view value);
  void global(std::string_view module, std::string_view name);

  // Everything since the mark becomes a tuple; or the last one to three values do.
  void mark() { opcode('('); }
  void tuple() { opcode('t'); }
  void tuple(int count);
  void empty_tuple() { opcode(')'); }
  void empty_list() { opcode(']'); }
  void empty_dict() { opcode('}'); }
  // Everything since the mark goes into the list or dict below it.
  void append() { opcode('e'); }
  void set_items() { opcode('u'); }

  void call() { opcode('R'); }           // the callable and the tuple above it
  void new_object() { opcode('\x81'); }  // likewise, without the call of __init__
  void set_state() { opcode('b'); }      // of the object below
  void refer() { opcode('Q'); }          // to what the value above says: a tensor's storage
  void sizes(std::span<const std::int64_t> values);  // a tuple

  // The pickle of the one value.
  std::string finish();

 private:
  void opcode(char code) { bytes_ += code; }
  void little_endian(std::uint64_t value, int bytes);
  // Whether the value was written before, and now again; else it is to be, and remembered.
  bool recall(const std::string& key);
  void remember(const std::string& key);

  std::string bytes_;
  std::unordered_map<std::string, std::uint32_t> memo_;
};

}  // namespace foreshard::executor
