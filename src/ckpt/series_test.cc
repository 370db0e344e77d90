// SPDX-License-Identifier: Apache-2.0
#include "ckpt/series.h"

#include "ckpt/ckpt_test_parts.h"

namespace sickbay::ckpt {
namespace {

class SeriesOf : public testing::Test {
 protected:
  checkpoint::test::TemporaryFolder folder_;
  std::unique_ptr<checkpoint::Files> files_ = checkpoint::make_posix_files();
};

TEST_F(SeriesOf, ANameIsAFolderOfItsOwn) {
  EXPECT_EQ(Series::open(*files_, folder_.path(), 17, "")->store.folder(), folder_ / "17");
  EXPECT_EQ(Series::open(*files_, folder_.path(), 17, "sim")->board, folder_ / "17.sim/board");
  for (const std::string& name : {std::string("a/b"), std::string(".."), std::string(65, 'x')})
    EXPECT_EQ(Series::open(*files_, folder_.path(), 17, name).error().code, ErrorCode::usage) << name;
}

TEST_F(SeriesOf, WhatIsKeptComesBackAndWhatIsDamagedIsEmpty) {
  const Series series = *Series::open(*files_, folder_.path(), 17, "");
  EXPECT_EQ(read_state(series), SeriesState());
  const SeriesState state{.last = 9,
                          .tip = 7,
                          .tip_job = 17,
                          .tip_restart = 2,
                          .costs_ms = {3, 4},
                          .asked_done = "t",
                          .asked_error = "timed out"};
  ASSERT_TRUE(write_state(series, state));
  EXPECT_EQ(read_state(series), state);
  for (const char* text : {"", "{", "[1]", "{\"last\":-4,\"tip\":3,\"costs_ms\":7}"}) {
    test::write_text(series.board + "/series.json", text);
    EXPECT_EQ(read_state(series), SeriesState()) << text;
  }
}

TEST_F(SeriesOf, TheUsualCostIsTheMiddleOfTheLastOnes) {
  SeriesState state;
  EXPECT_EQ(usual_cost(state), std::nullopt);
  for (const int length : {1, 100, 2, 3, 3, 3, 3, 3, 3, 3, 3}) add_cost(state, std::chrono::seconds(length));
  EXPECT_EQ(state.costs_ms.size(), 9U);
  EXPECT_EQ(usual_cost(state), std::chrono::seconds(3));
}

}  // namespace
}  // namespace sickbay::ckpt
