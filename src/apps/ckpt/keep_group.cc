// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/keep_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/words.h"
#include "checkpoint/parity.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::ByteSource;
using checkpoint::ParityFile;
using checkpoint::ParityHead;
using checkpoint::ParityMember;

constexpr std::size_t kMostNeedsBytes = 16 << 10;

// What a keeper has, part after part.  It is read onwards most of the time, so a connection stays as long as
// that is so.
class RemoteBytes : public checkpoint::JoinedBytes {
 public:
  explicit RemoteBytes(KeepPlace place) : place_(std::move(place)) {}
  void add(KeepRequest request, std::uint64_t size) {
    request.size = size;
    requests_.push_back(std::move(request));
    add_part(size);
  }

 private:
  Status read_part(std::size_t part, std::uint64_t offset, std::span<char> out) override {
    if (!reply_ || part_ != part || at_ != offset) {
      KeepRequest request = requests_[part];
      request.from = offset;
      request.size -= offset;
      const std::uint64_t wanted = request.size;
      auto reply = ask_keeper(place_, std::move(request));
      if (!reply) return tl::unexpected<Error>(std::move(reply.error()));
      if (reply->size != wanted)
        return fail(checkpoint::damaged("a keeper gives more or less than was asked for"));
      reply_.emplace(std::move(*reply));
      part_ = part;
    }
    auto got = reply_->stream.receive_all(out);
    at_ = offset + out.size();
    if (!got) reply_.reset();
    return got;
  }

  KeepPlace place_;
  std::vector<KeepRequest> requests_;
  std::optional<KeepReply> reply_;
  std::size_t part_ = 0;  ///< of the reply
  std::uint64_t at_ = 0;  ///< in that part: what comes next
};

std::optional<std::int64_t> rank_of(std::int64_t number, const std::string& pack) {
  const std::string front = fmt::format("c{}.r", number);
  if (!pack.starts_with(front)) return std::nullopt;
  const auto rank =
      to_integer(std::string_view(pack).substr(front.size(), pack.find('.', front.size()) - front.size()));
  return rank && checkpoint::pack_name(number, *rank) == pack ? rank : std::nullopt;
}

Result<std::unique_ptr<RemoteBytes>> packs_at(const KeepPlace& place, std::int64_t number,
                                              const ParityMember& member) {
  auto source = std::make_unique<RemoteBytes>(place);
  for (const ParityFile& file : member.files) {
    const auto rank = rank_of(number, file.name);
    if (!rank) return fail(checkpoint::damaged("the head of a parity file names what is no pack"));
    source->add(
        {.what = KeepWhat::part, .number = number, .rank = *rank, .sha256 = checkpoint::hex(file.digest)},
        file.size);
  }
  return source;
}

std::unique_ptr<RemoteBytes> parity_at(const KeepPlace& place, const ParityHead& head) {
  auto source = std::make_unique<RemoteBytes>(place);
  source->add({.what = KeepWhat::parity, .number = head.number}, head.segment());
  return source;
}

// The head that a member has of the packs with that number.
Result<ParityHead> head_at(const KeepPlace& place, std::int64_t number) {
  const auto text = ask_text(place, {.what = KeepWhat::head, .number = number}, kMostHeadBytes);
  return text ? checkpoint::parse_parity_head(*text) : tl::unexpected<Error>(text.error());
}

// Does a member have parity of this image's pack?
bool has_parity(const std::vector<GroupMember>& group, const checkpoint::Control& control,
                const checkpoint::Image& image) {
  const auto is_pack = [&](const ParityFile& file) { return file.name == image.pack; };
  return std::ranges::any_of(group, [&](const GroupMember& one) {
    const auto head = head_at(one.place, control.number);
    return head && std::ranges::any_of(head->members, [&](const ParityMember& member) {
             return std::ranges::any_of(member.files, is_pack);
           });
  });
}

