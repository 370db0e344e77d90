// SPDX-License-Identifier: Apache-2.0
#include "test/nonstop_chaos/chaos.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/hostlist.h"
#include "engine/nonstop/answer.h"
#include "engine/nonstop/nonstop.h"
#include "model/verbs.h"
#include "service/ledger.h"
#include "service/watch_nonstop.h"
#include "test/nonstop_chaos/fake_slurm.h"

namespace sickbay::chaos {
namespace {

using namespace std::chrono_literals;
using nonstop::Answer;

constexpr int kTurns = 16;  // as the controller

// All that a restart must bring back.
struct Memory {
  cluster::Cluster cluster;
  nonstop::State state;
  Ledger ledger;

  std::vector<std::string> apply(const Event& event) {
    cluster::apply(cluster, event);
    auto touched = nonstop::apply(state, cluster.view, event);
    ledger.apply(event);
    return touched;
  }
  std::string text() const { return cluster::canonical_text(cluster) + nonstop::canonical_text(state); }
};

struct Client {
  wire::Request request;
  nonstop::Caller caller;
  std::string token;
  bool sent = false;  ///< its event was taken
};

// A look at jobs, of the moment when it began.
struct JobLook {
  TimePoint began = kNoTime;
  std::vector<RunningJob> jobs;
  std::vector<JobId> gone;
};

class World {
 public:
  explicit World(const Options& options)
      : o_(options), rng_(options.seed), slurm_(options.partitions, nodes_each(options)) {
    policy_.on = true;
    policy_.config.time_limit_extend = 2;
    policy_.config.time_limit_delay = 10;
    policy_.config.time_limit_drop = 30;
    policy_.config.max_spare_nodes = 6;
    policy_.config.drain_allow.all = true;
    policy_.examine = options.seed % 2 == 0;
    policy_.breaker.most = 1000;
    policy_.breaker.most_percent = 50;
    for (int p = 0; p < options.partitions; ++p)
      policy_.config.hot_spares.push_back(
          {FakeSlurm::partition_name(p), static_cast<std::uint32_t>(options.spares)});
  }

  Outcome run() {
    look_at_nodes();
    touch(std::string(nonstop::kSpares));
    settle();
    for (int i = 0; i < o_.jobs; ++i) start_job();
    look_at_jobs();
    while (slurm_.wrongs.empty() && outcome_.wrong.empty() && step_ < o_.steps) {
      ++step_;
      step();
      settle();
      if (step_ % 2000 == 0) check_minutes();
      if (step_ % std::max<std::int64_t>(1, o_.steps / (o_.from_the_first ? 40 : 20)) == 0) restart();
    }
    finish();
    if (outcome_.wrong.empty() && !slurm_.wrongs.empty()) wrong(slurm_.wrongs.front());
    return outcome_;
  }

 private:
  // So many that a job has two nodes or three, and some are left.
  static int nodes_each(const Options& o) { return o.jobs / o.partitions * 3 + o.spares + 3; }

  void wrong(std::string what) {
    if (outcome_.wrong.empty()) outcome_.wrong = fmt::format("step {}: {}", step_, what);
  }
  std::int64_t pick(std::int64_t below) {
    return static_cast<std::int64_t>(rng_() % static_cast<std::uint64_t>(below));
  }
  bool chance(int percent) { return pick(100) < percent; }
  void touch(std::string subject) { touched_.insert(std::move(subject)); }

  // --- the controller

  void take(Event event) {
    event.at = now_;
    event.seq = ++seq_;
    for (std::string& subject : memory_.apply(event)) touch(std::move(subject));
    ++outcome_.events;
    if (event.kind == kNonstopClosed) {
      if (const auto id = parse_running_subject(event.subject); id && slurm_.job(*id))
        slurm_.changed_jobs.insert(*id);
    }
    log_.push_back(std::move(event));
  }

