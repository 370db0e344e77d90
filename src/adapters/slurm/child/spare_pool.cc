// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/spare_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>

#include "adapters/slurm/child/fields.h"
#include "adapters/slurm/child/job_handle.h"
#include "adapters/slurm/child/slurm_error.h"
#include "adapters/slurm/donor.h"
#include "base/hostlist.h"

namespace sickbay::slurm {
namespace {

/// As Slurm's own replacement had them: not to be given to others, and made although jobs run there.
constexpr std::uint64_t kPoolFlags = RESERVE_FLAG_MAINT | RESERVE_FLAG_IGN_JOBS | RESERVE_FLAG_SPEC_NODES;

struct FreeReservations {
  void operator()(reserve_info_msg_t* p) const { slurm_free_reservation_info_msg(p); }
};
using Reservations = std::unique_ptr<reserve_info_msg_t, FreeReservations>;

Json pool_json(const SparePool& pool) {
  return Json::object({{"partition", pool.partition},
                       {"reservation", pool.reservation},
                       {"nodes", pool.nodes},
                       {"users", pool.users}});
}

SparePool pool_of(const reserve_info_t& record) {
  SparePool pool;
  pool.reservation = text(record.name);
  pool.partition = pool.reservation.starts_with(kSparePoolPrefix)
                       ? pool.reservation.substr(kSparePoolPrefix.size())
                       : text(record.partition);
  if (auto names = expand_hostlist(text(record.node_list))) pool.nodes = std::move(*names);
  pool.users = comma_words(record.users);
  return pool;
}

Result<std::vector<SparePool>> read_pools() {
  reserve_info_msg_t* raw = nullptr;
  if (slurm_load_reservations(0, &raw) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, "reading the reservations"));
  const Reservations answer(raw);
  std::vector<SparePool> pools;
  for (std::uint32_t i = 0; i < answer->record_count; ++i)
    pools.push_back(pool_of(answer->reservation_array[i]));
  std::ranges::sort(pools, {}, &SparePool::reservation);
  return pools;
}

Result<std::optional<SparePool>> read_pool(const std::string& reservation) {
  auto pools = read_pools();
  if (!pools) return fail(std::move(pools.error()));
  for (SparePool& pool : *pools)
    if (pool.reservation == reservation) return std::optional<SparePool>(std::move(pool));
  return std::optional<SparePool>();
}

Status update(const std::string& reservation, const std::vector<std::string>* nodes,
              const std::vector<std::string>& users) {
  const std::string node_list = nodes ? fmt::format("{}", fmt::join(*nodes, ",")) : "",
                    user_list = fmt::format("{}", fmt::join(users, ","));
  resv_desc_msg_t message;
  slurm_init_resv_desc_msg(&message);
  message.name = c_text(reservation);
  message.node_list = c_text(node_list);
  message.users = c_text(user_list);
  if (slurm_update_reservation(&message) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::effect, "changing the reservation " + reservation));
  return {};
}

Status create(const SparePool& pool) {
  const std::string node_list = fmt::format("{}", fmt::join(pool.nodes, ",")),
                    user_list = fmt::format("{}", fmt::join(pool.users, ","));
  resv_desc_msg_t message;
  slurm_init_resv_desc_msg(&message);
  message.name = c_text(pool.reservation);
  message.partition = c_text(pool.partition);
  message.node_list = c_text(node_list);
  message.users = c_text(user_list);
  message.flags = kPoolFlags;
  message.start_time = std::time(nullptr);
  message.duration = INFINITE;
  char* name = slurm_create_reservation(&message);
  if (name == nullptr)
    return fail(slurm_error(errno, CallKind::effect, "making the reservation " + pool.reservation));
  free_reservation_name(name);
  return {};
}

Status remove(const std::string& reservation) {
  std::string name = reservation;
  reservation_name_msg_t message;
  message.name = name.data();
  if (slurm_delete_reservation(&message) != SLURM_SUCCESS && errno != ESLURM_RESERVATION_INVALID)
    return fail(slurm_error(errno, CallKind::effect, "removing the reservation " + reservation));
  return {};
}

Result<std::string> user_name(std::uint32_t uid) {
  std::array<char, 16384> buffer;
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return fail(Error(ErrorCode::not_found, fmt::format("no user has the number {}", uid))
                    .because("a reservation names its users, and this host does not know this one")
                    .remedied_by("make the cluster's users known on this host"));
  return std::string(entry.pw_name);
}

}  // namespace

Result<Json> set_spare_pool(const Json& args) {
  SparePool wanted{args["partition"].as_string(), args["reservation"].as_string(),
                   sorted_hosts(args["nodes"].as_strings()), args["users"].as_strings()};
  auto is = read_pool(wanted.reservation);
  if (!is) return fail(std::move(is.error()));
  Status done;
  // Slurm has no empty reservation.
  if (wanted.nodes.empty()) {
    if (*is) done = remove(wanted.reservation);
  } else if (!*is) {
    done = create(wanted);
  } else if (differs(**is, wanted)) {
    done = update(wanted.reservation, &wanted.nodes, wanted.users);
  }
  if (!done) return fail(std::move(done.error()));
  // Read back: the answer is what Slurm has, and not what it was asked for.
  is = read_pool(wanted.reservation);
  if (!is) return fail(std::move(is.error()));
  if (!*is) wanted.nodes.clear();
  return pool_json(*is ? **is : wanted);
}

Result<Json> list_spare_pools(const Json&) {
  auto pools = read_pools();
  if (!pools) return fail(std::move(pools.error()));
  Json::Array array;
  for (const SparePool& pool : *pools)
    if (pool.reservation.starts_with(kSparePoolPrefix)) array.push_back(pool_json(pool));
  return Json(std::move(array));
}

Status join_pool(const std::string& reservation, std::vector<std::string> users, std::uint32_t uid) {
  auto name = user_name(uid);
  if (!name) return fail(std::move(name.error()));
  if (std::ranges::find(users, *name) != users.end()) return {};
  users.push_back(*name);
  return update(reservation, nullptr, users);
}

Status set_pool_users(const std::string& reservation, const std::vector<std::string>& users) {
  return update(reservation, nullptr, users);
}

}  // namespace sickbay::slurm
