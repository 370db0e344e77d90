// SPDX-License-Identifier: Apache-2.0
#include "apps/folder/folder_order.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "apps/folder/file_look.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class FolderOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    top = testing::TempDir() + "sickbay_order_XXXXXX";
    ASSERT_NE(::mkdtemp(top.data()), nullptr);
    to = top + "/sickbay-c17/work-r2";
    write("a.dat", "one");
    write("b.dat", "two");
  }
  void TearDown() override { fs::remove_all(top); }
  void write(const std::string& name, const std::string& text) { std::ofstream(top + "/" + name) << text; }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  Json order(const char* how = "copy") {
    return Json::object({{"do", "prepare"},
                         {"how", how},
                         {"from", top},
                         {"to", to},
                         {"inputs", Json::array({seen("a.dat"), seen("b.dat")})},
                         {"max_bytes", 1000000},
                         {"max_files", 100}});
  }
  Json seen(const std::string& name) {
    const auto file = look_at_file(top + "/" + name, kInputBytes);
    return file ? file->to_json() : InputFile{top + "/" + name, "", 3, kNoTime}.to_json();
  }
  std::string top, to;
};

TEST_F(FolderOrderTest, ACopyIsMadeOnceAndTakenWhenItIsAskedForAgain) {
  const Json first = do_folder_order(order());
  EXPECT_EQ(first["folder"].as_string(), to) << first.dump();
  EXPECT_EQ(first["files"].as_int(), 2);
  EXPECT_EQ(first["too_large"].as_bool(true), false);
  EXPECT_EQ(read(to + "/a.dat"), "one");
  EXPECT_FALSE(fs::exists(to + "/sickbay-c17"));
  // The answer was lost; meanwhile nothing was done there.
  std::ofstream(to + "/mark") << "x";
  const Json again = do_folder_order(order());
  EXPECT_EQ(again["folder"].as_string(), to);
  EXPECT_EQ(again["files"].as_int(), 3);
  EXPECT_TRUE(fs::exists(to + "/mark")) << "it was copied a second time";
}

TEST_F(FolderOrderTest, WhatAKilledTryLeftIsMadeAnew) {
  fs::create_directories(to + ".part/sub");
  std::ofstream(to + ".part/half") << "x";
  EXPECT_EQ(do_folder_order(order())["folder"].as_string(), to);
  EXPECT_FALSE(fs::exists(to + "/half"));
  EXPECT_FALSE(fs::exists(to + ".part"));
}

TEST_F(FolderOrderTest, InTheUsersOwnFolderOnlyTheInputsAreLookedAt) {
  const Json said = do_folder_order(order("same"));
  EXPECT_EQ(said["folder"].as_string_or("?"), "");
  EXPECT_EQ(said["changed"].size(), 0U);
  EXPECT_FALSE(fs::exists(top + "/sickbay-c17"));
}

// [from, to] around now, in seconds.
Json ran_at(std::int64_t from, std::int64_t to) {
  return Json::array({Json::object({{"from", from * 1'000'000}, {"to", to * 1'000'000}})});
}

TEST_F(FolderOrderTest, WhatTheRunItselfWroteIsNoChange) {
  Json asked = order();
  asked.set("ran", ran_at(5000, 6000));
  write("a.dat", "longer than before");
  const struct {
    std::int64_t mtime;
    bool by_run;
  } rows[] = {{4999, false}, {5000, true}, {6000, true}, {6001, false}, {1000, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.mtime);
    const timespec times[2] = {{row.mtime, 0}, {row.mtime, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (top + "/a.dat").c_str(), times, 0), 0);
    for (const char* how : {"same", "copy"}) {
      asked.set("how", how);
      const Json said = do_folder_order(asked);
      const Json& list = said[row.by_run ? "noted" : "changed"];
      ASSERT_EQ(list.size(), 1U) << said.dump();
      EXPECT_EQ(said[row.by_run ? "changed" : "noted"].size(), 0U);
      EXPECT_EQ(list.items()[0]["path"].as_string(), top + "/a.dat");
      EXPECT_EQ(list.items()[0]["how"].as_string(), row.by_run ? "by_run" : "content");
      EXPECT_EQ(list.items()[0]["mtime"].as_int(), row.mtime * 1'000'000);
      EXPECT_EQ(fs::exists(to), row.by_run && std::string(how) == "copy");
    }
    if (row.by_run) {
      EXPECT_EQ(read(to + "/a.dat"), "longer than before") << "what the first run left";
    }
    fs::remove_all(to);
  }
  // One that was too long for a digest is known by its time alone.
  Json large = asked;
  large.set("inputs", Json::array({Json::object({{"path", top + "/a.dat"}, {"size", 18}, {"mtime", 5}})}));
  large.set("ran", ran_at(900, 1100));
  EXPECT_EQ(do_folder_order(large)["noted"].size(), 1U);
}