  void settle() {
    std::map<std::string, int> turns;
    std::set<std::string> seen;
    while (!touched_.empty()) {
      const std::string subject = *touched_.begin();
      touched_.erase(touched_.begin());
      seen.insert(subject);
      if (++turns[subject] > kTurns) return wrong(subject + " does not settle");
      auto decision = decide(subject);
      if (claim(subject, decision)) decision = decide(subject);
      for (Event& record : decision.records) take(std::move(record));
      for (Command& command : decision.commands) {
        if (memory_.ledger.knows(command.key)) continue;
        for (const std::string& node : command.draws)
          if (!memory_.cluster.claims.holds(nonstop::kName, subject, node_subject(node), now_))
            wrong("takes " + node + " without a claim");
        take(Ledger::intent(command));
        flying_.push_back(std::move(command));
        ++outcome_.commands;
      }
      if (const auto old = wakes_.find(subject); old != wakes_.end()) {
        by_time_.erase({old->second, subject});
        wakes_.erase(old);
      }
      if (decision.wake_at != kNever) {
        wakes_[subject] = decision.wake_at;
        by_time_.emplace(decision.wake_at, subject);
      }
      free_waiting();
      if (touched_.empty())
        for (const std::string& one : std::exchange(seen, {})) serve(one);
    }
  }
  nonstop::Decision decide(const std::string& subject) {
    return nonstop::decide(memory_.cluster, memory_.state, policy_, subject, now_);
  }
  bool claim(const std::string& subject, const nonstop::Decision& decision) {
    bool written = false;
    for (const cluster::Claim& wish : decision.claims) {
      const cluster::Claim* held = memory_.cluster.claims.find(wish.on, now_);
      if (held != nullptr && (held->holder != wish.holder || held->by != wish.by)) {
        claim_waiters_[wish.on].insert(subject);
      } else if (held == nullptr) {
        take(cluster::Claims::claimed(wish));
        written = true;
      }
    }
    return written;
  }
  void free_waiting() {
    std::erase_if(claim_waiters_, [&](const auto& entry) {
      if (memory_.cluster.claims.find(entry.first, now_) != nullptr) return false;
      for (const std::string& subject : entry.second) touch(subject);
      return true;
    });
  }

  void restart() {
    Memory again = o_.from_the_first ? Memory() : std::move(kept_);
    for (const Event& event : log_) {
      const auto parsed = Json::parse(event.text());
      auto read = parsed ? Event::from_json(*parsed) : Result<Event>(fail(parsed.error()));
      if (!read) return wrong("an event cannot be read back: " + event.text());
      (void)again.apply(*read);
    }
    if (again.text() != memory_.text()) {
      const std::string a = again.text(), b = memory_.text();
      const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
      const auto from = at < 100 ? 0 : at - 100;
      return wrong("a replay gives another state: ..." + a.substr(from, 200) + "... and not ..." +
                   b.substr(from, 200));
    }
    memory_ = std::move(again);
    if (!o_.from_the_first) {
      kept_ = memory_;
      log_.clear();
    }
    // What was under way is done again, and has perhaps been done.
    flying_ = memory_.ledger.unfinished();
    claim_waiters_.clear();
    wakes_.clear();
    by_time_.clear();
    pending_look_.reset();
    for (const auto& [id, job] : slurm_.jobs()) slurm_.changed_jobs.insert(id);
    for (std::string& subject : nonstop::restless(memory_.state, policy_)) touch(std::move(subject));
    // Who was connected is not any more, and comes again.
    auto lost = std::exchange(clients_, {});
    for (auto& [subject, waiting] : lost)
      for (Client& client : waiting) {
        --outcome_.asked;
        if (!chance(70)) continue;
        client.sent = false;
        ask(std::move(client));
      }
    settle();
    ++outcome_.restarts;
  }

  // --- clients

  void ask(Client client) {
    client.token = fmt::format("t{}", ++tokens_);
    ++outcome_.asked;
    const std::string subject = client.request.command == wire::Command::drain
                                    ? node_subject(client.request.names.front())
                                    : running_subject(client.request.job);
    clients_[subject].push_back(std::move(client));
    touch(subject);
  }
  void serve(const std::string& subject) {
    const auto it = clients_.find(subject);
    if (it == clients_.end()) return;
    std::erase_if(it->second, [&](Client& client) {
      const Answer answer = nonstop::answer(memory_.cluster, memory_.state, policy_, client.caller,
                                            client.request, client.token, now_);
      if (answer.what == Answer::What::wait) {
        if (answer.events.empty()) return false;
        if (client.sent) wrong("a request is asked for twice: " + answer.events.front().text());
        client.sent = true;
        for (const Event& event : answer.events) take(event);
        touch(subject);
        return false;
      }
      for (const Event& event : answer.events) take(event);
      count(answer.reply);
      return true;
    });
    if (it->second.empty()) clients_.erase(it);
  }
  void count(const wire::Reply& reply) {
    ++outcome_.answered;
    outcome_.later += reply.code == wire::Code::ereplacelater;
    if (reply.code != wire::Code::enoerror) return;
    if (reply.command == wire::Command::replace_node) {
      ++outcome_.replaced;
      if (reply.replacement.empty()) wrong("replaced by nothing");
    }
    outcome_.dropped += reply.command == wire::Command::drop_node;
    outcome_.extended += reply.command == wire::Command::time_incr;
  }

