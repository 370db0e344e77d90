// SPDX-License-Identifier: Apache-2.0
#include "workload/import/rounds.h"

#include "base/size.h"
#include "workload/store/node_clusters.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kOverlap = 3600;        // seconds of sacct's past that each round asks for again
constexpr std::int64_t kFirstDay = 24 * 3600;  // that the first round asks for, when nobody says
constexpr std::int64_t kLate = 24 * 3600;      // how late a record may reach slurmdbd, between two imports

Result<Store> open_store(const ImportPlan& plan) {
  StoreOptions options;
  options.path = plan.store_path;
  options.threads = plan.order.threads;
  options.memory_limit = mib(512);  // ten million jobs need no more, and the host has other work
  return Store::open(options);
}

Result<ImportResult> import_into(Store& store, const ImportOrder& order) {
  auto result = import_logs(store, order);
  if (!result) return result;
  if (auto named = name_unnamed_nodes(store); !named) return fail(std::move(named.error()));
  return result;
}

Result<ImportResult> import_into_store(const ImportPlan& plan, const ImportOrder& order) {
  auto store = open_store(plan);
  if (!store) return fail(std::move(store.error()));
  return import_into(*store, order);
}

// Until when earlier rounds have asked sacct; nothing before the first one.
Result<std::optional<std::int64_t>> asked_until(const ImportPlan& plan) {
  auto store = open_store(plan);
  if (!store) return fail(std::move(store.error()));
  auto until = store->connection().query("SELECT value::BIGINT FROM meta WHERE name = 'sacct_until'");
  if (!until) return fail(std::move(until.error()));
  if (until->rows.empty()) return std::nullopt;
  const auto* seconds = std::get_if<std::int64_t>(&until->rows[0][0]);
  return seconds != nullptr ? std::optional(*seconds) : std::nullopt;
}

Status keep_asked_until(Store& store, std::int64_t now) {
  auto kept = store.connection().query("DELETE FROM meta WHERE name = 'sacct_until'");
  if (kept)
    kept = store.connection().query("INSERT INTO meta VALUES ('sacct_until', ?)", {std::to_string(now)});
  if (!kept) return fail(std::move(kept.error()));
  return {};
}

// Brings in what sacct tells of [from, plan.to); `kept`: until then it has been asked, from now on.
Result<ImportResult> ask_and_import(const ImportPlan& plan, std::int64_t from,
                                    std::optional<std::int64_t> kept) {
  auto log = plan.ask_sacct(from, plan.to);
  if (!log) return fail(std::move(log.error()));
  auto store = open_store(plan);
  if (!store) return fail(std::move(store.error()));
  auto result = import_into(*store, order_of(*log, plan.order));
  if (!result) return result;
  // Last: a round that failed is asked for again.
  if (kept)
    if (auto noted = keep_asked_until(*store, *kept); !noted) return fail(std::move(noted.error()));
  return result;
}

}  // namespace

Status import_nodes_of(const ImportPlan& plan, std::int64_t now, const ToldOfNodes& told) {
  if (plan.node_files.empty() && plan.costs.empty()) return {};
  auto store = open_store(plan);
  if (!store) return fail(std::move(store.error()));
  if (auto done = import_job_costs(*store, plan.costs); !done) return done;
  return import_node_files(*store, plan.node_files, plan.order.read.time_zone, now, told);
}

Result<ImportResult> import_once(const ImportPlan& plan, std::int64_t now) {
  if (!plan.order.inputs.empty()) return import_into_store(plan, plan.order);
  auto until = asked_until(plan);
  if (!until) return fail(std::move(until.error()));
  const std::int64_t from = plan.from.value_or(now - kFirstDay);
  const bool no_gap = !plan.to && (!*until || from <= **until);
  return ask_and_import(plan, from, no_gap ? std::optional(now) : std::nullopt);
}

Result<ImportResult> import_since_last(const ImportPlan& plan, std::int64_t now) {
  auto until = asked_until(plan);
  if (!until) return fail(std::move(until.error()));
  if (!*until)
    return fail(Error(ErrorCode::not_found, "the store does not know when sacct was asked last")
                    .because(plan.store_path + " has no import of what sacct tells up to then")
                    .remedied_by("say once since when: sickbay import --from 2026-01-01; --from last goes on "
                                 "from there"));
  return ask_and_import(plan, **until - kLate, now);
}

ImportRounds::ImportRounds(ImportPlan plan) : plan_(std::move(plan)) {}

Result<std::optional<ImportResult>> ImportRounds::next(std::int64_t now) {
  if (!plan_.order.inputs.empty()) {
    const auto changed = changes_.changed(plan_.order.inputs);
    if (changed.empty()) return std::nullopt;
    changes_.remember(changed);  // before they are read: what is written meanwhile is the next round's
    ImportOrder order = plan_.order;
    order.inputs = changed;
    auto result = import_into_store(plan_, order);
    if (!result) {
      changes_.forget(changed);  // the store was busy, say: they are not imported
      return fail(std::move(result.error()));
    }
    return std::move(*result);
  }
  auto until = asked_until(plan_);
  if (!until) return fail(std::move(until.error()));
  const std::int64_t from = *until ? **until - kOverlap : plan_.from.value_or(now - kFirstDay);
  auto result = ask_and_import(plan_, from, now);
  if (!result) return fail(std::move(result.error()));
  return std::move(*result);
}

bool may_be_better_later(const Error& error) {
  return error.code != ErrorCode::usage && error.code != ErrorCode::too_new &&
         error.code != ErrorCode::missing_program;
}

}  // namespace sickbay::workload
