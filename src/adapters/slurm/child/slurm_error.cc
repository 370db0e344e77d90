// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/slurm_error.h"

#include <fmt/format.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <array>
#include <cerrno>

#include "adapters/slurm/child/release_codes.h"

namespace sickbay::slurm {
namespace {

/// What slurmctld's silence can look like.  `sent`: the request may have arrived.
struct SilenceRow {
  int number;
  bool sent;
};
constexpr auto kSilences = std::to_array<SilenceRow>({
    {SLURM_COMMUNICATIONS_CONNECTION_ERROR, false},
    {SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR, false},
    {ECONNREFUSED, false},
    {EHOSTUNREACH, false},
    {ENETUNREACH, false},
    {SLURM_UNKNOWN_FORWARD_ADDR, false},
    {ESLURM_IN_STANDBY_MODE, false},
    {ESLURM_IN_STANDBY_USE_BACKUP, false},
    {code::kConnectTimeout, false},
    {code::kBackOff, false},
    {code::kDropped, false},

    {SLURM_COMMUNICATIONS_SEND_ERROR, true},
    {SLURM_COMMUNICATIONS_RECEIVE_ERROR, true},
    {SLURM_COMMUNICATIONS_SHUTDOWN_ERROR, true},
    {SLURM_COMMUNICATIONS_MISSING_SOCKET_ERROR, true},
    {SLURMCTLD_COMMUNICATIONS_SEND_ERROR, true},
    {SLURMCTLD_COMMUNICATIONS_RECEIVE_ERROR, true},
    {SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR, true},
    {code::kReceivedNothing, true},
    {code::kReceivedLess, true},
    {code::kSentLess, true},
    {code::kBadIncoming, true},
    {code::kBadOutgoing, true},
    {code::kBadConnection, true},
    {code::kWriteTimeout, true},
    {code::kReadTimeout, true},
    {code::kQuiesceTimeout, true},
    {code::kRejected, true},
    {ESLURM_PROTOCOL_INCOMPLETE_PACKET, true},
    {SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, true},
    {SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT, true},
    {ETIMEDOUT, true},
    {ECONNRESET, true},
    {EPIPE, true},
});

bool is_munge(int number) {
  return number == SLURM_PROTOCOL_AUTHENTICATION_ERROR ||
         (number >= ESLURM_AUTH_CRED_INVALID && number <= ESLURM_AUTH_SKIP);
}

}  // namespace

Error slurm_error(int number, CallKind kind, std::string doing) {
  const std::string words = fmt::format("\"{}\" ({})", slurm_strerror(number), number);
  for (const SilenceRow& row : kSilences) {
    if (row.number != number) continue;
    if (row.sent && kind == CallKind::effect)
      return Error(ErrorCode::timed_out, "slurmctld did not answer: " + words)
          .in(std::move(doing))
          .because(
              "the request was sent; whether it took effect is unknown until the job or node is read again");
    return Error(ErrorCode::slurm_away, "slurmctld does not answer: " + words).in(std::move(doing));
  }
  // (A submission that names an unknown node is refused; nothing of ours is missing.)
  if (number == ESLURM_INVALID_JOB_ID || (number == ESLURM_INVALID_NODE_NAME && kind == CallKind::look))
    return Error(ErrorCode::not_found, "slurmctld answered " + words).in(std::move(doing));
  if (is_munge(number))
    return Error(ErrorCode::munge_away, "the request could not be signed or was not believed: " + words)
        .in(std::move(doing));
  return Error(ErrorCode::refused_by_slurm, "slurmctld answered " + words).in(std::move(doing));
}

}  // namespace sickbay::slurm
