// SPDX-License-Identifier: Apache-2.0
#include "ckpt/keepers.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "checkpoint/chunk_digest.h"
#include "checkpoint/groups.h"

namespace sickbay::ckpt {
namespace {

// Bounds on what is read from the board: all that is there may be damaged, or of others.
constexpr std::size_t kMostBytes = 16 << 10, kMostKeepers = 100'000;
constexpr std::string_view kAt = "at.", kKept = "kept.", kGroup = "group.", kEnd = ".json";
constexpr const char* kSecret = "secret";

std::string folder_of(const Series& series) { return series.board + "/keep"; }

std::optional<Json> read_json(const Series& series, const std::string& name) {
  const auto text = checkpoint::read_whole(*series.files, folder_of(series) + "/" + name, kMostBytes);
  auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || !json->is_object()) return std::nullopt;
  return std::move(*json);
}

Status is_name(const std::string& node) {
  if (checkpoint::is_plain_name(node)) return {};
  return fail(
      Error(ErrorCode::usage, fmt::format("{} cannot be the name of a node", quote_for_message(node))));
}

}  // namespace

Result<std::string> keep_folder(const Series& series) {
  if (auto made = series.files->make_folder(folder_of(series)); !made)
    return tl::unexpected<Error>(std::move(made.error()));
  return folder_of(series);
}

Status announce(const Series& series, const Keeper& keeper) {
  if (auto fits = is_name(keeper.node); !fits) return fits;
  const Json json = Json::object({{"node", keeper.node},
                                  {"domain", keeper.domain},
                                  {"address", keeper.address},
                                  {"port", keeper.port},
                                  {"in_job", keeper.in_job},
                                  {"restart", keeper.restart}});
  return checkpoint::write_whole(*series.files, folder_of(series),
                                 fmt::format("{}{}{}", kAt, keeper.node, kEnd), json.dump() + "\n");
}

void retract(const Series& series, const std::string& node) {
  (void)series.files->remove(fmt::format("{}/{}{}{}", folder_of(series), kAt, node, kEnd));
}

std::vector<Keeper> keepers(const Series& series) {
  std::vector<Keeper> all;
  const auto names = series.files->list(folder_of(series));
  if (!names) return all;
  for (const std::string& name : *names) {
    if (!name.starts_with(kAt) || !name.ends_with(kEnd) || all.size() >= kMostKeepers) continue;
    const auto json = read_json(series, name);
    if (!json) continue;
    Keeper one;
    one.node = (*json)["node"].as_string();
    one.domain = (*json)["domain"].as_string();
    one.address = (*json)["address"].as_string();
    one.port = (*json)["port"].as_int();
    one.in_job = static_cast<JobId>((*json)["in_job"].as_int());
    one.restart = (*json)["restart"].as_int();
    // A file says the same node as its name: else one node could speak for another.
    if (name == fmt::format("{}{}{}", kAt, one.node, kEnd) && one.port > 0 && one.port < 65536)
      all.push_back(std::move(one));
  }
  return all;
}

std::string kept_for(const Series& series, const Keeper& own, const std::set<std::string>& nodes) {
  std::vector<checkpoint::PlacedNode> there;
  for (const Keeper& one : keepers(series))
    // What a keeper of an earlier start announced is on the board still, and nobody is there.
    if (one.in_job == own.in_job && one.restart == own.restart &&
        (nodes.size() < 2 || nodes.contains(one.node)))
      there.push_back({one.node, one.domain});
  for (const checkpoint::Partner& one : checkpoint::choose_partners(std::move(there)))
    // Each node's partner keeps for it; asked here is the reverse, and each keeps for one.
    if (one.partner == own.node) return one.node;
  return "";
}

Status note_kept(const Series& series, const std::string& node, const std::string& by, std::int64_t number) {
  if (auto fits = is_name(node); !fits) return fits;
  return checkpoint::write_whole(*series.files, folder_of(series), fmt::format("{}{}{}", kKept, node, kEnd),
                                 Json::object({{"by", by}, {"number", number}}).dump() + "\n");
}

