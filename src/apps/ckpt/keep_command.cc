// SPDX-License-Identifier: Apache-2.0
// sickbay-ckpt keep: on each node of a job, one; it gives packs of its node's fast place and has what one
// other node has there, or with --parity what makes a lost node's packs again.
// sickbay-ckpt fetch: brings what a process lacks from a keeper, or from its group.
#include <fmt/format.h>
#include <netdb.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "apps/ckpt/commands.h"
#include "apps/ckpt/keep_group.h"
#include "apps/ckpt/keep_net.h"
#include "base/hostlist.h"
#include "checkpoint/retention.h"
#include "checkpoint/tiers.h"
#include "ckpt/agree.h"
#include "ckpt/flush.h"
#include "ckpt/keepers.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Control;
using checkpoint::Image;

constexpr std::chrono::seconds kAgain{1};  // after an error, of the same checkpoint
constexpr std::size_t kMostNodes = 100'000;

// All keepers look at the board 1000 times a second altogether, and each 4 times at most.
timespec pause_of(std::int64_t nodes) {
  const std::int64_t ms = std::clamp<std::int64_t>(nodes, 250, 5000);
  return {ms / 1000, ms % 1000 * 1'000'000};
}

// What others of the job reach this node by: its name, in numbers.
Result<std::string> address_of(const std::string& node) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int wrong = ::getaddrinfo(node.c_str(), nullptr, &hints, &found);
  std::string address;
  for (const addrinfo* one = found; one != nullptr && address.empty(); one = one->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, one->ai_addr, one->ai_addrlen);
    address = address_text(storage);
  }
  if (found != nullptr) ::freeaddrinfo(found);
  if (!address.empty()) return address;
  return fail(Error(ErrorCode::not_found, fmt::format("the address of {} is not known", node))
                  .because(wrong != 0 ? ::gai_strerror(wrong) : "")
                  .remedied_by("name it: --address 10.0.0.1"));
}

// By SLURM_TOPOLOGY_ADDR, "s0.s4.n7": the switch; else the node for itself.
std::string domain_of(const std::string& node) {
  const std::string topology = environment("SLURM_TOPOLOGY_ADDR");
  const std::size_t dot = topology.rfind('.');
  return dot == std::string::npos ? node : topology.substr(0, dot);
}

KeepPlace place_of_keeper(const Keeper& keeper, const std::string& secret) {
  return {keeper.address, static_cast<std::uint16_t>(keeper.port), secret};
}

std::vector<GroupMember> members_of(const std::vector<Keeper>& keepers, const std::string& secret) {
  std::vector<GroupMember> members;
  for (const Keeper& one : keepers) members.push_back({one.node, place_of_keeper(one, secret)});
  return members;
}

class Keeping {
 public:
  /// `parity`: members of a group; 0: copies are kept.
  Keeping(const Place& place, const Series& series, Keeper own, std::string secret, std::size_t parity)
      : place_(place), series_(series), own_(std::move(own)), secret_(std::move(secret)), parity_(parity) {}

  // What is new on the node whose packs this one has.
  void look() {
    const auto noted = series_.noted.list();
    if (!noted || noted->empty() || !noted->back().control) return;
    const Control& control = *noted->back().control;
    const auto now = std::chrono::steady_clock::now();
    if (control.number == done_ || (control.number == failed_ && now < again_)) return;
    if (const auto had = have(control); !had) {
      if (had.error().line() != told_) tell_notes({had.error().line()});
      told_ = had.error().line();
      failed_ = control.number;
      again_ = std::chrono::steady_clock::now() + kAgain;
      return;
    }
    done_ = control.number;
  }

 private:
  Status have(const Control& control) {
    std::set<std::string> nodes;
    for (const Image& image : control.images) nodes.insert(image.node);
    if (parity_ > 0) return have_parity(control, nodes);
    const std::string node = kept_for(series_, own_, nodes);
    for (const Keeper& one : keepers(series_))
      if (one.node == node)
        if (auto copied = copy(control, one); !copied) return copied;
    return node.empty() ? Status() : note_kept(series_, node, own_.node, control.number);
  }

