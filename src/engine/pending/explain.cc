// SPDX-License-Identifier: Apache-2.0
#include "engine/pending/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/counted.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "engine/pending/dependency_text.h"

namespace sickbay::pending {
namespace {

/// The facts with what several rules need of them.
struct Question {
  const PendingFacts& facts;
  PendingReason reason;  ///< of Slurm's word
  TimePoint now;
  std::array<std::uint32_t, 7> count{};  ///< nodes by NodeHurdle

  std::uint32_t nodes(NodeHurdle hurdle) const { return count[static_cast<std::size_t>(hurdle)]; }
  std::uint32_t total() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t n : count) sum += n;
    return sum;
  }
  // Nodes that could run the job at all, whatever state they are in; then those of them that Slurm would
  // use.
  std::uint32_t fit() const { return total() - nodes(NodeHurdle::unfit); }
  std::uint32_t in_service() const { return fit() - nodes(NodeHurdle::drained) - nodes(NodeHurdle::down); }
  std::uint32_t wanted() const { return std::max(facts.request.min_nodes, 1U); }
};

std::string_view is_are(std::uint32_t n) { return n == 1 ? "is" : "are"; }

std::string wanted_text(const Question& q) {
  std::string text = counted(q.wanted(), "node");
  if (!q.facts.request.features.empty()) text += " with feature " + q.facts.request.features;
  return text;
}

/// "n3 is drained (disk), n[5-6] are down (Not responding)"; of `only` where that is not empty.
std::string out_text(const Question& q, std::span<const std::string> only = {}) {
  std::string text;
  for (const PendingNodes& group : q.facts.nodes) {
    if (group.hurdle != NodeHurdle::drained && group.hurdle != NodeHurdle::down) continue;
    std::string names = group.nodes;
    std::uint32_t n = group.count;
    if (!only.empty()) {
      const auto both = hosts_in_both(
          only, sorted_hosts(expand_hostlist(group.nodes).value_or(std::vector<std::string>())));
      if (both.empty()) continue;
      names = compress_hostlist(both);
      n = static_cast<std::uint32_t>(both.size());
    }
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} {}", names, is_are(n), to_string(group.hurdle));
    if (!group.reason.empty()) text += " (" + group.reason + ")";
  }
  return text;
}

/// "5 without feature gpu, 2 excluded by the job".
std::string unfit_text(const Question& q) {
  std::string text;
  for (const PendingNodes& group : q.facts.nodes) {
    if (group.hurdle != NodeHurdle::unfit) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", group.count, group.reason.empty() ? "for other reasons" : group.reason);
  }
  return text;
}

/// "reservation maint"; a name that the asker may not see is empty.
std::string name_of(const PendingReservation& r) {
  return r.name.empty() ? std::string("a reservation") : "reservation " + r.name;
}

std::string in_partition(const Question& q) {
  return q.facts.partition_names.empty() ? std::string("the cluster")
                                         : "partition " + q.facts.partition_names;
}

// --- rules: each sees one thing, or nothing ------------------------------------------------------------

using Seen = std::optional<Hindrance>;

Seen partition_time(const Question& q) {
  if (q.reason.word != "PartitionTimeLimit" || q.facts.partitions.empty()) return {};
  std::int64_t most = 0;
  for (const PendingPartition& p : q.facts.partitions)
    if (p.max_time_s == 0) return {};  // (then something else is meant: the table's row says what it can)
  // The job may start in any of them, so the widest limit counts.
  for (const PendingPartition& p : q.facts.partitions) most = std::max(most, p.max_time_s);
  const std::int64_t asked = q.facts.request.time_limit_s;
  // 0: no limit, which is longer than any that the partition has.
  if (asked != 0 && asked <= most) return {};
  return Hindrance{
      "partition_time",
      fmt::format("it asks for {}, and partition {} allows {}",
                  asked == 0 ? "no time limit" : describe_duration(std::chrono::seconds(asked)),
                  q.facts.partition_names, describe_duration(std::chrono::seconds(most))),
      fmt::format("lower its time limit: 'scontrol update jobid={} timelimit={}'; or take another partition",
                  q.facts.job_id, format_time_limit(TimeLimit::of(std::chrono::seconds(most)))),
      PendingCure::user, true};
}

