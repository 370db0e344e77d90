// SPDX-License-Identifier: Apache-2.0
// NonstopService: what a client of the nonstop protocol asks, and how he gets his answer.
//
// A client sends one message.  munged says who he is, and refuses one that it has seen; the engine says what
// the request is told (engine/nonstop, answer()), or which event it needs: that is made durable, and the same
// question is asked again after each event of its subject, until there is a reply or the client has waited
// long enough, who is then told "later" while the work goes on.  Nothing of a request is remembered here but
// its connection: whoever lost his answer asks again and is told the same.
// What a client may cost is bounded (NonstopBounds): acts of a user, waiting clients of a job, looks at
// slurmctld for jobs that nobody knows.  Source: doc/formats/nonstop.md; doc/design/nonstop.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/nonstop/answer.h"
#include "ports/credentials.h"
#include "ports/lifetime.h"
#include "ports/nonstop_server.h"
#include "service/controller.h"
#include "service/nonstop/nonstop_listeners.h"

namespace sickbay {

struct NonstopBounds {
  std::size_t waiting = 4096, waiting_of_job = 64;  ///< clients; beyond: told "later" at once
  std::chrono::milliseconds look_pause{1000};       ///< between two looks for jobs that nobody knows
  /// Requests of one user that need an event, and so a place in the journal: at once, and per second.
  double acts = 100, acts_per_second = 10;
  NonstopListeners::Bounds listeners;
};

/// Numbers for /metrics.
struct NonstopCounts {
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> answers;  ///< by command and code
  std::uint64_t refused = 0;  ///< messages without a credential that holds, or without a version
  std::size_t waiting = 0;    ///< clients, at present
  NonstopListeners::Counts listeners;
  NonstopServer::Counts server;
};

class NonstopService {
 public:
  struct Users {
    std::function<bool(std::uint32_t uid)> privileged;  ///< root, SlurmUser, sickbayd's own
    /// Calls `then` with the name, "" where it has none; at once or later.
    std::function<void(std::uint32_t uid, std::function<void(const std::string&)> then)> name;
  };
  /// To be made after the controller's replay, and to end before it.  Serves `server` from now on.
  NonstopService(Loop& loop, Controller& controller, Credentials& credentials, NonstopServer& server,
                 Users users, NonstopBounds bounds = {});

  /// nonstop.conf was read again, into the engine's policy: its time-outs are taken over, and the pools are
  /// looked at anew.
  void configured();
  NonstopCounts counts() const;

 private:
  struct Session {
    std::shared_ptr<NonstopPeer> peer;
    nonstop::Caller caller;
    wire::Request request;
    std::string token;
    std::vector<std::string> subjects;  ///< whose events it waits for
    bool looked = false;                ///< Slurm was asked about its job, or about nodes for it
    std::optional<wire::Reply> known;   ///< what he is told where Slurm does not answer in time
    bool asked = false;                 ///< what it needs was journaled
    bool busy = false;                  ///< between two steps: events do not move it
    Loop::TimerId timer = 0;            ///< until it is told "later"
  };
  using SessionPtr = std::shared_ptr<Session>;
  struct Allowance {
    double left = 0;
    TimePoint at = kNoTime;
  };

  void take_times();
  void receive(std::string body, std::shared_ptr<NonstopPeer> peer);
  void identified(std::shared_ptr<NonstopPeer> peer, const Credential& credential);
  void begin(const SessionPtr& s);
  void go_on(const SessionPtr& s);
  void keep(const SessionPtr& s, std::vector<Event> events, std::function<void()> then);
  void wait(const SessionPtr& s, std::vector<std::string> subjects);
  void look(const SessionPtr& s);
  void look_at_nodes(const SessionPtr& s, wire::Reply known);
  void look_now();
  void looked(const std::vector<SessionPtr>& sessions, const Status& how);
  wire::Reply later(const wire::Request& request, const std::string& why) const;
  bool may_act(const nonstop::Caller& caller);
  void reply(const SessionPtr& s, const wire::Reply& reply);
  void refuse(NonstopPeer& peer, std::string_view why);
  void forget(const SessionPtr& s);
  void committed(const Event& event);
  void settle();
  const nonstop::State& state() const { return controller_.seats().nonstop().state(); }

  Loop& loop_;
  Controller& controller_;
  Credentials& credentials_;
  NonstopServer& server_;
  Users users_;
  const NonstopBounds bounds_;
  NonstopListeners listeners_;
  std::chrono::milliseconds patience_{8000};
  std::string token_prefix_;
  std::uint64_t last_token_ = 0;

  std::set<SessionPtr> waiting_;
  std::map<JobId, std::size_t> waiting_of_job_;
  std::set<std::string> touched_;  // subjects of what was committed since settle()
  bool all_touched_ = false, settling_ = false;
  std::map<JobId, std::vector<SessionPtr>> to_look_;
  TimePoint last_look_ = kNoTime;
  bool look_planned_ = false;
  std::map<std::uint32_t, Allowance> allowances_;
  NonstopCounts counts_;
  Lifetime lifetime_;
};

}  // namespace sickbay
