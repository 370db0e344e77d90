// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/http_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using Progress = HttpRequestReader::Progress;
using testing::HasSubstr;

TEST(HttpTarget, IsTakenApart) {
  const struct {
    const char* target;
    const char* path;
    std::vector<std::pair<std::string, std::string>> query;
  } rows[] = {
      {"/", "/", {}},
      {"/v1/cases/c17", "/v1/cases/c17", {}},
      {"/v1/nodes/n%5b1-3%5D", "/v1/nodes/n[1-3]", {}},
      {"/a+b%2Fc", "/a+b/c", {}},
      {"/x#top?y", "/x", {}},

      {"/x?", "/x", {}},
      {"/x?all", "/x", {{"all", ""}}},
      {"/x?all=1&user=a%26b%3D&&z=", "/x", {{"all", "1"}, {"user", "a&b="}, {"z", ""}}},
      {"/x?a=1=2?&a=3", "/x", {{"a", "1=2?"}, {"a", "3"}}},
      {"/x?%61=%C3%A4", "/x", {{"a", "\xc3\xa4"}}},
  };
  for (const auto& row : rows) {
    const auto parts = parse_target(row.target);
    ASSERT_TRUE(parts) << row.target;
    EXPECT_EQ(parts->path, row.path);
    EXPECT_EQ(parts->query, row.query) << row.target;
  }
}

TEST(HttpTarget, RefusesBrokenOnes) {
  for (const char* target : {"", "v1", "*", "http://x/", "/%", "/%4", "/%4g", "/%zz", "/%00", "/a%0d%0aX",
                             "/x?a=%7f", "/x?%1b=1"}) {
    const auto parts = parse_target(target);
    ASSERT_FALSE(parts) << target;
    EXPECT_EQ(parts.error().code, ErrorCode::bad_input);
    EXPECT_FALSE(parts.error().remedy_text.empty()) << target;
  }
}

TEST(HttpRequestReader, SumsTheHeadUp) {
  // Each line is far below the limit, and comes alone: only their sum is too long.
  HttpRequestReader reader({512, 1024});
  reader.add("GET / HTTP/1.1\r\n");
  int lines = 0;
  while (reader.step() == Progress::need_more && lines < 100) {
    reader.add("X: 0123456789\r\n");
    ++lines;
  }
  EXPECT_EQ(reader.step(), Progress::failed);
  EXPECT_EQ(reader.failure().status, 431);
  EXPECT_LT(lines, 512 / 15 + 1);
}

TEST(HttpRequestReader, TakesHeadsAndBodiesUpToTheirLimits) {
  const std::string start = "POST / HTTP/1.1\r\nContent-Length: 1024\r\nX: ";
  for (const int over : {0, 1}) {
    HttpRequestReader reader({512, 1024});
    reader.add(start + std::string(512 - start.size() + static_cast<std::size_t>(over), 'x'));
    EXPECT_EQ(reader.step(), Progress::need_more);
    EXPECT_FALSE(reader.has_header());
    reader.add("\r\n\r\n");
    EXPECT_EQ(reader.step(), over ? Progress::failed : Progress::need_more);
    if (over) continue;
    EXPECT_TRUE(reader.has_header());
    reader.add(std::string(1023, 'b'));
    EXPECT_EQ(reader.step(), Progress::need_more);
    EXPECT_EQ(reader.buffered(), 0U);
    reader.add("bGET");
    ASSERT_EQ(reader.step(), Progress::complete);
    EXPECT_EQ(reader.take().request.body, std::string(1024, 'b'));
    EXPECT_EQ(reader.buffered(), 3U);
    EXPECT_FALSE(reader.is_idle());
  }
}

TEST(HttpRequestReader, TellsExpectationsOnce) {
  HttpRequestReader reader({});
  EXPECT_FALSE(reader.take_expectation());
  reader.add("POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(reader.step(), Progress::need_more);
  EXPECT_TRUE(reader.take_expectation());
  EXPECT_FALSE(reader.take_expectation());
  reader.add("ab");
  EXPECT_EQ(reader.step(), Progress::complete);
  reader.take();
  EXPECT_TRUE(reader.is_idle());
}

TEST(HttpRequestReader, KnowsWhatThePeerWants) {
  const struct {
    const char* bytes;
    bool keep_alive, chunks, head;
  } rows[] = {
      {"GET / HTTP/1.1\r\n\r\n", true, true, false},
      {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false, true, false},
      {"GET / HTTP/1.0\r\n\r\n", false, false, false},
      {"HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, false, true},
  };
  for (const auto& row : rows) {
    HttpRequestReader reader({});
    reader.add(row.bytes);
    ASSERT_EQ(reader.step(), Progress::complete) << row.bytes;
    const IncomingRequest incoming = reader.take();
    EXPECT_EQ(incoming.keep_alive, row.keep_alive) << row.bytes;
    EXPECT_EQ(incoming.chunks, row.chunks) << row.bytes;
    EXPECT_EQ(incoming.head, row.head) << row.bytes;
  }
}

}  // namespace
}  // namespace sickbay
