// SPDX-License-Identifier: Apache-2.0
// answer(): what a request over the wire is told, and what must happen for it.
//
// Most is told from the state at once.  What needs an effect becomes an event, and whoever serves the client
// takes that event, and asks the same question again whenever something has happened to the subject, until
// there is a reply: the client's `token` tells his request from others that look alike.  A request that is
// repeated by a client who lost the answer (the same nodes, another token) joins the one that is under way,
// or is told what that came to; nothing is done twice.  Pure.  Who may ask what stands in one table here.
// Source: doc/design/nonstop.md.
#pragma once
#include <string>
#include <vector>

#include "engine/nonstop/nonstop.h"
#include "model/nonstop_wire.h"

namespace sickbay::nonstop {

/// Who asks, as MUNGE says, and from where.
struct Caller {
  std::uint32_t uid = 0;
  std::string user;         ///< name of uid, where it has one
  bool privileged = false;  ///< root, SlurmUser, or the user that sickbayd runs as
  std::string address;      ///< numeric; where CALLBACK is to call
};

struct Answer {
  enum class What : std::uint8_t {
    reply,  ///< `reply` is it
    wait,   ///< take the events, where there are some, and ask again when something has happened to a subject
    look,   ///< look at Slurm and ask again; then `reply` is it.  For a job that nobody knows, and where the
            ///< reply is that nothing has failed: srun may have told the client of a failure just now
  };
  What what = What::reply;
  wire::Reply reply;
  std::vector<Event> events;          ///< to be durable before the reply is sent
  std::vector<std::string> subjects;  ///< of wait: "j17", "node:n3"
};

/// `token`: a text that no other request has, ever; the same for each time that this one is asked about.
Answer answer(const cluster::Cluster& cluster, const State& state, const Policy& policy, const Caller& caller,
              const wire::Request& request, const std::string& token, TimePoint now);

/// What a client is told who has waited long enough: EREPLACELATER, with the time where it is known, or that
/// Slurm has not answered.  The work goes on.
wire::Reply later(const State& state, const wire::Request& request);

/// May the caller ask for FAIL (UserDrainAllow, UserDrainDeny)?
bool may_drain(const wire::NonstopConfig& config, const Caller& caller);

}  // namespace sickbay::nonstop
