// SPDX-License-Identifier: Apache-2.0
// Who may ask what: every command by every kind of user about his own job and about another's.
#include "adapters/munge/munge_credentials.h"
#include "adapters/munge/munge_test_parts.h"
#include "test/nonstop_server/nonstop_server_parts.h"

#include <munge.h>

#include <array>

namespace sickbay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// ada has a job on n[1-2] and may drain nothing; dora has one on n[3-4], and like eve, who has none, she may
// drain nodes of hers (UserDrainAllow).
struct Expectation {
  const char* command;
  const char* of_ada;   ///< asked about ada's job by root, SlurmUser, ada, dora, eve: + let through, - EPERM
  const char* of_dora;  ///< and about dora's
};
constexpr std::array kCallers{kRoot, kSlurm, kAda, kDora, kEve};
constexpr auto kExpected = std::to_array<Expectation>({
    {"GET_FAIL_NODES:JOBID:{}:STATE_FLAGS:6", "+++--", "++-+-"},
    {"SHOW_JOB:JOBID:{}", "+++--", "++-+-"},
    {"REPLACE_NODE:JOBID:{}:NODE:{}", "+++--", "++-+-"},
    {"DROP_NODE:JOBID:{}:NODE:{}", "+++--", "++-+-"},
    {"TIME_INCR:JOBID:{}:MINUTES:1", "+++--", "++-+-"},
    {"CALLBACK:JOBID:{}:PORT:40000", "+++--", "++-+-"},
    {"EVENTS:JOBID:{}:AFTER:0", "+++--", "++-+-"},
    {"DRAIN:NODES:\"{1}\":REASON:\"smells\"", "++---", "++-+-"},
    {"DRAIN:NODES:\"{1}\":REASON:\"smells\":JOBID:{0}", "++---", "++-+-"},
    {"SHOW_CONFIG", "+++++", "+++++"},
});

class NonstopAccess : public NonstopWorld {};

TEST_F(NonstopAccess, EveryCommandByEveryUserAboutEveryJob) {
  const JobId adas = submit(kAda, {"-N2", "--no-kill", "-t60"});
  const JobId doras = submit(kDora, {"-N2", "--no-kill", "-t60"});
  ASSERT_EQ(nodes_of(adas), "n[1-2]");
  ASSERT_EQ(nodes_of(doras), "n[3-4]");
  serve();
  int cells = 0;
  for (const Expectation& row : kExpected)
    for (const auto& [job, node, answers] :
         {std::tuple(adas, "n2", row.of_ada), std::tuple(doras, "n4", row.of_dora)})
      for (std::size_t i = 0; i < kCallers.size(); ++i, ++cells) {
        const std::string command = fmt::format(fmt::runtime(row.command), job, node);
        TestPeer peer = connect();
        peer.send(wire::frame(credential(kCallers[i], command)));
        const std::string header = peer.read_bytes(wire::kHeaderBytes);
        ASSERT_EQ(header.size(), wire::kHeaderBytes) << command;
        const std::string told = body_of(header + peer.read_bytes(std::stoul(header)));
        EXPECT_THAT(told, StartsWith("22.05 ")) << command;
        EXPECT_EQ(told.starts_with("22.05 EPERM") ? '-' : '+', answers[i])
            << command << " by uid " << kCallers[i] << ": " << told;
      }
  EXPECT_EQ(cells, 100);
  EXPECT_EQ(kExpected.size(), 10U);
}

TEST_F(NonstopAccess, ADrainByJobIsOnlyOfThatJobsNodes) {
  const JobId first = submit(kDora, {"-N2", "--no-kill", "-t60"});
  submit(kDora, {"-N2", "--no-kill", "-t60"});
  serve();
  const std::string told = ask(kDora, fmt::format("DRAIN:NODES:n4:REASON:smells:JOBID:{}", first));
  EXPECT_THAT(told, HasSubstr("EPERM n4 is not in a running job of yours"));
  EXPECT_EQ(ask(kDora, fmt::format("DRAIN:NODES:n2:REASON:smells:JOBID:{}", first)), "ENOERROR");
  bool failing = false;
  on_loop([&] { failing = cluster_.node("n2")->reason.find("smells") != std::string::npos; });
  EXPECT_TRUE(failing);
}

TEST_F(NonstopAccess, UserDrainDenyIsAllButThose) {
  config_.nonstop.config.drain_allow = {true, {}};
  config_.nonstop.config.drain_deny.names = {"dora"};
  submit(kDora, {"-N2", "--no-kill", "-t60"});
  submit(kAda, {"-N2", "--no-kill", "-t60"});
  serve();
  EXPECT_THAT(ask(kDora, "DRAIN:NODES:n2:REASON:x"), StartsWith("EPERM"));
  EXPECT_EQ(ask(kAda, "DRAIN:NODES:n4:REASON:x"), "ENOERROR");
}

TEST_F(NonstopAccess, ACredentialHoldsOnce) {
  const JobId job = submit(kAda);
  serve();
  const std::string once = credential(kAda, fmt::format("SHOW_JOB:JOBID:{}", job));
  EXPECT_THAT(ask_raw(once), StartsWith("22.05 ENOERROR"));
  EXPECT_THAT(ask_raw(once),
              StartsWith("Error:\"Message decrypt failure: a credential that was seen before"));
  on_loop([&] { credentials_->away = true; });
  EXPECT_THAT(ask(kAda, "SHOW_CONFIG"),
              StartsWith("Error:\"Message decrypt failure: munged does not answer"));
  on_loop([&] { credentials_->away = false; });
  EXPECT_THAT(ask_raw("VERSION:22.05:SHOW_CONFIG"), StartsWith("Error:\"Message decrypt failure\""));
  EXPECT_THAT(ask_raw("MUNGE:garbage"), StartsWith("Error:\"Message decrypt failure"));
  EXPECT_THAT(ask_raw("MUNGE:x1:0:what another service signed"),
              StartsWith("Error:\"Message version invalid\""));
}

// The same with the real thing: this process's uid, and a credential that is sent twice.
class NonstopMunge : public NonstopWorld {
 protected:
  Credentials& credentials() override {
    if (!real_) real_ = make_munge_credentials(*asio_, {munged_.socket()});
    return *real_;
  }
  std::string sign(const std::string& command) {
    munge_ctx_t context = munge_ctx_create();
    munge_ctx_set(context, MUNGE_OPT_SOCKET, munged_.socket().c_str());
    char* made = nullptr;
    EXPECT_EQ(munge_encode(&made, context, command.c_str(), static_cast<int>(command.size()) + 1),
              EMUNGE_SUCCESS);
    const std::string text = made == nullptr ? "" : made;
    std::free(made);
    munge_ctx_destroy(context);
    return text;
  }
  TestMunged munged_;
  std::unique_ptr<Credentials> real_;
};

TEST_F(NonstopMunge, SaysWhoAsks) {
  const JobId of_us = submit(::getuid() == 0 ? kAda : ::getuid());
  serve();
  const std::string request = sign(fmt::format("VERSION:22.05.8:SHOW_JOB:JOBID:{}", of_us));
  EXPECT_THAT(ask_raw(request), StartsWith("22.05.8 ENOERROR"));
  EXPECT_THAT(ask_raw(request), StartsWith("Error:\"Message decrypt failure"));
  std::string damaged = sign("VERSION:22.05:SHOW_CONFIG");
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_THAT(ask_raw(damaged), StartsWith("Error:\"Message decrypt failure"));
}

}  // namespace
}  // namespace sickbay
