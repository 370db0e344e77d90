// SPDX-License-Identifier: Apache-2.0
// NonstopListeners: who is told when something happens to a job: streams of events, and calls.
//
// A stream is a client's connection that stays open: each happening of the job goes over it once, in order.
// A call is a hint to a program that said where it listens (CALLBACK): a few bytes with the kinds of what
// happened, after which it asks.  Calls may be lost, and are tried three times; a client that hears nothing
// misses nothing when it asks.  What happened while sickbayd did not run is in the streams (AFTER), and is
// not called.  Source: doc/formats/nonstop.md, "Events".
#pragma once
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/nonstop/nonstop.h"
#include "ports/lifetime.h"
#include "ports/nonstop_server.h"
#include "service/controller.h"

namespace sickbay {

class NonstopListeners {
 public:
  struct Bounds {
    std::size_t streams = 4096, streams_of_user = 1024, streams_of_job = 16;
    std::chrono::seconds sign_of_life{30};  ///< where nothing else is said to a stream
    std::size_t calls = 64;                 ///< under way at a time
  };
  struct Counts {
    std::size_t streams = 0;                    ///< at present
    std::uint64_t told = 0;                     ///< events over streams, since the start
    std::uint64_t calls = 0, calls_failed = 0;  ///< since the start
  };
  NonstopListeners(Loop& loop, Controller& controller, NonstopServer& server, Bounds bounds);

  bool has_room(JobId job, std::uint32_t uid) const;
  /// A stream of the job, from the happening behind number `after`; one that never was: from the first.
  void add(std::shared_ptr<NonstopPeer> peer, JobId job, std::uint32_t uid, std::uint64_t after);
  /// To be told of each committed event.
  void note(const Event& event);
  /// Tells what has happened.
  void tell();
  bool any() const { return !streams_.empty() || !called_.empty(); }
  Counts counts() const;

 private:
  struct Stream {
    std::shared_ptr<NonstopPeer> peer;
    JobId job = 0;
    std::uint32_t uid = 0;
    TimePoint submit = kNoTime;  ///< its job began anew when this differs
    std::int64_t told = 0;       ///< the last number
  };
  using Place = std::pair<std::string, std::uint16_t>;  ///< address and port
  struct Called {
    std::uint32_t flags = 0;  ///< to be told
    bool under_way = false;
    int tries = 0;
  };
  /// False: the stream is at its end.
  bool feed(Stream& stream);
  bool write(Stream& stream, const nonstop::Happening& happening);
  void live();
  void queue(const Place& place, std::uint32_t flags);
  void call_next();
  void called(const Place& place, std::uint32_t flags, bool well);
  const nonstop::State& state() const { return controller_.seats().nonstop().state(); }

  Loop& loop_;
  Controller& controller_;
  NonstopServer& server_;
  const Bounds bounds_;
  std::list<std::shared_ptr<Stream>> streams_;
  bool living_ = false;                   // the timer of live() runs
  std::map<JobId, std::int64_t> called_;  // jobs with callbacks, and what they were told last
  std::map<Place, Called> places_;        // with something to say, or under way
  std::deque<Place> to_call_;
  std::size_t calling_ = 0;
  Counts counts_;
  Lifetime lifetime_;
};

}  // namespace sickbay
