// SPDX-License-Identifier: Apache-2.0
#include "adapters/duckdb/database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "adapters/duckdb/errors.h"
#include "adapters/duckdb/session.h"

namespace sickbay::duck {

struct Database::Impl {
  std::shared_ptr<SharedDatabase> shared = std::make_shared<SharedDatabase>();
};
struct Connection::Impl : Session {};

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;
Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

namespace {

using Settings = std::vector<std::pair<const char*, std::string>>;

std::string spill_folder(const OpenOptions& o) {
  if (!o.temp_folder.empty()) return o.temp_folder;
  if (!o.path.empty()) return o.path + ".tmp";
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/sickbay-{}.tmp", folder && *folder ? folder : "/tmp", ::getpid());
}

Settings settings_of(const OpenOptions& o) {
  Settings settings = {
      // What SQL needs is in the library; nothing is ever fetched from a network.
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"preserve_insertion_order", o.keep_order ? "true" : "false"},
  };
  // (One in memory cannot be read-only; it is gone with the process.)
  if (o.read_only && !o.path.empty()) settings.emplace_back("access_mode", "READ_ONLY");
  if (o.threads > 0) settings.emplace_back("threads", std::to_string(o.threads));
  if (o.memory_limit.count > 0)
    settings.emplace_back("memory_limit", fmt::format("{}B", o.memory_limit.count));
  settings.emplace_back("temp_directory", spill_folder(o));
  return settings;
}

// False: the file is there, and without the mark that a database has behind its first eight bytes.
bool may_be_database(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char head[12] = {};
  file.read(head, sizeof head);
  return file.gcount() == 0 || std::string_view(head + 8, 4) == "DUCK";
}

// In this order: what DuckDB spills is reached only by a folder that was allowed before the door was closed,
// and after the last of them SQL cannot undo any.
std::string sandbox_sql(const OpenOptions& o) {
  return fmt::format(
      "SET allowed_directories = [{}]; SET enable_external_access = false; SET lock_configuration = true",
      quote(spill_folder(o)));
}

}  // namespace

Result<Database> Database::open(const OpenOptions& asked) {
  if (Status loaded = load_library(); !loaded) return fail(loaded.error());
  OpenOptions options = asked;
  // DuckDB opens more than its own files: "x.csv" as a view, "https:..." and "sqlite:..." by extensions.
  std::error_code ignored;
  if (!options.path.empty()) options.path = std::filesystem::absolute(options.path, ignored);
  if (!options.path.empty() && !may_be_database(options.path))
    return fail(open_error("not a valid DuckDB database", asked.path));
  const std::string shown = asked.path.empty() ? "a store in memory" : asked.path;
  if (options.read_only && !options.path.empty() && ::access(options.path.c_str(), F_OK) != 0)
    return fail(open_error("does not exist", asked.path));

  duckdb_config config = nullptr;
  Status set;
  if (lib.duckdb_create_config(&config) != DuckDBSuccess)
    set = fail(ErrorCode::internal, "DuckDB takes no settings");
  for (const auto& [name, value] : settings_of(options))
    if (set && lib.duckdb_set_config(config, name, value.c_str()) != DuckDBSuccess)
      set = fail(ErrorCode::internal, fmt::format("DuckDB does not take the setting {}={}", name, value));
  auto impl = std::make_unique<Impl>();
  char* why = nullptr;
  if (set && lib.duckdb_open_ext(options.path.empty() ? nullptr : options.path.c_str(), &impl->shared->handle,
                                 config, &why) != DuckDBSuccess)
    set = fail(open_error(why ? why : "unknown error", shown));
  if (why != nullptr) lib.duckdb_free(why);
  lib.duckdb_destroy_config(&config);
  if (!set) return fail(set.error());
  Database database(std::move(impl));
  auto connection = database.connect();
  if (!connection) return fail(std::move(connection.error()));
  // Not the zone of whoever asks: the same question has the same answer.  (A DuckDB without ICU has no
  // zones.)
  (void)connection->execute("SET GLOBAL TimeZone = 'UTC'");
  if (options.sandboxed)
    if (Status closed = connection->execute(sandbox_sql(options)); !closed)
      return fail(std::move(closed.error()).in("closing the sandbox"));
  return database;
}

Result<Connection> Connection::to(std::shared_ptr<SharedDatabase> database) {
  auto impl = std::make_unique<Impl>();
  impl->database = std::move(database);
  if (lib.duckdb_connect(impl->database->handle, &impl->handle) != DuckDBSuccess)
    return fail(ErrorCode::internal, "DuckDB gives no connection");
  return Connection(std::move(impl));
}

Result<Connection> Connection::another() { return to(impl_->database); }

Result<Connection> Database::connect() { return Connection::to(impl_->shared); }

Result<ResultTable> Connection::query(std::string_view sql, const std::vector<Value>& parameters) {
  ResultTable table;
  Status ran = impl_->run(
      sql, parameters, Session::Allowed::anything, false,
      [&](const std::vector<ResultColumn>& columns) { table.columns = columns; },
      [&](std::vector<Value>& values) {
        table.rows.push_back(std::move(values));
        return true;
      });
  if (!ran) return fail(std::move(ran.error()));
  return table;
}

Status Connection::execute(std::string_view sql) {
  return impl_->run(sql, {}, Session::Allowed::anything, false, {}, {});
}

Result<std::int64_t> Connection::number(std::string_view sql) {
  auto table = query(sql);
  if (!table) return fail(std::move(table.error()));
  if (table->rows.empty() || table->rows[0].empty()) return 0;
  const auto* value = std::get_if<std::int64_t>(&table->rows[0][0]);
  return value != nullptr ? *value : 0;
}

Result<ResultTable> Connection::select(std::string_view sql, std::size_t max_rows) {
  ResultTable table;
  bool too_many = false;
  Status ran = impl_->run(
      sql, {}, Session::Allowed::one_select, true,
      [&](const std::vector<ResultColumn>& columns) { table.columns = columns; },
      [&](std::vector<Value>& values) {
        too_many = table.rows.size() >= max_rows;
        if (!too_many) table.rows.push_back(std::move(values));
        return !too_many;
      });
  if (!ran) return fail(std::move(ran.error()));
  if (too_many)
    return fail(Error(ErrorCode::bad_input, fmt::format("the SELECT gives more than {} rows", max_rows))
                    .remedied_by("sum up more, or add a LIMIT"));
  return table;
}

Status Connection::stream(std::string_view sql,
                          const std::function<void(const std::vector<ResultColumn>&)>& head,
                          const std::function<bool(const std::vector<Value>&)>& row) {
  return impl_->run(sql, {}, Session::Allowed::anything, true, head, row);
}

Status Connection::stream_select(std::string_view sql,
                                 const std::function<void(const std::vector<ResultColumn>&)>& head,
                                 const std::function<bool(const std::vector<Value>&)>& row) {
  return impl_->run(sql, {}, Session::Allowed::one_select, true, head, row);
}

Status Connection::add_source(RowSource source) {
  const std::string name = source.name;
  auto state = std::make_shared<SourceState>(std::move(source));
  if (!register_source(impl_->handle, state))
    return fail(ErrorCode::already_exists, fmt::format("the store has a function '{}' already", name));
  const std::lock_guard lock(impl_->database->mutex);
  impl_->database->sources.push_back(std::move(state));
  return {};
}

void Connection::interrupt() { lib.duckdb_interrupt(impl_->handle); }

std::string version() { return load_library() ? lib.duckdb_library_version() : ""; }

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace sickbay::duck