Seen partition_nodes(const Question& q) {
  if (q.reason.word != "PartitionNodeLimit" || q.facts.partitions.empty()) return {};
  const PendingPartition& p = q.facts.partitions.front();
  const std::uint32_t least = q.wanted(), most = std::max(least, q.facts.request.max_nodes);
  std::string allows;
  std::uint32_t low = 0, high = 0;  // what would be allowed
  if (p.max_nodes != 0 && most > p.max_nodes) {
    high = p.max_nodes, low = std::min(least, high);
    allows = fmt::format("allows {} at most", high);
  } else if (least < p.min_nodes) {
    low = high = p.min_nodes;
    allows = fmt::format("demands {} at least", low);
  } else if (p.total_nodes != 0 && least > p.total_nodes) {
    low = high = p.total_nodes;
    allows = fmt::format("has {}", high);
  }
  if (allows.empty()) return {};
  const std::string asks = most > least ? fmt::format("{} to {} nodes", least, most) : counted(least, "node");
  // (Both ends: scontrol takes a single number for the lower one alone, and the upper one would stay.)
  return Hindrance{
      "partition_nodes", fmt::format("it asks for {}, and partition {} {}", asks, p.name, allows),
      fmt::format(
          "ask for another number: 'scontrol update jobid={} numnodes={}-{}'; or take another partition",
          q.facts.job_id, low, high),
      PendingCure::user, true};
}

Seen partition_state(const Question& q) {
  // Slurm's own word on the partition says it already.
  if (q.facts.partitions.empty() || q.reason.word.starts_with("Partition")) return {};
  for (const PendingPartition& p : q.facts.partitions)
    // One that is up is enough for the job to start.
    if (p.state != "DOWN" && p.state != "INACTIVE") return {};
  return Hindrance{
      "partition_state",
      fmt::format("operators have set partition {} {}: no job starts there", q.facts.partition_names,
                  q.facts.partitions.front().state == "DOWN" ? "down" : "inactive"),
      fmt::format("operators set it up again; or take another partition: 'scontrol update "
                  "jobid={} partition=...'",
                  q.facts.job_id),
      PendingCure::operators, true};
}

Seen dependency(const Question& q) {
  if (q.reason.about != PendingSubject::dependency) return {};
  const std::string until = dependency_text(q.facts.request.dependency);
  if (until.empty()) return {};
  return Hindrance{"dependency",
                   q.reason.lasting
                       ? "it was to start when " + until + ", and that will not come to pass any more"
                       : "it is to start when " + until,
                   fill_in(q.reason.remedy, q.facts), q.reason.cure, q.reason.lasting};
}

Seen begin_time(const Question& q) {
  if (q.facts.request.begin <= q.now || q.reason.about == PendingSubject::begin) return {};
  const PendingReason row = pending_reason("BeginTime");
  return Hindrance{"begin_time", fill_in(row.meaning, q.facts), fill_in(row.remedy, q.facts), row.cure,
                   row.lasting};
}

Seen too_few_fit(const Question& q) {
  // Without a node there was nothing to look at: a partition that is gone, or a look that came to nothing.
  if (q.total() == 0 || q.fit() >= q.wanted()) return {};
  std::string text = fmt::format("it needs {}, and {} of the {} in {} {} what it asks for", wanted_text(q),
                                 q.fit(), q.total(), in_partition(q), q.fit() == 1 ? "is" : "are");
  if (const std::string unfit = unfit_text(q); !unfit.empty()) text += " (" + unfit + ")";
  if (const std::string out = out_text(q); !out.empty()) text += "; of these " + out;
  return Hindrance{
      "too_few_fit", std::move(text),
      fmt::format("ask for what there is, or in another partition: 'scontrol update jobid={0} numnodes=... "
                  "features=... partition=...'{1}",
                  q.facts.job_id,
                  q.facts.held ? fmt::format(", then 'scontrol release {}'", q.facts.job_id) : ""),
      PendingCure::user, q.reason.lasting};
}

