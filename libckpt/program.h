// SPDX-License-Identifier: Apache-2.0
// What one process of a program has said of its state, and what is done with it: the C functions of
// sickbay_ckpt.h in C++.  Nothing here is C's: sickbay_ckpt.cc turns errors into numbers.
//
// Rank 0 decides when a checkpoint is due.  Its clock does not go back (steady), so that a step of the
// system's clock brings no checkpoint and keeps none away.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/files.h"
#include "ckpt/due.h"
#include "ckpt/flusher.h"
#include "ckpt/go_back.h"
#include "ckpt/leaving.h"
#include "ckpt/place.h"
#include "ckpt/series.h"
#include "ckpt/tell.h"

namespace sickbay::libckpt {

class Program {
 public:
  /// `session` "": by the environment; another one is made this start's own.  Errors: those of place_here and
  /// Series::open; usage: a duration in the environment is none.
  static Result<std::unique_ptr<Program>> open(const std::string& name, ckpt::PlaceWish wish);
  /// Waits until what was saved last is on shared storage, where it was saved to a fast place first.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Null `bytes`: no more.  Errors: usage.
  Status memory(const std::string& name, char* bytes, std::size_t size);
  Status file(const std::string& pattern);
  Status every(double seconds);
  Status mttf(double seconds);

  /// Errors: those of go_back.
  Result<ckpt::WentBack> restore();
  /// After an error of restore(): the parts of memory are neither as they were nor as they were saved.
  bool torn() const { return torn_; }

  bool due();
  /// Errors: those of take_checkpoint and declared_files; usage: no state was named, a label that cannot be.
  Status save(const std::string& label);

 private:
  struct Part {
    std::string name;
    char* bytes;
    std::size_t size;
  };
  Program(ckpt::JobPlace place, std::string name, std::unique_ptr<checkpoint::Files> files,
          ckpt::Series series, std::string folder);
  TimePoint now() const;
  int threads() const;
  void look_at_wishes();
  std::string asked() const;
  void look_at_binary();
  Result<std::vector<checkpoint::Source>> sources(const std::string& label) const;
  void tell_sickbayd(const ckpt::News& news);
  void remember(const Status& saved);
  void use_fast(const ckpt::FastWish& wish);
  void flush(std::int64_t number, bool again, ckpt::Telling how);

  ckpt::JobPlace place_;
  const ckpt::Participant& me_;  ///< of place_
  std::string name_, folder_;
  std::unique_ptr<checkpoint::Files> files_;
  ckpt::Series series_;
  ckpt::Waiting waiting_;

  std::vector<Part> parts_;
  std::vector<std::string> patterns_;
  std::int64_t turn_ = 0;  ///< of the last save: all processes save in the same order, so they count alike
  bool torn_ = false;
  bool looked_at_binary_ = false;
  std::string sickbay_;  ///< the program by which sickbayd is told; "": nobody is
  bool looked_for_sickbay_ = false;
  std::string flusher_;        ///< the program that flushes; "": nothing is saved to a fast place
  std::int64_t to_flush_ = 0;  ///< what was saved last, since this was opened
  std::string binary_;
  std::optional<checkpoint::Digest> binary_digest_;

  // Of rank 0: when.
  std::chrono::steady_clock::time_point opened_;
  bool every_is_given_ = false, mttf_is_given_ = false;  ///< by the environment
  ckpt::Rhythm rhythm_;
  ckpt::DueFacts facts_;
  ckpt::DueWhy why_ = ckpt::DueWhy::no;
  TimePoint look_at_, look_at_ask_;
  ckpt::FileMark ask_mark_, leaving_mark_;
  std::string token_, token_done_;           ///< of board/ask: what is there, and what was answered last
  std::optional<ckpt::LeavingWish> wished_;  ///< of board/leaving; answered or not
  std::int64_t leaving_answered_ = 0;        ///< up to that moment

  ckpt::LeavingLook leaving_;  ///< of every process
};

}  // namespace sickbay::libckpt
