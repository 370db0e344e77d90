// SPDX-License-Identifier: GPL-2.0-or-later
// Error codes that not every release of libslurm has: 22.05 (Debian 12), 24.11 (13), 26.05 (sid).
//
// A code leaves no trace in types, so versions decide.  Looked at were these three: of a release between them
// only what the one before and the one after have is believed.
#pragma once
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <limits>

namespace sickbay::slurm::code {

/// In place of a code that this release has not.  No error has it (-1 is SLURM_ERROR).
inline constexpr int kNone = std::numeric_limits<int>::min();

// 22.05 alone: later ones do not wait for slurmdbd before they change a job, and have other words for a
// connection that broke.
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
inline constexpr int kWaitsForSlurmdbd = ESLURM_JOB_SETTING_DB_INX;
inline constexpr int kReceivedNothing = SLURM_PROTOCOL_SOCKET_IMPL_ZERO_RECV_LENGTH;
inline constexpr int kReceivedLess = SLURM_PROTOCOL_SOCKET_IMPL_NEGATIVE_RECV_LENGTH;
inline constexpr int kSentLess = SLURM_PROTOCOL_SOCKET_IMPL_NOT_ALL_DATA_SENT;
#else
inline constexpr int kWaitsForSlurmdbd = kNone, kReceivedNothing = kNone, kReceivedLess = kNone,
                     kSentLess = kNone;
#endif

// 22.05 and 24.11.
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0)
inline constexpr int kInterconnectBusy = ESLURM_INTERCONNECT_BUSY;
#else
inline constexpr int kInterconnectBusy = kNone;
#endif

// From 24.11 on: slurmctld is asked too often (SlurmctldParameters=rl_enable) and has done nothing; a
// connection that broke.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
inline constexpr int kBackOff = SLURMCTLD_COMMUNICATIONS_BACKOFF;
inline constexpr int kDropped = SLURMCTLD_COMMUNICATIONS_HARD_DROP;
inline constexpr int kBadIncoming = SLURM_COMMUNICATIONS_INVALID_INCOMING_FD;
inline constexpr int kBadOutgoing = SLURM_COMMUNICATIONS_INVALID_OUTGOING_FD;
inline constexpr int kBadConnection = SLURM_COMMUNICATIONS_INVALID_FD;
#else
inline constexpr int kBackOff = kNone, kDropped = kNone, kBadIncoming = kNone, kBadOutgoing = kNone,
                     kBadConnection = kNone;
#endif

// 26.05 tells by what a time limit was exceeded.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
inline constexpr int kConnectTimeout = SLURM_COMMUNICATIONS_CONNECT_TIMEOUT;
inline constexpr int kWriteTimeout = SLURM_COMMUNICATIONS_WRITE_TIMEOUT;
inline constexpr int kReadTimeout = SLURM_COMMUNICATIONS_READ_TIMEOUT;
inline constexpr int kQuiesceTimeout = SLURM_COMMUNICATIONS_QUIESCE_TIMEOUT;
inline constexpr int kRejected = SLURM_COMMUNICATIONS_REJECTED;
#else
inline constexpr int kConnectTimeout = kNone, kWriteTimeout = kNone, kReadTimeout = kNone,
                     kQuiesceTimeout = kNone, kRejected = kNone;
#endif

}  // namespace sickbay::slurm::code
