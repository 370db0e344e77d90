// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <optional>

#include "apps/ckpt/keep_net.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Digest;

constexpr std::size_t kBlock = 1 << 20;

// What the name of a base must be: a pack of the same process.
std::optional<WantedPack> wanted_base(const checkpoint::Base& base, std::int64_t rank) {
  const auto number = checkpoint::number_of(base.name);
  if (!number || base.name != checkpoint::pack_name(*number, rank)) return std::nullopt;
  return WantedPack{*number, rank, base.digest};
}

Result<std::uint64_t> fetch_pack(checkpoint::Files& files, const WantedPack& wanted, const std::string& path,
                                 std::uint64_t most, const KeepPlace& from) {
  auto reply = ask_keeper(
      from, {.number = wanted.number, .rank = wanted.rank, .sha256 = checkpoint::hex(wanted.digest)});
  if (!reply) return tl::unexpected<Error>(std::move(reply.error()));
  if (reply->size > most) return fail(ErrorCode::storage_full, fmt::format("there is no room for {}", path));
  const auto all = [&]() -> Status {
    auto out = files.create(path + ".new", 0600);
    if (!out) return tl::unexpected<Error>(std::move(out.error()));
    std::string block(kBlock, '\0');
    for (std::uint64_t left = reply->size; left > 0;) {
      const auto got =
          reply->stream.receive(std::span(block).first(std::min<std::uint64_t>(left, block.size())));
      if (!got) return tl::unexpected<Error>(got.error());
      if (auto wrote = (*out)->append(std::string_view(block).substr(0, *got)); !wrote) return wrote;
      left -= *got;
    }
    if (auto synced = (*out)->sync(); !synced) return synced;
    return files.rename(path + ".new", path);
  };
  if (auto done = all(); !done) {
    (void)files.remove(path + ".new");
    return tl::unexpected<Error>(std::move(done.error()));
  }
  return reply->size;
}

}  // namespace

BringPack from_keeper(checkpoint::Files& files, KeepPlace place) {
  return [&files, place = std::move(place)](const WantedPack& wanted, const std::string& path,
                                            std::uint64_t most) {
    return fetch_pack(files, wanted, path, most, place);
  };
}

Result<std::uint64_t> fetch_image(checkpoint::Files& files, const checkpoint::Store& store,
                                  std::int64_t number, const checkpoint::Image& image, std::uint64_t room,
                                  const BringPack& bring_pack) {
  std::vector<std::string> came;
  std::uint64_t bytes = 0;
  const auto bring = [&](const WantedPack& wanted) -> Status {
    const std::string name = checkpoint::pack_name(wanted.number, wanted.rank);
    const auto there = checkpoint::PackReader::open(files, store.folder(), name);
    if (there && there->digest() == wanted.digest) return {};
    const auto got = bring_pack(wanted, store.folder() + "/" + name, room - bytes);
    if (!got) return tl::unexpected<Error>(got.error());
    came.push_back(name);
    bytes += *got;
    const auto pack = checkpoint::PackReader::open(files, store.folder(), name);
    if (!pack) return tl::unexpected<Error>(pack.error());
    if (pack->digest() == wanted.digest) return {};
    return fail(checkpoint::damaged(fmt::format("the pack {} is another one", name)));
  };
  const auto all = [&]() -> Status {
    if (auto got = bring({number, image.rank, image.digest}); !got) return got;
    const auto pack = checkpoint::PackReader::open(files, store.folder(), image.pack);
    if (!pack) return tl::unexpected<Error>(pack.error());
    if (pack->index().bases.size() > checkpoint::kMostBases)
      return fail(checkpoint::damaged("it stands on too many packs"));
    for (const checkpoint::Base& base : pack->index().bases) {
      const auto wanted = wanted_base(base, image.rank);
      if (!wanted) return fail(checkpoint::damaged("it stands on a pack of another process"));
      if (auto got = bring(*wanted); !got) return got;
    }
    std::map<std::string, Digest> sure;
    if (auto whole = store.verify_pack(image, sure); !whole) return whole;
    return files.sync_folder(store.folder());
  };
  if (auto done = all(); !done) {
    for (const std::string& name : came) (void)files.remove(store.folder() + "/" + name);
    return tl::unexpected<Error>(std::move(done.error()));
  }
  return bytes;
}

}  // namespace sickbay::ckpt
