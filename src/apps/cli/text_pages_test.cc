// SPDX-License-Identifier: Apache-2.0
// The smaller pages: events, nodes, status, and what is said about a script.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "apps/cli/cases/batch_script.h"
#include "apps/cli/cluster/cluster_text.h"
#include "apps/cli/cluster/faults_text.h"
#include "apps/cli/cluster/findings_text.h"
#include "apps/cli/cluster/node_jobs.h"
#include "apps/cli/cluster/recover_text.h"
#include "apps/cli/event_text.h"
#include "engine/drain/node_view.h"

namespace sickbay::cli {
namespace {

class TextPages : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
    page_.now = parse_time("2026-11-21T10:02:00Z").value();
  }
  static Json json(std::string_view text) { return Json::parse(text).value(); }
  TextPage page_;
};

TEST_F(TextPages, EventLines) {
  const struct {
    const char* kind;
    const char* body;
    const char* line;
  } rows[] = {
      {"job_seen",
       R"({"run":"c1.r1","job":{"job_id":7,"state":"RUNNING","flags":[],"nodes":"n[1-2]","uid":5}})",
       "10:00:00  c1    job_seen run=c1.r1 job_id=7 state=RUNNING nodes=n[1-2]\n"},
      {"verdict", R"({"cause":"b","final":true,"nodes":["n3"],"sentence":"Node n3."})",
       "10:00:00  c1    verdict cause=b final=true nodes=[\"n3\"] sentence=\"Node n3.\"\n"},
      {"case_opened", R"({"owner":{"user":"alice","uid":5},"script_name":"job.sh","work_dir":"/home/alice"})",
       "10:00:00  c1    case_opened user=alice work_dir=/home/alice script_name=job.sh\n"},
      {"case_closed", "null", "10:00:00  c1    case_closed\n"},
      {"claimed",
       R"({"holder":"drain","by":"node:n3","reason":"sickbay:f9 node/disk: full","out":true,"until":null})",
       "10:00:00  c1    claimed holder=drain by=node:n3 out=true reason=\"sickbay:f9 node/disk: full\"\n"},
      {"claim_released", R"({"holder":"drain","why":"the node is in service"})",
       "10:00:00  c1    claim_released holder=drain why=\"the node is in service\"\n"},
      {"parked", R"({"engine":"drain","why":"it wants something new each time that it is asked"})",
       "10:00:00  c1    parked engine=drain why=\"it wants something new each time that it is asked\"\n"},
      {"intent", R"({"key":"node:n3.d1","verb":"drain","args":{"node":"n3"},"draws":["n3"]})",
       "10:00:00  c1    intent verb=drain key=node:n3.d1 draws=[\"n3\"]\n"},
      // a kind of a newer sickbayd: all there is
      {"moon_phase", R"({"phase":"full moon","n":3,"more":{"a":1},"none":""})",
       "10:00:00  c1    moon_phase phase=\"full moon\" n=3 more={\"a\":1}\n"},
      {"intent", R"({"verb":"\u001b[31m","key":"c1.r2.a1:submit"})",
       "10:00:00  c1    intent verb=\\x1b[31m key=c1.r2.a1:submit\n"},
  };
  for (const auto& row : rows) {
    Event event;
    event.at = parse_time("2026-11-21T10:00:00Z").value();
    event.subject = "c1";
    event.kind = row.kind;
    event.body = json(row.body);
    EXPECT_EQ(event_line(event, page_), row.line);
  }
}

constexpr std::string_view kNodes = R"({"items":[
  {"name":"n1","state":"IDLE","flags":[],"cpus":4,"partitions":["main","small"],"usable":true,"verdicts":[],"reason":"",
   "service":{"standing":"in","reasons":[],"since":0,"refused":"","gate":"let in 5 min ago without an examination"}},
  {"name":"n2","state":"DOWN","flags":["DRAIN","NOT_RESPONDING"],"cpus":4,"partitions":["main"],"usable":false,
   "verdicts":["c1","c7"],"verdicts_more":12,"reason":"Not responding [slurm@2026-11-21]",
   "suspect":[{"case":"c9","at":1795255200000000}],"suspect_more":2,
   "service":{"standing":"foreign","since":0,"refused":"","wish":"to be rebooted: people do it","gate":"let in when it is well","kept":"drained 3 times","reasons":[
     {"source":"f9","rule":"node/disk","text":"the disk is \u001b[31mbroken","since":0,"gone":0,"observed":true}],"reasons_more":17}}]})";

