// SPDX-License-Identifier: Apache-2.0
// main() of growth_NAME: how does the time of a fuzz target grow with its input?
//
// A parser that is quadratic answers every input of a corpus at once, and stands for half a minute before the
// one that somebody made for it.  So each seed is made longer: a piece of it (between two of the places where
// formats have their joints) is written again and again in its place, once as it is and once with a running
// number, so that names differ.  A piece is bad where eight times the input takes over 27 times as long, or
// where an input takes seconds.  Times are of this process's processor.
//
//     growth_NAME SECONDS FOLDER...      exit code 1: a piece was bad; it is printed
//
// Pieces are drawn in an order that is the same each time, until SECONDS are over.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

constexpr std::size_t kShortest = 4096, kLongest = std::size_t{1} << 20;
constexpr double kMeasurable = 0.002, kTooLong = 2.0;  // seconds
// Of time, while the input doubles three times: a quadratic parser takes 64 times as long, one that sorts 10
// times.
constexpr std::size_t kDoublings = 3;
constexpr double kMostGrowth = 27;

struct Seed {
  std::string name, text;
};
struct Piece {
  const Seed* seed = nullptr;
  std::size_t begin = 0, end = 0;
  bool numbered = false;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_of(const std::string& input) {
  const double begin = processor_seconds();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  return processor_seconds() - begin;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The piece with `number` in the place of its first digits, or behind its first word.
void add_numbered(std::string& to, std::string_view piece, std::size_t number) {
  auto begin = std::find_if(piece.begin(), piece.end(), is_digit), end = begin;
  if (begin == piece.end()) {
    begin = std::find_if(piece.begin(), piece.end(), is_word);
    begin = end = std::find_if_not(begin, piece.end(), is_word);
  } else {
    end = std::find_if_not(begin, piece.end(), is_digit);
  }
  to.append(piece.begin(), begin);
  to += std::to_string(number);
  to.append(end, piece.end());
}

std::string grown(const Piece& piece, std::size_t size) {
  const std::string_view text = piece.seed->text;
  const std::string_view again = text.substr(piece.begin, piece.end - piece.begin);
  std::string made(text.substr(0, piece.begin));
  for (std::size_t i = 1; made.size() < size; ++i) {
    if (piece.numbered)
      add_numbered(made, again, i);
    else
      made += again;
  }
  return made += text.substr(piece.end);
}

// Where one part of a text ends and the next may begin.
std::vector<std::size_t> joints(std::string_view text) {
  std::vector<std::size_t> found{0};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!is_word(text[i]) || i + 1 == text.size()) {
      if (i > found.back()) found.push_back(i);
      found.push_back(i + 1);
    }
  return found;
}

// Of each seed some hundred pieces, short ones above all: they are what an input can hold most of.
std::vector<Piece> pieces_of(const std::vector<Seed>& seeds) {
  std::vector<Piece> pieces;
  std::mt19937 random(1);
  for (const Seed& seed : seeds) {
    const std::vector<std::size_t> at = joints(seed.text);
    if (at.size() < 2) continue;
    std::set<std::pair<std::size_t, std::size_t>> drawn{{0, seed.text.size()}};
    for (int i = 0; i < 150; ++i) {
      const std::size_t from = random() % (at.size() - 1);
      const std::size_t most = i % 3 == 0 ? 40 : 6;
      const std::size_t to = std::min(from + 1 + random() % most, at.size() - 1);
      drawn.emplace(at[from], at[to]);
    }
    for (const auto& [begin, end] : drawn)
      for (const bool numbered : {false, true}) pieces.push_back({&seed, begin, end, numbered});
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

// The shortest of some runs, for what else the machine does only adds to them.
double best_of(int runs, const std::string& input) {
  double best = seconds_of(input);
  for (int i = 1; i < runs; ++i) best = std::min(best, seconds_of(input));
  return best;
}

// What is bad about it, or "".
std::string judge(const Piece& piece) {
  std::vector<double> took;  // of kShortest, twice that, ...
  for (std::size_t size = kShortest; size <= kLongest; size *= 2) {
    took.push_back(seconds_of(grown(piece, size)));
    if (took.back() > kTooLong) return fmt::format("{} bytes take {:.3f} s", size, took.back());
    if (took.size() <= kDoublings) continue;
    double& before = took[took.size() - 1 - kDoublings];
    if (before < kMeasurable || took.back() < kMostGrowth * before) continue;
    took.back() = best_of(3, grown(piece, size));
    before = best_of(3, grown(piece, size >> kDoublings));
    if (took.back() > kMostGrowth * before)
      return fmt::format("{} bytes take {:.3f} s, {} bytes {:.3f} s", size, took.back(), size >> kDoublings,
                         before);
  }
  return "";
}

// Memory that malloc fetches anew from the kernel costs far more than memory that it has: a linear parser
// would look steep where its buffers first grow over a bound of malloc's.
void fetch_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  std::vector<char> touched(std::size_t{1} << 28, 1);
}

std::vector<Seed> read_seeds(int count, char** folders) {
  std::vector<Seed> seeds;
  for (int i = 0; i < count; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      seeds.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>(in), {}}});
      if (seeds.back().text.size() > kShortest) seeds.back().text.resize(kShortest);
    }
  std::sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

std::string shown(std::string_view piece) {
  std::string text;
  for (const char c : piece.substr(0, 60))
    text +=
        c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS FOLDER...\n", argv[0]);
    return 2;
  }
  fetch_memory();
  const double end = processor_seconds() + std::strtod(argv[1], nullptr);
  const std::vector<Seed> seeds = read_seeds(argc - 2, argv + 2);
  std::size_t looked = 0, bad = 0;
  for (const Piece& piece : pieces_of(seeds)) {
    if (processor_seconds() > end || bad == 5) break;
    ++looked;
    const std::string why = judge(piece);
    if (why.empty()) continue;
    ++bad;
    fmt::print("{}, '{}' again and again{}: {}\n", piece.seed->name,
               shown(std::string_view(piece.seed->text).substr(piece.begin, piece.end - piece.begin)),
               piece.numbered ? " with a running number" : "", why);
    std::fflush(stdout);
  }
  fmt::print("{} pieces of {} seeds, {} bad\n", looked, seeds.size(), bad);
  return bad == 0 && looked > 0 ? 0 : 1;
}
