// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/digest/sha256.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/pack.h"

namespace sickbay::checkpoint {
namespace {

constexpr int kParityVersion = 1;
// Read and summed at a time. Two blocks are all the memory that parity needs, however large the members are.
constexpr std::size_t kBlock = 1 << 20;
constexpr std::size_t kMostParityHead = 16 << 20;
constexpr std::size_t kMostMembers = 1024;

void xor_into(std::span<char> sum, std::span<const char> more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<char>(sum[i] ^ more[i]);
}

// Where the segment of `owner` for `keeper` begins.
// A member has no segment for itself, so the keepers behind it move up by one.
std::uint64_t place_of(std::size_t owner, std::size_t keeper, std::uint64_t segment) {
  return segment * (keeper < owner ? keeper : keeper - 1);
}

// The XOR of `parity` (may be none) and of the segments for `keeper` of all but `keeper` and `without`, of
// its bytes from `begin` to `end`.
Status sum_up(std::size_t keeper, std::size_t without, ByteSource* parity, std::span<ByteSource* const> bytes,
              std::uint64_t segment, std::uint64_t begin, std::uint64_t end, const ByteSink& to) {
  std::vector<char> sum(kBlock), more(kBlock);
  for (std::uint64_t at = begin; at < end; at += kBlock) {
    const std::size_t now = std::min<std::uint64_t>(kBlock, end - at);
    const std::span<char> total = std::span(sum).first(now), next = std::span(more).first(now);
    std::fill(total.begin(), total.end(), '\0');
    if (parity)
      if (auto read = parity->read(at, total); !read) return read;
    for (std::size_t owner = 0; owner < bytes.size(); ++owner) {
      const std::uint64_t from = place_of(owner, keeper, segment) + at;
      // Zeros follow a shorter member: they change no XOR, so they are not read.
      if (owner == keeper || owner == without || from >= bytes[owner]->size()) continue;
      if (auto read = bytes[owner]->read(from, next); !read) return read;
      xor_into(total, next);
    }
    if (auto taken = to({total.data(), total.size()}); !taken) return taken;
  }
  return {};
}

class JoinedFiles : public JoinedBytes {
 public:
  void add(std::unique_ptr<InFile> file, std::uint64_t size) {
    files_.push_back(std::move(file));
    add_part(size);
  }

 private:
  Status read_part(std::size_t part, std::uint64_t offset, std::span<char> out) override {
    const auto got = files_[part]->read_at(offset, out);
    if (!got) return tl::unexpected<Error>(got.error());
    return *got == out.size() ? Status() : fail(damaged("a file of a group has become shorter"));
  }

