// SPDX-License-Identifier: Apache-2.0
// Many clients, and clients that mean ill: what they cost is bounded, and nobody else feels it.
#include "test/nonstop_server/nonstop_server_parts.h"

namespace sickbay {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

class NonstopStrain : public NonstopWorld {};

TEST_F(NonstopStrain, AThousandClientsAtOnceAreAllAnswered) {
  const JobId job = submit(kAda);
  serve();
  std::vector<TestPeer> peers;
  for (int i = 0; i < 1000; ++i) peers.push_back(connect());
  for (TestPeer& peer : peers)
    peer.send(wire::frame(credential(kAda, fmt::format("SHOW_JOB:JOBID:{}", job))));
  for (TestPeer& peer : peers) ASSERT_THAT(body_of(peer.read_all()), StartsWith("22.05 ENOERROR"));
}

TEST_F(NonstopStrain, TheStalledAndTheMadHarmNobody) {
  const JobId job = submit(kAda);
  NonstopLimits limits;
  limits.connections = 100;
  serve({}, limits);
  std::vector<TestPeer> bad;
  for (int i = 0; i < 300; ++i) {
    bad.push_back(connect());
    if (i % 3 == 1) bad.back().send("00000100\nhalf");
    if (i % 3 == 2) bad.back().send(std::string(5000, '\xff'));
    if (i % 50 == 0) {
      EXPECT_THAT(ask(kAda, fmt::format("SHOW_JOB:JOBID:{}", job)), StartsWith("ENOERROR")) << i;
    }
  }
  crash("n3");
  EXPECT_THAT(ask(kAda, fmt::format("REPLACE_NODE:JOBID:{}:NODE:n3", job)), StartsWith("ENOERROR"));
}

TEST_F(NonstopStrain, AClientThatLeavesTakesNothingWithHim) {
  const JobId job = submit(kAda);
  serve();
  later(seconds(5));
  crash("n3");
  still_ = true;
  {
    TestPeer gone = connect();
    gone.send(wire::frame(credential(kAda, fmt::format("REPLACE_NODE:JOBID:{}:NODE:n3", job))));
    ASSERT_TRUE(becomes([&] { return service_->counts().waiting == 1; }));
  }
  still_ = false;
  later(seconds(20));
  EXPECT_EQ(nodes_of(job), "n[1-2,4]") << "what he asked for is done";
  EXPECT_TRUE(becomes([&] { return service_->counts().waiting == 0 && server_->counts().connections == 0; }));
}

TEST_F(NonstopStrain, WaitingClientsOfAJobAreBounded) {
  const JobId job = submit(kAda);
  NonstopBounds bounds;
  bounds.waiting_of_job = 3;
  serve(bounds);
  later(seconds(5));
  crash("n3");
  on_loop([&] { cluster_.stop_controller(false); });
  still_ = true;
  std::vector<TestPeer> peers;
  for (int i = 0; i < 5; ++i) {
    peers.push_back(connect());
    peers.back().send(wire::frame(credential(kAda, fmt::format("REPLACE_NODE:JOBID:{}:NODE:n3", job))));
  }
  EXPECT_TRUE(becomes([&] { return service_->counts().waiting == 3; }));
  EXPECT_TRUE(becomes([&] { return server_->counts().connections == 3; })) << "two were told later at once";
  still_ = false;
  for (TestPeer& peer : peers) EXPECT_THAT(body_of(peer.read_all()), StartsWith("22.05 EREPLACELATER"));
}

TEST_F(NonstopStrain, AUserCannotFillTheJournal) {
  const JobId job = submit(kAda);
  NonstopBounds bounds;
  bounds.acts = 10;
  bounds.acts_per_second = 0.001;
  serve(bounds);
  later(seconds(5));
  int refused = 0;
  for (int i = 0; i < 30; ++i)
    refused +=
        ask(kAda, fmt::format("CALLBACK:JOBID:{}:PORT:{}", job, 40000 + i)).find("too many requests") !=
        std::string::npos;
  EXPECT_EQ(refused, 20);
  EXPECT_EQ(ask(kRoot, fmt::format("CALLBACK:JOBID:{}:PORT:50000", job)), "ENOERROR") << "but root can act";
  EXPECT_THAT(ask(kAda, fmt::format("SHOW_JOB:JOBID:{}", job)), StartsWith("ENOERROR")) << "and he can look";
}

TEST_F(NonstopStrain, JobsThatNobodyKnowsCostSlurmAtMostALookASecond) {
  submit(kAda);
  serve();
  still_ = true;  // the cluster's clock stands: what is asked now is asked in one second
  std::uint64_t looks = 0;
  on_loop([&] { looks = controller_->watch().nonstop().looks(); });
  std::vector<TestPeer> peers;
  for (int i = 0; i < 50; ++i) {
    peers.push_back(connect());
    peers.back().send(wire::frame(credential(kEve, fmt::format("SHOW_JOB:JOBID:{}", 5000 + i))));
  }
  ASSERT_TRUE(becomes([&] { return service_->counts().waiting == 50; }));
  still_ = false;
  for (TestPeer& peer : peers) EXPECT_EQ(body_of(peer.read_all()), "22.05 EJOBID");
  on_loop([&] { EXPECT_LE(controller_->watch().nonstop().looks() - looks, 4U); });
}

TEST_F(NonstopStrain, MetricsTellOfIt) {
  config_.nonstop.config.hot_spares = {{"batch", 1}};
  const JobId job = submit(kAda);
  serve();
  EXPECT_THAT(ask(kAda, fmt::format("SHOW_JOB:JOBID:{}", job)), StartsWith("ENOERROR"));
  ask_raw("garbage");
  std::string text;
  on_loop([&] { text = ApiTest::ask("root", "GET", "/metrics")->response.body; });
  EXPECT_THAT(text, HasSubstr("sickbay_nonstop_answers_total{command=\"SHOW_JOB\",code=\"ENOERROR\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("sickbay_nonstop_refused_total{why=\"credential\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("sickbay_nonstop_jobs 1\n"));
  EXPECT_THAT(text, HasSubstr("sickbay_spares{partition=\"batch\",count=\"wanted\"} 1\n"));
}

}  // namespace
}  // namespace sickbay
