// SPDX-License-Identifier: Apache-2.0
// grow_store STORE YEARS WIDTH: makes years of a busier cluster of the year of jobs that a store holds, as
// daily imports leave them: each year comes behind the one before, has each job WIDTH times under other ids,
// and is in the order of ends.  For bench/long_store.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "adapters/duckdb/database.h"

namespace {

using namespace sickbay;

constexpr int kDays = 365, kPart = 10;  // days that are put in order at once

Status grow(duck::Connection& connection, int years, int width) {
  const auto ids = connection.number("SELECT max(job_id_raw) + 1 FROM jobs");
  if (!ids) return fail(ids.error());
  if (Status made = connection.execute("CREATE TEMP TABLE once AS SELECT * FROM jobs ORDER BY end_time");
      !made)
    return made;
  for (int year = 1; year <= years; ++year)
    for (int day = 0; day < kDays; day += kPart) {
      std::string moved;
      for (const char* time : {"submit_time", "eligible_time", "start_time", "end_time"})
        moved += fmt::format(", {0} + to_days({1}) AS {0}", time, year * kDays);
      // (A job that never ended is one of the first part.)
      const std::string from = day == 0 ? "TIMESTAMP '-infinity'" : fmt::format("begins + to_days({})", day);
      const std::string to =
          day + kPart >= kDays ? "TIMESTAMP 'infinity'" : fmt::format("begins + to_days({})", day + kPart);
      const std::string shift = fmt::format("({} + copy) * {}", year * width, *ids);
      if (Status done = connection.execute(fmt::format(
              "INSERT INTO jobs SELECT * EXCLUDE (copy, begins) REPLACE ({0} + copy || job_id AS job_id, "
              "job_id_raw + {1} AS job_id_raw, array_job_id + {1} AS array_job_id{2}) FROM once, "
              "range({3}) AS copies(copy), (SELECT min(end_time) AS begins FROM once) "
              "WHERE coalesce(end_time, begins) >= {4} AND coalesce(end_time, begins) < {5} ORDER BY "
              "end_time",
              year * width, shift, moved, width, from, to));
          !done)
        return done;
    }
  return connection.execute("CHECKPOINT");
}

}  // namespace

int main(int argc, char** argv) {
  const int years = argc > 3 ? std::atoi(argv[2]) : 0, width = argc > 3 ? std::atoi(argv[3]) : 0;
  if (years < 1 || width < 1) return std::fputs("usage: grow_store STORE YEARS WIDTH\n", stderr), 2;
  duck::OpenOptions options;
  options.path = argv[1];
  options.memory_limit = Bytes(2LL << 30);
  auto database = duck::Database::open(options);
  auto connection = database ? database->connect() : Result<duck::Connection>(fail(database.error()));
  const auto jobs = [&]() -> Result<std::int64_t> {
    if (!connection) return fail(connection.error());
    if (Status grown = grow(*connection, years, width); !grown) return fail(grown.error());
    return connection->number("SELECT count(*) FROM jobs");
  }();
  if (!jobs) return std::fprintf(stderr, "%s", jobs.error().message("grow_store").c_str()), 1;
  std::printf("%lld jobs\n", static_cast<long long>(*jobs));
}
