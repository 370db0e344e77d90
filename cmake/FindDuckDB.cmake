# SPDX-License-Identifier: Apache-2.0
# DuckDB: the system's (DuckDB_ROOT, or where CMake looks), else what tools/setup put under third_party/, for
# Debian 12 has no package of it.  DuckDB::headers is for who loads the library when it is needed, as Sickbay does;
# DuckDB::duckdb links it.  DuckDB_IS_OURS: the library must be installed with the programs.
find_path(DuckDB_INCLUDE_DIR duckdb.h)
find_library(DuckDB_LIBRARY duckdb)
set(DuckDB_IS_OURS FALSE)
if(NOT DuckDB_INCLUDE_DIR OR NOT DuckDB_LIBRARY)
  # Both from one place: a header that does not fit its library is worse than none.
  unset(DuckDB_INCLUDE_DIR CACHE)
  unset(DuckDB_LIBRARY CACHE)
  set(ours ${PROJECT_SOURCE_DIR}/third_party/duckdb)
  find_path(DuckDB_INCLUDE_DIR duckdb.h PATHS ${ours} NO_DEFAULT_PATH)
  find_library(DuckDB_LIBRARY duckdb PATHS ${ours} NO_DEFAULT_PATH)
endif()
if(DuckDB_LIBRARY MATCHES "^${PROJECT_SOURCE_DIR}/third_party/")
  set(DuckDB_IS_OURS TRUE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DuckDB REQUIRED_VARS DuckDB_LIBRARY DuckDB_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run tools/setup, which brings it, or name its place with -DDuckDB_ROOT=")
mark_as_advanced(DuckDB_INCLUDE_DIR DuckDB_LIBRARY)

if(DuckDB_FOUND AND NOT TARGET DuckDB::duckdb)
  add_library(DuckDB::headers INTERFACE IMPORTED)
  target_include_directories(DuckDB::headers INTERFACE ${DuckDB_INCLUDE_DIR})
  add_library(DuckDB::duckdb SHARED IMPORTED)
  set_target_properties(DuckDB::duckdb PROPERTIES IMPORTED_LOCATION ${DuckDB_LIBRARY})
  target_link_libraries(DuckDB::duckdb INTERFACE DuckDB::headers)
endif()