TEST_F(TextPages, Nodes) {
  EXPECT_EQ(
      nodes_text(chosen_nodes(json(kNodes), {}).value(), json(kNodes), page_),
      "NODE  STATE                      CPUS  PARTITIONS  TAKES WORK  SERVICE  CASES        REASON\n"
      "n1    IDLE                          4  main,small  yes         in\n"
      "n2    DOWN+DRAIN+NOT_RESPONDING     4  main        no          foreign  c1,c7 (+12)  Not responding "
      "[slurm@2026-11-21]\n"
      "\n"
      "n1: let in 5 min ago without an examination\n"
      "n2: drained or down by somebody else: left alone\n"
      "  to be rebooted: people do it\n"
      "  let in when it is well\n"
      "  drained 3 times\n"
      "  f9 node/disk: the disk is \\x1b[31mbroken, its rule rests since an undo\n"
      "  and for 17 other reasons: 'sickbay nodes n2'\n"
      "n2: suspect in c9: has not answered Slurm since 2026-11-21 10:00:00\n"
      "n2: suspect in 2 older cases besides\n");
  auto one = chosen_nodes(json(kNodes), {"n2"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1U);
  auto none = chosen_nodes(json(kNodes), {"n1", "n22"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_EQ(none.error().what, "there is no node 'n22'");
  EXPECT_TRUE(none.error().remedy_text.starts_with("did you mean 'n2'?")) << none.error().remedy_text;
}

TEST_F(TextPages, FindingsOfTheFleetAndOfANode) {
  const Json list = json(R"({"items":[
    {"name":"n1","state":"IDLE","cpus":4,"usable":true,"agent":{"version":"1","present":false,"silent":true,"seen":0,
      "mode":"quick","digests":{"node":"aa"}}},
    {"name":"n2","state":"IDLE","cpus":4,"usable":true,"findings":[
      {"finding":"f1","rule":"node/full","result":"fault","action":"notify","text":"/tmp is \u001b[31mfull","since":1795255200000000},
      {"finding":"f3","rule":"node/home","result":"unknown","action":"none","text":"look gave no 'x'","since":1795255260000000}]},
    {"name":"n3","state":"IDLE","cpus":4,"usable":true,"odd":[
      {"fact":"gpus","severity":"warn","text":"n3 has GPUs 7, where 39 others have 8","since":1795255290000000},
      {"fact":"mount:/x","severity":"info","text":"n3 mounts /x","since":1795255290000000}],"findings":[
      {"finding":"f2","rule":"node/full","result":"fault","action":"notify","text":"/tmp is full","since":1795255230000000}]}]})");
  const std::string nodes = nodes_text(list["items"], list, page_);
  EXPECT_NE(nodes.find("FINDINGS"), std::string::npos) << nodes;
  EXPECT_NE(nodes.find("1 fault, 1 unknown"), std::string::npos) << nodes;
  EXPECT_NE(nodes.find("silent agent: n1\n"), std::string::npos) << nodes;
  const auto text = [&](FindingsOrder order) {
    return findings_text(standing_findings(list["items"], order), order, page_);
  };
  EXPECT_EQ(text(FindingsOrder::oldest),
            "SINCE                NODE  FINDING  RULE        RESULT   ACTION  TEXT\n"
            "2026-11-21 10:00:00  n2    f1       node/full   fault    notify  /tmp is \\x1b[31mfull\n"
            "2026-11-21 10:00:30  n3    f2       node/full   fault    notify  /tmp is full\n"
            "2026-11-21 10:01:00  n2    f3       node/home   unknown          look gave no 'x'\n"
            "2026-11-21 10:01:30  n3             fleet/gpus  odd              n3 has GPUs 7, where 39 others "
            "have 8\n");
  EXPECT_LT(text(FindingsOrder::newest).find("f3"), text(FindingsOrder::newest).find("f1"));
  EXPECT_NE(text(FindingsOrder::by_rule)
                .find("    2  node/full   fault    2026-11-21 10:00:00  2026-11-21 10:00:30  n[2-3]"),
            std::string::npos)
      << text(FindingsOrder::by_rule);
  EXPECT_EQ(findings_text(Json::array(), FindingsOrder::newest, page_),
            "Nothing stands that agents found, or that tells a node from its likes.\n");
  NodeMore more;
  more.jobs = parse_node_jobs("17\talice\tRUNNING\t1:02\t10:00\tmy\tjob\nnonsense\n");
  more.faults = json(
      R"({"items":[{"month":"2026-11","node":"n2","rule":"node/full","faults":2,"stands":true,"sick_s":90,
    "repairs":{"ok":1,"fault":1,"unknown":0}}],"repairs":[{"at":1795255200000000,"rule":"node/p_clean","operation":"clean",
    "result":"fault","text":"\u001b[31mbusy","took_us":5}]})");
  const std::string one = node_text(list["items"].items()[1], more, page_);
  EXPECT_NE(one.find("JOB  USER   STATE    TIME  LIMIT  NAME\n17   alice  RUNNING  1:02  10:00  my\\tjob\n"),
            std::string::npos)
      << one;
  EXPECT_NE(one.find("2026-11-21 10:00:00 clean (node/p_clean): in vain: \\x1b[31mbusy\n"), std::string::npos)
      << one;
  more.jobs = fail(ErrorCode::missing_program, "squeue is not there");
  EXPECT_NE(
      node_text(list["items"].items()[1], more, page_).find("could not be asked for: squeue is not there\n"),
      std::string::npos);
  EXPECT_NE(one.find("f1 node/full: fault since 2026-11-21 10:00:00 (2 min): /tmp is \\x1b[31mfull\n"),
            std::string::npos)
      << one;
  EXPECT_NE(node_text(list["items"].items()[0], {}, page_).find("silent"), std::string::npos);
}

