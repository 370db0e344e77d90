// SPDX-License-Identifier: Apache-2.0
// The functions of sickbay_ckpt.h: arguments of C are looked at, errors become numbers and a text, and no
// exception goes on to a program that may be of another language.
#include "libckpt/sickbay_ckpt.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "libckpt/program.h"

using sickbay::Error;
using sickbay::ErrorCode;
using sickbay::Status;
using sickbay::ckpt::PlaceWish;
using sickbay::libckpt::Program;

namespace {

// The text of the last error.
struct Told {
  std::string text;
  bool lost = false;  ///< there was no memory for it
};

}  // namespace

struct sickbay_ckpt {
  std::unique_ptr<Program> program;
  Told told;
};

namespace {

constexpr const char* kNoMemory =
    "sickbay-ckpt: error: no memory left\n  remedy: leave room for 20 MiB or more beside the program's "
    "state\n";

// Of the last open that failed.
Told& told_of_open() {
  static Told told;
  return told;
}

sickbay_ckpt_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return SICKBAY_CKPT_USAGE;
    case ErrorCode::not_found:
      return SICKBAY_CKPT_NOT_FOUND;
    case ErrorCode::bad_input:
      return SICKBAY_CKPT_DAMAGED;
    case ErrorCode::conflict:
    case ErrorCode::already_exists:
      return SICKBAY_CKPT_CONFLICT;
    case ErrorCode::busy:
      return SICKBAY_CKPT_BUSY;
    case ErrorCode::timed_out:
      return SICKBAY_CKPT_TIMED_OUT;
    case ErrorCode::storage_full:
      return SICKBAY_CKPT_FULL;
    case ErrorCode::storage_broken:
    case ErrorCode::denied:
    case ErrorCode::not_root:
      return SICKBAY_CKPT_STORAGE;
    case ErrorCode::too_new:
      return SICKBAY_CKPT_TOO_NEW;
    case ErrorCode::os:
      return SICKBAY_CKPT_SYSTEM;
    case ErrorCode::refused_by_slurm:  // (of other parts of Sickbay)
    case ErrorCode::slurm_away:
    case ErrorCode::munge_away:
    case ErrorCode::daemon_away:
    case ErrorCode::missing_program:
    case ErrorCode::internal:
      return SICKBAY_CKPT_INTERNAL;
  }
  return SICKBAY_CKPT_INTERNAL;
}

// What `work` gives as a number; its text is kept.
template <class Work>
int call(Told& told, Work work) noexcept {
  try {
    const Status done = work();
    if (done) return SICKBAY_CKPT_OK;
    told.lost = true;
    told.text = done.error().message("sickbay-ckpt");
    told.lost = false;
    return code_of(done.error().code);
  } catch (const std::bad_alloc&) {
    told.lost = true;
    return SICKBAY_CKPT_SYSTEM;
  } catch (const std::exception& e) {
    try {
      told.lost = true;
      told.text = Error(ErrorCode::internal, e.what()).message("sickbay-ckpt");
      told.lost = false;
    } catch (...) {  // no memory for that, either
    }
    return SICKBAY_CKPT_INTERNAL;
  }
}

template <class Work>
int call(sickbay_ckpt* ckpt, Work work) noexcept {
  if (ckpt == nullptr) return SICKBAY_CKPT_USAGE;
  return call(ckpt->told, [&] { return work(*ckpt->program); });
}

tl::unexpected<Error> usage(const char* what) {
  return sickbay::fail(Error(ErrorCode::usage, what).remedied_by("see sickbay_ckpt(3)"));
}

Status open(sickbay_ckpt** out, const char* name, const PlaceWish& wish) {
  if (out == nullptr) return usage("there is no place for what is opened");
  *out = nullptr;
  auto opened = std::make_unique<sickbay_ckpt>();
  auto program = Program::open(name == nullptr ? "" : name, wish);
  if (!program) return tl::unexpected<Error>(std::move(program.error()));
  opened->program = std::move(*program);
  *out = opened.release();
  return {};
}

}  // namespace

int sickbay_ckpt_open(sickbay_ckpt** out, const char* name) {
  return call(told_of_open(), [&] { return open(out, name, {}); });
}

int sickbay_ckpt_open_as(sickbay_ckpt** out, const char* name, long rank, long ranks, const char* session) {
  return call(told_of_open(), [&]() -> Status {
    if (out != nullptr) *out = nullptr;
    if (rank < 0 || rank >= ranks) return usage("the rank is not one of 0 to ranks - 1");
    PlaceWish wish;
    wish.rank = rank;
    wish.ranks = ranks;
    if (session != nullptr) wish.session = session;
    return open(out, name, wish);
  });
}

void sickbay_ckpt_close(sickbay_ckpt* ckpt) { delete ckpt; }

int sickbay_ckpt_memory(sickbay_ckpt* ckpt, const char* name, void* bytes, size_t size) {
  return call(ckpt, [&](Program& program) -> Status {
    if (name == nullptr) return usage("the part of memory has no name");
    return program.memory(name, static_cast<char*>(bytes), size);
  });
}

int sickbay_ckpt_file(sickbay_ckpt* ckpt, const char* pattern) {
  return call(ckpt, [&](Program& program) -> Status {
    if (pattern == nullptr) return usage("there is no pattern");
    return program.file(pattern);
  });
}

int sickbay_ckpt_restore(sickbay_ckpt* ckpt, long long* number, char* label, size_t size) {
  if (number != nullptr) *number = 0;
  if (label != nullptr && size > 0) label[0] = '\0';
  const int code = call(ckpt, [&](Program& program) -> Status {
    const auto back = program.restore();
    if (!back) return tl::unexpected<Error>(back.error());
    if (number != nullptr) *number = back->number;
    if (label != nullptr && size > 0) {
      const std::size_t room = std::min(size - 1, back->label.size());
      std::memcpy(label, back->label.data(), room);
      label[room] = '\0';
    }
    return {};
  });
  return code != SICKBAY_CKPT_OK && ckpt != nullptr && ckpt->program->torn() ? SICKBAY_CKPT_TORN : code;
}

int sickbay_ckpt_due(sickbay_ckpt* ckpt) {
  bool due = false;
  const int code = call(ckpt, [&](Program& program) -> Status {
    due = program.due();
    return {};
  });
  return code == SICKBAY_CKPT_OK && due ? 1 : 0;
}

int sickbay_ckpt_save(sickbay_ckpt* ckpt, const char* label) {
  return call(ckpt, [&](Program& program) { return program.save(label == nullptr ? "" : label); });
}

int sickbay_ckpt_every(sickbay_ckpt* ckpt, double seconds) {
  return call(ckpt, [&](Program& program) { return program.every(seconds); });
}

int sickbay_ckpt_mttf(sickbay_ckpt* ckpt, double seconds) {
  return call(ckpt, [&](Program& program) { return program.mttf(seconds); });
}

const char* sickbay_ckpt_error(const sickbay_ckpt* ckpt) {
  const Told& told = ckpt == nullptr ? told_of_open() : ckpt->told;
  return told.lost ? kNoMemory : told.text.c_str();
}
