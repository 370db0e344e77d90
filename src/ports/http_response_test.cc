// SPDX-License-Identifier: Apache-2.0
#include "ports/http_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using testing::HasSubstr;

// Reads `bytes` in pieces of `piece`, then the end of the connection.
struct Reading {
  Reading(std::string_view bytes, std::size_t piece) {
    for (; !bytes.empty() && read; bytes.remove_prefix(std::min(piece, bytes.size()))) {
      read = reader.add(bytes.substr(0, piece));
      body += reader.take_body();
    }
    complete_before_end = read && reader.is_complete();
    if (read) read = reader.end();
  }
  HttpResponseReader reader;
  std::string body;
  Status read;
  bool complete_before_end = false;
};

TEST(HttpResponse, ReadsAnswersHoweverTheyAreCut) {
  const struct {
    std::string_view bytes;
    int status;
    const char* body;
    bool keeps;  // the connection
    const char* rest;
  } rows[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true, ""},
      {"HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n", 404, "", true, ""},
      {"HTTP/1.1 204\r\n\r\n", 204, "", true, ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: Close\r\n\r\nx", 200, "x", false, ""},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", false, ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP", 200, "x", true, "HTTP"},

      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "", true, ""},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
       200, "abc0123456789", true, ""},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\nTrailer: 1\r\n\r\n", 200, "a",
       true, ""},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\n0\r\n\r\n", 200, "\r\n", true, ""},

      {"HTTP/1.1 200 OK\r\n\r\nto the end", 200, "to the end", false, ""},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", 201, "{}", true,
       ""},
  };
  for (const auto& row : rows) {
    for (std::size_t piece = 1; piece <= row.bytes.size(); ++piece) {
      const Reading got(row.bytes, piece);
      ASSERT_TRUE(got.read) << row.bytes << " in pieces of " << piece << ": "
                            << got.read.error().message("test");
      EXPECT_TRUE(got.reader.is_complete());
      EXPECT_EQ(got.reader.status(), row.status);
      EXPECT_EQ(got.body, row.body);
      EXPECT_EQ(got.reader.keeps_connection(), row.keeps) << row.bytes;
      EXPECT_EQ(got.reader.rest(), row.rest);
    }
  }
}

TEST(HttpResponse, FindsHeadersInAnyCase) {
  const Reading got("HTTP/1.1 503 Busy\r\nRetry-After:  5 \r\nX: a\r\nx: b\r\nContent-Length: 0\r\n\r\n",
                    1000);
  ASSERT_TRUE(got.read);
  EXPECT_EQ(got.reader.header("retry-after"), "5");
  EXPECT_EQ(got.reader.header("X"), "a");
  EXPECT_EQ(got.reader.header("Y"), "");
}

TEST(HttpResponse, RefusesWhatIsNone) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const struct {
    std::string bytes;
    const char* cause;
  } rows[] = {
      {"hello\r\n\r\n", "begins with 'hello'"},
      {"HTTP/2 200\r\n\r\n", "begins with"},
      {"HTTP/1.1 099 Low\r\n\r\n", "begins with"},
      {"HTTP/1.1 2000\r\n\r\n", "begins with"},
      {"HTTP/1.1 200 O\x01K\r\n\r\n", "begins with"},
      {"HTTP/1.1 101 Switching\r\n\r\n", "changes the protocol"},

      {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "header line 'no colon'"},
      {"HTTP/1.1 200 OK\r\n: x\r\n\r\n", "header line"},
      {"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "header line"},
      {"HTTP/1.1 200 OK\r\nX: a\n folded\r\n\r\n", "header line"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'), "over 65536 bytes"},
      {std::string(70'000, 'x'), "over 65536 bytes"},

      {"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "its length is"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n", "its length is"},
      {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "its length is"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999\r\n\r\n", "its length is"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "more than once"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "more than once"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "its coding is 'gzip'"},

      {chunked + "x\r\n", "the size 'x'"},
      {chunked + "-1\r\n", "the size '-1'"},
      {chunked + "\r\n", "the size ''"},
      {chunked + "ffffffffffffffff\r\n", "the size"},
      {chunked + std::string(2000, '0'), "over 1024 bytes"},
      {chunked + "1\r\nab\r\n", "longer than its size"},
      {chunked + "0\r\n" + std::string(70'000, 'x'), "over 65536 bytes"},

      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "in the middle"},
      {"HTTP/1.1 200 OK\r\n", "in the middle"},
      {chunked + "5\r\nhello\r\n", "in the middle"},
      {"", "in the middle"},
  };
  for (const auto& row : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
      const Reading got(row.bytes, piece);
      ASSERT_FALSE(got.read) << row.bytes.substr(0, 80);
      EXPECT_EQ(got.read.error().code, ErrorCode::bad_input);
      EXPECT_THAT(got.read.error().cause, HasSubstr(row.cause)) << row.bytes.substr(0, 80);
    }
  }
}

TEST(HttpResponse, AnErrorStays) {
  HttpResponseReader reader;
  EXPECT_FALSE(reader.add("nonsense\r\n\r\n"));
  const Status again = reader.add("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().cause, HasSubstr("nonsense"));
  EXPECT_FALSE(reader.end());
}

}  // namespace
}  // namespace sickbay