  // --- what happens

  JobId some_job() {
    if (memory_.state.jobs.empty()) return 0;
    auto it =
        memory_.state.jobs.lower_bound(static_cast<JobId>(pick(memory_.state.jobs.rbegin()->first + 1)));
    return it == memory_.state.jobs.end() ? memory_.state.jobs.begin()->first : it->first;
  }
  JobId some_faulty_job() {
    for (int tries = 0; tries < 20 && !troubled_.empty(); ++tries) {
      auto it = troubled_.lower_bound(static_cast<JobId>(pick(*troubled_.rbegin() + 1)));
      if (it == troubled_.end()) it = troubled_.begin();
      const nonstop::Job* job = memory_.state.job(*it);
      if (job != nullptr && !job->faulty.empty()) return *it;
      troubled_.erase(it);
    }
    return some_job();
  }
  std::string some_node(int partition) {
    const auto& nodes = slurm_.nodes_of(partition);
    return nodes[static_cast<std::size_t>(pick(static_cast<std::int64_t>(nodes.size())))];
  }
  std::string some_node() { return some_node(static_cast<int>(pick(o_.partitions))); }

  void start_job() {
    if (slurm_.start(static_cast<int>(pick(o_.partitions)), static_cast<std::size_t>(2 + pick(2)),
                     static_cast<std::uint32_t>(1000 + pick(5)), now_) != 0)
      ++outcome_.jobs;
  }

  void client_comes() {
    Client client;
    const JobId id = chance(80) ? some_faulty_job() : some_job();
    const nonstop::Job* job = memory_.state.job(id);
    if (job == nullptr) return;
    client.request.job = id;
    client.caller.uid = chance(97) ? job->uid : 4711;
    client.caller.address = "10.0.0.1";
    std::vector<std::string> faulty;
    for (const auto& [node, f] : job->faulty) faulty.push_back(node);
    const auto one_or_all = [&] {
      if (faulty.empty() || chance(3)) return std::vector<std::string>{some_node()};
      if (chance(40)) return faulty;
      return std::vector<std::string>{
          faulty[static_cast<std::size_t>(pick(static_cast<std::int64_t>(faulty.size())))]};
    };
    const std::int64_t what = pick(100);
    if (what < 60) {
      client.request.command = wire::Command::replace_node;
      client.request.names = one_or_all();
    } else if (what < 75) {
      client.request.command = wire::Command::drop_node;
      client.request.names = one_or_all();
    } else if (what < 95) {
      client.request.command = wire::Command::time_incr;
      client.request.minutes = chance(50) ? 0 : static_cast<std::uint32_t>(1 + pick(5));
    } else if (what < 97 && !job->nodes.empty()) {
      client.request.command = wire::Command::drain;
      client.request.names = {job->nodes.front().node};
    } else {
      client.request.command = wire::Command::show_job;
    }
    const bool twice = chance(10);
    if (twice) ask(client);
    ask(std::move(client));
  }

  void node_event() {
    const std::string node = some_node();
    const FakeNode& n = slurm_.nodes().at(node);
    if (n.down || n.failing) {
      slurm_.heal_node(node);
    } else if (chance(70)) {
      slurm_.fail_node(node);
      ++outcome_.failures;
    } else {
      slurm_.set_failing(node, true);
      ++outcome_.failures;
    }
  }

