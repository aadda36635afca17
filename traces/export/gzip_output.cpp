#include "traces/export/gzip_output.hpp"

#include <array>
#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>

#include <zlib.h>

#include "models/base/assertion.hpp"

namespace foreshard::traces {
namespace {

// The same bytes for the same text: the header holds neither time nor name.
void write_gzip(std::string_view text, std::ostream& out) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's header
  z_stream stream{};
  FORESHARD_ASSERT(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                                Z_DEFAULT_STRATEGY) == Z_OK,
                   "zlib has no memory");
  std::array<char, 1 << 16> packed;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::string_view part = text.substr(0, std::size_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
      stream.avail_in = static_cast<uInt>(part.size());
      text.remove_prefix(part.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.write(packed.data(), static_cast<std::streamsize>(packed.size() - stream.avail_out));
  }
  deflateEnd(&stream);
}

}  // namespace

Producer packed_as_named(const std::string& path, Producer produce) {
  if (!path.ends_with(".gz")) return produce;
  return [produce = std::move(produce)](std::ostream& out) {
    std::ostringstream text;
    produce(text);
    write_gzip(text.view(), out);
  };
}

}  // namespace foreshard::traces
