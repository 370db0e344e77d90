// SPDX-License-Identifier: Apache-2.0
// Ranks for the tests of this room: where they stand, in the words of a stack.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/fnv.h"
#include "engine/hang/judge.h"
#include "engine/hang/standing.h"

namespace sickbay::hang {

/// The libraries that tests name in short.
inline std::string module_of(std::string_view name) {
  if (name == "mpi") return "libmpich.so.12";
  if (name == "mpifort") return "libmpichfort.so.12";
  return std::string(name);
}

/// "poll@mpi < PMPI_Recv@mpi < exchange < main": functions of the program itself where no file is named.
inline RankStack stack(std::string_view path, std::uint64_t held = 1) {
  RankStack s;
  s.held = held;
  s.whole = true;
  // A place for each call of each function.
  if (const std::size_t call = path.find("PMPI_"); call != std::string_view::npos)
    s.back = fnv64(path.substr(call));
  while (!path.empty()) {
    const std::size_t end = path.find(" < ");
    const std::string_view one = path.substr(0, end);
    const std::size_t at = one.find('@');
    s.frames.push_back({std::string(one.substr(0, at)),
                        at == std::string_view::npos ? "a.out" : module_of(one.substr(at + 1)),
                        at == std::string_view::npos});
    path = end == std::string_view::npos ? std::string_view() : path.substr(end + 3);
  }
  if (s.frames.back().program) {
    s.frames.push_back({"__libc_start_main", "libc.so.6", false});
    s.frames.push_back({"_start", "a.out", true});
  }
  return s;
}

/// One round of a rank that is to be made.
struct Given {
  std::string path = {};  ///< "": no stack
  std::uint64_t held = 1;
  char state = 'R';
  std::int64_t cpu_us = 500'000;  ///< used up to the next round
  std::int64_t io_bytes = 0;      ///< read or written up to then
  std::string thread = {};        ///< path of another thread that works
  std::int64_t returns = 0;       ///< of its call, up to the next round
  std::string sleeper = {};       ///< path of another thread, in a call of the kernel that ends by itself
};

inline constexpr std::string_view kInRecv = "poll@mpi < PMPI_Recv@mpi < exchange < main";
inline constexpr std::string_view kInAllreduce = "poll@mpi < wait@mpi < PMPI_Allreduce@mpi < solve < main";

inline Rank rank(std::int64_t number, std::int64_t size, const std::vector<Given>& rounds,
                 TimePoint from = from_micros(1'000'000'000)) {
  Rank r;
  r.world = "step 0";
  r.rank = number;
  r.size = size;
  r.pid = 1000 + number;
  std::int64_t cpu = 7'000'000, io = 1000;
  for (const Given& g : rounds) {
    RankRound round;
    round.at = from + Micros(700'000) * static_cast<int>(r.rounds.size());
    round.state = g.state;
    round.cpu_us = cpu;
    round.io_bytes = io;
    cpu += g.cpu_us;
    io += g.io_bytes;
    if (g.path.empty()) round.why = "no";
    for (const std::string& path : {g.path, g.thread})
      if (!path.empty()) {
        round.stacks.push_back(static_cast<std::uint32_t>(r.stacks.size()));
        r.stacks.push_back(stack(path, g.held));
      }
    r.rounds.push_back(std::move(round));
  }
  if (rounds.empty() || rounds.front().path.empty()) return r;
  // As a look that proves: it knows the call from the look before.
  CountedReturn count{r.pid, r.stacks[r.rounds.front().stacks.front()].back,
                      Micros(700'000) * static_cast<int>(rounds.size() - 1), 0, ""};
  for (const Given& g : rounds) count.returns += g.returns;
  if (count.back != 0) r.returns.push_back(std::move(count));
  r.others_seen = true;
  if (const std::string& path = rounds.back().sleeper; !path.empty()) {
    r.others.push_back({r.pid + 5000, "clock_nanosleep", static_cast<std::int64_t>(r.stacks.size())});
    r.stacks.push_back(stack(path));
  }
  return r;
}

inline std::vector<Given> thrice(const Given& one) { return {one, one, one}; }
inline TaskIds ids(std::string_view text) { return *TaskIds::parse(text); }

}  // namespace sickbay::hang
