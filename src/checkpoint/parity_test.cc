// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parity.h"

#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/checkpoint_test_parts.h"
#include "checkpoint/fault_files_test_parts.h"

namespace sickbay::checkpoint {
namespace {

class Memory : public ByteSource {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::span<char> out) override {
    std::fill(out.begin(), out.end(), '\0');
    if (offset < bytes_.size())
      std::memcpy(out.data(), bytes_.data() + offset,
                  std::min<std::size_t>(out.size(), bytes_.size() - offset));
    return {};
  }

 private:
  std::string bytes_;
};

// A group of members with these sizes.
struct Group {
  std::vector<std::string> content;
  std::vector<std::unique_ptr<Memory>> bytes, parities;
  std::vector<ByteSource*> byte_sources, parity_sources;
  std::uint64_t segment = 0;

  explicit Group(const std::vector<std::size_t>& sizes) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      content.push_back(test::noise(sizes[i], static_cast<unsigned>(i)));
      bytes.push_back(std::make_unique<Memory>(content.back()));
      byte_sources.push_back(bytes.back().get());
      longest = std::max(longest, sizes[i]);
    }
    segment = segment_bytes(longest, sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::string parity;
      auto sources = byte_sources;
      sources[i] = nullptr;  // its own are not asked for
      EXPECT_TRUE(make_parity(i, sources, segment, append_to(parity)));
      EXPECT_EQ(parity.size(), segment);
      parities.push_back(std::make_unique<Memory>(parity));
      parity_sources.push_back(parities.back().get());
    }
  }
  static ByteSink append_to(std::string& text) {
    return [&text](std::string_view block) {
      text += block;
      return Status();
    };
  }
};

TEST(Parity, GivesBackAnyOneMember) {
  for (const std::vector<std::size_t>& sizes :
       std::vector<std::vector<std::size_t>>{{10, 10},
                                             {7, 3},
                                             {0, 5},
                                             {0, 0, 0},
                                             {10, 11, 12},
                                             {1, 1'000, 17, 999},
                                             {3'000'000, 2'999'999, 1, 2'500'000},
                                             {100, 101, 102, 103, 104, 105, 106, 107}}) {
    const Group group(sizes);
    for (std::size_t lost = 0; lost < sizes.size(); ++lost) {
      auto bytes = group.byte_sources, parities = group.parity_sources;
      bytes[lost] = parities[lost] = nullptr;
      std::string again;
      ASSERT_TRUE(rebuild(lost, 0, sizes[lost], bytes, parities, group.segment, Group::append_to(again)));
      EXPECT_TRUE(again == group.content[lost]) << sizes.size() << " members, lost " << lost;
      // And any part of it: one file of several.
      const std::uint64_t size = sizes[lost];
      for (const auto& [from, to] : {std::pair(size / 3, size / 2), std::pair(size / 2, size),
                                     std::pair(size / 5, size), std::pair(size, size)}) {
        again.clear();
        ASSERT_TRUE(rebuild(lost, from, to - from, bytes, parities, group.segment, Group::append_to(again)));
        EXPECT_TRUE(again == group.content[lost].substr(from, to - from))
            << sizes.size() << " members, lost " << lost << ", " << from << " to " << to;
      }
      EXPECT_FALSE(rebuild(lost, 0, (sizes.size() - 1) * group.segment + 1, bytes, parities, group.segment,
                           Group::append_to(again)));
    }
  }
}

TEST(Parity, CostsAPartOfTheLongestMember) {
  EXPECT_EQ(segment_bytes(700, 8), 100U);
  EXPECT_EQ(segment_bytes(701, 8), 101U);
  EXPECT_EQ(segment_bytes(0, 8), 0U);
  EXPECT_EQ(segment_bytes(700, 2), 700U);
}

TEST(ParityHead, IsReadAsItWasWrittenAndRefusedWhateverIsChanged) {
  ParityHead head;
  head.number = 12;
  head.members = {{"n1", {{"c12.r0.pack", 10, digest_of("a")}, {"c11.r0.pack", 5, digest_of("b")}}},
                  {"n2", {}}};
  head.self = 1;
  const std::string text = format_parity_head(head);
  EXPECT_EQ(parse_parity_head(text).value(), head);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ (1 << at % 8));
    EXPECT_FALSE(parse_parity_head(other)) << at;
  }
  const auto refused = [&](auto change) {
    ParityHead other = head;
    change(other);
    return !parse_parity_head(format_parity_head(other));
  };
  EXPECT_TRUE(refused([](ParityHead& h) { h.self = 2; }));
  EXPECT_TRUE(refused([](ParityHead& h) { h.members.pop_back(); }));
  EXPECT_TRUE(refused([](ParityHead& h) { h.number = 0; }));
  EXPECT_TRUE(refused([](ParityHead& h) { h.members[0].files[0].name = "../x"; }));
  EXPECT_TRUE(refused([](ParityHead& h) { h.members[0].files[0].size = std::uint64_t{1} << 51; }));
}