  void command_ends(bool lose) {
    now_ += 1us;  // nothing else happens at the same time
    if (flying_.empty()) return;
    std::swap(flying_[static_cast<std::size_t>(pick(static_cast<std::int64_t>(flying_.size())))],
              flying_.back());
    const Command command = flying_.back();
    flying_.pop_back();
    if (lose && chance(10)) {
      // Nobody knows whether it was done.
      ++outcome_.lost_answers;
      if (chance(50)) (void)slurm_.act(command, now_);
      return take(Ledger::failed(command, Error(ErrorCode::timed_out, "no answer")));
    }
    if (lose && chance(2))
      return take(Ledger::failed(command, Error(ErrorCode::refused_by_slurm, "Slurm says no")));
    auto result = slurm_.act(command, now_);
    if (result && command.verb == verb::kDiagnose && chance(10)) result = Json::object({{"passed", false}});
    // The donor is watched from when it is known.
    take(result ? Ledger::done(command, std::move(*result)) : Ledger::failed(command, result.error()));
    if (lose && chance(3) && slurm_.job(static_cast<JobId>(command.args["job_id"].as_int())) != nullptr)
      (void)slurm_.act(command,
                       now_);  // done once more by a try that was thought lost: nothing may come of it
  }

  void look_at_nodes() {
    const auto closely = nonstop::looked_at(memory_.cluster, memory_.state, policy_);
    for (const auto& [node, look] : closely)
      if (const cluster::Node* known = memory_.cluster.view.node(node);
          known == nullptr || known->look <= look)
        slurm_.changed_nodes.insert(node);
    Json groups = Json::array();
    for (const std::string& name : std::exchange(slurm_.changed_nodes, {})) {
      const auto near = closely.find(name);
      Json group = cluster::group_of(slurm_.shown(name), near != closely.end());
      const cluster::Node* known = memory_.cluster.view.node(name);
      const bool waited_for = near != closely.end() && known != nullptr && known->look <= near->second;
      if (known && !waited_for && !cluster::is_news(*known, cluster::node_of(group), near != closely.end()))
        continue;
      Json whole = Json::object({{"nodes", name}});
      for (const auto& [key, value] : group.members()) whole.set(key, value);
      groups.push(std::move(whole));
      const auto on = memory_.state.on_node.find(name);
      if (on != memory_.state.on_node.end()) troubled_.insert(on->second.begin(), on->second.end());
    }
    if (groups.size() > 0)
      take(new_event("cluster", kNodesSeen, Json::object({{"groups", std::move(groups)}})));
  }

  void begin_job_look() {
    now_ += 1us;  // nothing else happens at the same time
    if (pending_look_) return;
    JobLook look{.began = now_, .jobs = {}, .gone = {}};
    for (const JobId id : std::exchange(slurm_.changed_jobs, {})) {
      const FakeJob* job = slurm_.job(id);
      if (job == nullptr)
        look.gone.push_back(id);
      else if (job->key.empty())
        look.jobs.push_back(slurm_.shown(*job));
    }
    pending_look_ = std::move(look);
  }
  void end_job_look() {
    if (!pending_look_) return;
    const JobLook look = *std::exchange(pending_look_, std::nullopt);
    if (now_ - look.began > 30s) {  // libslurm's child is ended by then: the look begins anew
      for (const RunningJob& job : look.jobs) slurm_.changed_jobs.insert(job.job_id);
      slurm_.changed_jobs.insert(look.gone.begin(), look.gone.end());
      return;
    }
    for (const RunningJob& job : look.jobs) {  // as running_job_news(), of those that changed
      const std::string subject = running_subject(job.job_id);
      const JobInfo* known = memory_.cluster.view.job({job.job_id, subject, subject});
      if (known == nullptr || known->nodes != compress_hostlist(job.nodes) || known->submit != job.submit ||
          known->time_limit_s != job.time_limit_min * 60)
        take(running_job_seen(job, look.began));
    }
    for (const JobId id : look.gone) {
      const std::string subject = running_subject(id);
      if (memory_.cluster.view.job({id, subject, subject}) != nullptr)
        take(new_event(subject, kJobLost, Json::object({{"run", subject}, {"job_id", id}})));
    }
    for (const auto& donor : nonstop::watched(memory_.state)) {
      const FakeJob* job = slurm_.job(donor.job_id);
      Json body = Json::object({{"run", donor.run}});
      if (job == nullptr) {
        body.set("job_id", donor.job_id);
        take(new_event(donor.subject, kJobLost, std::move(body)));
      } else if (job->running) {
        JobInfo info;
        info.job_id = job->id;
        info.uid = job->uid;
        info.state = "RUNNING";
        info.nodes = compress_hostlist(job->nodes);
        body.set("job", info.to_json());
        take(new_event(donor.subject, kJobSeen, std::move(body)));
      }
    }
  }
  void look_at_jobs() {
    begin_job_look();
    end_job_look();
  }

