// SPDX-License-Identifier: Apache-2.0
// What bench/checkpoint/run measures of the store: one act, timed from within.  Prints "SECONDS RAW WRITTEN".
//
//   checkpoint_store save STORE NUMBER BEFORE THREADS FILE...   a process for each file; BEFORE 0: full
//   checkpoint_store restore STORE NUMBER THREADS TARGET
//   checkpoint_store parity FOLDER MEMBERS                      members are FOLDER/0, 1, ... each with a file
//   "data" checkpoint_store rebuild FOLDER MEMBERS LOST                to FOLDER/new; RAW: bytes that were
//   read checkpoint_store noise FILE MIB SEED PERCENT                a file that many percent of which is
//   compressible checkpoint_store change FILE PERCENT KIB SEED               new bytes in PERCENT of it, in
//   pieces of KIB KiB
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "../figure.h"
#include "checkpoint/parity.h"
#include "checkpoint/store.h"

namespace {

using namespace sickbay;
using namespace sickbay::checkpoint;
using bench::require;

template <class T>
T get(Result<T> result) {
  if (!result) std::fprintf(stderr, "%s\n", result.error().line().c_str());
  require(static_cast<bool>(result), "an act of the store failed");
  return std::move(*result);
}
void get(Status result) {
  if (!result) std::fprintf(stderr, "%s\n", result.error().line().c_str());
  require(static_cast<bool>(result), "an act of the store failed");
}

struct Watch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  void print(std::uint64_t raw, std::uint64_t written) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%.4f %llu %llu\n", seconds, static_cast<unsigned long long>(raw),
                static_cast<unsigned long long>(written));
  }
};

void save(Files& files, const std::vector<std::string>& words) {
  auto store = get(Store::open(files, words[0]));
  const std::int64_t number = std::stoll(words[1]), before = std::stoll(words[2]);
  std::vector<ImageSource> images;
  std::vector<std::int64_t> ranks;
  for (std::size_t i = 4; i < words.size(); ++i) {
    ranks.push_back(static_cast<std::int64_t>(i - 4));
    images.push_back({ranks.back(), {{"data" + std::to_string(i - 4), words[i]}}});
  }
  SaveOptions options{.threads = std::stoi(words[3])};
  if (before != 0) options.before = before;
  const Watch watch;
  const Saved saved = get(store.save(number, images, options));
  Control control;
  control.number = number;
  if (before != 0) control.ancestors = {before};
  control.job = 1;
  control.images = saved.images;
  get(store.publish(control, ranks));
  watch.print(saved.raw, saved.written);
}

void restore(Files& files, const std::vector<std::string>& words) {
  auto store = get(Store::open(files, words[0]));
  const Watch watch;
  const Control control = get(store.read_control(std::stoll(words[1])));
  std::vector<std::int64_t> ranks;
  for (const Image& image : control.images) ranks.push_back(image.rank);
  watch.print(get(store.restore(control, ranks, words[3], std::stoi(words[2]))), 0);
}

struct Members {
  std::vector<std::unique_ptr<ByteSource>> open;
  std::vector<ByteSource*> sources;
  Members(Files& files, const std::string& folder, std::size_t count, std::size_t without,
          const ParityHead& head, bool parity) {
    for (std::size_t i = 0; i < count; ++i) {
      const ParityMember member =
          parity ? ParityMember{"", {{parity_name(1), head.segment(), {}}}} : head.members[i];
      open.push_back(i == without ? nullptr
                                  : get(open_member(files, folder + "/" + std::to_string(i), member)));
      sources.push_back(open.back().get());
    }
  }
};

void parity(Files& files, const std::vector<std::string>& words) {
  const std::size_t count = std::stoul(words[1]);
  ParityHead head{1, {}, 0, {}};
  const std::vector<std::string> names = {"data"};
  for (std::size_t i = 0; i < count; ++i)
    head.members.push_back(
        get(describe_member(files, words[0] + "/" + std::to_string(i), std::to_string(i), names)));
  const Watch watch;
  for (head.self = 0; head.self < count; ++head.self) {
    const Members members(files, words[0], count, head.self, head, false);
    get(keep_parity(files, words[0] + "/" + std::to_string(head.self), head, members.sources));
  }
  watch.print(count * head.members[0].size(), count * head.segment());
}

void rebuild_one(Files& files, const std::vector<std::string>& words) {
  const std::size_t count = std::stoul(words[1]), lost = std::stoul(words[2]);
  const std::string other = words[0] + "/" + std::to_string((lost + 1) % count);
  const ParityHead head =
      get(parse_parity_head(get(read_whole(files, other + "/" + parity_head_name(1), 1 << 20))));
  get(files.make_folder(words[0] + "/new"));
  const Watch watch;
  const Members members(files, words[0], count, lost, head, false),
      kept(files, words[0], count, lost, head, true);
  get(rebuild_member(files, words[0] + "/new", head, lost, members.sources, kept.sources));
  watch.print((count - 1) * head.members[lost].size(), head.members[lost].size());
}

std::string noise(std::size_t size, std::mt19937_64& random) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t number = random();
    for (std::size_t k = 0; k < 8; ++k) bytes[i + k] = static_cast<char>(number >> (8 * k));
  }
  return bytes;
}

void make_noise(const std::vector<std::string>& words) {
  std::mt19937_64 random(std::stoul(words[2]));
  std::ofstream file(words[0], std::ios::binary | std::ios::trunc);
  const int mib = std::stoi(words[1]), percent = std::stoi(words[3]);
  for (int i = 0; i < mib; ++i) {
    std::string block = noise(1 << 20, random);
    if (static_cast<int>(random() % 100) < percent)  // as of floating-point numbers of few digits
      for (std::size_t k = 0; k < block.size(); ++k)
        if (k % 8 != 0) block[k] = static_cast<char>(k % 8 * 31);
    file << block;
  }
  require(file.good(), "a file could be written");
}

void change(const std::vector<std::string>& words) {
  std::fstream file(words[0], std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  const std::uint64_t piece = std::stoull(words[2]) << 10;
  std::mt19937_64 random(std::stoul(words[3]));
  // One piece in each stretch, so that none is met twice.
  const std::uint64_t stretch = piece * 100 / std::stoull(words[1]);
  for (std::uint64_t at = 0; at + stretch <= size; at += stretch) {
    file.seekp(static_cast<std::streamoff>(at + random() % (stretch - piece)));
    file << noise(piece, random);
  }
  require(file.good(), "a file could be changed");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  require(all.size() >= 3, "see the head of this file");
  const std::vector<std::string> words(all.begin() + 1, all.end());
  const auto files = make_posix_files();
  if (all[0] == "save") save(*files, words);
  if (all[0] == "restore") restore(*files, words);
  if (all[0] == "parity") parity(*files, words);
  if (all[0] == "rebuild") rebuild_one(*files, words);
  if (all[0] == "noise") make_noise(words);
  if (all[0] == "change") change(words);
  return 0;
}
