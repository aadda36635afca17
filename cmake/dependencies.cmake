# Every library that the program includes. What only tests need is found in tests/; MPI, which is
# optional, where it is used.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
# Boost.Graph and Eigen are used as headers alone.
find_package(Boost REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
