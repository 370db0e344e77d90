// SPDX-License-Identifier: Apache-2.0
// The fast parsers say what the slow ones of base and model say, over every form and much rubbish.
#include "workload/job/values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "base/duration.h"
#include "base/size.h"
#include "base/text.h"
#include "base/time.h"
#include "workload/job/values_test_parts.h"

namespace sickbay::workload {
namespace {

TimeZone utc() { return TimeZone::make("UTC").value(); }

std::int64_t time_of(std::string_view text, const TimeZone& zone) {
  std::int64_t t = -7;
  return parse_timestamp(text, zone, t) ? t : -7;
}

TEST(Values, absent_words) {
  for (const char* text : {"", "Unknown", "None", "N/A", "None assigned", "(null)", "INVALID"})
    EXPECT_TRUE(is_absent(text)) << text;
  for (const char* text : {"0", "none", "node1", "Nonesuch", "I", "(nul)"})
    EXPECT_FALSE(is_absent(text)) << text;
}

TEST(Values, integers) {
  std::int64_t n = 0;
  EXPECT_TRUE(parse_integer("9223372036854775807", n));
  EXPECT_EQ(n, 9223372036854775807);
  EXPECT_TRUE(parse_integer("-12", n));
  EXPECT_EQ(n, -12);
  EXPECT_TRUE(parse_integer("172800.0", n, true));
  EXPECT_EQ(n, 172800);
  for (const char* text : {"", "-", "1.0", "9223372036854775808", "18446744073709551614", "1a", "+1", " 1"})
    EXPECT_FALSE(parse_integer(text, n)) << text;
  EXPECT_FALSE(parse_integer("1.", n, true));
  EXPECT_FALSE(parse_integer(".5", n, true));
  EXPECT_EQ(n, 172800) << "a refusal leaves the result alone";
}

TEST(Values, timestamps_of_every_day_from_1970_to_2105_are_those_of_base_time) {
  const TimeZone zone = utc();
  for (std::int64_t day = 0; day < 366 * 135; ++day) {
    const std::int64_t t = day * 86400 + day * 7919 % 86400;
    std::string text = format_time(from_unix_seconds(t));
    ASSERT_EQ(time_of(text, zone), t) << text;
    text.pop_back();  // the Z
    ASSERT_EQ(time_of(text, zone), t) << text;
    text[10] = ' ';
    ASSERT_EQ(time_of(text, zone), t) << text;
  }
}

TEST(Values, forms_of_timestamps) {
  const TimeZone zone = TimeZone::make("+02:00").value();
  EXPECT_EQ(time_of("2021-05-01T02:26:23", zone), 1619828783);
  EXPECT_EQ(time_of("2021-05-01T02:26:23.123456", zone), 1619828783);
  EXPECT_EQ(time_of("2021-05-01T02:26:23Z", zone), 1619835983);
  EXPECT_EQ(time_of("2021-05-01T02:26:23.5+01:00", zone), 1619832383);
  EXPECT_EQ(time_of("2021-05-01T02:26:23-0530", zone), 1619855783);
  EXPECT_EQ(time_of("2021-05-01T02:26:23+01", zone), 1619832383);
  EXPECT_EQ(time_of("1619828783", zone), 1619828783);
  EXPECT_EQ(time_of("1619828783.75", zone), 1619828783);
  EXPECT_EQ(time_of("2020-02-29T00:00:00", utc()), 1582934400);
  for (const char* text : {"",
                           "Unknown",
                           "None",
                           "2021-02-29T00:00:00",
                           "2021-13-01T00:00:00",
                           "2021-00-01T00:00:00",
                           "2021-04-31T00:00:00",
                           "2021-05-00T00:00:00",
                           "2021-05-01T24:00:00",
                           "2021-05-01T00:60:00",
                           "2021-05-01T00:00:60",
                           "2021-05-01 0:00:00",
                           "2021-05-01T02:26:2",
                           "2021-05-01T02:26:23.",
                           "2021-05-01T02:26:23+",
                           "2021-05-01T02:26:23+1",
                           "2021-05-01T02:26:23+01:0",
                           "2021-05-01T02:26:23+19:00",
                           "2021-05-01T02:26:23 ",
                           "2021/05/01T02:26:23",
                           "2O21-05-01T02:26:23",
                           "123456789012",
                           "-5",
                           "12:00:00",
                           "2021-05-01T02:26:23Zulu"})
    EXPECT_EQ(time_of(text, zone), -7) << text;
}

TEST(Values, every_byte_of_a_timestamp_is_checked) {
  const std::string good = "2021-05-01T02:26:23";
  for (std::size_t i = 0; i < good.size(); ++i)
    for (int c = 0; c < 256; ++c) {
      std::string text = good;
      text[i] = static_cast<char>(c);
      const bool fine = is_digit(good[i]) ? is_digit(text[i]) : text[i] == good[i] || (i == 10 && c == ' ');
      if (fine) continue;
      ASSERT_EQ(time_of(text, utc()), -7) << i << ' ' << c;
    }
}

TEST(Values, zones_are_the_c_librarys) {
  for (const char* name : {"Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe",
                           "America/Sao_Paulo", "Africa/Casablanca", "Asia/Shanghai", "Pacific/Apia"}) {
    const auto zone = TimeZone::make(name);
    ASSERT_TRUE(zone) << name;
    setenv("TZ", name, 1);
    tzset();
    // From UTC: the local time that the C library says leads back, but in an hour that comes twice.
    std::mt19937_64 random(5);
    for (int i = 0; i < 20000; ++i) {
      const auto t = static_cast<std::time_t>(random() % 2200000000U + 946684800 / 2);
      std::tm tm{};
      localtime_r(&t, &tm);
      const std::int64_t local = t + tm.tm_gmtoff;
      const std::int64_t back = zone->to_utc(local);
      if (back == t) continue;
      ASSERT_LT(back, t) << name;  // the first of two
      std::tm first{};
      const auto b = static_cast<std::time_t>(back);
      localtime_r(&b, &first);
      ASSERT_EQ(b + first.tm_gmtoff, local) << name << ' ' << t;
    }
  }
  unsetenv("TZ");
  tzset();
}

TEST(Values, the_hour_that_comes_twice_is_the_first_and_the_one_left_out_goes_on) {
  const TimeZone zone = TimeZone::make("Europe/Berlin").value();
  EXPECT_EQ(time_of("2021-10-31T02:30:00", zone), time_of("2021-10-31T00:30:00Z", zone));
  EXPECT_EQ(time_of("2021-10-31T03:00:00", zone), time_of("2021-10-31T02:00:00Z", zone));
  EXPECT_EQ(time_of("2021-03-28T02:30:00", zone), time_of("2021-03-28T01:30:00Z", zone));
  EXPECT_EQ(time_of("2090-07-01T12:00:00", zone), time_of("2090-07-01T10:00:00Z", zone));
  EXPECT_EQ(zone.changes().empty(), false);
}

TEST(Values, unknown_zones) {
  for (const char* name :
       {"", "Nowhere/Atall", "../../etc/passwd", "/etc/passwd", "Europe", "+25:00", "tzdata.zi"}) {
    const auto zone = TimeZone::make(name);
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().code, ErrorCode::not_found);
    EXPECT_FALSE(zone.error().remedy_text.empty());
  }
}

TEST(Values, run_times_are_those_of_parse_elapsed) {
  Texts texts({"00:00:00", "00:15.057", "1-00:00:00", "12-23:59:59", "1234-01:02:03.004", "34:15",
               "100:00:00", "1-2:3:4", "00:00.001", "3-19:07:04", "123456789012:00"},
              "0123456789:-.");
  for (int i = 0; i < 200000; ++i) {
    const std::string text = texts.next();
    const auto slow = parse_elapsed(text);
    std::int64_t ms = -7;
    const bool fast = parse_elapsed_ms(text, ms);
    if (slow) {
      ASSERT_TRUE(fast) << text;
      ASSERT_EQ(ms, slow->count() / 1000) << text;
    } else if (fast) {
      ASSERT_EQ(text.find_first_not_of("0123456789"), std::string::npos) << "bare digits only: " << text;
      ASSERT_EQ(ms, 1000 * std::stoll(text));
    } else {
      ASSERT_EQ(ms, -7) << text;
    }
  }
}

TEST(Values, limits_are_those_of_parse_time_limit) {
  Texts texts(
      {"12:00:00", "1-00:00:00", "UNLIMITED", "Partition_Limit", "30", "90:00", "2-12", "1-1:30", "INFINITE",
       "-1", "4294967293", "4294967294", "2982616-04:53:00", "123-23:59:59", "99-24:00:00"},
      "0123456789:-.Uu");
  for (int i = 0; i < 200000; ++i) {
    const std::string text = texts.next();
    const auto slow = parse_time_limit(text);
    std::int64_t seconds = -7;
    const bool fast = parse_limit(text, seconds);
    if (text.empty()) {
      ASSERT_EQ(seconds, -1);
      continue;
    }
    ASSERT_EQ(slow.has_value(), fast) << text;
    if (!slow)
      ASSERT_EQ(seconds, -7);
    else
      ASSERT_EQ(seconds, slow->kind == TimeLimit::Kind::limited ? slow->length.count() : -1) << text;
  }
  std::int64_t seconds = 0;
  EXPECT_TRUE(parse_limit("  ", seconds));
  EXPECT_EQ(seconds, -1);
}

TEST(Values, sizes_are_those_of_parse_size) {
  Texts texts({"12756K", "1.50T", "199G", "0", "891.26M", "85399.46K", "4000", "2147486648M",
               "9223372036854775807", "0.000000001E", "7.999999999E", "100B", "4GiB", "4kb", "8388607.5T"},
              "0123456789.KMGTPEBkib ");
  const std::pair<BareUnit, std::int64_t> kBare[] = {
      {BareUnit::bytes, 1}, {BareUnit::kib, 1024}, {BareUnit::mib, 1024 * 1024}};
  for (int i = 0; i < 200000; ++i) {
    const std::string text = texts.next();
    const auto& [unit, bare] = kBare[i % 3];
    const auto slow = parse_size(text, unit);
    std::int64_t bytes = -7;
    ASSERT_EQ(parse_bytes(text, bare, bytes), slow.has_value()) << text;
    ASSERT_EQ(bytes, slow ? slow->count : -7) << text;
  }
}

TEST(Values, req_mem_is_that_of_parse_memory) {
  Texts texts({"4000Mc", "0n", "32Gn", "1.50T", "125000M", "2Gc", "512Mc", "4000"}, "0123456789.KMGTnc");
  for (int i = 0; i < 100000; ++i) {
    const std::string text = texts.next();
    const auto slow = parse_memory(text, BareUnit::mib);
    Row row;
    row.clear();
    const bool fast = parse_req_mem(text, row);
    ASSERT_EQ(fast, slow.has_value()) << text;
    if (!slow || row.has(Num::repairs)) continue;
    const Num field = slow->per == MemoryPer::node  ? Num::req_mem_per_node
                      : slow->per == MemoryPer::cpu ? Num::req_mem_per_cpu
                                                    : Num::req_mem;
    ASSERT_EQ(row.find(field), slow->size.count) << text;
  }
}

TEST(Values, req_mem_with_slurms_flag_printed_as_a_number) {
  const auto read = [](std::string_view text) {
    Row row;
    row.clear();
    EXPECT_TRUE(parse_req_mem(text, row)) << text;
    return row;
  };
  for (const char* text : {"2147486648Mn", "2147486648M", "9223372036854778808Mn"}) {
    const Row row = read(text);
    EXPECT_EQ(row.find(Num::req_mem_per_cpu), mib(3000).count) << text;
    EXPECT_EQ(row.get(Num::repairs), bit(Repair::req_mem_flag));
    EXPECT_FALSE(row.has(Num::req_mem_per_node));
  }
  EXPECT_EQ(read("2097154Gn").find(Num::req_mem_per_cpu), gib(2).count) << "2^31 M and 2 G, in G";
  const Row lost = read("2.00Pn");
  EXPECT_FALSE(lost.has(Num::req_mem_per_node) || lost.has(Num::req_mem_per_cpu));
  EXPECT_EQ(lost.get(Num::repairs), bit(Repair::req_mem_flag));
  EXPECT_EQ(read("1.50T").find(Num::req_mem), 3LL << 39);
  EXPECT_EQ(read("0n").find(Num::req_mem_per_node), 0);
}

TEST(Values, exit_codes) {
  Row row;
  row.clear();
  EXPECT_TRUE(parse_exit("0:9", row));
  EXPECT_EQ(row.find(Num::exit_code), 0);
  EXPECT_EQ(row.find(Num::exit_signal), 9);
  EXPECT_TRUE(parse_exit("127:15", row));
  EXPECT_EQ(row.find(Num::exit_code), 127);
  EXPECT_EQ(row.find(Num::exit_signal), 15);
  row.clear();
  EXPECT_TRUE(parse_exit("3", row));
  EXPECT_FALSE(row.has(Num::exit_signal));
  for (const char* text : {"", ":", "a:0", "0:", "0:0:0"}) EXPECT_FALSE(parse_exit(text, row)) << text;
}

TEST(Values, tres) {
  std::string seen;
  EXPECT_TRUE(for_each_tres("cpu=00:00:04,fs/disk=1248832,gres/gpu:a100=2",
                            [&](auto key, auto value) { seen += fmt::format("{}:{};", key, value); }));
  EXPECT_EQ(seen, "cpu:00:00:04;fs/disk:1248832;gres/gpu:a100:2;");
  EXPECT_FALSE(for_each_tres("cpu", [](auto, auto) {}));
  EXPECT_TRUE(for_each_tres("", [](auto, auto) {}));
}

TEST(Values, bytes_that_are_no_utf8) {
  Arena arena;
  const auto mend = [&](std::string_view text) {
    bool mended = false;
    const std::string out(valid_utf8(text, arena, mended));
    EXPECT_EQ(mended, out != text);
    return out;
  };
  for (const char* good : {"", "plain text of more than eight bytes",
                           "Gr\xC3\xB6\xC3\x9F"
                           "e",
                           "\xE2\x98\x83", "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(mend(good), good);
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(mend("12345678caf\xE9"), "12345678caf" + bad);
  EXPECT_EQ(mend("\xC0\xAF"), bad + bad) << "a longer form of '/'";
  EXPECT_EQ(mend("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(mend("\xF0\x9F\x98x"), bad + "x") << "one for what could have begun a character";
  EXPECT_EQ(mend(std::string_view("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(mend("\xFF\xFE\xF5 "), bad + bad + bad + " ");
}

TEST(Values, gpus_of_a_list_of_generic_resources) {
  const auto told = [](std::string_view text) {
    const GresGpus gpus = gpus_of_gres(text);
    return std::to_string(gpus.count) + " " + std::string(gpus.kind);
  };
  EXPECT_EQ(told("gpu:a100:4(S:0-1),gpu:2,shard:8"), "6 a100");
  EXPECT_EQ(told("gpu:4(S:0,2),gpu:h100:1"), "5 h100");
  EXPECT_EQ(told("gpu"), "1 ");
  EXPECT_EQ(told("gpu:a100"), "1 a100");
  EXPECT_EQ(told(""), "0 ");
  EXPECT_EQ(told("gpus:4,shard:gpu:2"), "0 ");
  EXPECT_EQ(told("gpu:-3"), "1 -3");
  EXPECT_EQ(told("gpu:99999999999999999999"), "1 99999999999999999999");
  EXPECT_EQ(told("gpu:2(("), "2 ");
  EXPECT_EQ(told(")gpu:2,gpu:3"), "3 ");
}

}  // namespace
}  // namespace sickbay::workload