  Status have_parity(const Control& control, const std::set<std::string>& nodes) {
    const auto keepers = parity_group(series_, own_, nodes, parity_);
    if (!keepers) return tl::unexpected<Error>(keepers.error());
    if (keepers->empty()) return {};
    const auto own = std::ranges::find(*keepers, own_.node, &Keeper::node);
    const auto folder =
        folder_in_fast(*place_.files, *place_.fast, series_.store.folder(), place_.me, kParityFolder);
    if (!folder) return tl::unexpected<Error>(folder.error());
    const auto fast = store_of(place_.me.rank);
    if (!fast) return tl::unexpected<Error>(fast.error());
    auto made = keep_group_parity(*place_.files, *folder, control, members_of(*keepers, secret_),
                                  static_cast<std::size_t>(own - keepers->begin()), fast->most);
    if (!made) return tl::unexpected<Error>(std::move(made.error()));
    // (The one before may be gone back to, too.)
    std::set<std::int64_t> needed = *made;
    needed.insert(before_.begin(), before_.end());
    drop_parity(*place_.files, *folder, needed);
    before_ = std::move(*made);
    return note_group(series_, own_.node, *keepers, control.number);
  }

  Status copy(const Control& control, const Keeper& from) {
    for (const Image& image : control.images) {
      if (image.node != from.node) continue;
      auto fast = store_of(image.rank);
      if (!fast) return tl::unexpected<Error>(std::move(fast.error()));
      const std::uint64_t used = bytes_kept(control, from.node);
      auto got = fetch_image(*place_.files, fast->store, control.number, image,
                             fast->most - std::min(fast->most, used),
                             from_keeper(*place_.files, place_of_keeper(from, secret_)));
      // (One that had no room in its fast place is on shared storage.)
      if (!got && got.error().code == ErrorCode::not_found) continue;
      if (!got) return tl::unexpected<Error>(std::move(got.error()));
      if (auto told = note_here(control, image, *fast); !told) return told;
    }
    return {};
  }

  // As a process notes its own (take.cc), and older ones go.  Not where a process of this rank lives here
  // now: then the place is its own.
  Status note_here(const Control& control, const Image& image, Fast& fast) {
    const auto unused = place_.files->lock(fast.store.folder() + "/" + kFastUse);
    if (!unused) return {};
    if (auto gone = drop_from(*place_.files, fast.store, control.number + 1); !gone) return gone;
    if (auto told = note_in_fast(fast.store, place_.me, control.number, control.at, image); !told)
      return told;
    std::vector<std::string> notes;
    end_old(*place_.files, fast.store, {.count = kKeptFast, .age = {}, .bytes = {}}, control.at, notes);
    return {};
  }

  // The store of a process here; its bound is that of the whole place: what is kept for others is bounded for
  // itself.
  Result<Fast> store_of(std::int64_t rank) const {
    Participant as = place_.me;
    as.rank = rank;
    as.ranks = as.nodes = 1;
    return open_fast(*place_.files, *place_.fast, series_.store.folder(), as, false);
  }

  std::uint64_t bytes_kept(const Control& control, const std::string& node) const {
    std::uint64_t bytes = 0;
    for (const Image& image : control.images) {
      if (image.node != node) continue;
      const auto folder = fast_store(*place_.fast, series_.store.folder(), place_.me, image.rank);
      if (!folder || !std::filesystem::exists(*folder)) continue;
      if (const auto store = checkpoint::Store::open(*place_.files, *folder))
        bytes += checkpoint::bytes_in(*place_.files, *store).value_or(0);
    }
    return bytes;
  }

  const Place& place_;
  const Series& series_;
  Keeper own_;
  std::string secret_, told_;
  std::size_t parity_;
  std::set<std::int64_t> before_;  ///< numbers whose parity the last checkpoint needed
  std::int64_t done_ = 0, failed_ = 0;
  std::chrono::steady_clock::time_point again_{};
};

Result<Series> series_with_fast(const Options& o, const Place& place) {
  if (!place.fast)
    return fail(Error(ErrorCode::usage, "no fast place is named")
                    .remedied_by("set SICKBAY_CHECKPOINT_FAST, or give --fast /dev/shm/NAME:8G"));
  auto series = Series::open(*place.files, place.root, place.me.job, o.name);
  if (!series) return series;
  if (auto fast = series->use_fast(*place.fast, place.me, false); !fast)
    return tl::unexpected<Error>(std::move(fast.error()));
  return series;
}