  std::vector<std::unique_ptr<InFile>> files_;
};

Json to_json(const ParityHead& head) {
  Json members = Json::array();
  for (const ParityMember& member : head.members) {
    Json files = Json::array();
    for (const ParityFile& file : member.files)
      files.push(Json::object({{"name", file.name}, {"size", file.size}, {"sha256", hex(file.digest)}}));
    members.push(Json::object({{"node", member.node}, {"files", std::move(files)}}));
  }
  return Json::object({{"sickbay_parity", kParityVersion},
                       {"number", head.number},
                       {"self", head.self},
                       {"xor_sha256", hex(head.digest)},
                       {"members", std::move(members)}});
}

std::string wrong_in(const ParityHead& head) {
  if (head.number < 1) return "it names no checkpoint";
  if (head.members.size() < 2 || head.members.size() > kMostMembers) return "it has no group";
  if (head.self >= head.members.size()) return "it is of no member";
  // 2^50 bytes are more than a node has; sums of sizes below cannot overflow then.
  for (const ParityMember& member : head.members) {
    std::uint64_t size = 0;
    for (const ParityFile& file : member.files) {
      if (!is_plain_name(file.name))
        return fmt::format("{} is not the name of a pack", quote_for_message(file.name));
      if (file.size > (std::uint64_t{1} << 50)) return "a file of it is too large";
      size += file.size;
    }
    if (size > (std::uint64_t{1} << 50)) return "a member of it is too large";
  }
  return "";
}

Result<Digest> digest_of_file(InFile& file, std::uint64_t size) {
  Sha256 sum;
  std::string block(kBlock, '\0');
  for (std::uint64_t at = 0; at < size;) {
    const auto got = file.read_at(at, block);
    if (!got) return tl::unexpected<Error>(got.error());
    if (*got == 0) break;
    sum.add(std::string_view(block).substr(0, *got));
    at += *got;
  }
  return *parse_digest(sum.hex());
}

}  // namespace

void JoinedBytes::add_part(std::uint64_t size) {
  size_ += size;
  ends_.push_back(size_);
}

Status JoinedBytes::read(std::uint64_t offset, std::span<char> out) {
  std::uint64_t begin = 0;
  // A reading may go over the end of one part into the next.
  for (std::size_t part = 0; part < ends_.size() && !out.empty(); begin = ends_[part++]) {
    if (offset >= ends_[part]) continue;
    const auto here = out.first(std::min<std::uint64_t>(out.size(), ends_[part] - offset));
    if (auto got = read_part(part, offset - begin, here); !got) return got;
    out = out.subspan(here.size());
    offset += here.size();
  }
  std::fill(out.begin(), out.end(), '\0');
  return {};
}

std::uint64_t segment_bytes(std::uint64_t longest, std::size_t members) {
  SB_CHECK(members >= 2, "a group has two members");
  // Rounded up: the last segment of the longest member may be shorter than the others, never longer.
  return (longest + members - 2) / (members - 1);
}

Status make_parity(std::size_t member, std::span<ByteSource* const> bytes, std::uint64_t segment,
                   const ByteSink& to) {
  // (Nothing is lost here: "without" is the keeper itself, which is left out anyway.)
  return sum_up(member, member, nullptr, bytes, segment, 0, segment, to);
}

Status rebuild(std::size_t lost, std::uint64_t from, std::uint64_t size, std::span<ByteSource* const> bytes,
               std::span<ByteSource* const> parities, std::uint64_t segment, const ByteSink& to) {
  // The lost member's segments in the order of their keepers are its bytes in their order. `from` counts
  // within the segment at hand: what lies before it is passed over, and from the second one on it is 0.
  for (std::size_t keeper = 0; keeper < bytes.size() && size > 0; ++keeper) {
    if (keeper == lost) continue;
    const std::uint64_t begin = std::min(from, segment), end = begin + std::min(segment - begin, size);
    if (auto done = sum_up(keeper, lost, parities[keeper], bytes, segment, begin, end, to); !done)
      return done;
    from -= begin;
    size -= end - begin;
  }
  return size == 0 ? Status() : fail(damaged("a lost member was larger than its group says"));
}

std::uint64_t ParityMember::size() const {
  std::uint64_t size = 0;
  for (const ParityFile& file : files) size += file.size;
  return size;
}

std::uint64_t ParityHead::segment() const {
  std::uint64_t longest = 0;
  for (const ParityMember& member : members) longest = std::max(longest, member.size());
  return segment_bytes(longest, members.size());
}

std::string parity_name(std::int64_t number) { return fmt::format("c{}.xor", number); }
std::string parity_head_name(std::int64_t number) { return fmt::format("c{}.xor.json", number); }

std::string format_parity_head(const ParityHead& head) {
  Json json = to_json(head);
  const std::string digest = sha256_hex(json.dump());
  return json.set("sha256", digest).dump() + "\n";
}

Result<ParityHead> parse_parity_head(std::string_view text) {
  const auto wrong = [](std::string_view why) {
    return fail(damaged(fmt::format("the head of a parity file is damaged: {}", why)));
  };
  if (text.size() > kMostParityHead) return wrong("it is too long");
  const auto json = Json::parse(text);
  if (!json) return wrong("it is no JSON");
  if ((*json)["sickbay_parity"].as_int() > kParityVersion)
    return fail(ErrorCode::too_new, "a parity file was written by a newer version");
  ParityHead head;
  head.number = (*json)["number"].as_int();
  head.self = static_cast<std::size_t>((*json)["self"].as_int());
  head.digest = parse_digest((*json)["xor_sha256"].as_string()).value_or(Digest{});
  for (const Json& item : (*json)["members"].items()) {
    ParityMember& member = head.members.emplace_back();
    member.node = item["node"].as_string();
    for (const Json& file : item["files"].items())
      member.files.push_back({file["name"].as_string(), static_cast<std::uint64_t>(file["size"].as_int()),
                              parse_digest(file["sha256"].as_string()).value_or(Digest{})});
  }
  // As for control files: what was read must print the same, its digest among it. So no field needs a check
  // of its own for a flipped bit, and members that nobody knows are refused.
  if (format_parity_head(head) != text) return wrong("it is not what Sickbay wrote");
  if (const std::string what = wrong_in(head); !what.empty()) return wrong(what);
  return head;
}

Result<std::unique_ptr<ByteSource>> open_member(Files& files, const std::string& folder,
                                                const ParityMember& member) {
  auto joined = std::make_unique<JoinedFiles>();
  for (const ParityFile& file : member.files) {
    auto in = files.open(folder + "/" + file.name);
    if (!in) return tl::unexpected<Error>(std::move(in.error()));
    const auto state = (*in)->state();
    if (!state) return tl::unexpected<Error>(state.error());
    // A file of another size would shift all that stand behind it: the XOR would be of the wrong bytes.
    if (state->size != file.size)
      return fail(damaged(fmt::format("{} has {} bytes and had {}", file.name, state->size, file.size)));
    joined->add(std::move(*in), file.size);
  }
  return joined;
}

Result<ParityMember> describe_member(Files& files, const std::string& folder, std::string node,
                                     std::span<const std::string> names) {
  ParityMember member{std::move(node), {}};
  for (const std::string& name : names) {
    const auto in = files.open(folder + "/" + name);
    if (!in) return tl::unexpected<Error>(in.error());
    const auto state = (*in)->state();
    if (!state) return tl::unexpected<Error>(state.error());
    const auto digest = digest_of_file(**in, state->size);
    if (!digest) return tl::unexpected<Error>(digest.error());
    member.files.push_back({name, state->size, *digest});
  }
  return member;
}

Status keep_parity(Files& files, const std::string& folder, ParityHead& head,
                   std::span<ByteSource* const> bytes) {
  const std::string path = folder + "/" + parity_name(head.number);
  const auto all = [&]() -> Status {
    auto out = files.create(path + ".new", 0600);
    if (!out) return tl::unexpected<Error>(std::move(out.error()));
    Sha256 sum;
    auto made = make_parity(head.self, bytes, head.segment(), [&](std::string_view block) {
      // Summed while it is written: to read gigabytes once more takes as long again.
      sum.add(block);
      return (*out)->append(block);
    });
    if (made) made = (*out)->sync();
    if (!made) return made;
    head.digest = *parse_digest(sum.hex());
    return files.rename(path + ".new", path);
  };
  if (auto done = all(); !done) {
    (void)files.remove(path + ".new");
    return done;
  }
  // The head comes last: without it the parity file is of no meaning after a crash.
  return write_whole(files, folder, parity_head_name(head.number), format_parity_head(head));
}

Result<Digest> rebuild_file(Files& files, const std::string& path, const ParityHead& head, std::size_t lost,
                            std::size_t file, std::span<ByteSource* const> bytes,
                            std::span<ByteSource* const> parities) {
  SB_CHECK(
      lost < head.members.size() && bytes.size() == head.members.size() && parities.size() == bytes.size(),
      "of this group");
  const std::vector<ParityFile>& all = head.members[lost].files;
  SB_CHECK(file < all.size(), "of this member");
  std::uint64_t from = 0;
  for (std::size_t i = 0; i < file; ++i) from += all[i].size;
  Sha256 sum;
  const auto make = [&]() -> Status {
    auto out = files.create(path, 0600);
    if (!out) return tl::unexpected<Error>(std::move(out.error()));
    auto done =
        rebuild(lost, from, all[file].size, bytes, parities, head.segment(), [&](std::string_view block) {
          sum.add(block);
          return (*out)->append(block);
        });
    return done ? (*out)->sync() : done;
  };
  if (auto made = make(); !made) {
    (void)files.remove(path);
    return tl::unexpected<Error>(std::move(made.error()));
  }
  return *parse_digest(sum.hex());
}

Status rebuild_member(Files& files, const std::string& folder, const ParityHead& head, std::size_t lost,
                      std::span<ByteSource* const> bytes, std::span<ByteSource* const> parities) {
  const std::vector<ParityFile>& all = head.members[lost].files;
  std::vector<std::string> made;  ///< whose .new is whole
  Status done;
  for (std::size_t i = 0; i < all.size() && done; ++i) {
    const std::string path = folder + "/" + all[i].name;
    const auto digest = rebuild_file(files, path + ".new", head, lost, i, bytes, parities);
    if (!digest) {
      done = tl::unexpected<Error>(digest.error());
      break;
    }
    made.push_back(path);
    if (*digest != all[i].digest)
      done = fail(damaged(fmt::format("{} cannot be rebuilt: what the group gave is damaged", all[i].name)));
  }
  // Names only when every file was made and is right: half of a member would look like a member.
  for (const std::string& path : made)
    if (done) done = files.rename(path + ".new", path);
  if (!done) {
    for (const std::string& path : made) (void)files.remove(path + ".new");
    return done;
  }
  return files.sync_folder(folder);
}

}  // namespace sickbay::checkpoint