  void pass(Micros time) {
    now_ += time;
    while (!by_time_.empty() && by_time_.begin()->first <= now_) {
      touch(by_time_.begin()->second);
      wakes_.erase(by_time_.begin()->second);
      by_time_.erase(by_time_.begin());
    }
  }

  // Another engine is at work on a job for a while.
  void other_engine() {
    if (foreign_.empty() || chance(50)) {
      const std::string on = job_subject(some_job());
      if (memory_.cluster.claims.find(on, now_) != nullptr) return;
      take(cluster::Claims::claimed({.on = on, .holder = "identify", .by = "c1", .reason = "runs it again"}));
      foreign_.push_back(on);
    } else {
      release_foreign();
    }
  }
  void release_foreign() {
    take(cluster::Claims::released(foreign_.back(), "identify", "is done"));
    foreign_.pop_back();
    free_waiting();
  }

  void job_event() {
    const JobId id = some_job();
    const FakeJob* job = slurm_.job(id);
    if (job == nullptr || !job->key.empty()) return;
    slurm_.end(id);
    start_job();
  }

  void step() {
    const std::int64_t what = pick(100);
    if (what < 32) return command_ends(true);
    if (what < 50) return client_comes();
    if (what < 60) return node_event();
    if (what < 72) return look_at_nodes();
    if (what < 78) return begin_job_look();
    if (what < 86) return end_job_look();
    if (what < 91) return pass(std::chrono::milliseconds(pick(30'000)));
    if (what < 94) return job_event();
    if (what < 96) return other_engine();
    slurm_.schedule();
  }

  // --- what must hold

  void check_minutes() {
    for (const auto& [id, job] : memory_.state.jobs) {
      int used = 0, extending = 0;
      for (const nonstop::Grant& grant : job.grants) {
        used += grant.used;
        if (grant.used < 0 || grant.taken < 0 || grant.left() < 0)
          wrong(fmt::format("minutes of j{} do not add up", id));
      }
      for (const auto& [n, request] : job.requests)
        if (request.what == nonstop::Request::What::extend && (request.lives() || request.perhaps_set))
          extending += request.minutes;
      const FakeJob* shown = slurm_.job(id);
      if (shown == nullptr || to_micros(shown->submit) != to_micros(job.submit)) continue;
      const int added = shown->limit - shown->first_limit;
      if (added > used || added < used - extending)
        wrong(fmt::format("j{} has {} minutes more by {} used, {} under way", id, added, used, extending));
    }
  }

  bool is_quiet() const {
    return flying_.empty() && touched_.empty() && by_time_.empty() && slurm_.changed_jobs.empty() &&
           slurm_.changed_nodes.empty();
  }
  void quiesce() {
    for (int round = 0; round < 2000 && outcome_.wrong.empty(); ++round) {
      slurm_.schedule();
      look_at_nodes();
      look_at_jobs();
      settle();
      for (std::size_t n = flying_.size() + 1; n > 0; --n) {
        command_ends(false);
        settle();
      }
      if (is_quiet()) return;
      pass(by_time_.empty() ? Micros(1s) : std::max<Micros>(by_time_.begin()->first - now_, 0us));
      settle();
    }
    wrong(fmt::format("it does not come to rest: {} commands (the last: {}), {} wakes, first {}",
                      flying_.size(),
                      flying_.empty() ? "" : flying_.back().key + " " + flying_.back().args.dump(),
                      by_time_.size(), by_time_.empty() ? "" : by_time_.begin()->second));
  }

  void finish() {
    if (!outcome_.wrong.empty()) return;
    pending_look_.reset();
    for (const auto& [id, job] : slurm_.jobs()) slurm_.changed_jobs.insert(id);
    for (const auto& [id, job] : memory_.state.jobs) slurm_.changed_jobs.insert(id);
    while (!foreign_.empty()) release_foreign();
    quiesce();
    compare_with_slurm();
    for (const auto& [node, n] : std::map<std::string, FakeNode>(slurm_.nodes()))
      if (n.down || n.failing) slurm_.heal_node(node);
    int ended = 0;
    for (const auto& [id, job] : std::map<JobId, FakeJob>(slurm_.jobs()))
      if (job.key.empty() && ++ended % 3 == 0) slurm_.end(id);
    quiesce();
    // Now there are nodes for all that waited.
    compare_with_slurm();
    if (!memory_.state.busy.empty())
      wrong("a request waits, and nodes are free: " + nonstop::canonical_text(memory_.state).substr(0, 500));
    if (!clients_.empty()) wrong("nobody has answered who asked about " + clients_.begin()->first);
    if (outcome_.asked != outcome_.answered)
      wrong(fmt::format("{} asked, {} answered", outcome_.asked, outcome_.answered));
    restart();
    for (const auto& [id, job] : std::map<JobId, FakeJob>(slurm_.jobs()))
      if (job.key.empty()) slurm_.end(id);
    quiesce();
    if (!slurm_.jobs().empty()) wrong("a donor is left over: " + slurm_.jobs().begin()->second.key);
    const nonstop::State& state = memory_.state;
    if (!state.jobs.empty() || !state.on_node.empty() || !state.busy.empty()) wrong("a job is left over");
    for (const auto& [on, claim] : memory_.cluster.claims.all()) wrong("a claim is left over on " + on);
    for (const auto& [partition, pool] : state.pools)
      if (!pool.lent.empty() || pool.members.size() != static_cast<std::size_t>(o_.spares))
        wrong(fmt::format("the pool of {} has {} spares, {} lent", partition, pool.members.size(),
                          pool.lent.size()));
  }

  void compare_with_slurm() {
    check_minutes();
    std::map<std::string, JobId> has;
    for (const auto& [id, job] : memory_.state.jobs) {
      const FakeJob* shown = slurm_.job(id);
      std::vector<std::string> names;
      for (const nonstop::Share& share : job.nodes) {
        names.push_back(share.node);
        if (!has.emplace(share.node, id).second)
          wrong(fmt::format("{} is in j{} and j{}", share.node, has[share.node], id));
      }
      if (shown == nullptr || sorted_hosts(names) != sorted_hosts(shown->nodes))
        wrong(fmt::format("j{} is thought to have {} and has {}", id, fmt::join(names, ","),
                          shown ? fmt::format("{}", fmt::join(shown->nodes, ",")) : "ended"));
      const bool busy = memory_.state.busy.contains(id);
      if (memory_.cluster.claims.find(job_subject(id), now_) != nullptr && !busy)
        wrong(fmt::format("j{} keeps a claim", id));
    }
    for (const auto& [id, job] : slurm_.jobs())
      if (!job.key.empty() && !memory_.state.busy.contains(job.expands))
        wrong("a donor is left over: " + job.key);
  }

  const Options o_;
  std::mt19937_64 rng_;
  FakeSlurm slurm_;
  nonstop::Policy policy_;
  Memory memory_, kept_;
  std::vector<Event> log_;
  std::set<std::string> touched_;
  std::vector<Command> flying_;
  std::map<std::string, std::set<std::string>> claim_waiters_;
  std::map<std::string, TimePoint> wakes_;
  std::set<std::pair<TimePoint, std::string>> by_time_;
  std::map<std::string, std::vector<Client>> clients_;
  std::set<JobId> troubled_;
  std::vector<std::string> foreign_;
  std::optional<JobLook> pending_look_;
  TimePoint now_ = from_unix_seconds(1'800'000'000);
  std::int64_t seq_ = 0, step_ = 0, tokens_ = 0;
  Outcome outcome_;
};

}  // namespace

std::string Outcome::text() const {
  return fmt::format(
      "{} events, {} commands, {} restarts, {} jobs, {} failures, {} lost answers; asked {}, answered {}: "
      "replaced {}, "
      "dropped {}, extended {}, later {}{}{}",
      events, commands, restarts, jobs, failures, lost_answers, asked, answered, replaced, dropped, extended,
      later, wrong.empty() ? "" : "; WRONG: ", wrong);
}

Outcome run(const Options& options) { return World(options).run(); }

}  // namespace sickbay::chaos
