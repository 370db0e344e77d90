// SPDX-License-Identifier: Apache-2.0
// Words and small questions of the values in state.h, and the text by which two states are compared.
#include "engine/nonstop/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/nonstop/nonstop.h"

namespace sickbay::nonstop {

std::string_view to_string(Grant::For what) {
  constexpr auto kWords = std::to_array<std::string_view>({"failed", "replaced", "waiting", "dropped"});
  return kWords[static_cast<std::size_t>(what)];
}
std::string_view to_string(Request::What what) {
  constexpr auto kWords = std::to_array<std::string_view>({"replace", "drop", "extend"});
  return kWords[static_cast<std::size_t>(what)];
}
std::string_view to_string(Request::Step step) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"wanted", "allocating", "has_nodes", "waiting", "giving", "joined",
                                       "leaving", "extending", "done", "refused", "clearing", "ended"});
  return kWords[static_cast<std::size_t>(step)];
}
std::string_view to_string(Happening::What what) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"failed", "failing", "replaced", "dropped", "extended", "ended"});
  return kWords[static_cast<std::size_t>(what)];
}

const Share* Job::share(const std::string& node) const {
  const auto it = std::ranges::find(nodes, node, &Share::node);
  return it == nodes.end() ? nullptr : &*it;
}

int Job::credit() const {
  int left = 0;
  for (const Grant& grant : grants) left += grant.left();
  return left;
}

// One with a code is answered: its donor may still be cleared, but no client waits for it.
const Request* Job::replacing() const {
  for (const auto& [n, request] : requests)
    if (request.what == Request::What::replace && request.lives() && !request.code) return &request;
  return nullptr;
}

std::vector<Happening> happenings_after(const State& state, JobId id, std::int64_t after) {
  std::vector<Happening> found;
  if (const Job* job = state.job(id))
    for (const Happening& happening : job->happenings)
      if (happening.n > after) found.push_back(happening);
  return found;
}

namespace {

// Every field that a replay must bring back; one that is missing here is compared by no test.
std::string text_of(const Request& r) {
  std::string text = fmt::format(
      "  q{} {} {} {} {} by {} at {} waits {} code {} why {} pending {} unanswered {} acts {} attempts {} "
      "tries {} "
      "retry {} source {} donor {} {} {} on {} expected {} pool {} by {} left {} from {} ended {}",
      r.n, to_string(r.what), to_string(r.step), fmt::join(r.nodes, ","), r.minutes, r.uid,
      to_micros(r.asked_at), to_micros(r.waits_since), r.code ? static_cast<int>(*r.code) : -1, r.why,
      r.pending, to_micros(r.unanswered), r.acts, r.attempts, r.drop_tries, r.clear_to_retry,
      static_cast<int>(r.source), r.donor, to_micros(r.donor_submit), r.donor_key,
      fmt::join(r.donor_nodes, ","), to_micros(r.expected), r.pool, fmt::join(r.by, ","), r.left_in,
      to_micros(r.checked_from), to_micros(r.ended_at));
  text += fmt::format(" spares {} limit {} {}", r.spares_version, r.limit, r.perhaps_set);
  for (const std::string& node : r.failing) text += " failing " + node;
  for (const std::string& token : r.tokens) text += " token " + token;
  for (const std::string& node : r.bad) text += " bad " + node;
  for (const auto& [node, check] : r.checks) text += fmt::format(" check {} {}", node, check);
  for (const auto& [grant, minutes] : r.spent) text += fmt::format(" spent {}:{}", grant, minutes);
  return text + "\n";
}

std::string text_of(const Job& job) {
  std::string text =
      fmt::format("j{} uid {} submit {} {} {} het {} limit {} {} changed {} replaced {} over {} {} q{}",
                  job.id, job.uid, to_micros(job.submit), job.partition, job.batch_host, job.het_job_id,
                  job.limit, to_micros(job.limit_set_at), to_micros(job.changed_at), job.replaced_count,
                  job.over, to_micros(job.over_at), job.last_request);
  for (const Share& share : job.nodes) text += fmt::format(" {}:{}", share.node, share.cpus);
  for (const auto& [node, f] : job.faulty)
    text += fmt::format(" {} {}:{} at {} {}", to_string(f.fault), node, f.cpus, to_micros(f.at), f.credited);
  for (const auto& [node, missed] : job.missing)
    text += fmt::format(" missing {}:{} {}", node, missed.first, to_micros(missed.second));
  for (const auto& [node, by] : job.replaced) text += fmt::format(" {} by {}", node, by);
  for (const std::string& node : job.dropped) text += " dropped " + node;
  for (const auto& [address, port] : job.callbacks) text += fmt::format(" call {} {}", address, port);
  text += "\n";
  for (const Grant& g : job.grants)
    text += fmt::format("  {} {} q{} {} used {} taken {}\n", to_string(g.what), g.node, g.request, g.minutes,
                        g.used, g.taken);
  for (const auto& [n, request] : job.requests) text += text_of(request);
  for (const Happening& h : job.happenings)
    text += fmt::format("  {} {} {} {} {}\n", h.n, to_string(h.what), fmt::join(h.nodes, ","),
                        fmt::join(h.by, ","), to_micros(h.at));
  return text;
}

}  // namespace

std::string canonical_text(const State& state) {
  std::string text;
  for (const auto& [id, job] : state.jobs) text += text_of(job);
  for (const auto& [node, jobs] : state.on_node)
    text += fmt::format("on {} {}\n", node, fmt::join(jobs, ","));
  if (!state.ended.empty()) text += fmt::format("ended {}\n", fmt::join(state.ended, ","));
  text += fmt::format("spares version {}\n", state.spares_version);
  for (const auto& [partition, p] : state.pools) {
    text +=
        fmt::format("spares {} set {} {} members {} asked {} count {} sets {} {} {} {} short {}", partition,
                    to_micros(p.set_at), p.set_look, fmt::join(p.members, ","), fmt::join(p.asked, ","),
                    p.count.value_or(-1), p.sets, p.pending, to_micros(p.failed_at), p.why, p.short_look);
    for (const auto& [node, to] : p.lent) text += fmt::format(" {} to {}", node, to);
    text += "\n";
  }
  for (const auto& [node, f] : state.fails)
    text += fmt::format("fail {} {} {} by {} job {} at {} {} orders {} look {} {} seen {}\n", node,
                        static_cast<int>(f.step), f.reason, f.uid, f.job, to_micros(f.at),
                        to_micros(f.unanswered), f.orders, f.look, f.why, f.seen);
  for (const auto& [node, f] : state.fails)
    if (!f.tokens.empty()) text += fmt::format("fail {} tokens {}\n", node, fmt::join(f.tokens, ","));
  return text;
}

}  // namespace sickbay::nonstop