// First the one that is said to have it, then any other; where it was is most likely gone, and who is gone
// costs the patience.
std::vector<Keeper> who_to_ask(const Series& series, std::vector<Keeper> all, const Image& image) {
  constexpr std::size_t kMostAsked = 8;
  const std::string by = kept_by(series, image.node);
  std::ranges::stable_sort(all, {}, [&](const Keeper& one) {
    return one.node == by ? 0 : one.node == image.node ? 2 : 1;
  });
  if (all.size() > kMostAsked) all.resize(kMostAsked);
  return all;
}

}  // namespace

Result<int> keep_command(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  auto series = series_with_fast(o, *place);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  const auto folder = keep_folder(*series);
  if (!folder) return tl::unexpected<Error>(folder.error());
  auto secret = keep_secret(*series, true);
  if (!secret) return tl::unexpected<Error>(std::move(secret.error()));
  const auto address = o.address.empty() ? address_of(place->me.node) : Result<std::string>(o.address);
  if (!address) return tl::unexpected<Error>(address.error());
  auto socket = listen_on_tcp(*address, 0);
  if (!socket) return tl::unexpected<Error>(std::move(socket.error()));
  const Keeper own{place->me.node,         domain_of(place->me.node), *address,
                   port_of(socket->get()), place->me.in_job,          place->me.restart};
  if (::nice(kFlushNiceness) == -1) tell_notes({"the keeper cannot be made less urgent than the program"});

  // (Before any thread: all of them leave these to the wait below.)
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, signal);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const KeepServer server{std::move(*socket), *secret,
                          std::filesystem::path(series->fast->store.folder()).parent_path().string()};
  const std::jthread serving([&](const std::stop_token& stop) { serve_packs(server, stop); });
  if (auto told = announce(*series, own); !told) return tl::unexpected<Error>(std::move(told.error()));
  Keeping keeping(*place, *series, own, *secret, static_cast<std::size_t>(o.parity));
  const timespec pause = pause_of(place->me.nodes);
  do keeping.look();
  while (::sigtimedwait(&ends, nullptr, &pause) < 0);
  retract(*series, own.node);
  return 0;
}

Result<int> fetch_command(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  auto series = series_with_fast(o, *place);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  const auto secret = keep_secret(*series, false);
  if (!secret) return tl::unexpected<Error>(secret.error());
  const auto control = find_control(*series, o.number);
  if (!control) return tl::unexpected<Error>(control.error());
  const auto image =
      std::ranges::find_if(control->images, [&](const Image& one) { return one.rank == place->me.rank; });
  if (image == control->images.end())
    return fail(ErrorCode::not_found,
                fmt::format("checkpoint {} has no image of rank {}", o.number, place->me.rank));
  std::vector<Keeper> all = keepers(*series);
  // A keeper is a step of this job, so there is none where the job is not any more (a node that died).
  const auto nodes = expand_hostlist(environment("SLURM_JOB_NODELIST"), kMostNodes);
  if (nodes && !nodes->empty())
    std::erase_if(all,
                  [&](const Keeper& one) { return std::ranges::find(*nodes, one.node) == nodes->end(); });
  Error last(ErrorCode::not_found,
             fmt::format("no keeper has checkpoint {} of rank {}", o.number, image->rank));
  const auto fetched = [&](const std::string& from, const BringPack& bring) {
    const auto used = checkpoint::bytes_in(*place->files, series->fast->store);
    const std::uint64_t most = series->fast->most;
    const auto got = fetch_image(*place->files, series->fast->store, o.number, *image,
                                 most - std::min(most, used.value_or(0)), bring);
    if (!got) last = Error(last).because(fmt::format("{}: {}", from, got.error().line()));
    return got.has_value();
  };
  for (const Keeper& one : who_to_ask(*series, all, *image))
    if (fetched(one.node, from_keeper(*place->files, place_of_keeper(one, *secret)))) return 0;
  const std::vector<std::string> group = group_of(*series, image->node);
  std::vector<Keeper> others;
  for (const Keeper& one : all)
    if (one.node != image->node && std::ranges::find(group, one.node) != group.end()) others.push_back(one);
  if (!others.empty() && others.size() + 1 == group.size() &&
      fetched("its group", from_group(*place->files, members_of(others, *secret), image->node)))
    return 0;
  return fail(std::move(last));
}

}  // namespace sickbay::ckpt