// The packs of all members by their numbers: all that the images of a checkpoint stand on.
Result<std::map<std::int64_t, std::vector<ParityMember>>> packs_of(const checkpoint::Control& control,
                                                                   const std::vector<GroupMember>& group) {
  std::map<std::int64_t, std::vector<ParityMember>> all;
  for (std::size_t i = 0; i < group.size(); ++i)
    for (const checkpoint::Image& image : control.images) {
      if (image.node != group[i].node) continue;
      const auto text = ask_text(group[i].place,
                                 {.what = KeepWhat::needs,
                                  .number = control.number,
                                  .rank = image.rank,
                                  .sha256 = checkpoint::hex(image.digest)},
                                 kMostNeedsBytes);
      // (One that had no room in its fast place is on shared storage.  One that was there is lost, and may be
      // made again from the parity that others have.)
      if (!text && text.error().code == ErrorCode::not_found && !has_parity(group, control, image)) continue;
      if (!text) return tl::unexpected<Error>(text.error());
      const auto packs = parse_keep_needs(*text);
      if (!packs) return tl::unexpected<Error>(packs.error());
      for (const KeepPack& pack : *packs) {
        std::vector<ParityMember>& members = all[pack.number];
        if (members.empty())
          for (const GroupMember& one : group) members.push_back({one.node, {}});
        members[i].files.push_back({checkpoint::pack_name(pack.number, image.rank), pack.size,
                                    checkpoint::parse_digest(pack.sha256).value_or(checkpoint::Digest{})});
      }
    }
  return all;
}

std::optional<ParityHead> head_in(checkpoint::Files& files, const std::string& folder, std::int64_t number) {
  const auto text =
      checkpoint::read_whole(files, folder + "/" + checkpoint::parity_head_name(number), kMostHeadBytes);
  auto head = text ? checkpoint::parse_parity_head(*text) : Result<ParityHead>(ParityHead());
  return text && head ? std::optional(std::move(*head)) : std::nullopt;
}

std::set<std::int64_t> numbers_in(checkpoint::Files& files, const std::string& folder) {
  std::set<std::int64_t> numbers;
  const auto names = files.list(folder);
  if (!names) return numbers;
  for (const std::string& name : *names)
    if (const auto number = checkpoint::number_of(name)) numbers.insert(*number);
  return numbers;
}

// Pointers to what is owned elsewhere, as parity.h has them.
std::vector<ByteSource*> pointers(const std::vector<std::unique_ptr<RemoteBytes>>& sources) {
  std::vector<ByteSource*> all;
  for (const auto& one : sources) all.push_back(one.get());
  return all;
}

Status make_one(checkpoint::Files& files, const std::string& folder, ParityHead head,
                const std::vector<GroupMember>& group) {
  std::vector<std::unique_ptr<RemoteBytes>> bytes(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i == head.self) continue;
    auto source = packs_at(group[i].place, head.number, head.members[i]);
    if (!source) return tl::unexpected<Error>(std::move(source.error()));
    bytes[i] = std::move(*source);
  }
  // (The old head must not stand beside a new file.)
  if (auto gone = files.remove(folder + "/" + checkpoint::parity_head_name(head.number)); !gone) return gone;
  return checkpoint::keep_parity(files, folder, head, pointers(bytes));
}

// The heads that all others have of one number: they must be of one group, and of the same packs.
Result<ParityHead> common_head(const std::vector<GroupMember>& others, const std::string& lost,
                               std::int64_t number) {
  std::optional<ParityHead> common;
  for (const GroupMember& one : others) {
    auto head = head_at(one.place, number);
    if (!head) return head;
    if (head->number != number || head->members[head->self].node != one.node ||
        head->members.size() != others.size() + 1 || (common && head->members != common->members))
      return fail(ErrorCode::not_found,
                  fmt::format("the parity of {} for checkpoint {} is of other packs than that of the others",
                              one.node, number));
    common = std::move(*head);
  }
  const auto is_lost = [&](const ParityMember& member) { return member.node == lost; };
  if (!common || std::ranges::none_of(common->members, is_lost))
    return fail(ErrorCode::not_found, fmt::format("{} was in no group", lost));
  return std::move(*common);
}

