# Writes the queries of queries/*.sql into FORESHARD_QUERIES_SOURCE, a source file with their text.
set(FORESHARD_QUERIES "")
foreach(name collective_sizes collective_waits cost_sources dropped_records exposed_collectives
             exposed_communication idle_gaps lane_times late_ranks launch_queue launches_without_work memory_owners memory_peak
             operators out_of_memory run_metadata step_counters step_operators step_times)
  set(path ${CMAKE_CURRENT_LIST_DIR}/queries/${name}.sql)
  file(READ ${path} sql)
  string(FIND "${sql}" "\n" end)
  math(EXPR length "${end} - 3")
  math(EXPR begin "${end} + 1")
  string(SUBSTRING "${sql}" 3 ${length} summary)
  string(SUBSTRING "${sql}" ${begin} -1 sql)
  string(APPEND FORESHARD_QUERIES "      {\"${name}\", R\"sql(${summary})sql\", R\"sql(${sql})sql\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
endforeach()
set(FORESHARD_QUERIES_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/builtin_queries.cpp)
configure_file(${CMAKE_CURRENT_LIST_DIR}/builtin_queries.cpp.in ${FORESHARD_QUERIES_SOURCE} @ONLY)
