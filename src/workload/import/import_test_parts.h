// SPDX-License-Identifier: Apache-2.0
// What the tests of the import share: stores as text, and rows put into one.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workload/import/row_writer.h"
#include "workload/store/schema.h"
#include "workload/store/store.h"

namespace sickbay::workload {

/// An empty store in memory.
inline Store open_store(int threads = 1) {
  StoreOptions o;
  o.threads = threads;
  auto store = Store::open(o);
  SB_CHECK(store.has_value(), "a store in memory can be made");
  return std::move(*store);
}

/// Adds `rows` to `table`, which has the columns of jobs for `fields`.
inline Status insert_rows(Store& store, const std::string& table, const std::vector<Row>& rows,
                          const FieldSet& fields = FieldSet::all()) {
  static int count = 0;
  struct Feed final : duck::RowProducer {
    const std::vector<Row>* rows = nullptr;
    const RowWriter* writer = nullptr;
    std::size_t next = 0;
    Status fill(duck::ChunkWriter& chunk) override {
      while (!chunk.full() && next < rows->size())
        if (auto written = writer->write((*rows)[next++], chunk); !written) return written;
      return {};
    }
  };
  const RowWriter writer(fields);
  duck::RowSource source;
  source.name = "test_rows_" + std::to_string(count++);
  source.columns = writer.source_columns();
  source.producer = [&rows, &writer] {
    auto feed = std::make_unique<Feed>();
    feed->rows = &rows;
    feed->writer = &writer;
    return feed;
  };
  const std::string sql = "INSERT INTO " + table + " SELECT * FROM " + source.name + "()";
  if (auto added = store.connection().add_source(std::move(source)); !added) return added;
  return store.connection().execute(sql);
}

inline std::string text_of(const duck::Value& value) {
  struct Print {
    std::string operator()(std::monostate) const { return "-"; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double d) const { return std::to_string(d); }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
  };
  return std::visit(Print(), value);
}

/// All rows of a query, each as "column=value ..." without its NULLs.
inline std::vector<std::string> rows_of(Store& store, const std::string& sql) {
  auto table = store.connection().query(sql);
  if (!table) return {"error: " + table.error().line()};
  std::vector<std::string> texts;
  for (const auto& row : table->rows) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!std::holds_alternative<std::monostate>(row[i]))
        text += table->columns[i].name + "=" + text_of(row[i]) + " ";
    texts.push_back(std::move(text));
  }
  return texts;
}

/// All jobs of a store, in order.
inline std::vector<std::string> jobs_of(Store& store, const std::string& what = "*") {
  return rows_of(store, "SELECT " + what + " FROM jobs ORDER BY cluster, job_id, submit_time, start_time");
}

}  // namespace sickbay::workload