TEST_F(TextPages, OfANodeThatACheckWaitsForLeave) {
  const auto text = [&](const std::string& state) {
    const Json node =
        json(R"({"name":"n1","agent":{"version":"1","present":true,"seen":0,"mode":"quick","digests":{},
      "active":{"state":")" +
             state + R"(","since":1795255200000000,"at_once":16,"holding":16,"waiting":41}}})");
    return node_text(node, {}, page_);
  };
  EXPECT_NE(text("waits").find("an active check waits for leave since 2026-11-21 10:00:00 (2 min): 16 of 16 "
                               "nodes have it, 41 wait\n"),
            std::string::npos)
      << text("waits");
  EXPECT_NE(
      text("later").find("an active check waits since 2026-11-21 10:00:00 (2 min) for a moment in which "
                         "it could run\n"),
      std::string::npos)
      << text("later");
  EXPECT_NE(text("holds").find("it has leave for active checks since 2026-11-21 10:00:00 (2 min)\n"),
            std::string::npos)
      << text("holds");
}

// What the journal adds up to.
TEST_F(TextPages, FaultsAndRepairsByMonth) {
  const Json items = json(R"([
    {"month":"2026-11","node":"n1","rule":"node/full","faults":1,"stands":true,"sick_s":60,"repairs":{"ok":0,"fault":0,"unknown":0}},
    {"month":"2026-11","node":"n2","rule":"node/full","faults":3,"stands":false,"sick_s":3600,"repairs":{"ok":0,"fault":0,"unknown":0}},
    {"month":"2026-11","node":"n2","rule":"node/p_clean","faults":0,"stands":false,"sick_s":0,"repairs":{"ok":2,"fault":1,"unknown":0}},
    {"month":"2026-10","node":"n2","rule":"node/full","faults":1,"stands":false,"sick_s":5,"repairs":{"ok":0,"fault":0,"unknown":1}}])");
  const auto text = [&](FaultsBy by, const std::vector<std::string>& nodes = {}) {
    return faults_text(counted_faults(items, nodes, by), by, page_);
  };
  EXPECT_EQ(text(FaultsBy::rule),
            "MONTH    RULE          FAULTS  STANDING   SICK FOR  REPAIRED  IN VAIN  UNKNOWN  NODES\n"
            "2026-11  node/full          4         1  1 h 1 min         0        0        0  n[1-2]\n"
            "2026-11  node/p_clean       0         0        0 s         2        1        0  n2\n"
            "2026-10  node/full          1         0        5 s         0        0        1  n2\n");
  EXPECT_NE(text(FaultsBy::node).find("2026-11  2"), std::string::npos) << text(FaultsBy::node);
  EXPECT_EQ(text(FaultsBy::all, {"n9"}), "No fault and no repair is in the journal.\n");
}

