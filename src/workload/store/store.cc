// SPDX-License-Identifier: Apache-2.0
#include "workload/store/store.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace sickbay::workload {
namespace {

std::string shown(const std::string& path) { return path.empty() ? "in memory" : quote_for_message(path); }

// The version that `meta` tells; 0 for a database without tables.
Result<int> stored_version(duck::Connection& connection, const std::string& path) {
  auto tables =
      connection.query("SELECT table_name FROM duckdb_tables() WHERE NOT temporary ORDER BY table_name");
  if (!tables) return fail(std::move(tables.error()).in("looking at the store " + shown(path)));
  if (tables->rows.empty()) return 0;
  bool has_meta = false;
  for (const auto& row : tables->rows) {
    const auto* name = std::get_if<std::string>(&row[0]);
    has_meta = has_meta || (name != nullptr && *name == "meta");
  }
  if (has_meta) {
    auto version = connection.query("SELECT value FROM meta WHERE name = 'store_version'");
    if (version && version->rows.size() == 1) {
      int number = 0;
      if (const auto* text = std::get_if<std::string>(&version->rows[0][0]); text != nullptr) {
        const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
        if (read.ec == std::errc() && number > 0) return number;
      }
    }
  }
  return fail(Error(ErrorCode::storage_broken,
                    fmt::format("{} is a DuckDB database, but no store of Sickbay", shown(path)))
                  .because("it has tables, and none named 'meta' that tells a store_version")
                  .remedied_by("name another file with --store"));
}

}  // namespace

Result<Store> Store::open(const StoreOptions& options) {
  duck::OpenOptions o;
  o.path = options.path;
  o.read_only = options.mode == StoreMode::read;
  o.sandboxed = options.sandboxed;
  o.threads = options.threads;
  o.memory_limit = options.memory_limit;
  // A store that is written is filled from many threads at once; who reads wants the order that the SQL
  // tells.
  o.keep_order = options.mode == StoreMode::read;
  std::error_code ignored;
  if (options.mode != StoreMode::create && !std::filesystem::exists(options.path, ignored))
    return fail(Error(ErrorCode::not_found, fmt::format("there is no store {}", shown(options.path)))
                    .remedied_by("make it with 'sickbay import --store FILE LOG', or name another"));
  auto database = duck::Database::open(o);
  if (!database) return fail(std::move(database.error()));
  auto connection = database->connect();
  if (!connection) return fail(std::move(connection.error()));

  auto version = stored_version(*connection, options.path);
  if (!version) return fail(std::move(version.error()));
  if (*version > kStoreVersion)
    return fail(
        Error(ErrorCode::too_new, fmt::format("the store {} is of version {}, and this Sickbay knows {}",
                                              shown(options.path), *version, kStoreVersion))
            .remedied_by("use the newer sickbay, or import the logs into a new store"));
  if (!options.compressed)
    if (auto set = connection->execute("SET force_compression = 'uncompressed'"); !set)
      return fail(std::move(set.error()));
  if (*version == 0) {
    if (options.mode != StoreMode::create)
      return fail(Error(ErrorCode::storage_broken,
                        fmt::format("the store {} is an empty database", shown(options.path)))
                      .remedied_by("fill it with 'sickbay import'"));
    auto made = connection->execute("BEGIN;" + schema_sql(options.scratch) + "COMMIT;");
    if (!made) return fail(std::move(made.error()).in("making the store " + shown(options.path)));
  } else if (*version < kStoreVersion) {
    auto sql = options.mode == StoreMode::read
                   ? shown_as_raised_sql(*connection)
                   : Result<std::string>("BEGIN;" + raise_sql(*version) + "COMMIT;");
    const Status raised = sql ? connection->execute(*sql) : fail(std::move(sql.error()));
    if (!raised) return fail(Error(raised.error()).in("raising the store " + shown(options.path)));
  }
  if (auto made = connection->execute(kUserIsNoColumn); !made) return fail(std::move(made.error()));
  return Store(std::move(*database), std::move(*connection), options);
}

Status Store::make_jobs(std::span<const JobColumn> columns) {
  SB_CHECK(scratch_, "a store that is kept has all columns");
  return connection_.execute(scratch_jobs_sql(columns, compressed_));
}

}  // namespace sickbay::workload
