// SPDX-License-Identifier: Apache-2.0
// The calls that DuckDB makes for a table function.  They are C: nothing is thrown out of them.
#include "adapters/duckdb/source.h"

#include <cstddef>
#include <exception>

namespace sickbay::duck {

// What ChunkWriter assumes of a text (chunk_writer.h).
static_assert(sizeof(duckdb_string_t) == 16 && offsetof(duckdb_string_t, value.inlined.inlined) == 4 &&
              sizeof(duckdb_string_t::value.inlined.inlined) == 12);

void SourceState::fail_with(Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  failed_ = true;
}

std::optional<Error> SourceState::take_error() {
  const std::lock_guard lock(mutex_);
  failed_ = false;
  return std::exchange(error_, std::nullopt);
}

void ChunkWriter::allow_nulls(Column& column) {
  auto* vector = static_cast<duckdb_vector>(column.vector);
  lib.duckdb_vector_ensure_validity_writable(vector);
  column.validity = lib.duckdb_vector_get_validity(vector);
}

void ChunkWriter::set_long(Column& column, std::string_view value) {
  lib.duckdb_vector_assign_string_element_len(static_cast<duckdb_vector>(column.vector), row_, value.data(),
                                              value.size());
}

/// The C callbacks.
class SourceCalls {
 public:
  // One of DuckDB's threads in one query.
  struct Worker {
    std::unique_ptr<RowProducer> producer;
    ChunkWriter writer;
  };

  static SourceState& state(void* extra) { return **static_cast<std::shared_ptr<SourceState>*>(extra); }

  // Runs `work`; its error or exception becomes the query's through `tell`.
  template <class Work, class Tell>
  static void guarded(SourceState& state, Work&& work, Tell&& tell) {
    try {
      Status done = work();
      if (done) return;
      tell(done.error().line().c_str());
      state.fail_with(std::move(done.error()));
    } catch (const std::exception& e) {
      tell(e.what());
      state.fail_with(
          Error(ErrorCode::internal, "the source " + state.source().name + " threw: " + e.what()));
    } catch (...) {
      tell("unknown exception");
      state.fail_with(Error(ErrorCode::internal, "the source " + state.source().name + " threw"));
    }
  }

  static void bind(duckdb_bind_info info) {
    for (const ResultColumn& column : state(lib.duckdb_bind_get_extra_info(info)).source().columns) {
      duckdb_logical_type type = lib.duckdb_create_logical_type(type_of(column.type));
      lib.duckdb_bind_add_result_column(info, column.name.c_str(), type);
      lib.duckdb_destroy_logical_type(&type);
    }
  }

  static void init(duckdb_init_info info) {
    const int threads = state(lib.duckdb_init_get_extra_info(info)).source().max_threads;
    lib.duckdb_init_set_max_threads(info, static_cast<idx_t>(threads < 1 ? 1 : threads));
  }

  static void init_worker(duckdb_init_info info) {
    SourceState& of = state(lib.duckdb_init_get_extra_info(info));
    guarded(
        of,
        [&]() -> Status {
          std::vector<Type> types;
          for (const ResultColumn& column : of.source().columns) types.push_back(column.type);
          auto worker = std::make_unique<Worker>(Worker{of.source().producer(), ChunkWriter(types)});
          if (worker->producer == nullptr)
            return fail(ErrorCode::internal, "the source " + of.source().name + " gave no producer");
          worker->writer.capacity_ = lib.duckdb_vector_size();
          lib.duckdb_init_set_init_data(info, worker.release(),
                                        [](void* data) { delete static_cast<Worker*>(data); });
          return {};
        },
        [&](const char* why) { lib.duckdb_init_set_error(info, why); });
  }

  static void fill(duckdb_function_info info, duckdb_data_chunk chunk) {
    SourceState& of = state(lib.duckdb_function_get_extra_info(info));
    auto* worker = static_cast<Worker*>(lib.duckdb_function_get_local_init_data(info));
    idx_t rows = 0;
    guarded(
        of,
        [&]() -> Status {
          if (of.failed() || worker == nullptr) return {};  // no rows: this thread is done
          ChunkWriter& writer = worker->writer;
          writer.row_ = 0;
          for (std::size_t i = 0; i < writer.columns_.size(); ++i) {
            duckdb_vector vector = lib.duckdb_data_chunk_get_vector(chunk, i);
            ChunkWriter::Column& column = writer.columns_[i];
            column.vector = vector;
            column.data = lib.duckdb_vector_get_data(vector);
            column.validity = nullptr;
          }
          if (Status filled = worker->producer->fill(writer); !filled) return filled;
          rows = writer.row_;
          return {};
        },
        [&](const char* why) { lib.duckdb_function_set_error(info, why); });
    lib.duckdb_data_chunk_set_size(chunk, rows);
  }

 private:
  static duckdb_type type_of(Type type) {
    switch (type) {
      case Type::text:
        return DUCKDB_TYPE_VARCHAR;
      case Type::integer:
        return DUCKDB_TYPE_BIGINT;
      case Type::real:
        return DUCKDB_TYPE_DOUBLE;
      case Type::boolean:
        return DUCKDB_TYPE_BOOLEAN;
      case Type::time:
        return DUCKDB_TYPE_TIMESTAMP;
    }
    return DUCKDB_TYPE_INVALID;
  }
};

bool register_source(duckdb_connection connection, std::shared_ptr<SourceState> state) {
  duckdb_table_function function = lib.duckdb_create_table_function();
  lib.duckdb_table_function_set_name(function, state->source().name.c_str());
  lib.duckdb_table_function_set_extra_info(
      function, new std::shared_ptr<SourceState>(std::move(state)),
      [](void* extra) { delete static_cast<std::shared_ptr<SourceState>*>(extra); });
  lib.duckdb_table_function_set_bind(function, SourceCalls::bind);
  lib.duckdb_table_function_set_init(function, SourceCalls::init);
  lib.duckdb_table_function_set_local_init(function, SourceCalls::init_worker);
  lib.duckdb_table_function_set_function(function, SourceCalls::fill);
  const bool made = lib.duckdb_register_table_function(connection, function) == DuckDBSuccess;
  lib.duckdb_destroy_table_function(&function);
  return made;
}

}  // namespace sickbay::duck