TEST_F(FolderOrderTest, AFileThatIsGoneKeepsNoRunAwayButAProgramDoes) {
  Json asked = order();
  fs::remove(top + "/b.dat");
  for (const char* how : {"same", "copy"}) {
    asked.set("how", how);
    const Json said = do_folder_order(asked);
    EXPECT_EQ(said["changed"].size(), 0U);
    ASSERT_EQ(said["noted"].size(), 1U);
    EXPECT_EQ(said["noted"].items()[0]["how"].as_string(), "gone");
    EXPECT_EQ(said["folder"].as_string(), std::string(how) == "copy" ? to : "");
  }
  fs::remove_all(to);
  fs::permissions(top + "/a.dat", fs::perms::owner_all);
  asked = order();
  ASSERT_TRUE(asked["inputs"].items()[0]["program"].as_bool());
  fs::remove(top + "/a.dat");
  const Json said = do_folder_order(asked);
  ASSERT_EQ(said["changed"].size(), 1U);
  EXPECT_EQ(said["changed"].items()[0]["how"].as_string(), "gone");
  EXPECT_FALSE(fs::exists(to));
}

TEST_F(FolderOrderTest, ChangedInputsAreSaidAndNothingIsCopied) {
  Json asked = order();
  asked.set("ran", ran_at(5000, 6000));
  write("a.dat", "ONE");  // of the same size
  write("b.dat", "longer");
  for (const char* how : {"copy", "same"}) {
    Json one = asked;
    one.set("how", how);
    const Json said = do_folder_order(one);
    ASSERT_EQ(said["changed"].size(), 2U) << said.dump();
    EXPECT_EQ(said["changed"].items()[0]["path"].as_string(), top + "/a.dat");
    EXPECT_EQ(said["changed"].items()[0]["how"].as_string(), "content");
    EXPECT_GT(said["changed"].items()[0]["mtime"].as_int(), 0);
    EXPECT_EQ(said["changed"].items()[1]["how"].as_string(), "content");
    EXPECT_EQ(said["noted"].size(), 0U);
    EXPECT_EQ(said["folder"].as_string_or("?"), "");
    EXPECT_FALSE(fs::exists(to));
  }
}

TEST_F(FolderOrderTest, ANewTimeAloneIsNoChangeWhereThereIsADigest) {
  const Json asked = order();
  const timespec times[2] = {{1000, 0}, {2000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (top + "/a.dat").c_str(), times, 0), 0);
  EXPECT_EQ(do_folder_order(asked)["changed"].size(), 0U);
  Json large = asked;  // as if it had been too long for one
  large.set("inputs", Json::array({Json::object({{"path", top + "/a.dat"}, {"size", 3}, {"mtime", 5}})}));
  EXPECT_EQ(do_folder_order(large)["changed"].size(), 1U);
}

TEST_F(FolderOrderTest, AnInputThatBecameAPipeHoldsNobody) {
  const Json asked = order();
  fs::remove(top + "/a.dat");
  ASSERT_EQ(::mkfifo((top + "/a.dat").c_str(), 0600), 0);
  EXPECT_EQ(do_folder_order(asked)["changed"].items()[0]["how"].as_string(), "unreadable");
}

TEST_F(FolderOrderTest, WhatIsTooLargeIsNotCopied) {
  Json small = order();
  small.set("max_files", 1);
  Json said = do_folder_order(small);
  EXPECT_TRUE(said["too_large"].as_bool());
  EXPECT_EQ(said["folder"].as_string_or("?"), "");
  EXPECT_THAT(said["why"].as_string(), HasSubstr("1 files"));
  small.set("max_files", 100).set("max_bytes", 3);
  EXPECT_TRUE(do_folder_order(small)["too_large"].as_bool());
  EXPECT_FALSE(fs::exists(top + "/sickbay-c17"));
}

TEST_F(FolderOrderTest, ACopyThatTakesTooLongLeavesNothing) {
  FolderLimits limits;
  limits.copy = std::chrono::seconds(-1);
  const Json said = do_folder_order(order(), limits);
  EXPECT_EQ(said["folder"].as_string_or("?"), "");
  EXPECT_THAT(said["why"].as_string(), HasSubstr("in time"));
  EXPECT_FALSE(fs::exists(to));
  EXPECT_FALSE(fs::exists(to + ".part"));
}

TEST_F(FolderOrderTest, AFolderThatIsGoneIsAnError) {
  Json gone = order();
  gone.set("from", top + "/gone");
  EXPECT_EQ(do_folder_order(gone)["error"]["code"].as_string(), "not_found");
  gone.set("from", top + "/a.dat");
  EXPECT_EQ(do_folder_order(gone)["error"]["code"].as_string(), "not_found");
}

TEST_F(FolderOrderTest, CopiesGoAndMayGoTwice) {
  ASSERT_EQ(do_folder_order(order())["folder"].as_string(), to);
  fs::create_directories(to + ".part");
  const Json clean = Json::object({{"do", "clean"}, {"folders", Json::array({to})}});
  EXPECT_EQ(do_folder_order(clean)["removed"].as_int(), 4);
  EXPECT_FALSE(fs::exists(to));
  EXPECT_FALSE(fs::exists(to + ".part"));
  EXPECT_EQ(do_folder_order(clean)["removed"].as_int(-1), 0);
  EXPECT_EQ(read(top + "/a.dat"), "one");
}