Result<std::uint64_t> rebuild_pack(checkpoint::Files& files, const std::vector<GroupMember>& others,
                                   const std::string& lost, const WantedPack& wanted, const std::string& path,
                                   std::uint64_t most) {
  const auto head = common_head(others, lost, wanted.number);
  if (!head) return tl::unexpected<Error>(head.error());
  std::vector<std::unique_ptr<RemoteBytes>> bytes, parities;
  std::size_t self = 0;
  for (const ParityMember& member : head->members) {
    const auto other = std::ranges::find(others, member.node, &GroupMember::node);
    if (other == others.end()) {
      self = bytes.size();
      bytes.push_back(nullptr);
      parities.push_back(nullptr);
      continue;
    }
    auto source = packs_at(other->place, wanted.number, member);
    if (!source) return tl::unexpected<Error>(std::move(source.error()));
    bytes.push_back(std::move(*source));
    parities.push_back(parity_at(other->place, *head));
  }
  const std::vector<ParityFile>& had = head->members[self].files;
  const std::string name = checkpoint::pack_name(wanted.number, wanted.rank);
  const auto file = std::ranges::find_if(
      had, [&](const ParityFile& one) { return one.name == name && one.digest == wanted.digest; });
  if (file == had.end())
    return fail(ErrorCode::not_found, fmt::format("the parity of {}'s group is of another {}", lost, name));
  if (file->size > most) return fail(ErrorCode::storage_full, fmt::format("there is no room for {}", path));
  const auto made = checkpoint::rebuild_file(files, path + ".new", *head, self,
                                             static_cast<std::size_t>(file - had.begin()), pointers(bytes),
                                             pointers(parities));
  if (!made) return tl::unexpected<Error>(made.error());
  if (auto named = files.rename(path + ".new", path); !named) return tl::unexpected<Error>(named.error());
  return file->size;
}

}  // namespace

Result<std::set<std::int64_t>> keep_group_parity(checkpoint::Files& files, const std::string& folder,
                                                 const checkpoint::Control& control,
                                                 const std::vector<GroupMember>& group, std::size_t own,
                                                 std::uint64_t most) {
  // What was made stays as it is: a member may have lost its packs since, and then this is what gives them
  // back.
  if (const auto there = head_in(files, folder, control.number))
    if (there->self == own &&
        std::ranges::equal(there->members, group, {}, &ParityMember::node, &GroupMember::node))
      return numbers_in(files, folder);
  const auto packs = packs_of(control, group);
  if (!packs) return tl::unexpected<Error>(packs.error());
  std::set<std::int64_t> numbers;
  std::uint64_t bytes = 0;
  // That of the checkpoint itself last, so that it is there only with all that it stands on.
  for (const auto& [number, members] : *packs) {
    const ParityHead head{number, members, own, {}};
    bytes += head.segment();
    if (bytes > most)
      return fail(Error(ErrorCode::storage_full, "there is no room for the parity of this group")
                      .remedied_by("let the fast place have more bytes, or the group more members"));
    numbers.insert(number);
    const auto there = head_in(files, folder, number);
    if (there && there->members == members && there->self == own) continue;
    if (auto made = make_one(files, folder, head, group); !made) return tl::unexpected<Error>(made.error());
  }
  return numbers;
}

void drop_parity(checkpoint::Files& files, const std::string& folder, const std::set<std::int64_t>& but_of) {
  const auto names = files.list(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    const auto number = checkpoint::number_of(name);
    if (number && !but_of.contains(*number)) (void)files.remove(folder + "/" + name);
  }
}

BringPack from_group(checkpoint::Files& files, std::vector<GroupMember> others, std::string lost) {
  return [&files, others = std::move(others), lost = std::move(lost)](
             const WantedPack& wanted, const std::string& path, std::uint64_t most) {
    return rebuild_pack(files, others, lost, wanted, path, most);
  };
}

}  // namespace sickbay::ckpt
