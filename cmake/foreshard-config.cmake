# find_package(foreshard): foreshard::allocator, foreshard::traces, foreshard::predict. What these libraries
# link is found first.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(simdjson)
find_dependency(SQLite3)
find_dependency(yaml-cpp)
find_dependency(ZLIB)
include(${CMAKE_CURRENT_LIST_DIR}/foreshard-targets.cmake)