Result<std::vector<Keeper>> parity_group(const Series& series, const Keeper& own,
                                         const std::set<std::string>& nodes, std::size_t most) {
  std::map<std::string, Keeper> there;
  for (Keeper& one : keepers(series))
    if (one.in_job == own.in_job && one.restart == own.restart && nodes.contains(one.node))
      there.emplace(one.node, std::move(one));
  // All or none: a group without one node would keep parity that the lost node's bytes are not in.
  for (const std::string& node : nodes)
    if (!there.contains(node))
      return fail(Error(ErrorCode::not_found, fmt::format("{} has no keeper, so there is no parity", node))
                      .remedied_by("start 'sickbay-ckpt keep --parity N' on each node of the job"));
  if (nodes.size() < 2) return fail(ErrorCode::usage, "the program is on one node, so there is no parity");
  std::vector<checkpoint::PlacedNode> placed;
  for (const auto& [node, keeper] : there) placed.push_back({node, keeper.domain});
  std::vector<Keeper> group;
  for (std::vector<std::string>& names : checkpoint::choose_groups(std::move(placed), most).groups) {
    if (std::ranges::find(names, own.node) == names.end()) continue;
    // By name: all members must count segments in one order.
    std::ranges::sort(names);
    for (const std::string& name : names) group.push_back(there.at(name));
  }
  return group;
}

Status note_group(const Series& series, const std::string& node, const std::vector<Keeper>& group,
                  std::int64_t number) {
  if (auto fits = is_name(node); !fits) return fits;
  Json members = Json::array();
  for (const Keeper& one : group) members.push(one.node);
  return checkpoint::write_whole(
      *series.files, folder_of(series), fmt::format("{}{}{}", kGroup, node, kEnd),
      Json::object({{"members", std::move(members)}, {"number", number}}).dump() + "\n");
}

std::vector<std::string> group_of(const Series& series, const std::string& node) {
  std::vector<std::string> members;
  const auto names = series.files->list(folder_of(series));
  if (!names || !is_name(node)) return members;
  // (A node that died before its own word was named by the others; what is older is of another group.)
  std::int64_t newest = 0;
  for (const std::string& name : *names) {
    const auto json = name.starts_with(kGroup) ? read_json(series, name) : std::nullopt;
    if (!json || (*json)["number"].as_int() <= newest) continue;
    std::vector<std::string> these;
    for (const Json& one : (*json)["members"].items()) these.push_back(one.as_string());
    if (std::ranges::find(these, node) == these.end()) continue;
    newest = (*json)["number"].as_int();
    members = std::move(these);
  }
  return members;
}

std::string kept_by(const Series& series, const std::string& node) {
  if (!is_name(node)) return "";
  const auto json = read_json(series, fmt::format("{}{}{}", kKept, node, kEnd));
  return json ? (*json)["by"].as_string() : "";
}

Result<std::string> random_hex() {
  checkpoint::Digest bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorCode::os, fmt::format("no random bytes: {}", std::strerror(errno)));
  return checkpoint::hex(bytes);
}

Result<std::string> keep_secret(const Series& series, bool make) {
  const std::string path = folder_of(series) + "/" + kSecret;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 && make) {
    auto secret = random_hex();
    if (!secret) return secret;
    // Several keepers begin at once: whose name comes first, his it is.
    // link() fails where the name is there: so one secret wins, whole, on file systems of a network, too.
    // (Other nodes may have a process of this number: hence the random part.)
    const std::string mine = fmt::format("{}.{}.{}", kSecret, ::getpid(), secret->substr(0, 8));
    if (auto wrote = checkpoint::write_whole(*series.files, folder_of(series), mine, *secret); !wrote)
      return tl::unexpected<Error>(std::move(wrote.error()));
    const int linked = ::link((folder_of(series) + "/" + mine).c_str(), path.c_str());
    const int wrong = errno;
    (void)series.files->remove(folder_of(series) + "/" + mine);
    if (linked != 0 && wrong != EEXIST)
      return fail(ErrorCode::storage_broken, fmt::format("cannot make {}: {}", path, std::strerror(wrong)));
  }
  if (::lstat(path.c_str(), &info) != 0)
    return fail(ErrorCode::not_found, "no keeper of checkpoints was started for this series");
  // Who can read it can ask for this user's packs.
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)
    return fail(Error(ErrorCode::denied, fmt::format("{} is not this user's alone", path))
                    .remedied_by("remove it, and start 'sickbay-ckpt keep' anew on all nodes"));
  return checkpoint::read_whole(*series.files, path, kMostBytes);
}

}  // namespace sickbay::ckpt
