// Writes plain data as a Python pickle of protocol 4, with the opcodes that Python's own pickles of such
// data have, which are all that PyTorch's memory_viz page reads.
//
//   PickleWriter pickle(out);
//   pickle.begin_dict();
//   pickle.text("size"), pickle.integer(512);
//   pickle.end_dict();
//   pickle.finish();
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <unordered_map>

namespace foreshard::traces {

class PickleWriter {
 public:
  explicit PickleWriter(std::ostream& out);

  void none();
  void boolean(bool value);
  void integer(std::int64_t value);
  void real(double value);
  void text(std::string_view value);  // equal texts are one object
  void pair(std::int64_t first, std::int64_t second);
  // What is written in between are the values of a list; keys and values, in turn, of a dict.
  void begin_list();
  void end_list();
  void begin_dict();
  void end_dict();
  // The value before, to be written again as the same object.
  using MemoId = std::uint32_t;
  MemoId remember();
  void recall(MemoId id);

  // After the one value that the pickle holds.
  void finish();

 private:
  void opcode(unsigned char code);
  void little_endian(std::uint64_t value, int bytes);

  std::ostream& out_;
  MemoId remembered_ = 0;
  std::unordered_map<std::string, MemoId> texts_;
};

}  // namespace foreshard::traces
