// What shared libraries and programs say of themselves (ELF, `man 5 elf`), for those who load them.
#pragma once

#include <string>
#include <vector>

namespace foreshard {

// The SONAMEs that the dynamic linker looks for before it loads the file (DT_NEEDED), in the file's order;
// nothing of a file that cannot be read or is no 64-bit ELF file of this machine's byte order.
std::vector<std::string> needed_libraries(const std::string& path);

// Whether it is such a file, but for another kind of processor than this program is.
bool is_for_another_processor(const std::string& path);

}  // namespace foreshard