// SERVICE tells of the claims of drain by its own words; a claim of anybody else would go unseen.
TEST_F(TextPages, NodesThatSomebodyElseHasClaimed) {
  const Json list = json(R"({"items":[
    {"name":"n1","state":"IDLE","cpus":4,"usable":false,"service":{"standing":"out"},
     "claim":{"holder":"drain","by":"node:n1","reason":"sickbay:f9 disk","out":true,"until":null,"since":1795255200000000}},
    {"name":"n2","state":"IDLE","cpus":4,"usable":true,"service":{"standing":"claimed","reasons":[
       {"source":"f9","rule":"node/disk","text":"full","since":0,"gone":0,"observed":false}]},
     "claim":{"holder":"fleet","by":"node:n2","reason":"tests \u001b[31mit","out":true,"until":1795255800000000,
              "since":1795255200000000}},
    {"name":"n3","state":"IDLE","cpus":4,"usable":true,"service":{"standing":"in"},
     "claim":{"holder":"recover","by":"x5","reason":"a spare of job 17","out":false,"until":null,
              "since":1795255200000000}},
    {"name":"n4","state":"IDLE","cpus":4,"usable":true,"service":{"standing":"in"},"claim":null}]})");
  EXPECT_EQ(
      nodes_text(chosen_nodes(list, {}).value(), list, page_),
      "NODE  STATE  CPUS  TAKES WORK  SERVICE  CLAIM\n"
      "n1    IDLE      4  no          out\n"
      "n2    IDLE      4  yes         claimed  fleet\n"
      "n3    IDLE      4  yes         in       recover\n"
      "n4    IDLE      4  yes         in\n"
      "\n"
      "n2: another part of Sickbay is at work on it: its drain waits for that\n"
      "  f9 node/disk: full\n"
      "n2: claimed by fleet since 2026-11-21 10:00:00 (2 min) until 2026-11-21 10:10:00: tests \\x1b[31mit\n"
      "n3: claimed by recover for x5 since 2026-11-21 10:00:00 (2 min): a spare of job 17\n");
}

TEST_F(TextPages, NodesThatTheirNeighboursDoNotReach) {
  const Json list = json(R"({"items":[
    {"name":"n1","state":"IDLE","cpus":4,"usable":true,"silent":null},
    {"name":"n2","state":"MIXED","cpus":4,"usable":true,"silent":{"job":17,"by":["n1","n3"],"at":1795255200000000,
     "set_down":false,"held":"it answers sickbayd: it is cut off from its peers, or its agent is slow"}},
    {"name":"n4","state":"DOWN","cpus":4,"usable":false,"silent":{"job":17,"by":[],"at":1795255200000000,
     "set_down":true,"held":""}}]})");
  const std::string text = nodes_text(chosen_nodes(list, {}).value(), list, page_);
  EXPECT_EQ(
      text.substr(text.find("\n\n") + 2),
      "n2: n1, n3 of job 17 cannot reach it; it is let be: it answers sickbayd: it is cut off from its "
      "peers, or its agent is slow\n"
      "n4: set DOWN since 2026-11-21 10:00:00 (2 min): no node of job 17 reached it, nor did sickbayd\n");
}

