// SPDX-License-Identifier: Apache-2.0
// Programs that listen: streams of events, and calls.
#include <fmt/ranges.h>

#include "test/nonstop_server/nonstop_server_parts.h"

namespace sickbay {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class NonstopListening : public NonstopWorld {
 protected:
  // A stream, behind its ENOERROR.
  TestPeer stream(JobId job, int after = 0, std::uint32_t uid = kAda) {
    TestPeer peer = connect();
    peer.send(wire::frame(credential(uid, fmt::format("EVENTS:JOBID:{}:AFTER:{}", job, after))));
    const std::string header = peer.read_bytes(wire::kHeaderBytes);
    EXPECT_EQ(header.size(), wire::kHeaderBytes);
    if (header.size() == wire::kHeaderBytes) said_ = body_of(header + peer.read_bytes(std::stoul(header)));
    return peer;
  }
  static std::string word(const Json& event) {
    return fmt::format("{} {} {}", event["n"].as_int(), event["event"].as_string(),
                       fmt::join(event["nodes"].as_strings(), ","));
  }
  JobId job_of_three() {
    const JobId job = submit(kAda);
    serve();
    later(seconds(5));
    return job;
  }
  std::string said_;
};

// The flags of the next call; -1: nobody called.
int called(TestListener& program, int patience_ms = 20'000) {
  const int call = program.accept(patience_ms);
  if (call < 0) return -1;
  unsigned char bytes[8] = {};
  const ssize_t n = ::recv(call, bytes, sizeof bytes, MSG_WAITALL);
  ::close(call);
  return n == 8 && bytes[3] == 4 ? bytes[4] : -2;
}

TEST_F(NonstopListening, AStreamTellsAllThatHappensToTheJobInOrder) {
  const JobId job = job_of_three();
  TestPeer events = stream(job);
  EXPECT_EQ(said_, "22.05 ENOERROR");
  crash("n3");
  const Json failed = next(events);
  EXPECT_EQ(word(failed), "1 failed n3");
  EXPECT_GT(failed["at"].as_int(), 0);
  EXPECT_THAT(ask(kAda, fmt::format("REPLACE_NODE:JOBID:{}:NODE:n3", job)), StartsWith("ENOERROR"));
  const Json replaced = next(events);
  EXPECT_EQ(word(replaced), "2 replaced n3");
  EXPECT_THAT(replaced["by"].as_strings(), ElementsAre("n4"));
  EXPECT_EQ(ask(kAda, fmt::format("TIME_INCR:JOBID:{}:MINUTES:1", job)), "ENOERROR");
  EXPECT_EQ(word(next(events)), "3 extended ");
  EXPECT_EQ(ask(kRoot, "DRAIN:NODES:n2:REASON:fan"), "ENOERROR");
  EXPECT_EQ(word(next(events)), "4 failing n2");
  EXPECT_THAT(ask(kAda, fmt::format("DROP_NODE:JOBID:{}:NODE:n2", job)), StartsWith("ENOERROR"));
  EXPECT_EQ(word(next(events)), "5 dropped n2");

  TestPeer from_three = stream(job, 3);  // one that was cut off takes up where it was
  EXPECT_EQ(word(next(from_three)), "4 failing n2");
  EXPECT_EQ(word(next(from_three)), "5 dropped n2");
  TestPeer of_another_life = stream(job, 77);
  EXPECT_EQ(word(next(of_another_life)), "1 failed n3");

  on_loop([&] { cluster_.scancel(job); });
  EXPECT_EQ(word(next(events)), "6 ended ");
  EXPECT_EQ(events.read_all(), "") << "and nothing comes after it";
  EXPECT_TRUE(becomes([&] { return service_->counts().listeners.streams == 0; }));
  stream(job);
  EXPECT_EQ(said_, "22.05 EJOBNOTRUN");
}

TEST_F(NonstopListening, AStreamGoesOnAfterSickbaydWasKilled) {
  const JobId job = job_of_three();
  TestPeer events = stream(job);
  kill_and_restart();
  EXPECT_EQ(events.read_all(), "") << "cut";
  crash("n3");
  TestPeer again = stream(job);
  EXPECT_EQ(word(next(again)), "1 failed n3");
}

TEST_F(NonstopListening, StreamsOfAJobAreBounded) {
  const JobId job = submit(kAda);
  NonstopBounds bounds;
  bounds.listeners.streams_of_job = 2;
  serve(bounds);
  TestPeer first = stream(job), second = stream(job);
  EXPECT_EQ(said_, "22.05 ENOERROR");
  stream(job);
  EXPECT_THAT(said_, HasSubstr("EJOBUPDATE too many streams"));
  first.close();
  EXPECT_TRUE(becomes([&] { return service_->counts().listeners.streams == 1; }));
  TestPeer third = stream(job);
  EXPECT_EQ(said_, "22.05 ENOERROR");
}

TEST_F(NonstopListening, WhereNothingHappensThereAreSignsOfLife) {
  const JobId job = job_of_three();
  TestPeer events = stream(job);
  const std::string header = events.read_bytes(wire::kHeaderBytes);  // 30 s of the cluster's time
  ASSERT_EQ(header.size(), wire::kHeaderBytes);
  const auto body = Json::parse(body_of(header + events.read_bytes(std::stoul(header))));
  ASSERT_TRUE(body);
  EXPECT_FALSE(body->has("event"));
}

TEST_F(NonstopListening, AProgramIsCalledForItsJob) {
  const JobId job = job_of_three();
  TestListener program, stranger;
  EXPECT_EQ(ask(kAda, fmt::format("CALLBACK:JOBID:{}:PORT:{}", job, program.port())), "ENOERROR");
  EXPECT_EQ(ask(kEve, fmt::format("CALLBACK:JOBID:{}:PORT:{}", job, stranger.port())), "EPERM");
  crash("n3");
  EXPECT_EQ(called(program), 2) << "FAILED";
  EXPECT_THAT(ask(kAda, fmt::format("REPLACE_NODE:JOBID:{}:NODE:n3", job)), StartsWith("ENOERROR"));
  EXPECT_EQ(called(program), 8) << "REPLACE";
  EXPECT_EQ(ask(kRoot, "DRAIN:NODES:n2:REASON:fan"), "ENOERROR");
  EXPECT_EQ(called(program), 4) << "FAILING";
  EXPECT_EQ(ask(kAda, fmt::format("CALLBACK:JOBID:{}:PORT:0", job)), "ENOERROR");
  crash("n4");
  EXPECT_EQ(called(program, 300), -1) << "no more";
  EXPECT_EQ(called(stranger, 0), -1);
}

TEST_F(NonstopListening, ACallIsMadeAgainWhereItDidNotGetThroughAndAfterARestart) {
  const JobId job = job_of_three();
  std::uint16_t closed = 0;
  { closed = TestListener().port(); }
  EXPECT_EQ(ask(kAda, fmt::format("CALLBACK:JOBID:{}:PORT:{}", job, closed)), "ENOERROR");
  kill_and_restart();
  later(seconds(5));
  crash("n3");
  EXPECT_TRUE(becomes([&] { return service_->counts().listeners.calls_failed == 3; }));
  EXPECT_THAT(ask(kAda, fmt::format("SHOW_JOB:JOBID:{}", job)), StartsWith("ENOERROR"));
}

}  // namespace
}  // namespace sickbay
