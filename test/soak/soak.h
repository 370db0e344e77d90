// SPDX-License-Identifier: Apache-2.0
// What the processes of a soak share: its plan, and what is counted.
//
// sickbayd (soak.cc) is the parent; agents, users and whoever means ill (soak_peers.cc) are children of it,
// made before it has a thread, so that its memory is its own.  They meet in one page of shared memory.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace sickbay::soak {

struct Plan {
  int seconds = 3600, agents = 1000, clients = 200, restarts = 6;
  std::string folder;  ///< of the journal and the socket
  std::string socket() const { return folder + "/sickbayd.sock"; }
};

/// The users are so many, with the uids kFirstUser and on; the clients are theirs.
inline constexpr int kUsers = 4;
inline constexpr std::uint32_t kFirstUser = 60001, kEve = 60666;

/// Times in buckets of a factor of 2^(1/4): a quantile of them is right to a fifth.
class Latency {
 public:
  void add(std::chrono::nanoseconds took);
  /// In milliseconds; 0 where there was none.
  double quantile(double q) const;
  std::int64_t count() const;

 private:
  std::array<std::atomic<std::int64_t>, 128> buckets_{};
};

struct Shared {
  std::atomic<bool> over{false};
  std::atomic<bool> away{true};  ///< sickbayd is (or was a moment ago) not there: nobody counts what fails
  std::atomic<int> lives{0};     ///< of sickbayd: what was asked of one that was killed meanwhile may fail
  std::atomic<int> port{0};
  Latency status, nodes, cases, submits, findings;
  std::atomic<std::int64_t> hellos{0}, polls{0}, jobs{0}, busy{0}, failed{0}, attacks{0}, taken{0};
  std::atomic<bool> has_word{false};
  std::array<char, 400> word{};  ///< of the first that failed since the last line was printed
  void fail_with(const std::string& what);
};

/// Each of them returns when it is over.
void be_agents(const Plan& plan, Shared& shared);
void be_user(const Plan& plan, Shared& shared, std::uint32_t uid);
void be_eve(const Plan& plan, Shared& shared);

/// The address that the agent of node n`i` calls from: all of 127/8 is this host.
std::string address_of(int i);

}  // namespace sickbay::soak
