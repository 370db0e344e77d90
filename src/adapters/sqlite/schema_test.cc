// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/schema.h"

#include <gtest/gtest.h>

#include <array>

#include "adapters/sqlite/archive.h"
#include "adapters/sqlite/statement.h"

namespace sickbay::sqlite {
namespace {

constexpr auto kRows = std::to_array<RaiseRow>({
    {"run_bound", 1, [](Json& body) { body.set("uid", -1); }},
    {"run_bound", 2, [](Json& body) { body.set("host", "unknown"); }},
    {"holed", 2, [](Json&) {}},
});

TEST(Raise, BringsOldBodiesToTodaysVersionStepByStep) {
  struct Row {
    const char* kind;
    int v;
    const char* body;  // nothing: refused with `code`
    ErrorCode code = ErrorCode::internal;
  };
  for (const Row& row :
       {Row{"run_bound", 1, R"({"uid":-1,"host":"unknown"})"}, Row{"run_bound", 2, R"({"host":"unknown"})"},
        Row{"run_bound", 3, "{}"}, Row{"run_bound", 4, nullptr, ErrorCode::too_new}, Row{"other", 1, "{}"},
        Row{"other", 2, nullptr, ErrorCode::too_new}, Row{"other", 0, nullptr, ErrorCode::storage_broken},
        Row{"holed", 1, nullptr, ErrorCode::storage_broken},
        // Raised by engines: given as it is, old or new.
        Row{"nodes_seen", 1, "{}"}, Row{"nodes_seen", 2, "{}"},
        Row{"nodes_seen", 3, nullptr, ErrorCode::too_new}}) {
    Event event;
    event.kind = row.kind;
    event.v = row.v;
    event.body = Json::object();
    const auto raised = raise_event(event, kRows);
    ASSERT_EQ(raised.has_value(), row.body != nullptr) << row.kind << row.v;
    if (raised)
      EXPECT_EQ(event.body.dump(), row.body);
    else
      EXPECT_EQ(raised.error().code, row.code) << raised.error().what;
  }
}

TEST(Schema, RaisesAFileOnceAndRefusesWhatIsNone) {
  Connection file;
  ASSERT_TRUE(file.open(":memory:", SQLITE_OPEN_READWRITE));
  const std::array<const char*, 2> two{"CREATE TABLE a(x);",
                                       "ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES(1,2);"};
  const std::span<const char* const> rows(two);
  ASSERT_TRUE(migrate(file.get(), "f", rows.first(1)));
  EXPECT_EQ(check_schema(file.get(), "f", rows).value(), 1);
  ASSERT_TRUE(migrate(file.get(), "f", rows));
  ASSERT_TRUE(migrate(file.get(), "f", rows)) << "a second time there is nothing to do";
  EXPECT_EQ(check_schema(file.get(), "f", rows).value(), 2);
  EXPECT_EQ(check_schema(file.get(), "f", rows.first(1)).error().code, ErrorCode::too_new);

  const std::array<const char*, 3> wrong{two[0], two[1], "CREATE TABLE b(x); no such statement;"};
  ASSERT_FALSE(migrate(file.get(), "f", wrong));
  EXPECT_EQ(check_schema(file.get(), "f", wrong).value(), 2) << "a step is whole or not at all";
  EXPECT_TRUE(execute(file.get(), "CREATE TABLE b(x)")) << "and its table is not there";

  Connection foreign;
  ASSERT_TRUE(foreign.open(":memory:", SQLITE_OPEN_READWRITE));
  ASSERT_TRUE(execute(foreign.get(), "CREATE TABLE theirs(x)"));
  EXPECT_EQ(migrate(foreign.get(), "f", rows).error().code, ErrorCode::storage_broken);
}

TEST(Summary, MergesAnEarlierOne) {
  std::vector<Event> events(2);
  events[0] = {
      9,          from_micros(5),
      1,          "c1",
      "archived", Json::parse(R"({"kinds":{"intent":2},"first":3,"last":9,"file":"j-2026.db"})").value()};
  events[1] = {12, from_micros(6), 1, "c1", "intent", Json::object()};
  EXPECT_EQ(summary_of(events, "j-2026.db").text(),
            R"({"seq":12,"at":6,"v":1,"subject":"c1","kind":"archived",)"
            R"("body":{"kinds":{"intent":3},"first":3,"last":12,"file":"j-2026.db"}})");
}

}  // namespace
}  // namespace sickbay::sqlite
