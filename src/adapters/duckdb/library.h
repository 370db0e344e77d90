// SPDX-License-Identifier: Apache-2.0
// libduckdb.so, loaded when it is first needed.
//
// Linked the usual way it would cost every command of `sickbay` 15 to 25 ms at its start (50,000 relocations,
// 160 initialisers; measured with v1.4.4), and most commands never ask it anything.  duckdb.h gives the
// types; the table below holds the functions that this folder calls, each under its own name.
#pragma once
#include <duckdb.h>

#include "base/result.h"

namespace sickbay::duck {

// clang-format off
#define SB_DUCKDB_FUNCTIONS(X) \
  X(duckdb_library_version) X(duckdb_free) X(duckdb_vector_size) \
  X(duckdb_create_config) X(duckdb_set_config) X(duckdb_destroy_config) \
  X(duckdb_open_ext) X(duckdb_close) X(duckdb_connect) X(duckdb_disconnect) X(duckdb_interrupt) \
  X(duckdb_extract_statements) X(duckdb_extract_statements_error) X(duckdb_prepare_extracted_statement) \
  X(duckdb_destroy_extracted) X(duckdb_prepare_error) X(duckdb_destroy_prepare) X(duckdb_nparams) \
  X(duckdb_prepared_statement_type) \
  X(duckdb_bind_null) X(duckdb_bind_boolean) X(duckdb_bind_int64) X(duckdb_bind_double) X(duckdb_bind_varchar_length) \
  X(duckdb_execute_prepared) X(duckdb_pending_prepared_streaming) X(duckdb_pending_error) X(duckdb_execute_pending) X(duckdb_destroy_pending) \
  X(duckdb_result_error) X(duckdb_result_error_type) X(duckdb_result_return_type) X(duckdb_destroy_result) \
  X(duckdb_column_count) X(duckdb_column_name) X(duckdb_column_logical_type) X(duckdb_fetch_chunk) \
  X(duckdb_data_chunk_get_size) X(duckdb_data_chunk_set_size) X(duckdb_data_chunk_get_vector) \
  X(duckdb_destroy_data_chunk) \
  X(duckdb_vector_get_data) X(duckdb_vector_get_validity) X(duckdb_vector_ensure_validity_writable) \
  X(duckdb_vector_assign_string_element_len) X(duckdb_list_vector_get_child) X(duckdb_struct_vector_get_child) \
  X(duckdb_array_vector_get_child) \
  X(duckdb_create_logical_type) X(duckdb_destroy_logical_type) X(duckdb_get_type_id) X(duckdb_decimal_scale) \
  X(duckdb_decimal_internal_type) X(duckdb_enum_internal_type) X(duckdb_enum_dictionary_size) X(duckdb_enum_dictionary_value) \
  X(duckdb_list_type_child_type) X(duckdb_array_type_child_type) X(duckdb_array_type_array_size) \
  X(duckdb_struct_type_child_count) X(duckdb_struct_type_child_name) X(duckdb_struct_type_child_type) \
  X(duckdb_map_type_key_type) X(duckdb_map_type_value_type) \
  X(duckdb_hugeint_to_double) X(duckdb_uhugeint_to_double) \
  X(duckdb_create_table_function) X(duckdb_destroy_table_function) X(duckdb_table_function_set_name) \
  X(duckdb_table_function_set_extra_info) X(duckdb_table_function_set_bind) X(duckdb_table_function_set_init) \
  X(duckdb_table_function_set_local_init) X(duckdb_table_function_set_function) X(duckdb_register_table_function) \
  X(duckdb_bind_get_extra_info) X(duckdb_bind_add_result_column) \
  X(duckdb_init_get_extra_info) X(duckdb_init_set_init_data) X(duckdb_init_set_max_threads) \
  X(duckdb_init_set_error) X(duckdb_function_get_extra_info) X(duckdb_function_get_local_init_data) \
  X(duckdb_function_set_error)
// clang-format on

struct Library {
#define X(function) decltype(&::function) function = nullptr;
  SB_DUCKDB_FUNCTIONS(X)
#undef X
};

/// Loads the library where that was not done.  Errors: missing_program.  For any thread.
Status load_library();

/// The functions.  load_library() must have gone well, which it has wherever a Database exists.
extern Library lib;

}  // namespace sickbay::duck
