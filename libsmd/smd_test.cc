// SPDX-License-Identifier: Apache-2.0
// libsmd against a service of the test's own: every command, every code, and what hosts and networks do.
#include "smd.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "stub_test_parts.h"

namespace {
std::atomic<bool> connect_until_hung_up = false;
}
// Of all that this program loads, libmunge included: a peer that hangs up has done so before anything is
// written.
extern "C" int connect(int fd, const sockaddr* to, socklen_t size) {
  static const auto real =
      reinterpret_cast<int (*)(int, const sockaddr*, socklen_t)>(::dlsym(RTLD_NEXT, "connect"));
  const int code = real(fd, to, size);
  if (code == 0 && connect_until_hung_up) {
    pollfd one{fd, 0, 0};
    ::poll(&one, 1, 10'000);
  }
  return code;
}

namespace sickbay {
namespace {

using wire::Code;
using wire::Command;
using wire::Reply;
using wire::Request;

class Smd : public StubServiceTest {
 protected:
  void SetUp() override {
    StubServiceTest::SetUp();
    conf.write("slurm.conf", fmt::format("ClusterName=c\nAuthInfo=ttl=60,socket={}\n", munged->socket()));
  }
  void TearDown() override { ::smd_nonstop_fini(); }

  void write_conf(const std::string& text) const { conf.write("nonstop.conf", text); }
  void answer(const Reply& reply) const { service->answer(wire::format_reply(reply, "22.05.8")); }
  void answer(Command command, Code code) const {
    Reply reply;
    reply.command = command;
    reply.code = code;
    answer(reply);
  }
  std::string last() const { return service->payloads().empty() ? "" : service->payloads().back(); }

  // One call of each function, its replies freed: 0 or -1.
  int call(Command command) const {
    std::string node = "n3", reason = "ECC";
    int code = -1;
    switch (command) {
      case Command::get_fail_nodes: {
        faulty_node_request request{17, 0};
        faulty_node_reply reply{};
        code = ::smd_get_job_faulty_nodes(&request, &reply);
        ::smd_free_job_faulty_nodes_reply(&reply);
        break;
      }
      case Command::drain: {
        drain_node_request request{17, node.data(), reason.data(), 0};
        code = ::smd_drain_job_node(&request);
        break;
      }
      case Command::replace_node: {
        replace_node_request request{17, node.data()};
        replace_node_reply reply{};
        code = ::smd_replace_job_node(&request, &reply);
        ::smd_free_replace_job_node_reply(&reply);
        break;
      }
      case Command::drop_node: {
        drop_node_request request{17, node.data()};
        drop_node_reply reply{};
        code = ::smd_drop_job_node(&request, &reply);
        ::smd_free_drop_job_node_reply(&reply);
        break;
      }
      case Command::time_incr: {
        job_time_extend_request request{17, 30};
        code = ::smd_extend_job_time(&request);
        break;
      }
      case Command::callback:
        code = ::smd_register4nodevent(17);
        break;
      case Command::show_job: {
        job_nonstop_info_request request{17};
        job_nonstop_info_reply reply{};
        code = ::smd_nonstop_get_failed_jobinfo(&request, &reply);
        ::smd_nonstop_free_failed_jobinfo(&reply);
        break;
      }
      case Command::show_config: {
        nonstop_config config{};
        code = ::smd_get_nonstopconfig(&config);
        ::smd_free_nonstop_config(&config);
        break;
      }
      case Command::events: {
        smd_events_t* events = ::smd_open_events(17, 5);
        code = events == nullptr ? -1 : 0;
        ::smd_close_events(events);
        break;
      }
    }
    return code;
  }
};

constexpr Command kAll[] = {Command::get_fail_nodes, Command::drain,       Command::replace_node,
                            Command::drop_node,      Command::time_incr,   Command::callback,
                            Command::show_job,       Command::show_config, Command::events};

TEST_F(Smd, EveryCommandIsOneTheServerReads) {
  const char* wanted[] = {"GET_FAIL_NODES:JOBID:17:STATE_FLAGS:6",
                          "DRAIN:NODES:\"n3\":REASON:\"ECC\":JOBID:17",
                          "REPLACE_NODE:JOBID:17:NODE:n3",
                          "DROP_NODE:JOBID:17:NODE:n3",
                          "TIME_INCR:JOBID:17:MINUTES:30",
                          "CALLBACK:JOBID:17:PORT:",
                          "SHOW_JOB:JOBID:17",
                          "SHOW_CONFIG",
                          "EVENTS:JOBID:17:AFTER:5"};
  for (std::size_t i = 0; i < std::size(kAll); ++i) {
    Result<Request> seen = fail(ErrorCode::internal, "none came");
    service->answer([&seen](const Result<Request>& request, int, const std::string&) {
      seen = request;
      return wire::frame("22.05.8 EJOBID");
    });
    EXPECT_EQ(call(kAll[i]), -1);
    EXPECT_EQ(errno, ENSTOP_JOBID);
    ASSERT_TRUE(seen) << seen.error().message("test");
    EXPECT_EQ(seen->command, kAll[i]);
    EXPECT_THAT(last(), ::testing::StartsWith(std::string("VERSION:22.05:") + wanted[i]));
  }
  service->answer("22.05.8 EJOBID");  // no more `seen`
  ::setenv("SMD_RELEASE", "20.02", 1);
  EXPECT_EQ(call(Command::show_config), -1);
  ::unsetenv("SMD_RELEASE");
  EXPECT_EQ(last(), "VERSION:20.02:SHOW_CONFIG");
}

TEST_F(Smd, EveryCodeOfEveryCommandIsItsNumber) {
  for (const Command command : kAll) {
    for (int i = 1; i <= static_cast<int>(Code::ejobupdate); ++i) {
      const auto code = static_cast<Code>(i);
      answer(command, code);
      errno = 0;
      const int result = call(command);
      if (command == Command::replace_node && code == Code::ereplacelater) {
        EXPECT_EQ(result, 0) << "later is an answer, no error";
        continue;
      }
      EXPECT_EQ(result, -1);
      EXPECT_EQ(errno, wire::code_row(code).enstop) << wire::code_row(code).name;
      EXPECT_THAT(::smd_nonstop_why(), ::testing::StartsWith(wire::code_row(code).name));
      EXPECT_STRNE(::smd_nonstop_errstr(errno), "");
    }
  }
  Reply reply;
  reply.command = Command::replace_node;
  reply.code = Code::enodereplacefail;
  reply.why = "no idle node in partition batch";
  answer(reply);
  EXPECT_EQ(call(Command::replace_node), -1);
  EXPECT_EQ(std::string(::smd_nonstop_why()), "ENODEREPLACEFAIL no idle node in partition batch");
}

TEST_F(Smd, RepliesAreWhatTheServerMeant) {
  Reply reply;
  reply.command = Command::get_fail_nodes;
  reply.faulty = {{"n2", 4, wire::kFailing}, {"n3", 8, wire::kFailed}, {"n4", 1, wire::kFailed}};
  answer(reply);
  faulty_node_request ask_faulty{17, FAILED_NODES};
  faulty_node_reply faulty{};
  ASSERT_EQ(::smd_get_job_faulty_nodes(&ask_faulty, &faulty), 0) << ::smd_nonstop_why();
  EXPECT_EQ(last(), "VERSION:22.05:GET_FAIL_NODES:JOBID:17:STATE_FLAGS:2");
  ASSERT_EQ(faulty.num, 3);
  EXPECT_EQ(faulty.job_id, 17U);
  EXPECT_STREQ(faulty.nodes[0].node_name, "n2");
  EXPECT_EQ(faulty.nodes[0].state, FAILING_NODES);
  EXPECT_EQ(faulty.nodes[1].cpu_cnt, 8);
  EXPECT_EQ(faulty.nodes[2].state, FAILED_NODES);
  ::smd_free_job_faulty_nodes_reply(&faulty);
  EXPECT_EQ(faulty.nodes, nullptr);
  reply.faulty.clear();
  answer(reply);
  ASSERT_EQ(::smd_get_job_faulty_nodes(&ask_faulty, &faulty), 0) << ::smd_nonstop_why();
  EXPECT_EQ(faulty.num, 0);
  EXPECT_EQ(faulty.nodes, nullptr);

  std::string node = "n3";
  reply = {};
  reply.command = Command::replace_node;
  reply.replacement = "n9";
  reply.set = {"n[1-2],n9", 3, {{8, 2}, {4, 1}}};
  answer(reply);
  replace_node_request ask_replace{17, node.data()};
  replace_node_reply replaced{};
  ASSERT_EQ(::smd_replace_job_node(&ask_replace, &replaced), 0) << ::smd_nonstop_why();
  EXPECT_STREQ(replaced.failed_node, "n3");
  EXPECT_STREQ(replaced.replacement_node, "n9");
  EXPECT_STREQ(replaced.new_set.new_nodelist, "n[1-2],n9");
  EXPECT_EQ(replaced.new_set.new_node_cnt, 3);
  EXPECT_STREQ(replaced.new_set.new_cpus_per_node, "8(x2),4");
  EXPECT_EQ(replaced.when_available, 0);
  ::smd_free_replace_job_node_reply(&replaced);
  reply.code = Code::ereplacelater;
  reply.when = from_unix_seconds(1'795'000'000);
  answer(reply);
  ASSERT_EQ(::smd_replace_job_node(&ask_replace, &replaced), 0) << ::smd_nonstop_why();
  EXPECT_EQ(replaced.replacement_node, nullptr);
  EXPECT_EQ(replaced.when_available, 1'795'000'000);
  EXPECT_EQ(replaced.new_set.new_nodelist, nullptr);
  ::smd_free_replace_job_node_reply(&replaced);

  reply.code = Code::enoerror;
  reply.replacement = "n[8-9]";
  answer(reply);
  const smd_replace_nodes_request_t ask_both{17, "n[3-4]"};
  smd_replace_nodes_reply_t both{};
  ASSERT_EQ(::smd_replace_job_nodes(&ask_both, &both), 0) << ::smd_nonstop_why();
  EXPECT_EQ(last(), "VERSION:22.05:REPLACE_NODE:JOBID:17:NODE:n[3-4]");
  EXPECT_STREQ(both.failed_nodes, "n[3-4]");
  EXPECT_STREQ(both.replacement_nodes, "n[8-9]");
  ::smd_free_replace_job_nodes_reply(&both);

  reply.command = Command::drop_node;
  answer(reply);
  drop_node_request ask_drop{17, node.data()};
  drop_node_reply dropped{};
  ASSERT_EQ(::smd_drop_job_node(&ask_drop, &dropped), 0) << ::smd_nonstop_why();
  EXPECT_STREQ(dropped.node, "n3");
  EXPECT_STREQ(dropped.new_set.new_nodelist, "n[1-2],n9");
  ::smd_free_drop_job_node_reply(&dropped);

  for (const Command command : {Command::drain, Command::time_incr, Command::callback}) {
    answer(command, Code::enoerror);
    EXPECT_EQ(call(command), 0) << ::smd_nonstop_why();
  }
}

TEST_F(Smd, JobAndConfigurationAreRead) {
  Reply reply;
  reply.command = Command::show_job;
  reply.job = {{{"n3", 8, wire::kFailed}, {"n4", 1, wire::kFailing}}, 5, 18, "n3", 2, 30};
  answer(reply);
  job_nonstop_info_request ask{17};
  job_nonstop_info_reply job{};
  ASSERT_EQ(::smd_nonstop_get_failed_jobinfo(&ask, &job), 0) << ::smd_nonstop_why();
  ASSERT_EQ(job.failed_node_cnt, 2U);
  EXPECT_STREQ(job.failed_nodes[1].node_name, "n4");
  EXPECT_EQ(job.failed_nodes[0].cpu_cnt, 8);
  EXPECT_EQ(job.pending_job_delay, 5U);
  EXPECT_EQ(job.pending_job_id, 18U);
  EXPECT_STREQ(job.pending_node_name, "n3");
  EXPECT_EQ(job.replace_node_cnt, 2U);
  EXPECT_EQ(job.time_extend_avail, 30U);
  ::smd_nonstop_free_failed_jobinfo(&job);
  // The plugin's own way of writing no nodes.
  service->answer(
      "22.05.8 ENOERROR FAIL_NODE_CNT 0 (null)PENDING_JOB_DELAY 7 PENDING_JOB_ID 0 PENDING_NODE_NAME "
      "\"none\" "
      "REPLACE_NODE_CNT 0 TIME_EXTEND_AVAIL 0");
  ASSERT_EQ(::smd_nonstop_get_failed_jobinfo(&ask, &job), 0) << ::smd_nonstop_why();
  EXPECT_EQ(job.failed_nodes, nullptr);
  EXPECT_EQ(job.pending_job_delay, 7U);
  EXPECT_EQ(job.pending_node_name, nullptr);
  ::smd_nonstop_free_failed_jobinfo(&job);

  write_conf(
      fmt::format("controladdr = localhost # us\nPort={}\nBackupAddr=127.0.0.1\nDebug=0\nReadTimeout=5 "
                  "WriteTimeout=6\nHotSpareCount=x\nNewKey=1\n",
                  service->port()));
  reply.command = Command::show_config;
  reply.config.control_addr = "localhost";
  reply.config.hot_spares = {{"batch", 8}, {"debug", 1}};
  reply.config.max_spare_nodes = 4;
  reply.config.time_limit_delay = 600, reply.config.time_limit_drop = 3, reply.config.time_limit_extend = 2;
  reply.config.drain_allow.all = true;
  answer(reply);
  nonstop_config config{};
  ASSERT_EQ(::smd_get_nonstopconfig(&config), 0) << ::smd_nonstop_why();
  EXPECT_EQ(config.conf_fname, conf.path("nonstop.conf"));
  EXPECT_STREQ(config.control_addr, "localhost");
  EXPECT_EQ(config.control_saddr, htonl(INADDR_LOOPBACK));
  EXPECT_STREQ(config.backup_addr, "127.0.0.1");
  EXPECT_EQ(config.port, service->port());
  EXPECT_EQ(config.read_timeout, 5U);
  EXPECT_EQ(config.write_timeout, 6U);
  EXPECT_STREQ(config.hot_spare_count, "batch:8,debug:1");
  EXPECT_EQ(config.max_spare_node_count, 4U);
  EXPECT_EQ(config.time_limit_delay, 600);
  EXPECT_EQ(config.time_limit_drop, 3);
  EXPECT_EQ(config.time_limit_extend, 2);
  EXPECT_STREQ(config.user_drain_allow, "ALL");
  EXPECT_EQ(config.user_drain_deny, nullptr);
  ::smd_free_nonstop_config(&config);
}

TEST_F(Smd, ArgumentsAreLookedAtFirst) {
  faulty_node_request no_job{0, 0};
  faulty_node_reply faulty{};
  EXPECT_EQ(::smd_get_job_faulty_nodes(&no_job, &faulty), -1);
  EXPECT_EQ(errno, ENSTOP_ARGS);
  EXPECT_EQ(::smd_get_job_faulty_nodes(nullptr, &faulty), -1);
  for (const std::string bad : {"", "n 1", "n1:JOBID", "n\"1", "n\n1", "n\xc3\xa4"}) {
    std::string node = bad;
    replace_node_request request{17, node.data()};
    replace_node_reply reply{};
    EXPECT_EQ(::smd_replace_job_node(&request, &reply), -1);
    EXPECT_EQ(errno, ENSTOP_ARGS) << bad;
  }
  std::string node = std::string(60'000, 'n'), reason = "say \"ECC\"\nnow";
  replace_node_request request{17, node.data()};
  replace_node_reply reply{};
  EXPECT_EQ(::smd_replace_job_node(&request, &reply), -1);
  EXPECT_EQ(errno, ENSTOP_ARGS);
  EXPECT_EQ(::smd_register4nodevent(0), -1);
  EXPECT_EQ(::smd_open_events(0, 0), nullptr);
  EXPECT_TRUE(service->payloads().empty()) << "nothing was asked";
  node_event event{};
  EXPECT_EQ(::smd_wait4nodevent(17, &event, 0), -1);
  EXPECT_EQ(errno, ENSTOP_PORT) << "not registered";

  node = "n3";
  drain_node_request drain{0, node.data(), reason.data(), 3};
  EXPECT_EQ(::smd_drain_job_node(&drain), -1);
  EXPECT_EQ(last(), "VERSION:22.05:DRAIN:NODES:\"n3\":REASON:\"say 'ECC' now\"");
  ::smd_free_job_faulty_nodes_reply(nullptr);
  ::smd_free_node_state(nullptr);
  ::smd_free_replace_job_node_reply(nullptr);
  ::smd_free_replace_job_nodes_reply(nullptr);
  ::smd_free_drop_job_node_reply(nullptr);
  ::smd_nonstop_free_failed_jobinfo(nullptr);
  ::smd_free_nonstop_config(nullptr);
  ::smd_free_event(nullptr);
  ::smd_close_events(nullptr);
  EXPECT_STREQ(::smd_nonstop_errstr(ENSTOP_NODEREPLACEFAILED),
               "Failed to replace the node");  // the paper's text
  EXPECT_STREQ(::smd_nonstop_errstr(ENOENT), std::strerror(ENOENT));
}

TEST_F(Smd, ConfigurationsThatAreWrongSayWhere) {
  struct Row {
    std::string text, why;
  };
  const std::string file = conf.path("nonstop.conf");
  for (const Row& row : std::vector<Row>{
           {"", "no ControlAddr"},
           {"ControlAddr=a\nPort=0\n", "line 2: Port=0: it must be a port from 1 to 65535"},
           {"ControlAddr=a \\\n\nPort=x", "line 3: Port=x: it must be"},
           {"#\nControlAddr", "line 2: each entry must be Key=Value"},
           {"ControlAddr=\"a\n", "line 1: each entry must be Key=Value"},
           {"ControlAddr=a ReadTimeout=-1\n", "line 1: ReadTimeout=-1: it must be a number of seconds"},
       }) {
    write_conf(row.text);
    EXPECT_EQ(call(Command::show_config), -1);
    EXPECT_EQ(errno, ENSTOP_CONFIG) << row.text;
    EXPECT_THAT(::smd_nonstop_why(),
                ::testing::AllOf(::testing::StartsWith(file), ::testing::HasSubstr(row.why)));
  }
  ::setenv("SLURM_CONF", "/nowhere/slurm.conf", 1);
  EXPECT_EQ(call(Command::show_config), -1);
  EXPECT_EQ(errno, ENSTOP_CONFIG);
  EXPECT_THAT(::smd_nonstop_why(), ::testing::HasSubstr("/nowhere/nonstop.conf: No such file"));
}

TEST_F(Smd, TheBackupIsAskedWhereTheFirstDoesNotAnswer) {
  // Two services at one port, on two addresses of loopback: the first goes away.
  answer(Command::show_config, Code::enoerror);
  const std::uint16_t port = service->port();
  write_conf(fmt::format("ControlAddr=127.0.0.2\nBackupAddr=127.0.0.1\nPort={}\n", port));
  EXPECT_EQ(call(Command::show_config), 0) << ::smd_nonstop_why();
  EXPECT_EQ(call(Command::time_incr), 0) << "a change, too: the first never had it";

  // The first takes the request and dies: a query is asked again, a change is not, for it may have been done.
  service->answer([](const Result<Request>&, int connection, const std::string&) {
    ::shutdown(connection, SHUT_RDWR);
    return std::string();
  });
  write_conf(fmt::format("ControlAddr=127.0.0.1\nBackupAddr=localhost\nPort={}\n", port));
  for (const auto& [command, times] :
       {std::pair(Command::show_job, 2U), std::pair(Command::replace_node, 1U)}) {
    const std::size_t before = service->payloads().size();
    EXPECT_EQ(call(command), -1);
    EXPECT_EQ(errno, ENSTOP_NETIO);
    EXPECT_EQ(service->payloads().size() - before, times);
  }
  service->stop();
  EXPECT_EQ(call(Command::show_config), -1);
  EXPECT_EQ(errno, ENSTOP_NETIO);
  EXPECT_THAT(::smd_nonstop_why(), ::testing::HasSubstr("Connection refused"));
}

TEST_F(Smd, AServiceThatIsSlowOrTalksNonsenseIsNamed) {
  const auto says = [this](std::string bytes) {
    service->answer([bytes](const Result<Request>&, int, const std::string&) { return bytes; });
  };
  for (const auto& [bytes, wanted] : std::vector<std::pair<std::string, int>>{
           {"", ENSTOP_NETIO},
           {"00000", ENSTOP_NETIO},
           {"HTTP/1.1 400", ENSTOP_DECODEHEADER},
           {"00000000\n", ENSTOP_DECODEHEADER},
           {"99999999\n", ENSTOP_DECODEHEADER},
           {"00000030\n22.05.8 ENOERR", ENSTOP_NETIO},
           {wire::frame(""), ENSTOP_PROTOCOL},
           {wire::frame("ENOERROR"), ENSTOP_PROTOCOL},
           {wire::frame("22.05.8 ENEW 5"), ENSTOP_UNKWNCTRLMSG},
           {wire::frame(wire::format_failure(wire::kNotDecrypted)), ENSTOP_MUNGE},
           {wire::frame(wire::format_failure(wire::kBadVersion)), ENSTOP_PROTOCOL},
           {wire::frame("22.05.8 ENOERROR n1 x 2"), ENSTOP_PROTOCOL},
           {wire::frame("22.05.8 ENOERROR n1 1"), ENSTOP_PROTOCOL},
           {wire::frame("22.05.8 ENOERROR n1 99999999999999999999999 2"), ENSTOP_PROTOCOL},
       }) {
    says(bytes);
    EXPECT_EQ(call(Command::get_fail_nodes), -1) << bytes;
    EXPECT_EQ(errno, wanted) << bytes;
    EXPECT_STRNE(::smd_nonstop_why(), "") << bytes;
  }
  for (const std::string bad :
       {"22.05.8 ENOERROR", "22.05.8 ENOERROR NewNodeList", "22.05.8 ENOERROR NewNodeCount x NewNodeList n1",
        "22.05.8 EREPLACELATER", "22.05.8 EREPLACELATER soon"}) {
    says(wire::frame(bad));
    EXPECT_EQ(call(Command::replace_node), -1);
    EXPECT_EQ(errno, ENSTOP_PROTOCOL) << bad;
  }
  for (const std::string bad : {"22.05.8 ENOERROR FAIL_NODE_CNT 5 n1 1", "22.05.8 ENOERROR FAIL_NODE_CNT",
                                "22.05.8 ENOERROR PENDING_JOB_ID x"}) {
    says(wire::frame(bad));
    EXPECT_EQ(call(Command::show_job), -1);
    EXPECT_EQ(errno, ENSTOP_PROTOCOL) << bad;
  }
  says(wire::frame("22.05.8 ENOERROR Port \"x\" TimeLimitDrop \"y\""));
  EXPECT_EQ(call(Command::show_config), -1);
  EXPECT_EQ(errno, ENSTOP_PROTOCOL);

  // It takes the request and says nothing until the client has gone.
  write_conf(fmt::format("ControlAddr=127.0.0.1\nPort={}\nReadTimeout=1\n", service->port()));
  service->answer([](const Result<Request>&, int connection, const std::string&) {
    char byte = 0;
    EXPECT_EQ(::read(connection, &byte, 1), 0);
    return std::string();
  });
  EXPECT_EQ(call(Command::replace_node), -1);
  EXPECT_EQ(errno, ENSTOP_TIMEOUT);
  EXPECT_THAT(::smd_nonstop_why(), ::testing::HasSubstr("did not answer in time"));
}

TEST_F(Smd, WithoutMungedItSaysSoAndNoSignalComes) {
  conf.write("slurm.conf", "AuthInfo=socket=/nowhere/socket\n");
  EXPECT_EQ(call(Command::show_config), -1);
  EXPECT_EQ(errno, ENSTOP_MUNGE);
  EXPECT_THAT(::smd_nonstop_why(), ::testing::HasSubstr("/nowhere/socket"));

  // One that takes connections and hangs up: writes to it would raise SIGPIPE, whose default ends the
  // program.
  struct sigaction before {};
  ::sigaction(SIGPIPE, nullptr, &before);
  EXPECT_EQ(before.sa_handler, SIG_DFL);
  const std::string socket = conf.path("hangs_up");
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strncpy(at.sun_path, socket.c_str(), sizeof at.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listener, 64), 0);
  std::thread hang_up([listener] {
    while (true) {
      const int fd = ::accept(listener, nullptr, nullptr);
      if (fd < 0) return;
      ::close(fd);
    }
  });
  conf.write("slurm.conf", "AuthInfo=socket=" + socket + "\n");
  connect_until_hung_up = true;
  EXPECT_EQ(call(Command::show_config), -1);
  EXPECT_EQ(errno, ENSTOP_MUNGE);
  connect_until_hung_up = false;
  ::shutdown(listener, SHUT_RDWR);
  hang_up.join();
  ::close(listener);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(::sigismember(&mask, SIGPIPE), 0) << "the program's mask is as it was";
}

TEST_F(Smd, ThreadsAskAtOnce) {
  service->answer([](const Result<Request>& request, int, const std::string&) {
    Reply reply;
    reply.command = Command::get_fail_nodes;
    reply.faulty = {{fmt::format("n{}", request->job), request->job, wire::kFailed}};
    return wire::frame(wire::format_reply(reply, "22.05.8"));
  });
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 8; ++t) {
    threads.emplace_back([t, &wrong] {
      for (std::uint32_t job = t * 100; job < t * 100 + 10; ++job) {
        faulty_node_request request{job, 0};
        faulty_node_reply reply{};
        if (::smd_get_job_faulty_nodes(&request, &reply) != 0 || reply.num != 1 ||
            static_cast<std::uint32_t>(reply.nodes[0].cpu_cnt) != job)
          ++wrong;
        ::smd_free_job_faulty_nodes_reply(&reply);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Connects to the port that CALLBACK gave and sends `bytes`.
void call_back(std::uint16_t port, const std::string& bytes) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  ::close(fd);
}

TEST_F(Smd, CallbacksAreOneEventEach) {
  std::uint16_t port = 0;
  service->answer([&port](const Result<Request>& request, int, const std::string&) {
    port = request->port;
    return wire::frame("22.05.8 ENOERROR");
  });
  ASSERT_EQ(::smd_register4nodevent(17), 0) << ::smd_nonstop_why();
  const std::uint16_t first = port;
  ASSERT_NE(first, 0);
  node_event event{};
  EXPECT_EQ(::smd_wait4nodevent(17, &event, 0), 0);
  EXPECT_EQ(::smd_wait4nodevent(18, &event, 0), -1);
  call_back(first, wire::callback_message(wire::kReplace));
  EXPECT_EQ(::smd_wait4nodevent(17, &event, 10'000), 1);
  EXPECT_EQ(event.event_type, SMD_EVENT_NODE_REPLACE);
  EXPECT_EQ(event.event, nullptr);
  // What is none wakes nobody, and two at once are two.
  call_back(first, "");
  call_back(first, std::string("\0\0\0\5\2\0\0\0", 8));
  call_back(first, std::string("\0\0\0\4\1\1\1\1", 8));
  call_back(first, std::string("\0\0\0\4\0\0\0\6", 8));  // in network order
  EXPECT_EQ(::smd_wait4nodevent(17, &event, 10'000), 1);
  EXPECT_EQ(event.event_type, SMD_EVENT_NODE_FAILED);
  EXPECT_EQ(::smd_wait4nodevent(17, &event, 0), 1);
  EXPECT_EQ(event.event_type, SMD_EVENT_NODE_FAILING);
  EXPECT_EQ(::smd_wait4nodevent(17, &event, 0), 0);
  ASSERT_EQ(::smd_register4nodevent(17), 0);
  EXPECT_EQ(port, first) << "the same port is told again";
}

TEST_F(Smd, TheStreamGivesEventsWithTheirBodies) {
  service->answer([](const Result<Request>& request, int, const std::string&) {
    EXPECT_EQ(request->after, 5U);
    return wire::frame("22.05.8 ENOERROR") +
           wire::frame(R"({"n":6,"event":"failed","nodes":["n3"],"by":[],"at":1795000000000001})") +
           wire::frame("{}") +
           wire::frame(
               R"( { "more" : [1, {"a":[true,null,-2.5e3]}, "x\u0041"], "event":"replaced","nodes":["n3","n4"],"by":["n\u0038","n9"],"at":2,"n":18446744073 } )") +
           wire::frame(R"({"n":8,"event":"melted"})") + wire::frame(R"({"n":9,"event":"ended","nodes":[]})");
  });
  smd_events_t* events = ::smd_open_events(17, 5);
  ASSERT_NE(events, nullptr) << ::smd_nonstop_why();
  EXPECT_GE(::smd_events_fd(events), 0);
  smd_event_t event;
  ASSERT_EQ(::smd_next_event(events, &event, 10'000), 1) << ::smd_nonstop_why();
  EXPECT_EQ(event.number, 6U);
  EXPECT_EQ(event.event_type, SMD_EVENT_NODE_FAILED);
  EXPECT_STREQ(event.name, "failed");
  EXPECT_EQ(event.at, 1795000000000001);
  ASSERT_EQ(event.node_cnt, 1);
  EXPECT_STREQ(event.nodes[0], "n3");
  EXPECT_EQ(event.by_cnt, 0);
  ::smd_free_event(&event);
  ASSERT_EQ(::smd_next_event(events, &event, 10'000), 1) << ::smd_nonstop_why();
  EXPECT_EQ(event.number, 18446744073U);
  EXPECT_EQ(event.event_type, SMD_EVENT_NODE_REPLACE);
  ASSERT_EQ(event.by_cnt, 2);
  EXPECT_STREQ(event.by[0], "n8");
  ::smd_free_event(&event);
  ASSERT_EQ(::smd_next_event(events, &event, 10'000), 1);
  EXPECT_EQ(event.event_type, 0);
  EXPECT_STREQ(event.name, "melted");
  ::smd_free_event(&event);
  ASSERT_EQ(::smd_next_event(events, &event, 10'000), 1);
  EXPECT_EQ(event.event_type, SMD_EVENT_JOB_ENDED);
  ::smd_free_event(&event);
  EXPECT_EQ(::smd_next_event(events, &event, 10'000), -1) << "the stub closes";
  EXPECT_EQ(errno, ENSTOP_NETIO);
  ::smd_close_events(events);
}

TEST_F(Smd, AStreamThatIsQuietOrBrokenIsTold) {
  service->answer([](const Result<Request>&, int connection, const std::string&) {
    const std::string good = wire::frame("22.05.8 ENOERROR");
    EXPECT_EQ(::send(connection, good.data(), good.size(), MSG_NOSIGNAL), static_cast<ssize_t>(good.size()));
    char byte = 0;
    EXPECT_EQ(::read(connection, &byte, 1), 0) << "until the client closes";
    return std::string();
  });
  smd_events_t* quiet = ::smd_open_events(17, 0);
  ASSERT_NE(quiet, nullptr) << ::smd_nonstop_why();
  smd_event_t event;
  EXPECT_EQ(::smd_next_event(quiet, &event, 0), 0);
  EXPECT_EQ(::smd_next_event(quiet, &event, 10), 0);
  ::smd_close_events(quiet);
  for (const std::string bad :
       {"", "[]", "{", "{\"n\":}", "{\"n\":1.5}", "{\"n\":1e3}", "{\"event\":1}", "{\"event\":\"a",
        "{\"event\":\"\\x\"}", "{\"event\":\"\\u00g0\"}", "{\"nodes\":[\"a\",]}", "{\"nodes\":\"a\"}",
        "{\"nodes\":[],\"nodes\":[1]}", "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "{} x",
        "{\"event\":\"a\" \"n\":1}", "{\"event\":\"a\nb\"}", "{\"n\":99999999999999999999}"}) {
    service->answer([bad](const Result<Request>&, int, const std::string&) {
      return wire::frame("22.05.8 ENOERROR") + wire::frame(bad);
    });
    smd_events_t* events = ::smd_open_events(17, 0);
    ASSERT_NE(events, nullptr);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(::smd_next_event(events, &event, 10'000), -1) << bad;
      EXPECT_EQ(errno, ENSTOP_PROTOCOL) << bad;
    }
    ::smd_close_events(events);
  }
}

TEST_F(Smd, NoFileStaysOpen) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  answer(Command::show_config, Code::enoerror);
  const auto before = open_files();
  for (const Command command : kAll) call(command);
  service->answer([](const Result<Request>&, int, const std::string&) { return std::string("bad"); });
  for (const Command command : kAll) call(command);
  ::smd_nonstop_fini();
  EXPECT_EQ(open_files(), before);
}

// What `command` prints, with its exit code at the end.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string out;
  char bytes[4096];
  while (const std::size_t got = std::fread(bytes, 1, sizeof bytes, pipe)) out.append(bytes, got);
  const int status = ::pclose(pipe);
  return out + fmt::format("exit {}", WEXITSTATUS(status));
}

#if defined(SMD_PYTHON) || defined(SMD_FORTRAN)
// A service with a small story: n2 is replaced, n3 is dropped.
void tell_story(StubService& service) {
  service.answer([](const Result<Request>& request, int, const std::string&) -> std::string {
    if (!request) return wire::frame("22.05.8 ECMD " + request.error().what);
    Reply reply;
    reply.command = request->command;
    if (request->command == Command::get_fail_nodes)
      reply.faulty = {{"n2", 4, wire::kFailing}, {"n3", 8, wire::kFailed}};
    if (request->command == Command::replace_node && request->node == "n3") {
      reply.code = Code::enodereplacefail;
      reply.why = "no node";
    }
    reply.replacement = "n9";
    reply.set = {request->command == Command::drop_node ? "n[1,9]" : "n[1,3,9]",
                 request->command == Command::drop_node ? 2U : 3U,
                 {{4, 2}}};
    reply.job = {{{"n3", 8, wire::kFailed}}, 1, 2, "n3", 3, 4};
    reply.config.control_addr = "ctl";
    if (request->command == Command::events)
      return wire::frame("22.05.8 ENOERROR") +
             wire::frame(R"({"n":1,"event":"replaced","nodes":["n2"],"by":["n9"],"at":7})") +
             wire::frame(R"({"n":2,"event":"ended"})");
    return wire::frame(wire::format_reply(reply, "22.05.8"));
  });
}

#endif

#ifdef SMD_PYTHON
TEST_F(Smd, LanguagesPython) {
  tell_story(*service);
  conf.write("try.py", R"(import smd
print(smd.faulty_nodes())
print(smd.replace("n2"))
print(smd.replace_all("n[2,4]").replacement)
try:
    smd.replace("n3")
except smd.SmdError as error:
    print(error.errno == smd.ENSTOP["NODEREPLACEFAILED"], error.strerror)
print(smd.drop("n3", job_id=17).nodelist)
smd.extend(30)
smd.drain("n3", "bad disk")
print(smd.job_info())
print(smd.config().max_spare_node_count, smd.config().user_drain_allow)
smd.register()
print(smd.wait(0))
with smd.events(after=0) as stream:
    for event in stream:
        print(event)
)");
  const std::string out = output_of("SLURM_JOB_ID=17 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" SMD_SOURCE
                                    " SMD_LIBRARY=" SMD_LIBRARY " python3 " +
                                    conf.path("try.py"));
  EXPECT_EQ(out,
            "[Node(name='n2', cpus=4, state=4), Node(name='n3', cpus=8, state=2)]\n"
            "Replaced(failed='n2', replacement='n9', when_available=0, set=NodeSet(nodelist='n[1,3,9]', "
            "count=3, cpus_per_node='4(x2)'))\n"
            "n9\n"
            "True Failed to replace the node: ENODEREPLACEFAIL no node\n"
            "n[1,9]\n"
            "JobInfo(nodes=[Node(name='n3', cpus=8, state=0)], pending_job_delay=1, pending_job_id=2, "
            "pending_node='n3', replaced=3, "
            "time_extend_avail=4)\n"
            "0 None\n"
            "None\n"
            "Event(number=1, type=8, name='replaced', at=7, nodes=['n2'], by=['n9'])\n"
            "Event(number=2, type=64, name='ended', at=0, nodes=[], by=[])\n"
            "exit 0");
}
#endif

#ifdef SMD_FORTRAN
TEST_F(Smd, LanguagesFortran) {
  tell_story(*service);
  EXPECT_EQ(output_of("SLURM_JOB_ID=17 " SMD_FORTRAN),
            "job 17 has 2 faulty nodes\n"
            "n2 replaced by n9, nodes n[1,3,9] 3\n"
            "n3: Failed to replace the node: ENODEREPLACEFAIL no node\n"
            "n3 dropped, nodes n[1,9] 2\n"
            "exit 0");
}
#endif

TEST(SmdLanguages, NumbersAreThoseOfSmdH) {
  std::ifstream python(SMD_SOURCE "/smd.py"), fortran(SMD_SOURCE "/smd.f90"), header(SMD_SOURCE "/smd.h");
  const std::string py{std::istreambuf_iterator<char>(python), {}},
      f90{std::istreambuf_iterator<char>(fortran), {}}, h{std::istreambuf_iterator<char>(header), {}};
  int number = ENSTOP_CONFIG;
  std::size_t at = h.find("ENSTOP_CONFIG = 1000"), py_at = py.find("CONFIG NETIO");
  for (; number < ENSTOP_LASTERR; ++number) {
    const std::string name = h.substr(at + 7, h.find_first_of(" ,", at) - at - 7);
    EXPECT_NE(f90.find(fmt::format("ENSTOP_{} = {}", name, number)), std::string::npos) << name;
    EXPECT_EQ(py.compare(py_at, name.size(), name), 0) << name;
    py_at = py.find_first_not_of(" \n", py_at + name.size());
    at = h.find("\n  ENSTOP_", at) + 3;
  }
}

TEST(SmdLanguages, OnlySmdNamesAreExported) {
  const std::string out =
      output_of("nm -D --defined-only " SMD_LIBRARY
                " | awk '{print $3}' | grep -v '^SMD_1@@SMD_1$' | grep -v '^smd_' | grep -v '^SMD_1$'");
  EXPECT_EQ(out, "exit 1") << "names that are no smd_*";
  const std::string names = output_of("nm -D --defined-only " SMD_LIBRARY " | grep -c ' T smd_'");
  EXPECT_EQ(names, "25\nexit 0");
  EXPECT_EQ(output_of("readelf -d " SMD_LIBRARY " | grep -c 'libslurm'"), "0\nexit 1");
}

}  // namespace
}  // namespace sickbay
