// SPDX-License-Identifier: Apache-2.0
// peer_read_csv LOG STORE [THREADS]: the peer of `sickbay import`: DuckDB's own reader of the same file into
// a table of a new file, with its own guess of the types, and one sum over it so that it is seen to hold the
// same rows.
#include <cstdio>
#include <cstdlib>

#include "adapters/duckdb/database.h"

int main(int argc, char** argv) {
  using namespace sickbay;
  if (argc < 3) return std::fputs("usage: peer_read_csv LOG STORE [THREADS]\n", stderr), 2;
  duck::OpenOptions options;
  options.path = argv[2];
  options.threads = argc > 3 ? std::atoi(argv[3]) : 2;
  auto database = duck::Database::open(options);
  auto connection = database ? database->connect() : Result<duck::Connection>(fail(database.error()));
  auto rows = connection
                  ? connection->query("CREATE TABLE log AS SELECT * FROM read_csv(" + duck::quote(argv[1]) +
                                      ", delim='|', header=true, quote='', sample_size=20480); CHECKPOINT; "
                                      "SELECT count(*) FROM log")
                  : Result<duck::ResultTable>(fail(connection.error()));
  if (!rows) return std::fprintf(stderr, "%s", rows.error().message("peer_read_csv").c_str()), 1;
  std::printf("%lld rows\n", static_cast<long long>(std::get<std::int64_t>(rows->rows.at(0).at(0))));
}
