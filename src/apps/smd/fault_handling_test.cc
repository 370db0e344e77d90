// SPDX-License-Identifier: Apache-2.0
// The automatic mode against every sequence of answers, with rules that must hold for all of them, and what
// it says in each case.  The paper's examples, through libsmd: command_test.cc.
#include "apps/smd/fault_handling.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>

namespace sickbay::smd {
namespace {

using namespace std::chrono_literals;
using Do = Act::Kind;
using Outcome = NodeOutcome::Kind;

const TimePoint kStart = from_micros(5'000'000);

Reply refused(Hope hope, std::string text = "Failed to replace the node") {
  Reply reply;
  reply.good = false;
  reply.trouble = {1014, std::move(text), "why", hope};
  return reply;
}
Reply faulty(std::vector<std::string> names, Fault fault = Fault::failed) {
  Reply reply;
  for (std::string& name : names) reply.faulty.push_back({std::move(name), 1, fault});
  return reply;
}
Reply replaced(std::string by, std::string set = "a,b") {
  Reply reply;
  reply.replaced = {std::move(by), 0, {std::move(set), 2, "1(x2)"}};
  return reply;
}
Reply later(std::int64_t when = 0) {
  Reply reply;
  reply.replaced.when = when;
  return reply;
}
Reply dropped(std::string set = "a") {
  Reply reply;
  reply.set = {std::move(set), 1, "1"};
  return reply;
}

Policy policy(const std::string& text) { return text.empty() ? Policy{} : parse_policy(text, "V").value(); }

// One run with the answers of `answer`, in virtual time; each act takes `cost`.
struct Course {
  std::string said;
  std::vector<std::string> acts;  // "replace n1", "wait 20", ...
  int code = -1;
  std::vector<NodeOutcome> outcomes;
  bool stopped = false, file = false;
  std::uint32_t extended = 0;
};
using Answers = std::function<Reply(const Act&, TimePoint now)>;
std::string name_of(const Act& act) {
  switch (act.kind) {
    case Do::query:
      return "query";
    case Do::replace:
      return "replace " + act.node;
    case Do::extend:
      return fmt::format("extend {}", act.minutes);
    case Do::drop:
      return "drop " + act.node;
    case Do::wait:
      return fmt::format("wait {}",
                         std::chrono::duration_cast<std::chrono::seconds>(act.until - kStart).count());
    case Do::write_file:
      return "write " + act.set.nodes;
    case Do::finish:
      break;
  }
  return fmt::format("finish {}", act.exit_code);
}
Course run(const std::string& text, const Answers& answer, Fault fault = Fault::failed, Micros cost = 0us) {
  FaultHandling handling(7, fault, policy(text), "/tmp/f");
  Course run;
  TimePoint now = kStart;
  Act act = handling.start();
  for (int acts = 0;; ++acts) {
    EXPECT_LT(acts, 2000) << "it does not end";
    run.said += handling.take_said();
    run.acts.push_back(name_of(act));
    if (act.kind == Do::finish || acts >= 2000) break;
    const Reply reply = answer(act, now);
    if (act.kind == Do::wait) {
      EXPECT_GT(act.until, now) << "a wait that is over";
      EXPECT_LE(act.until - now, kTryEvery);
      now = act.until;
    } else {
      now += cost;
    }
    act = handling.next(reply, now);
  }
  run.code = act.exit_code;
  run.outcomes = handling.outcomes();
  run.stopped = handling.stopped_by() != nullptr;
  run.file = handling.file_written();
  run.extended = handling.extended();
  return run;
}

// The given answers in turn to replace and drop; all else is granted.
Answers script(std::vector<std::string> nodes, std::vector<Reply> answers) {
  auto at = std::make_shared<std::size_t>(0);
  return [nodes = std::move(nodes), answers = std::move(answers), at](const Act& act, TimePoint) -> Reply {
    if (act.kind == Do::query) return faulty(nodes);
    if (act.kind != Do::replace && act.kind != Do::drop) return {};
    EXPECT_LT(*at, answers.size()) << "more is asked than the test has answers for: " << name_of(act);
    return *at < answers.size() ? answers[(*at)++] : refused(Hope::none);
  };
}

// ---- every sequence ----

// What may be answered to an act, by number; `most` answers there are.
constexpr int kReplaceAnswers = 5, kDropAnswers = 3;
Reply answer_of(const Act& act, int choice) {
  switch (act.kind) {
    case Do::replace:
      return std::vector<Reply>{replaced("x"), later(1'795'000'000), refused(Hope::again),
                                refused(Hope::next), refused(Hope::none)}[static_cast<std::size_t>(choice)];
    case Do::drop:
      return std::vector<Reply>{dropped(), refused(Hope::again),
                                refused(Hope::none)}[static_cast<std::size_t>(choice)];
    default:
      return choice == 0 ? Reply{} : refused(Hope::next, "no");
  }
}
int choices_for(const Act& act) {
  switch (act.kind) {
    case Do::replace:
      return kReplaceAnswers;
    case Do::drop:
      return kDropAnswers;
    case Do::extend:
    case Do::write_file:
      return 2;
    default:
      return 1;
  }
}

// The rules: whatever is answered, this holds.
void judge(const std::string& text, const std::vector<std::string>& nodes, const Course& run,
           const std::vector<std::pair<Act, int>>& played) {
  const Policy p = policy(text);
  const auto of = [&p](PolicyStep::Kind kind) {
    const auto step = std::ranges::find(p.steps, kind, &PolicyStep::kind);
    return step == p.steps.end() ? nullptr : &*step;
  };
  const PolicyStep* replace = of(PolicyStep::Kind::replace);
  const PolicyStep* drop = of(PolicyStep::Kind::drop);
  std::set<std::string> cared_for;
  bool fatal = false, file_good = true, wrote = false, changed = false;
  std::string last;
  for (const auto& [act, choice] : played) {
    if (fatal || !file_good) ADD_FAILURE() << "it went on after the end";
    if (act.kind == Do::replace || act.kind == Do::drop) {
      EXPECT_FALSE(wrote) << "the file is written once, at the end";
      EXPECT_FALSE(cared_for.contains(act.node)) << act.node << " was asked for after it was cared for";
      EXPECT_NE(act.kind == Do::replace ? replace : drop, nullptr) << "not in the policy";
      if (choice == 0) cared_for.insert(act.node), changed = true;
      fatal = choice == (act.kind == Do::replace ? kReplaceAnswers : kDropAnswers) - 1;
    }
    if (act.kind == Do::write_file) wrote = true, file_good = choice == 0;
    if (act.kind == Do::extend && wrote) {
      EXPECT_EQ(cared_for.size(), nodes.size());
    }
  }
  const bool all = cared_for.size() == nodes.size();
  EXPECT_EQ(run.code, all && file_good && !fatal ? 0 : 1);
  EXPECT_EQ(run.stopped, fatal);
  EXPECT_EQ(wrote, changed && !fatal);
  EXPECT_EQ(run.file, wrote && file_good);
  // Every node has the outcome that was answered, and the time limit grows as far as was granted and asked
  // for.
  std::uint32_t most = replace != nullptr ? replace->delay : 0;
  for (const NodeOutcome& one : run.outcomes) {
    EXPECT_EQ(one.kind != Outcome::left, cared_for.contains(one.node.name));
    if (one.kind == Outcome::replaced) most += replace->extend;
    if (one.kind == Outcome::dropped) most += drop->extend;
  }
  EXPECT_LE(run.extended, most);
  // All lines are whole and say whose they are.
  for (std::size_t at = 0; at < run.said.size();) {
    const std::size_t end = run.said.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const std::string line = run.said.substr(at, end - at);
    EXPECT_TRUE(line.starts_with("is_failed: ") || line.starts_with("_handle_fault: ") ||
                line.starts_with("_try_replace: ") || line.starts_with("_drop_nodes: ") ||
                line.starts_with("_time_limit_extend: ") || line.starts_with("_increase_job_runtime: ") ||
                line.starts_with("_generate_node_file: ") || line.starts_with("   n") ||
                line.starts_with("source the "))
        << line;
    at = end + 1;
  }
}

// Plays all sequences of answers, depth first: each run follows `path` and takes the first answer behind it.
int play_all(const std::string& text, const std::vector<std::string>& nodes) {
  int runs = 0;
  std::vector<int> path;
  for (;;) {
    std::vector<std::pair<Act, int>> played;
    std::size_t at = 0;
    const Course one = run(text, [&](const Act& act, TimePoint) -> Reply {
      if (act.kind == Do::query) return faulty(nodes);
      const int choices = choices_for(act);
      if (choices == 1) return {};
      if (at == path.size()) path.push_back(0);
      const int choice = path[at++];
      played.emplace_back(act, choice);
      return answer_of(act, choice);
    });
    judge(text, nodes, one, played);
    ++runs;
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << text << "\n" << ::testing::PrintToString(one.acts) << "\n" << one.said;
      return runs;
    }
    // The next path: the last answer that has another behind it.
    path.resize(at);
    while (!path.empty() && path.back() + 1 == choices_for(played[path.size() - 1].first)) path.pop_back();
    if (path.empty()) return runs;
    ++path.back();
  }
}

TEST(FaultHandling, EveryPolicyWithEverySequenceOfAnswers) {
  int runs = 0;
  for (const std::string replace :
       {"", "REPLACE", "REPLACE:TIME_LIMIT_DELAY=1", "REPLACE:TIME_LIMIT_EXTEND=2",
        "REPLACE:TIME_LIMIT_DELAY=1:TIME_LIMIT_EXTEND=2"})
    for (const std::string drop : {"", "DROP", "DROP:TIME_LIMIT_DROP=5"})
      for (const std::string leave : {"", "EXIT_JOB"})
        for (const bool drop_first : {false, true}) {
          if (drop_first && (replace.empty() || drop.empty())) continue;
          std::string text = drop_first ? drop + ":" + replace : replace + ":" + drop;
          text += ":" + leave;
          if (replace.empty() && drop.empty() && leave.empty()) text.clear();
          runs += play_all(text, {"n1"});
          // Two nodes: with a delay their sequences are too many; the next test has those.
          if (text.find("DELAY") == text.npos) runs += play_all(text, {"n1", "n2"});
          ASSERT_FALSE(HasFailure());
        }
  EXPECT_GT(runs, 10'000);
}

// Two nodes and a delay: three answers for each try, all of them; the rest is granted.
TEST(FaultHandling, TwoNodesAndADelay) {
  int runs = 0;
  for (const std::string text : {"REPLACE:TIME_LIMIT_DELAY=1:TIME_LIMIT_EXTEND=2",
                                 "REPLACE:TIME_LIMIT_DELAY=1:DROP:TIME_LIMIT_DROP=5"}) {
    for (int code = 0; code < 6561; ++code, ++runs) {  // 3 to the 8: four rounds of two
      int rest = code;
      std::vector<std::pair<Act, int>> played;
      const Course one = run(text, [&](const Act& act, TimePoint) -> Reply {
        if (act.kind == Do::query) return faulty({"n1", "n2"});
        int choice = 0;
        if (act.kind == Do::replace) {
          choice = std::vector<int>{0, 1, 3}[static_cast<std::size_t>(rest % 3)];
          rest /= 3;
        }
        played.emplace_back(act, choice);
        return act.kind == Do::wait ? Reply{} : answer_of(act, choice);
      });
      judge(text, {"n1", "n2"}, one, played);
      ASSERT_FALSE(HasFailure()) << text << code << one.said;
    }
  }
  EXPECT_EQ(runs, 2 * 6561);
}

// ---- what is done, one by one ----

struct Story {
  const char* name;
  std::string policy;
  std::vector<std::string> nodes;
  std::vector<Reply> answers;
  std::vector<std::string> acts;  // behind the query
};

TEST(FaultHandling, DoesOneThingAfterTheOther) {
  const Reply again = refused(Hope::again), next = refused(Hope::next), none = refused(Hope::none);
  for (const Story& story : std::vector<Story>{
           {"nothing is faulty", "REPLACE", {}, {}, {"finish 0"}},
           {"no policy, and nothing is faulty", "", {}, {}, {"finish 0"}},
           {"no policy", "", {"n1"}, {}, {"finish 1"}},
           {"the job is to end", "EXIT_JOB", {"n1"}, {}, {"finish 1"}},
           {"a node", "REPLACE", {"n1"}, {replaced("x")}, {"replace n1", "write a,b", "finish 0"}},
           {"without a delay there is one try", "REPLACE", {"n1"}, {again}, {"replace n1", "finish 1"}},
           {"later is no replacement", "REPLACE", {"n1"}, {later()}, {"replace n1", "finish 1"}},
           {"the service tells no new set: no file",
            "REPLACE",
            {"n1"},
            {replaced("x", "")},
            {"replace n1", "finish 0"}},
           {"it comes at the second try",
            "REPLACE:TIME_LIMIT_DELAY=4:EXIT_JOB",
            {"n1"},
            {later(), replaced("x")},
            {"replace n1", "extend 4", "wait 20", "replace n1", "write a,b", "finish 0"}},
           {"what waiting cannot help is not waited for",
            "REPLACE:TIME_LIMIT_DELAY=4:DROP",
            {"n1"},
            {next, dropped()},
            {"replace n1", "drop n1", "write a", "finish 0"}},
           {"the job has ended",
            "REPLACE:TIME_LIMIT_DELAY=4:DROP",
            {"n1"},
            {none},
            {"replace n1", "finish 1"}},
           {"DROP works without TIME_LIMIT_DROP",
            "DROP",
            {"n1"},
            {dropped()},
            {"drop n1", "write a", "finish 0"}},
           {"one of two comes, the other goes",
            "REPLACE:TIME_LIMIT_EXTEND=3:DROP:TIME_LIMIT_DROP=10",
            {"n1", "n2"},
            {again, replaced("x"), dropped("a,x")},
            {"replace n1", "replace n2", "drop n1", "write a,x", "extend 3", "extend 10", "finish 0"}},
           {"minutes for each node",
            "REPLACE:TIME_LIMIT_EXTEND=3",
            {"n1", "n2"},
            {replaced("x"), replaced("y", "x,y")},
            {"replace n1", "replace n2", "write x,y", "extend 6", "finish 0"}},
           {"one is left: what came is told, the job may not go on",
            "REPLACE:EXIT_JOB",
            {"n1", "n2"},
            {replaced("x"), again},
            {"replace n1", "replace n2", "write a,b", "finish 1"}},
           {"dropped first, the rest is replaced",
            "DROP:REPLACE",
            {"n1", "n2"},
            {again, dropped(), replaced("x", "x")},
            {"drop n1", "drop n2", "replace n1", "write x", "finish 0"}},
       }) {
    const Course one = run(story.policy, script(story.nodes, story.answers));
    std::vector<std::string> acts = {"query"};
    acts.insert(acts.end(), story.acts.begin(), story.acts.end());
    EXPECT_EQ(one.acts, acts) << story.name << "\n" << one.said;
  }
}

TEST(FaultHandling, TriesStandTwentySecondsApartHoweverLongTheyTake) {
  const auto never = [](const Act& act, TimePoint) {
    return act.kind == Do::query ? faulty({"n1"}) : act.kind == Do::replace ? refused(Hope::again) : Reply{};
  };
  const auto waits = [&](Micros cost) {
    std::vector<std::string> out;
    for (const std::string& act : run("REPLACE:TIME_LIMIT_DELAY=1", never, Fault::failed, cost).acts)
      if (act.starts_with("wait")) out.push_back(act);
    return out;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(waits(0us), ElementsAre("wait 20", "wait 40", "wait 60"));
  // (The query took a second, too.)
  EXPECT_THAT(waits(1s), ElementsAre("wait 21", "wait 41", "wait 61"));
  EXPECT_THAT(waits(15s), ElementsAre("wait 55", "wait 75"));
  EXPECT_THAT(waits(61s), ElementsAre());
}

TEST(FaultHandling, TheTimeForWaitingIsAskedForUntilItIsGranted) {
  int asked = 0;
  const Course one = run("REPLACE:TIME_LIMIT_DELAY=1", [&](const Act& act, TimePoint) {
    if (act.kind == Do::query) return faulty({"n1"});
    if (act.kind == Do::replace) return refused(Hope::again);
    if (act.kind == Do::extend) return ++asked < 3 ? refused(Hope::next, "Job is not eligible") : Reply{};
    return Reply{};
  });
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(one.extended, 1U);
  EXPECT_EQ(one.said.find("not eligible"), one.said.rfind("not eligible")) << "told once\n" << one.said;
  EXPECT_THAT(one.said, ::testing::HasSubstr("run time limit extended by 1min successfully"));
}

TEST(FaultHandling, OnlyItsOwnFaultIsHandled) {
  const auto both = [](const Act& act, TimePoint) -> Reply {
    if (act.kind != Do::query) return replaced("x");
    Reply reply = faulty({"n1"});
    reply.faulty.push_back({"n2", 4, Fault::failing});
    return reply;
  };
  const Course one = run("REPLACE", both, Fault::failing);
  EXPECT_EQ(one.said,
            "is_failed: job 7 searching for FAILING hosts\n"
            "is_failed: job 7 has 1 FAILING nodes\n"
            "is_failed: job 7 FAILING node n2 cpu_count 4\n"
            "_handle_fault: job 7 handle failing_hosts\n"
            "_try_replace: job 7 trying to replace 1 nodes\n"
            "_try_replace: job 7 node n2 replaced by x\n"
            "_generate_node_file: job 7 all nodes replaced\n");
}

TEST(FaultHandling, SaysWhatWentWrong) {
  using ::testing::HasSubstr;
  const Course query =
      run("REPLACE", [](const Act&, TimePoint) { return refused(Hope::again, "Network I/O error"); });
  EXPECT_EQ(query.said,
            "is_failed: job 7 searching for FAILED hosts\n"
            "is_failed: smd_get_job_faulty_nodes() error job_id 7: Network I/O error\n");
  EXPECT_TRUE(query.stopped);
  EXPECT_EQ(query.code, 1);

  const Course wait = run("REPLACE:EXIT_JOB", script({"n1"}, {later(1'795'000'000)}));
  EXPECT_THAT(wait.said,
              HasSubstr("_try_replace: job 7 node n1 will be replaced later, expected at 2026-11-18T"));
  EXPECT_THAT(wait.said, HasSubstr("_handle_fault: job 7 exit job\n"));
  EXPECT_THAT(wait.said, ::testing::Not(HasSubstr("error"))) << "later is no error";

  const Course drop = run("DROP", script({"n1"}, {refused(Hope::again, "Failed to update the job")}));
  EXPECT_THAT(drop.said,
              HasSubstr("_drop_nodes: smd_drop_node() error job_id 7: Failed to update the job\n"));

  const Course part = run("REPLACE", script({"n1", "n2"}, {replaced("x"), refused(Hope::again)}));
  EXPECT_THAT(part.said, HasSubstr("_generate_node_file: job 7 1 of 2 nodes replaced\n"));

  const Course file = run("REPLACE", [](const Act& act, TimePoint) {
    if (act.kind == Do::query) return faulty({"n1"});
    return act.kind == Do::write_file ? refused(Hope::again, "cannot write /tmp/f") : replaced("x");
  });
  EXPECT_THAT(file.said,
              HasSubstr("_generate_node_file: job 7 cannot write the nodes file: cannot write /tmp/f\n"));
  EXPECT_EQ(file.code, 1) << "the next step would run on the lost node";
}

}  // namespace
}  // namespace sickbay::smd