Seen required_out(const Question& q) {
  if (q.facts.request.required.empty()) return {};
  const std::string out = out_text(q, q.facts.request.required);
  if (out.empty()) return {};
  return Hindrance{
      "required_out", "it asks for nodes by name, and of these " + out,
      fmt::format("it starts when they are back in service; where other nodes would do: 'scontrol update "
                  "jobid={} reqnodelist='",
                  q.facts.job_id),
      PendingCure::operators, false};
}

Seen out_of_service(const Question& q) {
  // Where too few fit at all, too_few_fit() has said so: these rules exclude each other, so that one thing
  // is told once.
  if (q.fit() < q.wanted() || q.in_service() >= q.wanted()) return {};
  return Hindrance{
      "out_of_service",
      fmt::format("it needs {}, and of the {} that fit {}", wanted_text(q), q.fit(), out_text(q)),
      "it starts when enough of them are back in service ('sickbay nodes' shows why they are out)",
      PendingCure::operators, false};
}

/// Reservations that have nodes from the job now.
Seen reserved_now(const Question& q) {
  if (q.in_service() < q.wanted() || q.in_service() - q.nodes(NodeHurdle::reserved) >= q.wanted()) return {};
  std::string held;
  TimePoint until = kNoTime;
  for (const PendingReservation& r : q.facts.reservations) {
    if (r.start > q.now || r.end <= q.now) continue;
    if (!held.empty()) held += ", ";
    held += fmt::format("{} holds {} until {}", name_of(r), r.nodes, format_time(r.end));
    until = std::max(until, r.end);
  }
  if (held.empty())
    for (const PendingNodes& group : q.facts.nodes)
      if (group.hurdle == NodeHurdle::reserved) held = "a reservation holds " + group.nodes;
  return Hindrance{"reserved_now",
                   fmt::format("it needs {}, and of the {} that fit {}", wanted_text(q), q.fit(), held),
                   until == kNoTime ? "it starts when that reservation has ended"
                                    : fmt::format("it starts after {} at the latest, where no other job is "
                                                  "before it",
                                                  format_time(until)),
                   PendingCure::time, false};
}

/// Reservations that begin before the job could end.
Seen reservation_ahead(const Question& q) {
  const std::int64_t limit = q.facts.request.time_limit_s;
  std::vector<std::string> taken;
  const PendingReservation* first = nullptr;
  for (const PendingReservation& r : q.facts.reservations) {
    if (r.start <= q.now || (limit != 0 && r.start >= q.now + std::chrono::seconds(limit))) continue;
    taken =
        hosts_in_either(taken, sorted_hosts(expand_hostlist(r.nodes).value_or(std::vector<std::string>())));
    if (first == nullptr) first = &r;
  }
  if (first == nullptr || q.in_service() < q.wanted() ||
      q.in_service() - std::min<std::size_t>(q.in_service(), taken.size()) >= q.wanted())
    return {};
  std::string text = fmt::format(
      "{} takes {} from {} to {}, and with {} it would not end before", name_of(*first), first->nodes,
      format_time(first->start), format_time(first->end),
      limit == 0 ? "no time limit" : "a time limit of " + describe_duration(std::chrono::seconds(limit)));
  // Slurm's time limits are whole minutes; one less, so that it ends before the reservation begins.
  const auto room = std::chrono::floor<std::chrono::minutes>(first->start - q.now);
  std::string remedy = fmt::format("it can start after {}", format_time(first->end));
  if (room.count() > 1)
    remedy = fmt::format(
        "a time limit under {} would fit before it: 'scontrol update jobid={} timelimit={}'; "
        "else {}",
        describe_duration(room), q.facts.job_id,
        format_time_limit(TimeLimit::of(room - std::chrono::minutes(1))), remedy);
  return Hindrance{"reservation_ahead", std::move(text), std::move(remedy), PendingCure::user, false};
}

