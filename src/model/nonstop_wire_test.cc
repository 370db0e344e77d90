// SPDX-License-Identifier: Apache-2.0
#include "model/nonstop_wire.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

namespace sickbay::wire {
namespace {

Request read(const std::string& text) {
  auto request = parse_request(text);
  EXPECT_TRUE(request) << text << ": " << (request ? "" : request.error().message("test"));
  return request.value_or(Request{});
}

struct CommandCase {
  std::string text;
  Request wanted;
};

std::vector<CommandCase> all_commands() {
  std::vector<CommandCase> rows;
  const auto add = [&rows](std::string text, Command command, JobId job) -> Request& {
    Request request;
    request.command = command;
    request.job = job;
    request.release = "22.05";
    return rows.emplace_back(CommandCase{"VERSION:22.05:" + std::move(text), request}).wanted;
  };
  add("GET_FAIL_NODES:JOBID:17:STATE_FLAGS:6", Command::get_fail_nodes, 17).state_flags = kFailed | kFailing;
  {
    Request& drain = add("DRAIN:NODES:\"n[1-2]\":REASON:\"ECC: 3 errors\"", Command::drain, 0);
    drain.nodes = "n[1-2]", drain.names = {"n1", "n2"}, drain.reason = "ECC: 3 errors";
    Request& ours = add("DRAIN:NODES:\"n1\":REASON:\"bad\":JOBID:17", Command::drain, 17);
    ours.nodes = "n1", ours.names = {"n1"}, ours.reason = "bad";
  }
  {
    Request& one = add("REPLACE_NODE:JOBID:17:NODE:n3", Command::replace_node, 17);
    one.node = "n3", one.names = {"n3"};
    Request& several = add("REPLACE_NODE:JOBID:17:NODE:m7,n[3-4]", Command::replace_node, 17);
    several.node = "m7,n[3-4]", several.names = {"m7", "n3", "n4"};
    Request& drop = add("DROP_NODE:JOBID:17:NODE:n3", Command::drop_node, 17);
    drop.node = "n3", drop.names = {"n3"};
  }
  add("TIME_INCR:JOBID:17:MINUTES:30", Command::time_incr, 17).minutes = 30;
  add("TIME_INCR:JOBID:17:MINUTES:0", Command::time_incr, 17);
  add("CALLBACK:JOBID:17:PORT:40000", Command::callback, 17).port = 40000;
  add("CALLBACK:JOBID:17:PORT:0", Command::callback, 17);
  add("SHOW_JOB:JOBID:4294967293", Command::show_job, 4294967293U);
  add("SHOW_CONFIG", Command::show_config, 0);
  add("EVENTS:JOBID:17:AFTER:18446744073709551615", Command::events, 17).after = ~std::uint64_t{0};
  return rows;
}

TEST(NonstopRequest, EveryCommandIsReadAndWritten) {
  std::vector<bool> seen(static_cast<std::size_t>(Command::events) + 1);
  for (const CommandCase& row : all_commands()) {
    EXPECT_EQ(read(row.text), row.wanted) << row.text;
    EXPECT_EQ(format_request(row.wanted), row.text);
    seen[static_cast<std::size_t>(row.wanted.command)] = true;
    EXPECT_NE(row.text.find(command_name(row.wanted.command)), std::string::npos);
  }
  for (const bool one : seen) EXPECT_TRUE(one) << "a command without a row";
}

TEST(NonstopRequest, AnyReleaseAndAnyEndIsTaken) {
  EXPECT_EQ(read("VERSION:14.03.1-2:SHOW_JOB:JOBID:17").release, "14.03.1-2");
  EXPECT_EQ(read("VERSION:26.05:SHOW_CONFIG").release, "26.05");
  EXPECT_EQ(read("VERSION:25.11.0rc1:SHOW_CONFIG").command, Command::show_config);
  for (const std::string& end :
       {std::string(1, '\0'), std::string("\n"), std::string(":"), std::string(" \r\n\0x", 5)})
    EXPECT_EQ(read("VERSION:22.05:SHOW_JOB:JOBID:17" + end).job, 17U);
  EXPECT_EQ(read("VERSION:22.05:DRAIN:NODES:n[1-2]:REASON:bad:").reason, "bad");
  EXPECT_EQ(read("VERSION:22.05:DRAIN:NODES:n1:REASON:\"\"").reason, "");
  EXPECT_EQ(read("VERSION:22.05:DRAIN:NODES:n1:REASON:\"a\nb\x80\"").reason, "a?b?");
  EXPECT_EQ(read("VERSION:22.05:REPLACE_NODE:JOBID:17:NODE:n2,n1,n2").node, "n[1-2]");
  EXPECT_EQ(read("VERSION:22.05:GET_FAIL_NODES:JOBID:17:STATE_FLAGS:65535").state_flags, 6U);
}

TEST(NonstopRequest, WhatCannotBeReadIsRefusedWithAReason) {
  struct Row {
    std::string text, what, cause;
  };
  const std::vector<Row> rows = {
      {"", "a request without its version", "it begins with ''"},
      {"SHOW_CONFIG", "a request without its version", "it begins with 'SHOW_CONFIG'"},
      {"version:22.05:SHOW_CONFIG", "a request without its version",
       "it begins with 'version:22.05:SHOW_CONFIG'"},
      {"VERSION:SHOW_CONFIG", "'SHOW_CONFIG' is no version", "it must be a release of Slurm, and a colon"},
      {"VERSION:22.05", "'22.05' is no version", "it must be a release of Slurm, and a colon"},
      {"VERSION:22.05:", "'' is no command", "no command has this name"},
      {"VERSION:22.05:show_config", "'show_config' is no command", "did you mean SHOW_CONFIG?"},
      {"VERSION:22.05:REPLACE:JOBID:1:NODE:n1", "'REPLACE' is no command", "no command has this name"},
      {"VERSION:22.05:SHOW_CONFIG:x", "SHOW_CONFIG: ':x' at its end", "no such field is known"},
      {"VERSION:22.05:SHOW_JOB", "SHOW_JOB without JOBID:", "'' stands where it should be"},
      {"VERSION:22.05:SHOW_JOB:JOBID", "SHOW_JOB without JOBID:", "':JOBID' stands where it should be"},
      {"VERSION:22.05:SHOW_JOB:JOBID:0", "JOBID: 0 is no job", "Slurm's job ids begin at 1"},
      {"VERSION:22.05:SHOW_JOB:JOBID:-1", "JOBID: '-1' is no number",
       "it must be a whole number from 0 to 4294967293"},
      {"VERSION:22.05:SHOW_JOB:JOBID:17x", "JOBID: '17x' is no number",
       "it must be a whole number from 0 to 4294967293"},
      {"VERSION:22.05:SHOW_JOB:JOBID:4294967294", "JOBID: '4294967294' is no number",
       "it must be a whole number from 0 to 4294967293"},
      {"VERSION:22.05:SHOW_JOB:JOBID:17:NODE:n1", "SHOW_JOB: ':NODE:n1' at its end",
       "no such field is known"},
      {"VERSION:22.05:TIME_INCR:JOBID:17:MINUTES:", "TIME_INCR without MINUTES:",
       "':MINUTES' stands where it should be"},
      {"VERSION:22.05:TIME_INCR:JOBID:17:MINUTES:ten", "MINUTES: 'ten' is no number",
       "it must be a whole number from 0 to 4294967293"},
      {"VERSION:22.05:CALLBACK:JOBID:17:PORT:65536", "PORT: '65536' is no number",
       "it must be a whole number from 0 to 65535"},
      {"VERSION:22.05:REPLACE_NODE:JOBID:17", "REPLACE_NODE without NODE:", "'' stands where it should be"},
      {"VERSION:22.05:REPLACE_NODE:JOBID:17:NODE:,", "REPLACE_NODE without a node",
       "the list of nodes is empty"},
      {"VERSION:22.05:REPLACE_NODE:JOBID:17:NODE:n'1",
       "hostlist 'n\\'1', column 2: '\\'' cannot stand in a node name", ""},
      {"VERSION:22.05:DRAIN:NODES:\"n1:REASON:x", "NODES: a quote that is not closed",
       "the text has no second '\"'"},
      {"VERSION:22.05:DRAIN:NODES:\"n1\"", "DRAIN without REASON:", "'' stands where it should be"},
      {"VERSION:22.05:DRAIN:NODES:\"n1\":REASON:\"" + std::string(kMaxReason + 1, 'x') + "\"",
       "a reason of 1025 bytes", "it may have 1024"},
      {"VERSION:22.05:GET_FAIL_NODES:JOBID:17",
       "GET_FAIL_NODES without STATE_FLAGS:", "'' stands where it should be"},
  };
  for (const Row& row : rows) {
    const auto request = parse_request(row.text);
    ASSERT_FALSE(request) << row.text;
    EXPECT_EQ(request.error().code, ErrorCode::bad_input);
    EXPECT_EQ(request.error().what, row.what) << row.text;
    EXPECT_EQ(request.error().cause, row.cause) << row.text;
    EXPECT_TRUE(request.error().remedy_text.starts_with("write it as VERSION:22.05:")) << row.text;
  }
  EXPECT_FALSE(
      parse_request(fmt::format("VERSION:22.05:REPLACE_NODE:JOBID:17:NODE:n[1-{}]", kMaxNodesAsked + 1)));
  EXPECT_FALSE(parse_request("VERSION:22.05:REPLACE_NODE:JOBID:17:NODE:n[1-"));
  EXPECT_FALSE(parse_request("VERSION:22.05:SHOW_CONFIG" + std::string(kMaxMessage, 'x')));
}

Reply reply(Command command, Code code = Code::enoerror) {
  Reply reply;
  reply.command = command;
  reply.code = code;
  return reply;
}

TEST(NonstopReply, HasTheTextsOfThePlugin) {
  Reply nodes = reply(Command::get_fail_nodes);
  EXPECT_EQ(format_reply(nodes, "22.05.8"), "22.05.8 ENOERROR ");
  nodes.faulty = {{"n2", 4, kFailing}, {"n3", 8, kFailed}};
  EXPECT_EQ(format_reply(nodes, "22.05.8"), "22.05.8 ENOERROR n2 4 4 n3 8 2 ");

  Reply replaced = reply(Command::replace_node);
  replaced.replacement = "n9";
  replaced.set = {"n[1-2],n9", 3, {{8, 2}, {4, 1}}};
  EXPECT_EQ(
      format_reply(replaced, "22.05.8"),
      "22.05.8 ENOERROR ReplacementNode n9 NewNodeList n[1-2],n9 NewNodeCount 3 NewCpusPerNode 8(x2),4");
  replaced.command = Command::drop_node;
  EXPECT_EQ(format_reply(replaced, "22.05.8"),
            "22.05.8 ENOERROR NewNodeList n[1-2],n9 NewNodeCount 3 NewCpusPerNode 8(x2),4");

  for (const Command command : {Command::drain, Command::time_incr, Command::callback, Command::events})
    EXPECT_EQ(format_reply(reply(command), "22.05.8"), "22.05.8 ENOERROR");

  Reply job = reply(Command::show_job);
  EXPECT_EQ(
      format_reply(job, "22.05.8"),
      "22.05.8 ENOERROR FAIL_NODE_CNT 0 PENDING_JOB_DELAY 0 PENDING_JOB_ID 0 PENDING_NODE_NAME \"none\" "
      "REPLACE_NODE_CNT 0 TIME_EXTEND_AVAIL 0");
  job.job = {{{"n3", 8, kFailed}, {"n4", 1, kFailing}}, 5, 18, "n3", 2, 30};
  EXPECT_EQ(
      format_reply(job, "22.05.8"),
      "22.05.8 ENOERROR FAIL_NODE_CNT 2 n3 8 n4 1 PENDING_JOB_DELAY 5 PENDING_JOB_ID 18 PENDING_NODE_NAME "
      "\"n3\" REPLACE_NODE_CNT 2 TIME_EXTEND_AVAIL 30");

  Reply config = reply(Command::show_config);
  config.config.control_addr = "prometeo";
  EXPECT_EQ(format_reply(config, "22.05.8"),
            "22.05.8 ENOERROR BackupAddr \"none\" ControlAddr \"prometeo\" Debug 0 HotSpareCount \"none\" "
            "MaxSpareNodeCount 0 Port 6820 TimeLimitDelay 0 TimeLimitDrop 0 TimeLimitExtend 0 UserDrainAllow "
            "\"none\" "
            "UserDrainDeny \"none\"");
  config.config.hot_spares = {{"batch", 8}, {"*", 1}};
  config.config.drain_allow.names = {"alan", "brenda"};
  EXPECT_NE(format_reply(config, "22.05.8").find("HotSpareCount \"batch:8,*:1\""), std::string::npos);
  EXPECT_NE(format_reply(config, "22.05.8").find("UserDrainAllow \"alan,brenda\""), std::string::npos);
}

TEST(NonstopReply, EveryCodeIsWrittenAndKnownAgain) {
  for (int i = 0; i <= static_cast<int>(Code::ejobupdate); ++i) {
    const auto code = static_cast<Code>(i);
    EXPECT_EQ(code_row(code).code, code) << "the table is in the order of the codes";
    EXPECT_EQ(code_from(code_row(code).name), code);
    EXPECT_FALSE(code_row(code).means.empty());
    if (code == Code::enoerror) continue;
    const std::string text = format_reply(reply(Command::time_incr, code), "22.05.8");
    EXPECT_TRUE(text.starts_with(fmt::format("22.05.8 {}", code_row(code).name))) << text;
  }
  Reply later = reply(Command::replace_node, Code::ereplacelater);
  EXPECT_EQ(format_reply(later, "22.05.8"), "22.05.8 EREPLACELATER 0");
  later.when = from_unix_seconds(1'795'000'000);
  EXPECT_EQ(format_reply(later, "22.05.8"), "22.05.8 EREPLACELATER 1795000000");
  Reply pending = reply(Command::replace_node, Code::ereplacepending);
  pending.node = "n3";
  EXPECT_EQ(format_reply(pending, "22.05.8"), "22.05.8 EREPLACEPENDING n3");
  Reply most = reply(Command::replace_node, Code::emaxsparecount);
  most.limit = 4;
  EXPECT_EQ(format_reply(most, "22.05.8"), "22.05.8 EMAXSPARECOUNT 4");
  Reply failed = reply(Command::replace_node, Code::enodereplacefail);
  failed.why = "no node\nof partition \x80 batch";
  EXPECT_EQ(format_reply(failed, "22.05.8"), "22.05.8 ENODEREPLACEFAIL no node of partition ? batch");
  // The plugin misspells this one, and clients know it so.
  EXPECT_EQ(format_reply(reply(Command::drop_node, Code::ejobnotrun), "22.05.8"), "22.05.8 EJOBNOTRUNRROR");
  EXPECT_EQ(code_from("EJOBNOTRUNRROR"), Code::ejobnotrun);
  EXPECT_EQ(code_from("ENOTHING"), std::nullopt);
  EXPECT_EQ(format_failure(kNotDecrypted), "Error:\"Message decrypt failure\"");
  EXPECT_EQ(format_failure("a \"b\"\n"), "Error:\"a 'b' \"");
}

// The numbers that libsmd/smd.h gives its users are those of the table here.
TEST(NonstopReply, NumbersAreThoseOfSmdH) {
  std::ifstream file(SB_SOURCE "/libsmd/smd.h");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto begin = text.find("ENSTOP_CONFIG = 1000");
  ASSERT_NE(begin, std::string::npos);
  std::vector<std::string> names;
  static const std::regex name("\n?  (ENSTOP_[A-Z]+)[ ,]");
  const std::string numbered = "  " + text.substr(begin, text.find('}', begin) - begin);
  for (std::sregex_iterator it(numbered.begin(), numbered.end(), name), end; it != end; ++it)
    names.push_back((*it)[1]);
  const auto named = [&](Code code) {
    return names.at(static_cast<std::size_t>(code_row(code).enstop - 1000));
  };
  EXPECT_EQ(named(Code::ecmd), "ENSTOP_INVALCMD");
  EXPECT_EQ(named(Code::eupdnode), "ENSTOP_UPNODE");
  EXPECT_EQ(named(Code::ejobid), "ENSTOP_JOBID");
  EXPECT_EQ(named(Code::eport), "ENSTOP_PORT");
  EXPECT_EQ(named(Code::euid), "ENSTOP_UID");
  EXPECT_EQ(named(Code::ejobnotrun), "ENSTOP_JOBNOTRUN");
  EXPECT_EQ(named(Code::enohost), "ENSTOP_NOHOST");
  EXPECT_EQ(named(Code::enodenotfail), "ENSTOP_NODENOTFAILED");
  EXPECT_EQ(named(Code::enodenocpu), "ENSTOP_NODENOTINJOB");
  EXPECT_EQ(named(Code::nodenotinjob), "ENSTOP_NODENOTINJOB");
  EXPECT_EQ(named(Code::ereplacelater), "ENSTOP_REPLACELATER");
  EXPECT_EQ(named(Code::ereplacepending), "ENSTOP_REPLACEPENDING");
  EXPECT_EQ(named(Code::emaxsparecount), "ENSTOP_MAXSPARECOUNT");
  EXPECT_EQ(named(Code::enodereplacefail), "ENSTOP_NODEREPLACEFAILED");
  EXPECT_EQ(named(Code::enoincreasetimelimit), "ENSTOP_NOINCREASETIMELIMIT");
  EXPECT_EQ(named(Code::etimeoverlimit), "ENSTOP_TIMEOVERLIMIT");
  EXPECT_EQ(named(Code::ejobupdate), "ENSTOP_JOBUPDATE");
  EXPECT_EQ(named(Code::eperm), "ENSTOP_PERM");
}

TEST(NonstopFrame, IsReadHoweverItIsCut) {
  const std::string two = frame("first") + frame(std::string(kMaxMessage - 1, 'x'));
  EXPECT_EQ(two.substr(0, 15), std::string("00000006\nfirst\0", 15));
  for (const std::size_t cut : {1, 2, 7, 9, 10, 4096, 70'000}) {
    FrameReader reader;
    std::vector<std::string> bodies;
    for (std::size_t at = 0; at < two.size(); at += cut) {
      ASSERT_TRUE(reader.take(std::string_view(two).substr(at, cut)));
      while (auto body = reader.next()) bodies.push_back(*body);
      EXPECT_TRUE(at + cut >= two.size() || reader.half() || bodies.size() == 1);
    }
    ASSERT_EQ(bodies.size(), 2U) << cut;
    EXPECT_EQ(bodies[0], "first");
    EXPECT_EQ(bodies[1].size(), kMaxMessage - 1);
    EXPECT_FALSE(reader.half());
  }
  FrameReader blanks;  // sscanf's taste
  EXPECT_TRUE(blanks.take(std::string_view("       3\nab\0", 12)));
  EXPECT_EQ(blanks.next(), "ab");
}

TEST(NonstopFrame, WhatIsNoneIsRefusedAtOnce) {
  for (const std::string bad : {"x", "GET / HTTP/1.1", "0000000a", "00000012x", "-0000001\n", "        \n",
                                "00000000\n", "00065537\n", "99999999\n", "1 000000\n"}) {
    FrameReader reader;
    const Status taken = reader.take(bad);
    ASSERT_FALSE(taken) << bad;
    EXPECT_EQ(taken.error().code, ErrorCode::bad_input);
    EXPECT_FALSE(taken.error().remedy_text.empty());
    EXPECT_FALSE(reader.take(frame("good"))) << "it takes nothing more";
    EXPECT_EQ(reader.next(), std::nullopt);
  }
  FrameReader second;
  EXPECT_TRUE(second.take(frame("good") + "bad"));
  EXPECT_EQ(second.next(), "good");
  EXPECT_FALSE(second.take(""));
}

TEST(NonstopFrame, CallbackIsTheOriginals) {
  EXPECT_EQ(callback_message(kFailed | kReplace), std::string("\0\0\0\4\x0a\0\0\0", 8));
}

}  // namespace
}  // namespace sickbay::wire