TEST_F(TextPages, NodesThatDifferFromTheirLikes) {
  const Json list = json(R"({"items":[
    {"name":"n1","state":"IDLE","cpus":4,"usable":true,"odd":[],"verified":{"result":"slow","reason":"its links are bad",
     "by":"c3.v1","at":1795255200000000}},
    {"name":"n2","state":"IDLE","cpus":4,"usable":true,"odd":[
      {"fact":"mount:/home","severity":"warn","text":"n[2-3] lack /home (nfs4), which 98 others mount","since":1795255200000000}]},
    {"name":"n3","state":"IDLE","cpus":4,"usable":true,"odd":[
      {"fact":"mount:/home","severity":"warn","text":"n[2-3] lack /home (nfs4), which 98 others mount","since":1795255200000000},
      {"fact":"mount:/mnt","severity":"info","text":"n3 mounts /mnt (ext4), which 99 others do not","since":1795255200000000}]}]})");
  const std::string text = nodes_text(chosen_nodes(list, {}).value(), list, page_);
  EXPECT_EQ(text.substr(text.find("\n\n") + 2),
            "n1: found slow by c3.v1 since 2026-11-21 10:00:00 (2 min): its links are bad\n"
            "warn: n[2-3] lack /home (nfs4), which 98 others mount since 2026-11-21 10:00:00 (2 min)\n"
            "info: n3 mounts /mnt (ext4), which 99 others do not since 2026-11-21 10:00:00 (2 min)\n");
}

// A word that drain learns and this page does not would be shown as it is, which explains nothing.
TEST_F(TextPages, RecoveriesNameWhatTheyAreOf) {
  const Json list = json(R"({"items":[
    {"recovery":"r1","open":false,"outcome":"cured","why":"","opened_at":1795255200000000,"steps":[],
     "fault":{"class":"component","node":"n3","component":"slurmd"}},
    {"recovery":"r2","open":true,"outcome":null,"why":"","opened_at":1795255200000000,"steps":[{}],
     "fault":{"class":"job","node":"n3","component":"","job":{"job_id":17}}},
    {"recovery":"r3","open":true,"outcome":null,"why":"","opened_at":1795255200000000,"steps":[{}],
     "fault":{"class":"job","node":"","component":"","job":{"job_id":18}}}]})");
  const std::string text = recoveries_text(list, page_);
  for (const char* line : {"\nr3        job 18 ", "\nr2        job 17 on n3 ", "\nr1        n3/slurmd "})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST_F(TextPages, EveryStandingIsExplained) {
  for (const std::string_view standing : drain::standings()) {
    if (standing == "in") continue;  // nothing speaks against it
    Json node = json(R"({"name":"n1","service":{"reasons":[{"source":"f9"}]}})");
    Json service = node["service"];
    service.set("standing", standing);
    node.set("service", std::move(service));
    const Json list = Json::object({{"items", Json::array({node})}});
    EXPECT_EQ(nodes_text(list["items"], list, page_).find(fmt::format("n1: {}\n", standing)),
              std::string::npos)
        << standing;
  }
}

