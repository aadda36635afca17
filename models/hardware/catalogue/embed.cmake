# Writes the catalogue's CSV files into FORESHARD_CATALOGUE_SOURCE, a source file with their text.
foreach(table hardware instances prices interconnect collectives generations kernel_rates
        memory_kernels host_times host_ranges hosts host_links step_errors)
  string(TOUPPER FORESHARD_${table}_CSV variable)
  set(path ${CMAKE_CURRENT_LIST_DIR}/${table}.csv)
  file(READ ${path} ${variable})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
endforeach()
set(FORESHARD_CATALOGUE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/catalogue_text.cpp)
configure_file(${CMAKE_CURRENT_LIST_DIR}/catalogue_text.cpp.in ${FORESHARD_CATALOGUE_SOURCE} @ONLY)
