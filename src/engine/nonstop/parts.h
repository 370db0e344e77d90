// SPDX-License-Identifier: Apache-2.0
// What the files of the nonstop engine share; for them only.
//
// apply.cc takes in what Slurm shows, apply_requests.cc what is asked and what commands came to, spares.cc
// and fail_order.cc have both halves of theirs; decide.cc goes through a job's requests, replace.cc says what
// is next for a replacement.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/nonstop/nonstop.h"
#include "model/ids.h"

namespace sickbay::nonstop {

/// One event on its way through.
struct Change {
  State& state;
  const cluster::View& view;
  const Event& event;
  std::vector<std::string> touched{};

  void touch(JobId job) { touched.push_back(running_subject(job)); }
  void touch_spares() { touched.emplace_back(kSpares); }
};

/// All that is looked at to decide.
struct Known {
  const cluster::Cluster& cluster;
  const State& state;
  const Policy& policy;
  TimePoint now;
};

// --- apply.cc

void tell(Job& job, Happening::What what, std::vector<std::string> nodes, std::vector<std::string> by,
          TimePoint at);
/// The job has these nodes now, as Slurm said (`ours`: to us, when we changed them).
void set_nodes(Change& c, Job& job, std::vector<Share> nodes);
/// A node left by our hand, or by its owner's.
void remove_node(State& state, Job& job, const std::string& node);
std::vector<Share> shares_of(const std::vector<std::string>& nodes, const std::vector<CpuGroup>& cpus);

// --- apply_requests.cc

void on_asked(Change& c);
void on_answered(Change& c);
void on_credited(Change& c);
void on_taken_back(Change& c);
void on_intent(Change& c, Job& job);
void on_end(Change& c, Job& job);
/// What Slurm shows of the donor of a request; null: nobody knows it any more.
void on_donor_seen(Change& c, Job& job, Request& request, const JobInfo* donor);
/// The request that an event's member "request" names ("j17.q3"), or null.
Request* request_of(Job& job, const Json& body);
void on_over(Change& c, Job& job);

// --- decide.cc

std::string request_name(const Job& job, const Request& request);  ///< "j17.q3"
/// A command of a request, with the job's handle in its arguments; its key has the next number.
Command command(const Job& job, const Request& request, std::string_view verb, std::string_view word,
                Json args);
/// When to say again what Slurm did not answer; false: it is time.
bool rests(const Known& k, const Request& request, Decision& decision);
/// Claims the job; true when it is ours.
bool has_job(const Known& k, const Job& job, std::string reason, Decision& decision);
/// The request's work is at an end, well or not (`done`): minutes, and the answer.
void conclude(const Known& k, const Job& job, const Request& request, bool done, Decision& decision);
Event answered(const Job& job, const Request& request, Code code, std::string why);

// --- replace.cc

void go_on_replacing(const Known& k, const Job& job, const Request& request, Decision& decision);

// --- spares.cc

void apply_spares(Change& c);
void decide_spares(const Known& k, Decision& decision);
/// `count` members of the partition's pool, or of the cluster's, that may be drawn now, and the reservation
/// they are in; empty where there are not as many.
struct Draw {
  std::string reservation;
  std::vector<std::string> nodes;
};
Draw spares_for(const Known& k, const Job& job, const Request& request);

// --- fail_order.cc

void apply_fail_orders(Change& c);
void decide_fail_order(const Known& k, const std::string& node, Decision& decision);

}  // namespace sickbay::nonstop