Json mark_of(const char* opened) {
  return Json::object({{"case", "c17"}, {"run", "c17.r2"}, {"opened", opened}});
}
Json marked(Json order, const char* opened) { return order.set("mark", mark_of(opened)); }

TEST_F(FolderOrderTest, AFolderOfAnotherLifeIsNeitherUsedNorRemoved) {
  const Json theirs = do_folder_order(marked(order(), "1"));
  ASSERT_EQ(theirs["folder"].as_string(), to) << theirs.dump();
  std::ofstream(to + "/result") << "theirs";
  // Of another cluster with the same /home, or from before the journal was lost.
  for (const bool again : {false, true}) {
    const Json ours = do_folder_order(marked(order(), "2"));
    EXPECT_EQ(ours["folder"].as_string(), to + ".1") << again << ours.dump();
    EXPECT_EQ(ours["files"].as_int(), 2);
    EXPECT_FALSE(fs::exists(to + ".1/result"));
  }
  const auto clean = [&](const char* opened, const std::string& folder) {
    return do_folder_order(
        Json::object({{"do", "clean"}, {"folders", Json::array({folder})}, {"mark", mark_of(opened)}}));
  };
  EXPECT_THAT(clean("2", to)["kept"].as_strings(), testing::ElementsAre(to));
  EXPECT_EQ(read(to + "/result"), "theirs");
  EXPECT_THAT(clean("2", to + ".1")["kept"].as_strings(), IsEmpty());
  EXPECT_FALSE(fs::exists(to + ".1"));
  EXPECT_THAT(clean("1", to)["kept"].as_strings(), IsEmpty());
  EXPECT_FALSE(fs::exists(to));
}

TEST_F(FolderOrderTest, ACopyOfACopyHasItsOwnMark) {
  write(".sickbay-copy", mark_of("1").dump());
  for (const bool again : {false, true}) {
    const Json said = do_folder_order(marked(order(), "2"));
    EXPECT_EQ(said["folder"].as_string(), to) << again;
    EXPECT_EQ(said["files"].as_int(), 2);
  }
  const auto mark = Json::parse(read(to + "/.sickbay-copy"));
  ASSERT_TRUE(mark);
  EXPECT_EQ((*mark)["opened"].as_string(), "2");
}

TEST_F(FolderOrderTest, AHalfCopyIsMadeAnewOnlyWhereItIsOurs) {
  fs::create_directories(to + ".part");  // killed before it had a mark
  EXPECT_EQ(do_folder_order(marked(order(), "2"))["folder"].as_string(), to);
  fs::remove_all(to);
  fs::create_directories(to + ".part");
  std::ofstream(to + ".part/half") << "x";
  std::ofstream(to + ".part/.sickbay-copy") << mark_of("2").dump();
  EXPECT_EQ(do_folder_order(marked(order(), "1"))["folder"].as_string(), to + ".1");
  EXPECT_TRUE(fs::exists(to + ".part/half"));
  EXPECT_EQ(do_folder_order(marked(order(), "2"))["folder"].as_string(), to);
  EXPECT_FALSE(fs::exists(to + "/half"));
  EXPECT_FALSE(fs::exists(to + ".part"));
}

TEST_F(FolderOrderTest, WhatACopyDoesNotProtectIsSaidEachTime) {
  const std::string outside = top + "_outside";
  fs::create_directory(outside);
  fs::create_symlink(outside, top + "/checkpoint");
  ASSERT_EQ(::mkfifo((top + "/pipe").c_str(), 0600), 0);
  for (const bool again : {false, true}) {
    const Json said = do_folder_order(marked(order(), "1"));
    EXPECT_EQ(said["folder"].as_string(), to) << again;
    EXPECT_EQ(said["links_out"].as_int(), 1);
    EXPECT_EQ(said["first"]["links_out"].as_string(), top + "/checkpoint -> " + outside);
    EXPECT_EQ(said["left_out"].as_int(), 1);
    EXPECT_EQ(said["pipes"].as_int(), 1);
  }
  fs::remove_all(outside);
}

TEST_F(FolderOrderTest, OrdersThatMakeNoSenseAreRefused) {
  for (const Json& one : {Json(), Json::object({{"do", "format"}}),
                          Json::object({{"do", "clean"}, {"folders", Json::array({"/"})}}),
                          Json::object({{"do", "clean"}, {"folders", Json::array({"here"})}}),
                          Json::object({{"do", "prepare"}, {"from", "x"}, {"to", "/y"}})})
    EXPECT_EQ(do_folder_order(one)["error"]["code"].as_string(), "bad_input") << one.dump();
}

}  // namespace
}  // namespace sickbay
