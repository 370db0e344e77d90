// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

#include "base/json_text.h"
#include "base/text.h"
#include "base/text_table.h"

namespace sickbay {
namespace {

TEST(Json, PrintsWhatItParsed) {
  // One row per shape: the text is already in its one form, so it must come back as it is.
  for (const char* text :
       {"null", "true", "-9223372036854775808", "9223372036854775807", "0.1", "1e+300", "\"\"",
        R"("a\"b\\c\n\t")", "[]", "{}", R"({"b":1,"a":[1,2,{"x":null}]})", R"("\u0001")", "\"é\""}) {
    auto value = Json::parse(text);
    ASSERT_TRUE(value) << text << ": " << value.error().line();
    EXPECT_EQ(value->dump(), text);
  }
}

TEST(Json, NamesLineAndColumnOfAnError) {
  Json::ParseOptions options;
  options.source = "x.json";
  options.comments = true;
  struct Row {
    const char* text;
    const char* start;
  };
  for (const Row& row : {Row{"{\n  \"a\": tru\n}", "x.json:2:"}, Row{"", "x.json:1:1: not valid JSON"},
                         Row{"{\"a\":1,\n \"a\":2}", "x.json:2:2: not valid JSON: the key 'a' stands twice"},
                         Row{"[1] 2", "x.json:1:5"}, Row{"18446744073709551615", "x.json:1:"}}) {
    auto value = Json::parse(row.text, options);
    ASSERT_FALSE(value) << row.text;
    EXPECT_EQ(value.error().code, ErrorCode::bad_input);
    EXPECT_EQ(value.error().what.rfind(row.start, 0), 0u) << value.error().what;
  }
}

// It goes to terminals and logs, whatever the text was.
TEST(Json, AMessageIsPrintableAndShort) {
  const std::string key = R"("\u001b[2J")";
  std::string wide = "{";
  for (int i = 0; i < 200; ++i) wide += "\"k" + std::to_string(i) + "\":1,";
  for (const std::string& text :
       {std::string("{\"clus\xff\xff"), "\"" + std::string(100'000, 'x') + "\xff", std::string("\"\x1b[2J"),
        "{" + key + ":1," + key + ":2}", wide + key + ":1," + key + ":2}", std::string("[\x9b"),
        std::string(100'000, '7') + "x"}) {
    const auto value = Json::parse(text);
    ASSERT_FALSE(value) << quote_for_message(text);
    EXPECT_EQ(for_terminal(value.error().what), value.error().what);
    EXPECT_LT(value.error().what.size(), 300U) << value.error().what;
  }
  EXPECT_EQ(Json::parse("{\"clus\xff").error().what,
            "line 1, column 7: not valid JSON: invalid string: ill-formed UTF-8 byte; last read: "
            "'\"clus\\xff'");
}

TEST(Json, RefusesDeepNestingAndWideRepeats) {
  EXPECT_FALSE(Json::parse(std::string(100, '[') + std::string(100, ']')));
  std::string wide = "{";
  for (int i = 0; i < 200; ++i) wide += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_TRUE(Json::parse(wide + "\"z\":1}"));
  EXPECT_FALSE(Json::parse(wide + "\"k70\":1}"));
}

TEST(Json, AWideObjectKeepsOrderAndReplacesLikeASmallOne) {
  // The same steps on an object that grows wide and on a plain list of its members, which is what it must be.
  Json object;
  std::vector<std::pair<std::string, int>> plain;
  const auto set = [&](const std::string& key, int value) {
    object.set(key, value);
    for (auto& [k, v] : plain)
      if (k == key) {
        v = value;
        return;
      }
    plain.emplace_back(key, value);
  };
  const auto text = [&] {
    std::string out = "{";
    for (const auto& [k, v] : plain) out += (out.size() > 1 ? ",\"" : "\"") + k + "\":" + std::to_string(v);
    return out + "}";
  };
  for (int i = 0; i < 300; ++i) set("k" + std::to_string(i * 7 % 211), i);  // from 211 on it replaces
  EXPECT_EQ(object.size(), 211u);
  EXPECT_EQ(object.dump(), text());

  // Copies and moves go on alone, wide or not.
  Json copy = object;
  copy.set("k3", -1).set("new", 1);
  EXPECT_EQ(object.dump(), text());
  EXPECT_EQ(copy["k3"].as_int(), -1);
  EXPECT_EQ(copy.members().back().first, "new");
  Json moved = std::move(copy);
  moved.set("newer", 2).set("k3", -2);
  EXPECT_EQ(moved.size(), 213u);
  EXPECT_EQ(moved["k3"].as_int(), -2);
  moved = Json::object({{"k3", 5}});
  EXPECT_EQ(moved.set("k4", 6).dump(), R"({"k3":5,"k4":6})");
  Json over = object;
  over.set("z", 1);
  over = object;
  EXPECT_FALSE(over.has("z"));
  over.set("z", 2);
  EXPECT_EQ(over["z"].as_int(), 2);
  EXPECT_EQ(over.size(), 212u);
  EXPECT_FALSE(over.has("zz"));

  // A key that stands twice: the first is read and replaced, and both stay.
  Json::ParseOptions lenient;
  lenient.unique_keys = false;
  std::string twice = "{\"a\":1,\"a\":2";
  for (int i = 0; i < 100; ++i) twice += ",\"k" + std::to_string(i) + "\":0";
  Json read = Json::parse(twice + "}", lenient).value();
  EXPECT_EQ(read["a"].as_int(), 1);
  read.set("a", 3).set("b", 4);
  EXPECT_EQ(read.dump().substr(0, 13), R"({"a":3,"a":2,)");
  EXPECT_EQ(read["a"].as_int(), 3);
  EXPECT_EQ(read.size(), 103u);
}

TEST(Json, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(Json(std::string("a\xff\xc3")).dump(), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Json, KnowsWhereAValueStood) {
  const std::string text = "{\n  \"nodes\": 17,\n  \"deep\": {\"x\": \"y\"}\n}";
  auto value = Json::parse(text);
  ASSERT_TRUE(value);
  EXPECT_EQ(line_and_column(text, (*value)["deep"]["x"].offset()), std::make_pair(3, 17));
  EXPECT_EQ(line_and_column(text, (*value)["nodes"].offset()), std::make_pair(2, 12));
  Json::ParseOptions options;
  options.comments = true;
  const std::string list = "[ -17.5e3, /* , */ \"x\" ,true,[],\n 7 ]";
  auto items = Json::parse(list, options);
  ASSERT_TRUE(items);
  EXPECT_EQ(items->offset(), 0u);
  const std::vector<std::size_t> starts{2, 19, 24, 29, 34};
  for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_EQ(items->items()[i].offset(), starts[i]) << i;
  // The '*' that begins a comment does not end it, too.
  const std::string odd = "[\n/*/\n1 */ \"x\"]";
  items = Json::parse(odd, options);
  ASSERT_TRUE(items);
  EXPECT_EQ(items->items()[0].offset(), odd.find('"'));
}

TEST(Json, CommentsOnlyWhereAsked) {
  Json::ParseOptions options;
  options.comments = true;
  EXPECT_TRUE(Json::parse("// head\n{\"a\": 1}", options));
  EXPECT_FALSE(Json::parse("// head\n{\"a\": 1}"));
}

TEST(Json, IsWrittenPieceByPieceAsItIsWrittenWhole) {
  const std::string strange = "plain \"quoted\" back\\slash\n\r\t\x01\x7f caf\xc3\xa9 \xff\xc3(";
  const Json value = Json::object({{"a", strange},
                                   {strange, Json::array({1, -2, true, false, Json(), 0.5, "x"})},
                                   {"o", Json::object({{"empty", Json::object()}, {"none", Json::array()}})},
                                   {"z", std::int64_t{-9223372036854775807 - 1}}});
  std::string text = "before ";
  JsonText writes(text);
  writes.begin_object().member("a", strange).key(strange).begin_array();
  writes.value(std::int64_t{1}).value(-2).value(true).value(false).raw("null").value(Json(0.5)).value("x");
  writes.end_array().key("o").begin_object().key("empty").begin_object().end_object();
  writes.raw("\"none\":[]").end_object().member("z", value["z"]).end_object();
  EXPECT_EQ(text, "before " + value.dump());
}

}  // namespace
}  // namespace sickbay