TEST_F(TextPages, NodesWhoseRulesDiffer) {
  const auto node = [](const std::string& name, const Json& agent) {
    return Json::object({{"name", name},
                         {"state", "IDLE"},
                         {"cpus", 4},
                         {"usable", true},
                         {"service", Json::object({{"standing", "in"}})},
                         {"agent", agent}});
  };
  const auto agent = [](std::string_view digests) { return Json::object({{"digests", json(digests)}}); };
  const auto text = [&](const std::vector<Json>& items, const std::vector<std::string>& wanted = {}) {
    const Json list = Json::object({{"items", Json(items)}});
    return nodes_text(chosen_nodes(list, wanted).value(), list, page_);
  };
  const Json most = agent(R"({"node":"11","memory":"22"})"), turned = agent(R"({"memory":"22","node":"11"})"),
             old = agent(R"({"node":"10","disk":"33"})");
  const char* const kLines =
      "n2: the rules of its agent differ from those of n3, which 2 of 3 agents have\n"
      "  disk, memory, node\n";
  // The order of the members says nothing, and who has no agent has no rules.
  EXPECT_EQ(text({node("n1", Json()), node("n2", old), node("n3", most), node("n4", turned)}),
            std::string("NODE  STATE  CPUS  TAKES WORK  SERVICE  RULES\n"
                        "n1    IDLE      4  yes         in\n"
                        "n2    IDLE      4  yes         in       differ\n"
                        "n3    IDLE      4  yes         in\n"
                        "n4    IDLE      4  yes         in\n\n") +
                kLines);
  // Most of all agents, not of those that are shown.
  EXPECT_EQ(text({node("n1", Json()), node("n2", old), node("n3", most), node("n4", turned)}, {"n2"}),
            std::string("NODE  STATE  CPUS  TAKES WORK  SERVICE  RULES\n"
                        "n2    IDLE      4  yes         in       differ\n\n") +
                kLines);
  // One against one: the first node's stand for both.
  EXPECT_EQ(text({node("n1", old), node("n2", most)}, {"n2"}),
            "NODE  STATE  CPUS  TAKES WORK  SERVICE  RULES\n"
            "n2    IDLE      4  yes         in       differ\n\n"
            "n2: the rules of its agent differ from those of n1, which 1 of 2 agents have\n"
            "  disk, memory, node\n");
  EXPECT_EQ(text({node("n1", most), node("n2", turned)}),
            "NODE  STATE  CPUS  TAKES WORK  SERVICE\n"
            "n1    IDLE      4  yes         in\n"
            "n2    IDLE      4  yes         in\n");
}

