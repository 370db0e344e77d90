// SPDX-License-Identifier: Apache-2.0
#include "ckpt/ask.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace sickbay::ckpt {
namespace {

class Ask : public testing::Test {
 protected:
  Ask() {
    std::string name = testing::TempDir() + "/ask.XXXXXX";
    root_ = ::mkdtemp(name.data());
    series_ = std::make_unique<Series>(*Series::open(*files_, root_, 17, ""));
  }
  ~Ask() override { std::filesystem::remove_all(root_); }
  void put(const std::string& text) { std::ofstream(series_->board + "/ask") << text; }

  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
  std::string root_;
  std::unique_ptr<Series> series_;
};

TEST_F(Ask, TheLastWishCounts) {
  EXPECT_EQ(asked_token(*series_), "");
  ASSERT_TRUE(ask_for_checkpoint(*series_, "c17.4"));
  ASSERT_TRUE(ask_for_checkpoint(*series_, "c17.5"));
  EXPECT_EQ(asked_token(*series_), "c17.5");
}

TEST_F(Ask, WhatIsNoWishIsNone) {
  for (const char* text : {"", "{", "[]", "{\"token\":7}", "{\"token\":\"a/b\"}", "{\"token\":\"\"}"}) {
    put(text);
    EXPECT_EQ(asked_token(*series_), "") << text;
  }
  put("{\"token\":\"" + std::string(5000, 'x') + "\"}");
  EXPECT_EQ(asked_token(*series_), "");
  EXPECT_FALSE(ask_for_checkpoint(*series_, ""));
  EXPECT_FALSE(ask_for_checkpoint(*series_, "a\nb"));
}

TEST_F(Ask, TheAnswerIsKeptBesideTheRest) {
  SeriesState state;
  state.last = state.tip = 4;
  state.costs_ms = {7};
  ASSERT_TRUE(write_state(*series_, state));
  ASSERT_TRUE(note_answer(*series_, "t1", "timed out"));
  state.asked_done = "t1";
  state.asked_error = "timed out";
  EXPECT_EQ(read_state(*series_), state);
  ASSERT_TRUE(note_answer(*series_, "t2", ""));
  EXPECT_EQ(read_state(*series_).asked_done, "t2");
  EXPECT_EQ(read_state(*series_).asked_error, "");
  EXPECT_EQ(read_state(*series_).tip, 4);
}

}  // namespace
}  // namespace sickbay::ckpt