// Four nodes with files of their own; what each keeps is made.
class Nodes {
 public:
  static constexpr std::size_t kCount = 4;
  test::FaultFiles files;
  ParityHead heads[kCount];

  Nodes() {
    std::vector<ParityMember> members;
    for (std::size_t i = 0; i < kCount; ++i) {
      std::vector<std::string> names = {"c2.r" + std::to_string(i) + ".pack",
                                        "c1.r" + std::to_string(i) + ".pack"};
      files.put(folder(i) + "/" + names[0], test::noise(1000 * (i + 1), static_cast<unsigned>(i)));
      files.put(folder(i) + "/" + names[1], i == 2 ? "" : test::noise(777, static_cast<unsigned>(10 + i)));
      members.push_back(describe_member(files, folder(i), "n" + std::to_string(i), names).value());
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      heads[i] = {2, members, i, {}};
      EXPECT_TRUE(keep_parity(files, folder(i), heads[i], sources(i)));
    }
  }
  static std::string folder(std::size_t i) { return "n" + std::to_string(i); }

  // The members' bytes but for one's.
  std::span<ByteSource* const> sources(std::size_t without) {
    open_.clear();
    pointers_.assign(kCount, nullptr);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (i == without) continue;
      auto source = open_member(files, folder(i),
                                heads[i].members.empty() ? heads[without].members[i] : heads[i].members[i]);
      EXPECT_TRUE(source);
      open_.push_back(std::move(*source));
      pointers_[i] = open_.back().get();
    }
    return pointers_;
  }
  std::vector<std::unique_ptr<ByteSource>> parities(std::size_t without) {
    std::vector<std::unique_ptr<ByteSource>> all(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (i == without) continue;
      const ParityMember parity{"", {{parity_name(2), heads[i].segment(), {}}}};
      all[i] = open_member(files, folder(i), parity).value();
    }
    return all;
  }
  Status rebuild_on_new(std::size_t lost) {
    const auto kept = parities(lost);
    std::vector<ByteSource*> pointers;
    for (const auto& one : kept) pointers.push_back(one.get());
    return rebuild_member(files, "new", heads[(lost + 1) % kCount], lost, sources(lost), pointers);
  }

 private:
  std::vector<std::unique_ptr<ByteSource>> open_;
  std::vector<ByteSource*> pointers_;
};

TEST(ParityFiles, AreRebuiltOnTheReplacement) {
  Nodes nodes;
  for (std::size_t lost = 0; lost < Nodes::kCount; ++lost) {
    const Status done = nodes.rebuild_on_new(lost);
    ASSERT_TRUE(done) << done.error().line();
    const auto all = nodes.files.all();
    for (const ParityFile& file : nodes.heads[lost].members[lost].files)
      EXPECT_TRUE(all.at("new/" + file.name) == all.at(Nodes::folder(lost) + "/" + file.name)) << file.name;
    // Its own parity can be made anew, too, and is what it was.
    ParityHead head = nodes.heads[lost];
    ASSERT_TRUE(keep_parity(nodes.files, "new", head, nodes.sources(lost)));
    EXPECT_EQ(head, nodes.heads[lost]);
  }
}

TEST(ParityFiles, OfADamagedGroupGiveNothing) {
  // At places that n0 needs: of what n1 has for n2, and of n2's parity.
  for (const auto& [damaged, at] :
       {std::pair<std::string, std::size_t>{"n1/c2.r1.pack", 1700}, {"n2/c2.xor", 5}}) {
    Nodes nodes;
    std::string bytes = nodes.files.all().at(damaged);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    nodes.files.put(damaged, bytes);
    const Status done = nodes.rebuild_on_new(0);
    ASSERT_FALSE(done) << damaged;
    EXPECT_EQ(done.error().code, ErrorCode::bad_input);
    for (const auto& [name, content] : nodes.files.all()) EXPECT_NE(name.substr(0, 4), "new/") << name;
  }
}

TEST(ParityFiles, AreWholeOrNotThereAfterACrash) {
  for (int call = 0;; ++call) {
    Nodes nodes;
    const auto right = nodes.files.all();
    nodes.files.dies_at = nodes.files.calls + call;
    const bool done = static_cast<bool>(nodes.rebuild_on_new(3));
    nodes.files.crash(test::Crash::loses_all);
    for (const auto& [name, bytes] : nodes.files.all())
      if (name.starts_with("new/") && !name.ends_with(".new")) {
        EXPECT_TRUE(bytes == right.at("n3/" + name.substr(4))) << call;
      }
    if (done) break;
  }
}

}  // namespace
}  // namespace sickbay::checkpoint