/// How the nodes that fit are used; empty: enough of them are idle, or too few in service.
std::string use_text(const Question& q) {
  const std::uint32_t idle = q.nodes(NodeHurdle::idle), used = q.nodes(NodeHurdle::busy),
                      planned = q.nodes(NodeHurdle::planned);
  if (q.in_service() < q.wanted() || idle >= q.wanted() || used + planned == 0) return {};
  std::string text = fmt::format("it needs {}, and of the {} that fit {} {} idle", wanted_text(q), q.fit(),
                                 idle, is_are(idle));
  if (used != 0) text += fmt::format(", {} {} in use, wholly or in part", used, is_are(used));
  if (planned != 0) text += fmt::format(", {} {} kept for a job before it", planned, is_are(planned));
  if (const std::uint32_t gone = q.nodes(NodeHurdle::drained) + q.nodes(NodeHurdle::down); gone != 0)
    text += fmt::format(", {} {} out of service", gone, is_are(gone));
  return text;
}

Seen busy(const Question& q) {
  std::string text = use_text(q);
  if (text.empty() || q.reason.word == "Priority") return {};
  return Hindrance{"busy", std::move(text), "it starts when enough running jobs have ended",
                   PendingCure::time, false};
}

/// What the table says of Slurm's own word.
Hindrance slurm_reason(const Question& q) {
  return {"slurm_reason", fill_in(q.reason.meaning, q.facts), fill_in(q.reason.remedy, q.facts),
          q.reason.cure, q.reason.lasting};
}

/// Jobs before it are a reason of their own, however the nodes are used.
Seen turn(const Question& q) {
  if (q.reason.word != "Priority") return {};
  Hindrance row = slurm_reason(q);
  row.code = "turn";
  if (const std::string use = use_text(q); !use.empty()) row.text += "; " + use;
  return row;
}

struct Rule {
  Seen (*look)(const Question&);
  bool about_nodes;   ///< only where Slurm's reason is about nodes or a partition's limit on them
  bool tells_reason;  ///< says what Slurm's reason means, better than the table does
};
// In the order in which they are told: what somebody must change goes before what time changes.
constexpr auto kRules = std::to_array<Rule>({
    {partition_time, false, true},
    {partition_nodes, false, true},
    {too_few_fit, true, true},
    {dependency, false, true},
    {partition_state, false, false},
    {required_out, true, true},
    {out_of_service, true, true},
    {reserved_now, true, true},
    {reservation_ahead, true, true},
    {busy, true, true},
    {turn, false, true},
    {begin_time, false, false},
});

bool looks_at_nodes(const PendingReason& reason) {
  return reason.about == PendingSubject::nodes || reason.word == "PartitionNodeLimit";
}

}  // namespace

Explanation explain(const PendingFacts& facts, TimePoint now) {
  Question q{facts, pending_reason(facts.reason), now, {}};
  for (const PendingNodes& group : facts.nodes)
    q.count[static_cast<std::size_t>(group.hurdle)] += group.count;

  Explanation explanation;
  bool told = false;
  for (const Rule& rule : kRules) {
    if (rule.about_nodes && !looks_at_nodes(q.reason)) continue;
    if (Seen seen = rule.look(q)) {
      told = told || rule.tells_reason;
      explanation.hindrances.push_back(std::move(*seen));
    }
  }
  // No rule says what Slurm's reason means: its row of the table does, and stands first.
  if (!told) explanation.hindrances.insert(explanation.hindrances.begin(), slurm_reason(q));
  const Hindrance& first = explanation.hindrances.front();
  explanation.lasting = std::ranges::any_of(explanation.hindrances, &Hindrance::lasting);
  explanation.sentence = fmt::format("Job {} {}: {}.", facts.job_id,
                                     first.lasting ? "will not start as it is" : "waits", first.text);
  return explanation;
}

Json Explanation::to_json() const {
  Json list = Json::array();
  for (const Hindrance& h : hindrances)
    list.push(Json::object({{"code", h.code},
                            {"text", h.text},
                            {"remedy", h.remedy},
                            {"who", to_string(h.cure)},
                            {"lasting", h.lasting}}));
  return Json::object({{"sentence", sentence}, {"lasting", lasting}, {"reasons", std::move(list)}});
}

}  // namespace sickbay::pending
