// SPDX-License-Identifier: Apache-2.0
// The pages of `sickbay why` for views in testdata/: NAME.json gives NAME.txt (a pipe) and NAME.72.txt (72
// columns).  SB_REWRITE=1 writes them anew; read the difference before you commit it.
#include "apps/cli/cases/case_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TextPage page_of(int width) {
  TextPage page;
  page.width = width;
  page.now = parse_time("2026-11-21T10:02:00Z").value();
  return page;
}

class CaseText : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static Json view(const std::string& name) {
    auto json = Json::parse(read_file(fs::path(SB_TESTDATA) / (name + ".json")));
    EXPECT_TRUE(json) << name << (json ? "" : json.error().line());
    return json.value_or(Json());
  }
};

TEST_F(CaseText, MatchesTheGoldenPages) {
  int views = 0;
  for (const auto& entry : fs::directory_iterator(SB_TESTDATA)) {
    if (entry.path().extension() != ".json") continue;
    ++views;
    const std::string name = entry.path().stem();
    for (const int width : {0, 72}) {
      const fs::path golden = fs::path(SB_TESTDATA) / (name + (width ? ".72.txt" : ".txt"));
      const std::string text = case_text(view(name), page_of(width));
      if (std::getenv("SB_REWRITE")) std::ofstream(golden, std::ios::binary) << text;
      EXPECT_EQ(text, read_file(golden)) << golden;
      EXPECT_EQ(text.find('\x1b'), text.npos) << golden;
    }
  }
  EXPECT_GE(views, 7);
}

TEST_F(CaseText, TellsTheVerdictByExitCode) {
  const struct {
    const char* view;
    int exit_code;
    bool decided;
  } rows[] = {
      {R"({"state":"closed","verdict":{"cause":"normal","final":true}})", 0, true},
      {R"({"state":"closed","verdict":{"cause":"a","final":true}})", 10, true},
      {R"({"state":"closed","verdict":{"cause":"b","final":true}})", 11, true},
      {R"({"state":"closed","verdict":{"cause":"non_deterministic","final":true}})", 12, true},
      {R"({"state":"closed","verdict":{"cause":"inconclusive","final":true}})", 13, true},
      {R"({"state":"closed","verdict":{"cause":"expired","final":true}})", 13, true},
      {R"({"state":"closed","verdict":{"cause":"cancelled","final":true}})", 14, true},
      {R"({"state":"closed","verdict":{"cause":"out_of_memory","final":true}})", 14, true},
      {R"({"state":"closed","verdict":{"cause":"deadline","final":true}})", 14, true},
      {R"({"state":"closed","verdict":{"cause":"mixed","final":true}})", 15, true},
      {R"({"state":"closed","verdict":{"cause":"c","final":true}})", 16, true},
      {R"({"state":"closed","verdict":{"cause":"d","final":true}})", 17, true},

      {R"({"state":"investigating","verdict":{"cause":"b","final":false}})", 20, false},
      {R"({"state":"waiting","verdict":{"cause":"inconclusive","final":false}})", 20, false},
      {R"({"state":"watching","verdict":null})", 20, false},
      {R"({"state":"investigating","verdict":{"cause":"a","final":true}})", 10, true},
      {R"({"state":"closed","verdict":null})", 13, true},
      {R"({"state":"closed","verdict":{"cause":"of_the_future","final":true}})", 13, true},
  };
  for (const auto& row : rows) {
    const Json view = Json::parse(row.view).value();
    EXPECT_EQ(verdict_exit_code(view), row.exit_code) << row.view;
    EXPECT_EQ(is_decided(view), row.decided) << row.view;
  }
}

