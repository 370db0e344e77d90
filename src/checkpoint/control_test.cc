// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/control.h"

#include <gtest/gtest.h>

namespace sickbay::checkpoint {
namespace {

Control example() {
  Control control;
  control.number = 12;
  control.ancestors = {11, 9, 3};
  control.job = 4711;
  control.restart_count = 1;
  control.uid = 1000;
  control.at = from_micros(1'790'000'000'000'001);
  control.binary = "/home/u/heat";
  control.binary_digest = digest_of("heat");
  control.fewest_nodes = 2;
  control.most_nodes = 4;
  control.images = {{0, "n1", "c12.r0.pack", digest_of("0"), 1000, 600},
                    {1, "n2", "c12.r1.pack", digest_of("1"), 1000, 0}};
  return control;
}

TEST(Control, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_control(format_control(example())).value(), example());
  Control control = example();
  control.binary_digest.reset();
  control.engine = Engine::dmtcp;
  control.in_flight = 7;
  control.images.clear();
  control.ancestors.clear();
  EXPECT_EQ(parse_control(format_control(control)).value(), control);
}

TEST(Control, IsRefusedWhateverIsChangedInIt) {
  const std::string text = format_control(example());
  for (std::size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      EXPECT_FALSE(parse_control(other)) << at << "." << bit;
    }
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(parse_control(text.substr(0, size)));
  EXPECT_FALSE(parse_control(text + " "));
  EXPECT_FALSE(parse_control(""));
}

TEST(Control, IsRefusedWhereItSaysWhatCannotBe) {
  // Written so: the digest is right.
  const auto refused = [](auto change) {
    Control control = example();
    change(control);
    const auto read = parse_control(format_control(control));
    return !read && read.error().code == ErrorCode::bad_input;
  };
  EXPECT_TRUE(refused([](Control& c) { c.number = 0; }));
  EXPECT_TRUE(refused([](Control& c) { c.ancestors = {12}; }));
  EXPECT_TRUE(refused([](Control& c) { c.ancestors = {3, 9}; }));
  EXPECT_TRUE(refused([](Control& c) { c.ancestors = {0}; }));
  EXPECT_TRUE(refused([](Control& c) { c.job = 0; }));
  EXPECT_TRUE(refused([](Control& c) { c.in_flight = 1; }));
  EXPECT_TRUE(refused([](Control& c) { c.most_nodes = 1; }));
  EXPECT_TRUE(refused([](Control& c) { c.fewest_nodes = 0; }));
  EXPECT_TRUE(refused([](Control& c) { c.images[1].rank = 0; }));
  EXPECT_TRUE(refused([](Control& c) { c.images[0].pack = "c11.r0.pack"; }));
  EXPECT_TRUE(refused([](Control& c) { c.images[0].pack = "../c12.r0.pack"; }));
  EXPECT_TRUE(refused([](Control& c) { c.images[0].raw = -1; }));
}

TEST(Control, OfANewerVersionIsToldApart) {
  EXPECT_EQ(parse_control(R"({"sickbay_checkpoint":2,"number":1})").error().code, ErrorCode::too_new);
}

TEST(Control, KnowsItsNames) {
  struct Row {
    const char* name;
    std::int64_t number, control;  // 0: none
  };
  for (const Row& row : {Row{"c12.json", 12, 12}, Row{"c12.r3.pack", 12, 0}, Row{"c12.r3.pack.new", 12, 0},
                         Row{"c12.json.new", 12, 0}, Row{"c12", 0, 0}, Row{"c012.json", 0, 0},
                         Row{"c-1.json", 0, 0}, Row{"c0.json", 0, 0}, Row{"lock", 0, 0}, Row{"c.json", 0, 0},
                         Row{"c99999999999999999999.json", 0, 0}, Row{"", 0, 0}}) {
    EXPECT_EQ(number_of(row.name).value_or(0), row.number) << row.name;
    EXPECT_EQ(control_number(row.name).value_or(0), row.control) << row.name;
  }
}

TEST(Fit, IsJudgedByJobUserNodesAndBinary) {
  const Resumer right{4711, 1000, 2, digest_of("heat")};
  EXPECT_EQ(check_fit(example(), right).value(), std::vector<std::string>());
  struct Row {
    Resumer resumer;
    ErrorCode code;
    const char* what;
  };
  for (const Row& row :
       {Row{{4712, 1000, 2, {}}, ErrorCode::conflict, "checkpoint 12 is of job 4711, not of job 4712"},
        Row{{4711, 1001, 2, {}}, ErrorCode::denied, "checkpoint 12 is of the user 1000, not of 1001"},
        Row{{4711, 1000, 1, {}}, ErrorCode::conflict, "checkpoint 12 is for 2 to 4 nodes, and there is 1"},
        Row{{4711, 1000, 5, {}},
            ErrorCode::conflict,
            "checkpoint 12 is for 2 to 4 nodes, and there are 5"}}) {
    const auto fit = check_fit(example(), row.resumer);
    ASSERT_FALSE(fit) << row.what;
    EXPECT_EQ(fit.error().code, row.code);
    EXPECT_EQ(fit.error().what, row.what);
  }
  const auto other = check_fit(example(), {4711, 1000, 4, digest_of("other")});
  ASSERT_TRUE(other);
  ASSERT_EQ(other->size(), 1U);
  EXPECT_EQ(other->front().rfind("checkpoint 12 was taken by another binary ('/home/u/heat'", 0), 0U);
}

}  // namespace
}  // namespace sickbay::checkpoint