TEST_F(TextPages, Status) {
  const Json well = json(R"({"version":"0.1.0","pid":12,"started":1795255200000000,
    "journal":{"seq":42,"bytes":1572864,"state":"ok"},"slurm":{"state":"ok","since":1795255200000000,"error":""},
    "cases":{"open":1,"closed":2}})");
  EXPECT_TRUE(status_is_good(well));
  EXPECT_EQ(status_text(well, page_),
            "sickbayd  0.1.0, pid 12 since 2026-11-21 10:00:00 (2 min)\n"
            "journal   ok, 42 events, 1.5 MiB\n"
            "slurm     ok since 2026-11-21 10:00:00 (2 min)\n"
            "cases     1 open, 2 closed\n");
  Json checks = well;
  checks.set("agents",
             json(R"({"present":60,"silent":0,"active":{"at_once":16,"holding":16,"waiting":41}})"));
  EXPECT_TRUE(status_text(checks, page_)
                  .ends_with("agents    60 present\n"
                             "checks    16 of 16 nodes have leave for active ones, 41 wait\n"))
      << status_text(checks, page_);
  Json parked = well;
  parked.set("parked", 0);
  EXPECT_EQ(status_text(parked, page_), status_text(well, page_));
  parked.set("parked", 1);
  EXPECT_TRUE(status_is_good(parked));  // of all others nothing waits
  EXPECT_TRUE(status_text(parked, page_)
                  .ends_with("cases     1 open, 2 closed\n"
                             "parked    1 subject is left alone, since an engine of Sickbay does not settle "
                             "on it: 'sickbay journal' says which and why (kind parked). Asked about again "
                             "when something happens to it, or when sickbayd starts. Please report it.\n"));
  parked.set("parked", 2);
  EXPECT_NE(status_text(parked, page_).find("parked    2 subjects are left alone"), std::string::npos);
  Json away = well;
  away.set("slurm", json(R"({"state":"away","since":0,"error":"slurmctld does not answer"})"));
  EXPECT_FALSE(status_is_good(away));
  EXPECT_NE(status_text(away, page_).find("slurm     away\n          slurmctld does not answer\n"),
            std::string::npos);
  // Of two sickbayds.
  Json two = well;
  two.set("standby", json(R"({"role":"active","term":3,"alone":false,"other":"head2:6830"})"));
  EXPECT_TRUE(status_is_good(two));
  EXPECT_NE(
      status_text(two, page_).find("\nstandby   active in term 3; head2:6830 has all that is acknowledged\n"),
      std::string::npos)
      << status_text(two, page_);
  two.set("standby", json(R"({"role":"active","term":3,"alone":true,"other":"head2:6830"})"));
  EXPECT_FALSE(status_is_good(two));
  const Json waits = json(R"({"version":"0.1.0","pid":12,
    "standby":{"role":"waiting","following":true,"behind":2,"lacks":false,"other":"head1:6830"}})");
  EXPECT_TRUE(status_is_good(waits));
  EXPECT_TRUE(status_text(waits, page_).ends_with("\nstandby   standby of head1:6830, 2 events behind\n"))
      << status_text(waits, page_);
  Json lacks = waits;
  lacks.set("standby", json(R"({"role":"waiting","following":false,"lacks":true,"other":"head1:6830"})"));
  EXPECT_FALSE(status_is_good(lacks));
  EXPECT_NE(status_text(lacks, page_).find("head1:6830 alone has all"), std::string::npos);
  Json full = well;
  full.set("journal", json(R"({"seq":42,"bytes":0,"state":"full"})"));
  EXPECT_FALSE(status_is_good(full));
}

TEST_F(TextPages, LooksForTheScriptWhereSbatchDoes) {
  const auto path = [](std::vector<std::string> words, std::string_view path_variable) {
    return script_path(parse_sbatch_line(words).value(), "/nowhere", path_variable);
  };
  EXPECT_EQ(path({"./job.sh"}, "/bin"), "./job.sh");
  EXPECT_EQ(path({"/x/job.sh"}, "/bin"), "/x/job.sh");
  EXPECT_EQ(path({"ls"}, "/nothing::/bin"), "/bin/ls");          // in PATH
  EXPECT_EQ(path({"-D", "/bin", "ls"}, "/usr/bin"), "/bin/ls");  // below --chdir first
  EXPECT_EQ(path({"no-such-script"}, "/bin"), "no-such-script");
}

TEST_F(TextPages, Spares) {
  EXPECT_EQ(spares_text(json(R"({"on":false,"items":[]})"), page_).substr(0, 32),
            "Nodes in running jobs are not re");
  EXPECT_EQ(spares_text(json(R"({"on":true,"items":[]})"), page_).substr(0, 25), "There are no spare pools:");
  const std::string text = spares_text(json(R"({"on":true,"items":[
      {"partition":"batch","wanted":3,"ready":1,"set":null,"error":"",
       "nodes":[{"node":"n5","standing":"ready"},{"node":"n6","standing":"drawn","request":"j17.q1"}]},
      {"partition":"debug","wanted":1,"ready":0,"set":1,"error":"no such node","nodes":[]}]})"),
                                       page_);
  EXPECT_EQ(text,
            "PARTITION  READY  WANTED  SET BY        NODES\n"
            "batch          1       3  nonstop.conf  n5\n"
            "debug          0       1  an operator\n"
            "\n"
            "batch: n6 on its way into a job\n"
            "batch: 2 more as soon as nodes are idle and no job waits for one\n"
            "debug: 1 more as soon as nodes are idle and no job waits for one\n"
            "debug: Slurm did not take the reservation: no such node\n");
}

}  // namespace
}  // namespace sickbay::cli
