// Output that is compressed where the name of its file ends in .gz.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace foreshard::traces {

using Producer = std::function<void(std::ostream& out)>;

// `produce` for a file of this name: as it is, or as gzip.
Producer packed_as_named(const std::string& path, Producer produce);

}  // namespace foreshard::traces
