// SPDX-License-Identifier: Apache-2.0
// smd against a nonstop service of the test's own (libsmd's stub, a real munged), with a clock that goes by
// itself: every option, every code, and the paper's examples and figures line by line.
#include "apps/smd/command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <map>

#include "apps/smd/nodes_file.h"
#include "base/json.h"
#include "stub_test_parts.h"

namespace sickbay::smd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using wire::Code;
using wire::Command;
using wire::Request;

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

class SmdCommand : public StubServiceTest {
 protected:
  void SetUp() override {
    StubServiceTest::SetUp();
    world.variable = [this](const char* name) { return variables.contains(name) ? variables.at(name) : ""; };
    world.out = [this](std::string_view text) { out += text; };
    world.err = [this](std::string_view text) { err += text; };
    world.now = [this] { return now; };
    world.wait_until = [this](TimePoint until) { now = until; };
    world.version = "1.2.3";
  }
  void TearDown() override {
    ::unsetenv("SMD_DEBUG");
    EXPECT_LT(now, from_unix_seconds(10'000)) << "the clock is the test's own";
  }

  // The nodes file goes into the test's own folder.
  int smd(std::vector<std::string> words) {
    out.clear();
    err.clear();
    words.insert(words.end(), {"-o", conf.path("")});
    return run_smd(words, world);
  }
  std::string nodes_file(int job) { return nodes_file_path(conf.path(""), static_cast<std::uint32_t>(job)); }
  // All requests so far, without the release.
  std::vector<std::string> asked() {
    std::vector<std::string> all = service->payloads();
    for (std::string& one : all) one = one.substr(std::string("VERSION:22.05:").size());
    return all;
  }
  // An answer for each request by its command; a code alone says no.
  void serve(std::function<wire::Reply(const Request&)> how) {
    service->answer([how = std::move(how)](const Result<Request>& request, int, const std::string&) {
      if (!request) return wire::frame("22.05.8 ECMD " + request.error().what);
      wire::Reply reply = how(*request);
      reply.command = request->command;
      return wire::frame(wire::format_reply(reply, "22.05.8"));
    });
  }
  void serve(wire::Reply reply) {
    serve([reply](const Request&) { return reply; });
  }
  static wire::Reply no(Code code, std::string why = "") {
    wire::Reply reply;
    reply.code = code;
    reply.why = std::move(why);
    return reply;
  }
  static wire::Reply set_of(std::string nodes, std::uint32_t count, std::string replacement = "") {
    wire::Reply reply;
    reply.replacement = std::move(replacement);
    reply.set = {std::move(nodes), count, {{2, count}}};
    return reply;
  }

  std::map<std::string, std::string> variables;
  std::string out, err;
  TimePoint now = kNoTime;
  World world;
};

// ---- the paper ----

TEST_F(SmdCommand, PaperNoFailure) {
  variables["SMD_NONSTOP_FAILED"] = "REPLACE";
  serve(wire::Reply{});
  std::string wanted = file_text(SB_PAPER "/no_failure.txt");
  const std::string start = wanted.substr(0, wanted.find('\n') + 1);  // which steps.sh prints
  wanted = wanted.substr(start.size(), wanted.find("start: step 1") - start.size());
  EXPECT_EQ(smd({"-H", "58"}), 0);
  EXPECT_EQ(out, wanted);
  EXPECT_EQ(err, "");
}

TEST_F(SmdCommand, PaperReplaced) {
  variables["SMD_NONSTOP_FAILED"] = "REPLACE";
  variables["SLURM_JOB_ID"] = "59";
  serve([](const Request& request) {
    if (request.command == Command::get_fail_nodes) {
      wire::Reply reply;
      reply.faulty = {{"ercole", 1, wire::kFailed}};
      return reply;
    }
    return set_of("dario,prometeo", 2, "prometeo");
  });
  EXPECT_EQ(smd({"-H"}), 0);
  EXPECT_EQ(out, file_text(SB_PAPER "/replaced.txt"));
  EXPECT_EQ(err, "");
  EXPECT_THAT(file_text(nodes_file(59)), ::testing::StartsWith(file_text(SB_PAPER "/smd_job_nodes.sh")));
  EXPECT_THAT(asked(), ::testing::ElementsAre("GET_FAIL_NODES:JOBID:59:STATE_FLAGS:2",
                                              "REPLACE_NODE:JOBID:59:NODE:ercole"));
}

TEST_F(SmdCommand, PaperDropped) {
  variables["SMD_NONSTOP_FAILED"] = "REPLACE:TIME_LIMIT_DELAY=1:DROP:TIME_LIMIT_DROP=30";
  serve([](const Request& request) {
    wire::Reply reply;
    if (request.command == Command::get_fail_nodes) reply.faulty = {{"spartaco", 1, wire::kFailed}};
    if (request.command == Command::replace_node) reply = no(Code::enodereplacefail, "no idle node");
    if (request.command == Command::drop_node) reply = set_of("dario,prometeo", 2);
    return reply;
  });
  EXPECT_EQ(smd({"-H", "151"}), 0);
  std::string wanted = file_text(SB_PAPER "/dropped.txt");
  // The page has lost a line end; and the file lies elsewhere here.
  replace_all(wanted, "sec..._try_replace", "sec...\n_try_replace");
  replace_all(wanted, "/tmp/smd_job_151_nodes.sh", nodes_file(151));
  EXPECT_EQ(out, wanted);
  EXPECT_EQ(err, "");
  EXPECT_THAT(file_text(nodes_file(151)), ::testing::StartsWith(file_text(SB_PAPER "/smd_job_nodes.sh")));
  EXPECT_THAT(asked(), ::testing::ElementsAre(
                           "GET_FAIL_NODES:JOBID:151:STATE_FLAGS:2", "REPLACE_NODE:JOBID:151:NODE:spartaco",
                           "TIME_INCR:JOBID:151:MINUTES:1", "REPLACE_NODE:JOBID:151:NODE:spartaco",
                           "REPLACE_NODE:JOBID:151:NODE:spartaco", "REPLACE_NODE:JOBID:151:NODE:spartaco",
                           "DROP_NODE:JOBID:151:NODE:spartaco", "TIME_INCR:JOBID:151:MINUTES:30"));
  EXPECT_EQ(now, from_unix_seconds(60)) << "a minute of the job's time went by";
}

// Figure 2: the step has ended by itself, a node is asked for, the next step begins.
TEST_F(SmdCommand, PaperFigure2) {
  serve(set_of("n[1-2],n9", 3, "n9"));
  EXPECT_EQ(smd({"-r", "n3", "17"}), 0);
  EXPECT_EQ(out,
            "_try_replace: job 17 trying to replace 1 nodes\n"
            "_try_replace: job 17 node n3 replaced by n9\n"
            "_generate_node_file: job 17 all nodes replaced\n"
            "source the " +
                nodes_file(17) + " hostfile to get the new job environment\n");
  EXPECT_THAT(file_text(nodes_file(17)), HasSubstr("export SLURM_JOB_NODELIST=n\\[1-2\\],n9\n"));
}

// Figure 3: query; replacement only in an hour; drop; an hour more.
TEST_F(SmdCommand, PaperFigure3) {
  serve([](const Request& request) {
    wire::Reply reply;
    if (request.command == Command::get_fail_nodes) reply.faulty = {{"n3", 8, wire::kFailed}};
    if (request.command == Command::replace_node) {
      reply.code = Code::ereplacelater;
      reply.when = from_unix_seconds(3600);
    }
    if (request.command == Command::drop_node) reply = set_of("n[1-2]", 2);
    return reply;
  });
  EXPECT_EQ(smd({"-f", "17"}), 0);
  EXPECT_EQ(out, "job 17 FAILED node n3 cpu_count 8\n");
  EXPECT_EQ(smd({"-r", "n3", "17"}), 75);
  EXPECT_EQ(out,
            "_try_replace: job 17 trying to replace 1 nodes\n"
            "_try_replace: job 17 node n3 will be replaced later, expected at 1970-01-01T01:00:00Z\n");
  EXPECT_EQ(err, "") << "later is no error";
  EXPECT_FALSE(std::filesystem::exists(nodes_file(17)));
  EXPECT_EQ(smd({"-D", "n3", "17"}), 0);
  EXPECT_THAT(out, StartsWith("_drop_nodes: job 17 node n3 dropped all right\n"));
  EXPECT_EQ(smd({"-e", "60", "17"}), 0);
  EXPECT_EQ(out,
            "_time_limit_extend: job 17 extending job time limit by 60 minutes\n"
            "_increase_job_runtime: job 17 run time limit extended by 60min successfully\n");
  EXPECT_THAT(asked(),
              ::testing::ElementsAre("GET_FAIL_NODES:JOBID:17:STATE_FLAGS:6", "REPLACE_NODE:JOBID:17:NODE:n3",
                                     "DROP_NODE:JOBID:17:NODE:n3", "TIME_INCR:JOBID:17:MINUTES:60"));
}

// ---- each option ----

TEST_F(SmdCommand, ShowsFaultyNodes) {
  wire::Reply reply;
  reply.faulty = {{"n2", 4, wire::kFailing}, {"n3", 8, wire::kFailed}};
  serve(reply);
  EXPECT_EQ(smd({"-f", "17"}), 0);
  EXPECT_EQ(out, "job 17 FAILING node n2 cpu_count 4\njob 17 FAILED node n3 cpu_count 8\n");
  EXPECT_EQ(smd({"-f", "17", "--json"}), 0);
  const Json json = Json::parse(out).value();
  EXPECT_EQ(json["job_id"].as_int(), 17);
  EXPECT_EQ(json["nodes"].items()[0]["state"].as_string(), "FAILING");
  EXPECT_EQ(json["nodes"].items()[1]["cpus"].as_int(), 8);
  serve(wire::Reply{});
  EXPECT_EQ(smd({"-f", "17"}), 0);
  EXPECT_EQ(out, "job 17 has no faulty nodes\n");
}

TEST_F(SmdCommand, Drains) {
  serve(wire::Reply{});
  EXPECT_EQ(smd({"-d", "n[3,2]", "-R", "ECC errors", "17"}), 0);
  EXPECT_EQ(out, "node n[2-3] is set to state FAIL\n");
  EXPECT_EQ(smd({"-d", "n3"}), 0);
  EXPECT_THAT(asked(), ::testing::ElementsAre("DRAIN:NODES:\"n[2-3]\":REASON:\"ECC errors\":JOBID:17",
                                              "DRAIN:NODES:\"n3\":REASON:\"failing\""));
  EXPECT_EQ(smd({"-d", "n3", "--json"}), 0);
  EXPECT_TRUE(Json::parse(out).value()["drained"].as_bool());
}

TEST_F(SmdCommand, ReplacesSeveralAtOnceAndDropsOneByOne) {
  serve(set_of("n[1,8-9]", 3, "n[8-9]"));
  EXPECT_EQ(smd({"-r", "n3,n2", "17", "--json"}), 0);
  EXPECT_EQ(asked().back(), "REPLACE_NODE:JOBID:17:NODE:n[2-3]");
  Json json = Json::parse(out).value();
  EXPECT_EQ(json["replacement"].as_string(), "n[8-9]");
  EXPECT_EQ(json["new_set"]["count"].as_int(), 3);
  EXPECT_EQ(json["new_set"]["cpus_per_node"].as_string(), "2(x3)");

  serve([](const Request& request) {
    return request.node == "n3" ? no(Code::enodenotfail) : set_of("n[1,3]", 2);
  });
  EXPECT_EQ(smd({"-D", "n[2-4]", "17"}), 66);
  EXPECT_EQ(out,
            "_drop_nodes: job 17 node n2 dropped all right\n"
            "_generate_node_file: job 17 all nodes replaced\n"
            "source the " +
                nodes_file(17) + " hostfile to get the new job environment\n")
      << "what was dropped is dropped";
  EXPECT_THAT(err, HasSubstr("cannot drop n3 from job 17"));
  EXPECT_THAT(file_text(nodes_file(17)), HasSubstr("SLURM_NNODES=2"));
  serve(set_of("n1", 1));
  EXPECT_EQ(smd({"-D", "n2", "17", "--json"}), 0);
  json = Json::parse(out).value();
  EXPECT_EQ(json["dropped"].as_strings(), std::vector<std::string>{"n2"});
  EXPECT_EQ(json["new_set"]["nodes"].as_string(), "n1");
}

TEST_F(SmdCommand, ExtendsByAllTheCredit) {
  serve(wire::Reply{});
  EXPECT_EQ(smd({"-e", "0", "17"}), 0);
  EXPECT_THAT(out, HasSubstr("by all its credit"));
  EXPECT_EQ(asked().back(), "TIME_INCR:JOBID:17:MINUTES:0");
  EXPECT_EQ(smd({"-e", "5", "17", "--json"}), 0);
  EXPECT_EQ(Json::parse(out).value()["minutes"].as_int(), 5);
}

TEST_F(SmdCommand, ShowsJobAndConfiguration) {
  wire::Reply reply;
  reply.job = {{{"n3", 8, wire::kFailed}, {"n4", 1, wire::kFailed}}, 5, 18, "n3", 2, 30};
  reply.config.control_addr = "ctl";
  reply.config.hot_spares = {{"batch", 8}};
  reply.config.time_limit_delay = 600;
  reply.config.drain_allow.names = {"alan", "brenda"};
  serve(reply);
  EXPECT_EQ(smd({"-j", "17"}), 0);
  EXPECT_EQ(out,
            "JobId=17\nFaultyNodes=n3(8),n4(1)\nPendingNode=n3\nPendingJobId=18\nPendingJobDelay=5\n"
            "ReplacedNodes=2\nTimeExtendAvail=30\n");
  EXPECT_EQ(smd({"-j", "17", "--json"}), 0);
  Json json = Json::parse(out).value();
  EXPECT_EQ(json["faulty"].items()[0]["node"].as_string(), "n3");
  EXPECT_EQ(json["credit"].as_int(), 30);
  EXPECT_EQ(smd({"-c"}), 0);
  EXPECT_EQ(out,
            fmt::format("ConfigFile={}\nControlAddr=127.0.0.1\nBackupAddr=none\nPort={}\nDebug=0\n"
                        "HotSpareCount=batch:8\nMaxSpareNodeCount=0\nTimeLimitDelay=600\nTimeLimitDrop=0\n"
                        "TimeLimitExtend=0\nUserDrainAllow=alan,brenda\nUserDrainDeny=none\nReadTimeout=10\n"
                        "WriteTimeout=10\n",
                        conf.path("nonstop.conf"), service->port()));
  EXPECT_EQ(smd({"-c", "--json"}), 0);
  json = Json::parse(out).value();
  EXPECT_TRUE(json["BackupAddr"].is_null());
  EXPECT_EQ(json["TimeLimitDelay"].as_int(), 600);
  serve(wire::Reply{});
  EXPECT_EQ(smd({"-j", "17"}), 0);
  EXPECT_THAT(out, HasSubstr("FaultyNodes=none\nPendingNode=none\n"));
}

TEST_F(SmdCommand, PrintsExports) {
  serve(set_of("n[1,9]", 2, "n9"));
  EXPECT_EQ(smd({"-E", "-r", "n3", "17"}), 0);
  EXPECT_EQ(out, file_text(nodes_file(17))) << "nothing but the exports";
  EXPECT_THAT(out, StartsWith("export SLURM_NODELIST=n\\[1,9\\]\n"));
  EXPECT_THAT(err, HasSubstr("node n3 replaced by n9"));
  EXPECT_EQ(smd({"-E", "17"}), 0);
  EXPECT_EQ(out, file_text(nodes_file(17)));
  // Before anything was replaced: what the job began with.
  EXPECT_EQ(smd({"-E", "18"}), 66);
  EXPECT_THAT(err, HasSubstr("SLURM_JOB_NODELIST is not set"));
  variables["SLURM_JOB_NODELIST"] = "n[1-3]";
  variables["SLURM_JOB_CPUS_PER_NODE"] = "2(x3)";
  EXPECT_EQ(smd({"-E", "18"}), 0);
  EXPECT_EQ(out, nodes_file_text({"n[1-3]", 3, "2(x3)"}));
  // A file that another could have written is not handed on.
  ::chmod(nodes_file(17).c_str(), 0666);
  EXPECT_EQ(smd({"-E", "17"}), 77);
  EXPECT_EQ(out, "");

  variables["SMD_NONSTOP_FAILED"] = "DROP";
  serve([](const Request& request) {
    wire::Reply reply = set_of("n1", 1);
    reply.faulty = {{"n3", 8, wire::kFailed}};
    return request.command == Command::get_fail_nodes ? reply : set_of("n1", 1);
  });
  EXPECT_EQ(smd({"-EH", "19"}), 0);
  EXPECT_EQ(out, nodes_file_text({"n1", 1, "2"}));
  EXPECT_THAT(err, HasSubstr("_drop_nodes: job 19 node n3 dropped all right"));
}

TEST_F(SmdCommand, HelpAndVersion) {
  EXPECT_EQ(smd({"--help"}), 0);
  EXPECT_THAT(out, StartsWith("usage: smd"));
  EXPECT_EQ(smd({"-V"}), 0);
  EXPECT_EQ(out, "smd 1.2.3\n");
  EXPECT_EQ(smd({}), 64);
  EXPECT_THAT(err, HasSubstr("nothing is asked for"));
  EXPECT_EQ(smd({"-f", "x", "--json"}), 64);
  EXPECT_EQ(Json::parse(out).value()["code"].as_string(), "usage");
}

TEST_F(SmdCommand, VerboseTellsWhy) {
  variables["SMD_NONSTOP_FAILED"] = "REPLACE";
  serve([](const Request& request) {
    wire::Reply reply;
    reply.faulty = {{"n3", 8, wire::kFailed}};
    return request.command == Command::get_fail_nodes ? reply
                                                      : no(Code::enodereplacefail, "no idle node in batch");
  });
  EXPECT_EQ(smd({"-H", "17"}), 1);
  EXPECT_EQ(err, "");
  EXPECT_EQ(smd({"-vH", "17"}), 1);
  EXPECT_THAT(err, HasSubstr("no idle node in batch"));
  EXPECT_THAT(out, ::testing::Not(HasSubstr("no idle node")));
  EXPECT_STREQ(::getenv("SMD_DEBUG"), "1");
}

// ---- errors ----

TEST_F(SmdCommand, EveryCodeOfEveryCommandIsAnExitCode) {
  const std::map<Code, int> wanted = {{Code::ereplacepending, 75},
                                      {Code::emaxsparecount, 76},
                                      {Code::enodenotfail, 66},
                                      {Code::enodereplacefail, 75},
                                      {Code::enodenocpu, 66},
                                      {Code::nodenotinjob, 66},
                                      {Code::ecmd, 76},
                                      {Code::enoincreasetimelimit, 76},
                                      {Code::etimeoverlimit, 76},
                                      {Code::eperm, 77},
                                      {Code::ejobid, 66},
                                      {Code::ejobnotrun, 66},
                                      {Code::enohost, 66},
                                      {Code::eupdnode, 76},
                                      {Code::eport, 70},
                                      {Code::euid, 77},
                                      {Code::ejobupdate, 76}};
  const std::vector<std::vector<std::string>> commands = {
      {"-f", "17"},       {"-d", "n3", "17"}, {"-r", "n3", "17"}, {"-r", "n[3-4]", "17"},
      {"-D", "n3", "17"}, {"-e", "5", "17"},  {"-j", "17"},       {"-c"}};
  for (const auto& [code, exit_code] : wanted) {
    serve(no(code, "because of the test"));
    for (std::vector<std::string> words : commands) {
      EXPECT_EQ(smd(words), exit_code) << wire::code_row(code).name << " " << words[0];
      EXPECT_THAT(err, StartsWith("smd: error: cannot "));
      EXPECT_THAT(err, HasSubstr(wire::code_row(code).name)) << "its cause";
      EXPECT_THAT(err, HasSubstr("\n  remedy: "));
      words.emplace_back("--json");
      EXPECT_EQ(smd(words), exit_code);
      const auto json = Json::parse(out);
      ASSERT_TRUE(json) << out;
      EXPECT_NE((*json)["code"].as_string(), "");
      EXPECT_NE((*json)["remedy"].as_string(), "");
    }
    EXPECT_FALSE(std::filesystem::exists(nodes_file(17)));
  }
  EXPECT_EQ(wanted.size() + 2, static_cast<std::size_t>(Code::ejobupdate) + 1)
      << "a new code needs its row here";
}

// In the automatic mode: what is waited out, what is passed over, what ends it.
TEST_F(SmdCommand, EveryCodeInTheAutomaticMode) {
  variables["SMD_NONSTOP_FAILED"] = "REPLACE:TIME_LIMIT_DELAY=1:DROP";
  const std::map<Code, int> tries = {// 4: until the delay ends; 1: once, then dropped; 0: once, and the end
                                     {Code::ereplacelater, 4},
                                     {Code::ereplacepending, 4},
                                     {Code::emaxsparecount, 1},
                                     {Code::enodenotfail, 1},
                                     {Code::enodereplacefail, 4},
                                     {Code::enodenocpu, 1},
                                     {Code::nodenotinjob, 1},
                                     {Code::enoincreasetimelimit, 1},
                                     {Code::etimeoverlimit, 1},
                                     {Code::ecmd, 1},
                                     {Code::eperm, 0},
                                     {Code::ejobid, 0},
                                     {Code::ejobnotrun, 0},
                                     {Code::enohost, 1},
                                     {Code::eupdnode, 4},
                                     {Code::eport, 1},
                                     {Code::euid, 0},
                                     {Code::ejobupdate, 4}};
  for (const auto& [code, count] : tries) {
    int asked_for = 0;
    serve([&, refusal = code](const Request& request) {
      wire::Reply reply;
      if (request.command == Command::get_fail_nodes) reply.faulty = {{"n3", 8, wire::kFailed}};
      if (request.command == Command::replace_node) ++asked_for, reply = no(refusal);
      if (request.command == Command::drop_node) reply = set_of("n1", 1);
      return reply;
    });
    EXPECT_EQ(smd({"-H", "17"}), count == 0 ? 1 : 0) << wire::code_row(code).name << "\n" << out;
    EXPECT_EQ(asked_for, std::max(1, count)) << wire::code_row(code).name << "\n" << out;
    EXPECT_EQ(out.find("dropped all right") != out.npos, count > 0);
    EXPECT_EQ(err.find("smd: error: ") != err.npos, count == 0) << err;
  }
  EXPECT_EQ(tries.size(), static_cast<std::size_t>(Code::ejobupdate));
  serve(wire::Reply{});  // no more asked_for
}

TEST_F(SmdCommand, AServiceThatIsAwayIsNamed) {
  service->stop();
  variables["SMD_NONSTOP_FAILED"] = "REPLACE:TIME_LIMIT_DELAY=1";
  EXPECT_EQ(smd({"-f", "17"}), 69);
  EXPECT_THAT(err, HasSubstr("Connection refused"));
  EXPECT_EQ(smd({"-H", "17"}), 1);
  EXPECT_EQ(
      out,
      "is_failed: job 17 searching for FAILED hosts\n"
      "is_failed: smd_get_job_faulty_nodes() error job_id 17: Network I/O error with the nonstop service\n");
  EXPECT_THAT(err, HasSubstr("remedy: "));
  conf.write("slurm.conf", "AuthInfo=socket=/nowhere/socket\n");
  EXPECT_EQ(smd({"-f", "17"}), 69);
  EXPECT_THAT(err, HasSubstr("munged"));
  ::setenv("SLURM_CONF", "/nowhere/slurm.conf", 1);
  EXPECT_EQ(smd({"-f", "17"}), 65);
  EXPECT_THAT(err, HasSubstr("nonstop.conf"));
}

TEST_F(SmdCommand, TheNodesFileMustBeThere) {
  serve(set_of("n1", 1, "n9"));
  std::filesystem::create_directory(nodes_file(17));
  EXPECT_EQ(smd({"-r", "n3", "17"}), 77);
  EXPECT_THAT(err, HasSubstr("--folder"));
  EXPECT_THAT(out, HasSubstr("node n3 replaced by n9")) << "it was, and says so";
  variables["SMD_NONSTOP_FAILED"] = "DROP";
  serve([](const Request& request) {
    wire::Reply reply;
    reply.faulty = {{"n3", 8, wire::kFailed}};
    return request.command == Command::get_fail_nodes ? reply : set_of("n1", 1);
  });
  EXPECT_EQ(smd({"-H", "17"}), 1);
  EXPECT_THAT(out, HasSubstr("cannot write the nodes file"));
}

// ---- policies ----

TEST_F(SmdCommand, PoliciesAreLookedAtBeforeTheServiceIs) {
  variables["SMD_NONSTOP_FAILED"] = "REPLACE:WAIT=4";
  variables["SMD_NONSTOP_FAILING"] = "DROP:TIME_LIMIT_DROP=10min";
  EXPECT_EQ(smd({"-H", "17"}), 65);
  EXPECT_THAT(err, HasSubstr("SMD_NONSTOP_FAILED: unknown word 'WAIT'"));
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(smd({"--check-policy"}), 65);
  EXPECT_THAT(err, HasSubstr("unknown word 'WAIT'"));
  EXPECT_THAT(out, HasSubstr("SMD_NONSTOP_FAILING=DROP:TIME_LIMIT_DROP=10\n  drop the nodes"))
      << "both are told";
  variables["SMD_NONSTOP_FAILED"] = "REPLACE:TIME_LIMIT_DELAY=4";
  EXPECT_EQ(smd({"--check-policy"}), 0);
  EXPECT_EQ(smd({"--check-policy", "--json"}), 0);
  EXPECT_EQ(Json::parse(out).value()["SMD_NONSTOP_FAILED"]["policy"].as_string(),
            "REPLACE:TIME_LIMIT_DELAY=4");
  variables.clear();
  EXPECT_EQ(smd({"--check-policy"}), 0);
  EXPECT_EQ(out, "SMD_NONSTOP_FAILED is not set\nSMD_NONSTOP_FAILING is not set\n");
}

TEST_F(SmdCommand, WithoutAPolicyItOnlyLooks) {
  serve(wire::Reply{});
  EXPECT_EQ(smd({"-H", "17"}), 0);
  wire::Reply reply;
  reply.faulty = {{"n3", 8, wire::kFailed}};
  serve(reply);
  EXPECT_EQ(smd({"-H", "17"}), 1);
  EXPECT_THAT(err, HasSubstr("SMD_NONSTOP_FAILED is not set"));
  EXPECT_THAT(err, HasSubstr("SMD_NONSTOP_FAILED=REPLACE"));
}

TEST_F(SmdCommand, BothFaultsOneAfterTheOther) {
  variables["SMD_NONSTOP_FAILED"] = "DROP";
  variables["SMD_NONSTOP_FAILING"] = "REPLACE:TIME_LIMIT_EXTEND=2";
  serve([](const Request& request) {
    wire::Reply reply;
    if (request.command == Command::get_fail_nodes && (request.state_flags & wire::kFailing) != 0)
      reply.faulty = {{"n2", 4, wire::kFailing}};
    if (request.command == Command::get_fail_nodes && (request.state_flags & wire::kFailed) != 0)
      reply.faulty = {{"n3", 8, wire::kFailed}};
    if (request.command == Command::drop_node) reply = set_of("n[1-2]", 2);
    if (request.command == Command::replace_node) reply = set_of("n[1,9]", 2, "n9");
    return reply;
  });
  EXPECT_EQ(smd({"-HG", "17"}), 0);
  EXPECT_THAT(out,
              HasSubstr("_handle_fault: job 17 handle failed_hosts\n_drop_nodes: job 17 node n3 dropped"));
  EXPECT_THAT(out, HasSubstr("_handle_fault: job 17 handle failing_hosts\n"));
  EXPECT_THAT(file_text(nodes_file(17)), HasSubstr("n\\[1,9\\]")) << "the last set";
  EXPECT_EQ(smd({"-HG", "17", "--json"}), 0);
  const Json json = Json::parse(out).value();
  EXPECT_TRUE(json["may_go_on"].as_bool());
  ASSERT_EQ(json["handled"].size(), 2U);
  EXPECT_EQ(json["handled"].items()[0]["nodes"].items()[0]["outcome"].as_string(), "dropped");
  EXPECT_EQ(json["handled"].items()[1]["nodes"].items()[0]["replacement"].as_string(), "n9");
  EXPECT_EQ(json["handled"].items()[1]["extended"].as_int(), 2);
  EXPECT_EQ(json["handled"].items()[1]["nodes_file"].as_string(), nodes_file(17));

  serve([](const Request& request) {
    wire::Reply reply;
    if (request.command == Command::get_fail_nodes) reply.faulty = {{"n3", 8, wire::kFailed}};
    return request.command == Command::get_fail_nodes ? reply : no(Code::ejobupdate, "Slurm says no");
  });
  EXPECT_EQ(smd({"-HG", "17", "--json"}), 1);
  const Json left = Json::parse(out).value();
  EXPECT_FALSE(left["may_go_on"].as_bool());
  EXPECT_EQ(left["handled"].items()[0]["nodes"].items()[0]["outcome"].as_string(), "left");
  EXPECT_EQ(left["handled"].size(), 1U) << "the job is to end: nothing more is asked";
}

// ---- the scripts, with the real smd and a stand-in srun ----

class SmdScripts : public SmdCommand {
 protected:
  void SetUp() override {
    SmdCommand::SetUp();
    std::filesystem::create_directory(conf.path("bin"));
    // srun tells where it would run; date is the paper's.
    tool("srun",
         "echo \"srun $* on $SLURM_JOB_NODELIST ${SLURM_TASKS_PER_NODE-any}\" >> " + conf.path("ran"));
    tool("date", "[ -e " + conf.path("dated") +
                     " ] && echo 'Fri Mar 28 11:47:55 PDT 2014' || "
                     "echo 'Fri Mar 28 11:47:19 PDT 2014'\ntouch " +
                     conf.path("dated"));
  }
  void tool(const std::string& name, const std::string& body) const {
    conf.write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    ::chmod(conf.path("bin/" + name).c_str(), 0755);
  }
  // What a command prints, its errors apart, with its exit code.
  int script(const std::string& command) {
    const std::string whole = "PATH=" + conf.path("bin") +
                              ":" SMD_SCRIPTS
                              ":$PATH SLURM_JOB_NODELIST=dario,ercole "
                              "SLURM_TASKS_PER_NODE='1(x2)' SMD_NONSTOP_FOLDER=" +
                              conf.path("") + " " + command + " > " + conf.path("out") + " 2> " +
                              conf.path("err");
    const int status = std::system(whole.c_str());
    out = file_text(conf.path("out"));
    err = file_text(conf.path("err"));
    return WEXITSTATUS(status);
  }
};

TEST_F(SmdScripts, PaperNoFailureByStepsSh) {
  serve(wire::Reply{});
  EXPECT_EQ(script("SLURM_JOB_ID=58 SMD_NONSTOP_FAILED=REPLACE steps.sh 2 -l ./star -t 10"), 0) << err;
  EXPECT_EQ(out, file_text(SB_PAPER "/no_failure.txt"));
  EXPECT_EQ(err, "");
  EXPECT_EQ(file_text(conf.path("ran")),
            "srun -l ./star -t 10 on dario,ercole 1(x2)\n"
            "srun -l ./star -t 10 on dario,ercole 1(x2)\n");
}

TEST_F(SmdScripts, PaperReplacedByStepsSh) {
  bool failed = true;
  serve([&failed](const Request& request) {
    wire::Reply reply;
    if (request.command == Command::get_fail_nodes && failed) reply.faulty = {{"ercole", 1, wire::kFailed}};
    if (request.command == Command::replace_node)
      failed = false, reply = set_of("dario,prometeo", 2, "prometeo");
    return reply;
  });
  EXPECT_EQ(script("SLURM_JOB_ID=59 SMD_NONSTOP_FAILED=REPLACE steps.sh 2 ./star"), 0) << err;
  EXPECT_EQ(out, "start: step 0 Fri Mar 28 11:47:19 PDT 2014\n" + file_text(SB_PAPER "/replaced.txt") +
                     "start: step 1 Fri Mar 28 11:47:55 PDT 2014\n"
                     "is_failed: job 59 searching for FAILED hosts\nis_failed: job 59 has no FAILED nodes\n");
  EXPECT_EQ(file_text(conf.path("ran")),
            "srun ./star on dario,ercole 1(x2)\nsrun ./star on dario,prometeo any\n");
  serve(wire::Reply{});
}

TEST_F(SmdScripts, NonstopShSaysWhetherTheJobMayGoOn) {
  serve(wire::Reply{});
  EXPECT_EQ(script("SMD_NONSTOP_FAILED=REPLACE nonstop.sh 17"), 0) << err;
  EXPECT_EQ(script("SLURM_JOB_ID=17 nonstop.sh"), 0) << "no policy, no fault";
  EXPECT_EQ(asked().back(), "GET_FAIL_NODES:JOBID:17:STATE_FLAGS:2");
  EXPECT_EQ(script("SMD_NONSTOP_FAILING=DROP nonstop.sh 17"), 0) << "failing ones where a policy asks";
  EXPECT_EQ(asked().back(), "GET_FAIL_NODES:JOBID:17:STATE_FLAGS:4");
  EXPECT_EQ(script("SMD_NONSTOP_FAILED=NONE nonstop.sh 17"), 1) << "a policy that cannot be read";
  EXPECT_EQ(script("SMD_NONSTOP_FAILED=REPLACE nonstop.sh"), 1) << "no job";
  EXPECT_THAT(err, HasSubstr("which job?"));
  wire::Reply reply;
  reply.faulty = {{"n3", 8, wire::kFailed}};
  serve(reply);
  EXPECT_EQ(script("SMD_NONSTOP_FAILED=EXIT_JOB nonstop.sh 17"), 1);
  EXPECT_THAT(out, HasSubstr("_handle_fault: job 17 exit job\n"));
  EXPECT_EQ(script("SLURM_JOB_ID=17 SMD_NONSTOP_FAILED=EXIT_JOB steps.sh 3 ./star"), 1);
  EXPECT_EQ(file_text(conf.path("ran")), "srun ./star on dario,ercole 1(x2)\n") << "one step, then the end";
  EXPECT_EQ(script("SLURM_JOB_ID=17 steps.sh"), 64);
  EXPECT_EQ(script("SLURM_JOB_ID=17 steps.sh x ./star"), 64);
}

TEST_F(SmdScripts, StepsShSourcesNothingOfAnother) {
  serve(wire::Reply{});
  const std::string evil = "touch " + conf.path("pwned") + "\n";
  // A stale file of one's own is taken away; a link is not followed.
  conf.write("smd_job_17_nodes.sh", evil);
  EXPECT_EQ(script("SLURM_JOB_ID=17 steps.sh 1 ./star"), 0) << err;
  EXPECT_FALSE(std::filesystem::exists(nodes_file(17)));
  conf.write("evil", evil);
  std::filesystem::create_symlink(conf.path("evil"), nodes_file(17));
  EXPECT_EQ(script("SLURM_JOB_ID=17 steps.sh 1 ./star"), 0) << err;
  if (::geteuid() == 0) {
    std::filesystem::remove(nodes_file(17));
    conf.write("smd_job_17_nodes.sh", evil);
    ASSERT_EQ(::chown(nodes_file(17).c_str(), 12345, 12345), 0);
    EXPECT_EQ(script("SLURM_JOB_ID=17 steps.sh 1 ./star"), 0) << err;
  }
  EXPECT_FALSE(std::filesystem::exists(conf.path("pwned")));
}

}  // namespace
}  // namespace sickbay::smd
