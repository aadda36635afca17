#include "traces/kineto/categories.hpp"

#include <array>

#include "traces/annotations.hpp"

namespace foreshard::traces::kineto {
namespace {

struct CategoryName {
  std::string_view text;
  Category category;
};

// By how often they occur. The capitalised ones are of 2021.
constexpr std::array kCategories{CategoryName{"cpu_op", Category::host},
                                 CategoryName{"kernel", Category::kernel},
                                 CategoryName{"cuda_runtime", Category::runtime},
                                 CategoryName{"python_function", Category::stack},
                                 CategoryName{"user_annotation", Category::annotation},
                                 CategoryName{"gpu_memcpy", Category::copy},
                                 CategoryName{"gpu_memset", Category::copy},
                                 CategoryName{"cuda_driver", Category::runtime},
                                 CategoryName{"cuda_sync", Category::sync},
                                 CategoryName{"cuda_event", Category::device_range},
                                 CategoryName{"gpu_user_annotation", Category::device_range},
                                 CategoryName{"cuda_profiler_range", Category::device_range},
                                 CategoryName{"overhead", Category::overhead},
                                 CategoryName{"Operator", Category::host},
                                 CategoryName{"Kernel", Category::kernel},
                                 CategoryName{"Runtime", Category::runtime},
                                 CategoryName{"Memcpy", Category::copy},
                                 CategoryName{"Memset", Category::copy},
                                 CategoryName{"concurrent_kernel", Category::kernel},
                                 CategoryName{"Trace", Category::profiler}};

}  // namespace

Category category_of(std::string_view text) {
  for (const CategoryName& known : kCategories) {
    if (known.text == text) return known.category;
  }
  if (text.ends_with("_runtime") || text.ends_with("_driver")) return Category::runtime;
  return Category::unknown;
}

bool is_on_device(Category category) {
  return category == Category::kernel || category == Category::copy ||
         category == Category::device_range || category == Category::sync;
}

EventKind kind_of(Category category, std::string_view name) {
  switch (category) {
    case Category::host:
      return name.starts_with("ProfilerStep#") ? EventKind::range : EventKind::host;
    case Category::runtime:
      return is_blocking_call(name) ? EventKind::host_wait : EventKind::runtime;
    case Category::stack: return EventKind::stack;
    case Category::kernel:
      if (name.starts_with("Memcpy") || name.starts_with("Memset")) return EventKind::memory;
      return is_collective_kernel(name) ? EventKind::communication : EventKind::compute;
    case Category::copy: return EventKind::memory;
    case Category::sync: return name == "Stream Wait Event" ? EventKind::wait : EventKind::range;
    default: return EventKind::range;
  }
}

}  // namespace foreshard::traces::kineto