TEST_F(CaseText, ListsTheTasksOfAnArray) {
  const Json view =
      Json::parse(R"({"case":"c17","job_id":1234,"array":"0-19%4","state":"investigating","verdict":null,
      "asked":"task 4 ended as COMPLETED","tasks":{"expression":"0-19%4","count":20,"left":"18-19","running":2,"lost":"",
      "ended":[{"state":"COMPLETED","tasks":"0-2,4-6,8-17","count":16}],
      "failed":[{"tasks":"3","count":1,"state":"FAILED","exit_code":1,"exit_signal":0,"nodes":"n1","case":"c18","cause":"program"},
                {"tasks":"7","count":1,"state":"FAILED","exit_code":1,"exit_signal":0,"same_as":3,"case":"c18"}]}})")
          .value();
  const std::string text = case_text(view, page_of(0));
  EXPECT_TRUE(text.starts_with(
      "18 of 20 tasks have ended, 2 failed; Sickbay is finding out why.\nCase c17, job array 1234"))
      << text;
  for (const char* words : {"asked for:  task 4 ended as COMPLETED", "program", "the same failure as task 3",
                            "0-2,4-6,8-17", "not ended, as last noted"})
    EXPECT_NE(text.find(words), text.npos) << words << "\n" << text;
  const Json task =
      Json::parse(R"({"case":"c18","job_id":1240,"parent":"c17","task":"1234_3","state":"closed"})").value();
  EXPECT_NE(case_text(task, page_of(0)).find("Case c18, job 1234_3 (job 1240, a task of c17)"),
            std::string::npos);
}

TEST_F(CaseText, PaintsTheSentence) {
  TextPage page = page_of(0);
  page.colours = true;
  EXPECT_TRUE(
      case_text(view("node"), page).starts_with("\x1b[31mNode n3 is the cause, not the program.\x1b[0m\n"));
}

TEST_F(CaseText, ListsCases) {
  const auto summary = [](const char* text) { return Json::parse(text).value(); };
  const Json list = Json::object(
      {{"items",
        Json::array(
            {summary(R"({"case":"c9","job_id":4711,"user":"alice","state":"closed","opened":1795255200000000,
                                 "verdict":{"cause":"a","final":true,"nodes":[]}})"),
             summary(R"({"case":"c10","job_id":81,"user":"bob","state":"investigating",
                                 "opened":1795255260000000,
                                 "verdict":{"cause":"b","final":false,"nodes":["n3","n2"]}})"),
             summary(R"({"case":"c11","job_id":0,"user":"bob","state":"unbound","verdict":null,
                                 "opened":1795255261000000})")})}});
  EXPECT_EQ(cases_text(list, page_of(72)),
            "CASE   JOB  USER   STATE          OPENED               VERDICT\n"
            "c9    4711  alice  closed         2026-11-21 10:00:00  (a) program\n"
            "c10     81  bob    investigating  2026-11-21 10:01:00  (b) node n[2-3],\n"
            "                                                       provisional\n"
            "c11      -  bob    unbound        2026-11-21 10:01:01  -\n");
  EXPECT_EQ(cases_text(Json::object({{"items", Json::array()}}), page_of(72)),
            "No cases.  'sickbay submit' opens one; 'sickbay cases --all' shows closed ones too.\n");
}

// Why it failed, where the program did; cut, for the page of the case has the whole.
TEST_F(CaseText, ListsWhyAProgramFailed) {
  const auto line = [](const char* cause, const char* verdict) {
    Json item = Json::object({{"case", "c9"},
                              {"job_id", 4711},
                              {"user", "alice"},
                              {"state", "closed"},
                              {"opened", std::int64_t{1795255200000000}},
                              {"cause", cause},
                              {"verdict", Json::object({{"cause", verdict}, {"final", true}})}});
    return cases_text(Json::object({{"items", Json::array({std::move(item)})}}), page_of(0));
  };
  EXPECT_NE(line("ERROR STOP no matrix", "a").find("(a) program: ERROR STOP no matrix\n"), std::string::npos);
  EXPECT_NE(line("ERROR STOP no matrix", "non_deterministic").find("non-deterministic: ERROR STOP"),
            std::string::npos);
  EXPECT_EQ(line("ERROR STOP no matrix", "b").find("ERROR STOP"), std::string::npos)
      << "the node is the cause";
  EXPECT_NE(line(std::string(100, 'x').c_str(), "a").find(": " + std::string(60, 'x') + "...\n"),
            std::string::npos);
}

TEST_F(CaseText, BriefHoldsTheRuns) {
  EXPECT_EQ(case_brief(view("watching"), page_of(0)),
            "Case c17, job 4711 of alice, opened 2026-11-21 10:00:00\n"
            "The job has not ended; Sickbay is watching it.\n"
            "\n"
            "Runs\n"
            "  RUN      JOB  STATE    WHAT\n"
            "  c17.r1  4711  PENDING  program\n");
}

}  // namespace
}  // namespace sickbay::cli
