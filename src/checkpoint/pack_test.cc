// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pack.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_test_parts.h"

namespace sickbay::checkpoint {
namespace {

using test::noise;
using test::read_text;
using test::TemporaryFolder;
using test::write_text;

Chunk chunk_of(const std::string& raw, std::size_t stored) {
  return {digest_of(raw), static_cast<std::uint32_t>(raw.size()), static_cast<std::uint32_t>(stored)};
}

// A pack of one file of three chunks, the second of which is there twice and the third of which was squeezed.
class Packs : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::unique_ptr<Files> files_ = make_posix_files();
  const std::string first_ = noise(700, 1), second_ = noise(900, 2), third_ = std::string(5000, 'c');
  const std::string whole_ = first_ + second_ + second_ + third_;
  Digest digest_{};

  void write_pack() {
    auto writer = PackWriter::create(*files_, folder_.path(), "c1.r0.pack");
    ASSERT_TRUE(writer) << writer.error().line();
    Squeezer squeezer;
    const std::string squeezed(squeezer.squeeze(third_));
    std::vector<ChunkRun> runs;
    ASSERT_TRUE(
        writer->add(std::vector{chunk_of(first_, 700), chunk_of(second_, 900)}, first_ + second_, runs));
    ASSERT_TRUE(writer->add(std::vector{chunk_of(second_, 900), chunk_of(third_, squeezed.size())},
                            second_ + squeezed, runs));
    EXPECT_EQ(runs, (std::vector<ChunkRun>{{0, 0, 2}, {0, 1, 2}}));
    const auto digest = writer->finish({}, {{"out/state", 0640, whole_.size(), runs}});
    ASSERT_TRUE(digest) << digest.error().line();
    digest_ = *digest;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "c1.r0.pack"));
    ASSERT_TRUE(writer->publish());
    EXPECT_FALSE(std::filesystem::exists(folder_ / "c1.r0.pack.new"));
  }

  Result<PackReader> open() { return PackReader::open(*files_, folder_.path(), "c1.r0.pack"); }

  // The content of the one file, or what is wrong with it.
  Result<std::string> content() {
    auto pack = open();
    if (!pack) return tl::unexpected<Error>(pack.error());
    Unsqueezer unsqueezer;
    std::string scratch, raw;
    for (const ChunkRun& run : pack->index().files.at(0).runs) {
      std::size_t size = 0;
      for (std::uint32_t i = 0; i < run.count; ++i) size += pack->index().chunks[run.first + i].raw;
      raw.resize(raw.size() + size);
      const auto read = pack->read(run.first, run.count, std::span(raw).last(size), unsqueezer, scratch);
      if (!read) return tl::unexpected<Error>(read.error());
    }
    return raw;
  }
};

TEST_F(Packs, GiveBackWhatWasPacked) {
  write_pack();
  auto pack = open();
  ASSERT_TRUE(pack) << pack.error().line();
  EXPECT_EQ(pack->digest(), digest_);
  EXPECT_EQ(pack->index().chunks.size(), 3U);
  EXPECT_EQ(pack->index().files.at(0).name, "out/state");
  EXPECT_EQ(pack->index().files.at(0).mode, 0640U);
  EXPECT_EQ(pack->bytes(), std::filesystem::file_size(folder_ / "c1.r0.pack"));
  EXPECT_EQ(content().value(), whole_);
}

TEST_F(Packs, AreRefusedWhereverTheyWereCutOff) {
  write_pack();
  const std::string bytes = read_text(folder_ / "c1.r0.pack");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_text(folder_ / "c1.r0.pack", bytes.substr(0, size));
    const auto pack = open();
    ASSERT_FALSE(pack) << size;
    EXPECT_EQ(pack.error().code, ErrorCode::bad_input);
  }
  write_text(folder_ / "c1.r0.pack", bytes + "x");
  EXPECT_FALSE(open());
}

TEST_F(Packs, GiveNothingWrongWhicheverBitIsFlipped) {
  write_pack();
  const std::string bytes = read_text(folder_ / "c1.r0.pack");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ (1 << at % 8));
    write_text(folder_ / "c1.r0.pack", other);
    // (A bit that zstd does not look at may be another.)
    EXPECT_EQ(content().value_or(whole_) == whole_, true) << at;
  }
}

TEST_F(Packs, SayWhichChunkIsDamaged) {
  write_pack();
  std::string bytes = read_text(folder_ / "c1.r0.pack");
  bytes[kPackHeader + 700 + 5] ^= 1;
  write_text(folder_ / "c1.r0.pack", bytes);
  EXPECT_EQ(content().error().what, "the pack c1.r0.pack is damaged: chunk 1 of 3 (its digest is another)");
}

TEST_F(Packs, OfANewerVersionAreToldApart) {
  write_pack();
  std::string bytes = read_text(folder_ / "c1.r0.pack");
  bytes[8] = 2;
  write_text(folder_ / "c1.r0.pack", bytes);
  EXPECT_EQ(open().error().code, ErrorCode::too_new);
}

TEST(PackIndex, IsReadAsItWasWritten) {
  PackIndex index;
  index.bases = {{"c1.r0.pack", digest_of("a")}, {"c2.r0.pack", digest_of("b")}};
  index.chunks = {{digest_of("x"), 10, 10}, {digest_of("y"), 20, 5}};
  index.files = {
      {"a/b", 0600, 30, {{0, 0, 2}}}, {"c", 0755, 77, {{1, 5, 3}, {2, 0, 1}}}, {"empty", 0, 0, {}}};
  EXPECT_EQ(parse_index(format_index(index)).value(), index);
  EXPECT_EQ(parse_index(format_index({})).value(), PackIndex());

  // Each of these has the right shape and says what cannot be.
  const auto refused = [&](auto change) {
    PackIndex other = index;
    change(other);
    return !parse_index(format_index(other));
  };
  EXPECT_TRUE(refused([](PackIndex& i) { i.bases[0].name = "../c1.r0.pack"; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.bases[1].name = "c1.r0.pack"; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.chunks[0].raw = 0; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.chunks[0].raw = kMostChunk + 1; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.chunks[1].stored = 21; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.chunks[1].stored = 0; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[0].runs[0].count = 3; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[0].runs[0].first = 0xffffffff; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[0].runs[0].count = 0; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[1].runs[0].pack = 3; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[0].size = 31; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[2].size = 1; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[0].name = i.files[1].name; }));
  EXPECT_TRUE(refused([](PackIndex& i) { i.files[0].mode = 04755; }));
  for (const char* name : {"", "/etc/passwd", "..", "a/../b", "a//b", "a/", "./a", "a/."})
    EXPECT_TRUE(refused([&](PackIndex& i) { i.files[0].name = name; })) << name;
}

TEST(PackIndex, MakesNoRoomForWhatIsNotThere) {
  EXPECT_FALSE(parse_index(std::string(4, '\xff')));
  EXPECT_FALSE(parse_index(std::string(8, '\0') + std::string(4, '\xff')));
  EXPECT_FALSE(parse_index(""));
}

}  // namespace
}  // namespace sickbay::checkpoint
