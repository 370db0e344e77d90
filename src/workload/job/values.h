// SPDX-License-Identifier: Apache-2.0
// The values of accounting fields, fast: one function for each quantity, used by every reader.
//
// They say the same as the parsers of base (duration.h, size.h) and model (slurm_state.h), which the tests
// compare them with, but without allocating and without messages, since they run a hundred million times in
// an import.  Each returns false for a text that is no such value, and then leaves its result alone.  Empty
// texts, "Unknown", "None", "N/A" are the caller's to skip: is_absent().
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/job/arena.h"
#include "workload/job/row.h"
#include "workload/job/time_zone.h"

namespace sickbay::workload {

/// "", "Unknown", "None", "N/A", "None assigned", "(null)", "INVALID".
bool is_absent(std::string_view text);

/// Decimal digits with an optional '-' (and, with `fraction`, digits after a '.', which are cut off).
bool parse_integer(std::string_view text, std::int64_t& value, bool fraction = false);

/// "2021-05-01T02:26:23", also with a blank for the T, a fraction, "Z" or "+02:00"; and a bare count of
/// seconds since 1970.  Fractions are cut off.
bool parse_timestamp(std::string_view text, const TimeZone& zone, std::int64_t& utc_seconds);
/// sacct's run times: "[D-]HH:MM:SS[.mmm]", "MM:SS.mmm", "HH:MM:SS"; bare digits are seconds.
bool parse_elapsed_ms(std::string_view text, std::int64_t& milliseconds);
/// Timelimit.  UNLIMITED, Partition_Limit and a blank are true with `seconds` -1.
bool parse_limit(std::string_view text, std::int64_t& seconds);
/// "12756K", "1.50T", "199G", "0", a bare number times `bare` (1 or 1024 or 1048576).
bool parse_bytes(std::string_view text, std::int64_t bare, std::int64_t& bytes);
/// ReqMem: "4000Mc", "0n", "2147486648Mn" (the flag 2^31 and 3000 M per core), "1.50T".  Sets req_mem,
/// req_mem_per_node or req_mem_per_cpu of `row`, and Repair::req_mem_flag.
bool parse_req_mem(std::string_view text, Row& row);
/// "cpu=00:00:04,energy=0,fs/disk=1248832,mem=12756K,gres/gpu:a100=2": calls back with each key and value.
template <class F>
bool for_each_tres(std::string_view text, F&& each) {
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto item = text.substr(0, comma);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) return false;
    each(item.substr(0, equals), item.substr(equals + 1));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return true;
}
/// GPUs of a list of generic resources as Slurm writes it: "gpu:a100:4(S:0-1),gpu:2,shard:8" -> 6 of kind
/// "a100" (the first that has a name; a view of `text`).  A gpu without a number is one.  Source: Slurm's
/// gres.conf(5).
struct GresGpus {
  std::int64_t count = 0;
  std::string_view kind;
};
GresGpus gpus_of_gres(std::string_view text);
/// "0:9" -> exit_code, exit_signal.
bool parse_exit(std::string_view text, Row& row);
/// State: the base word goes to Text::state (in Slurm's spelling, a literal), "by UID" to cancelled_by, what
/// the word does not say to state_text; an unknown word is kept as it is with Flaw::unknown_state.  Also cut
/// words ("CANCELLED+").
void parse_state(std::string_view text, Row& row);
/// JobID: "123", "123.batch", "123.ext+", "4103947_9", "4103947_[9-11,13%2]", "9380968+0", "123_4.0": sets
/// kind, job_id (before the first '.'), step, job_id_raw where it is plain, array and het ids, array_tasks.
bool parse_job_id(std::string_view text, Row& row);
/// The job's part of a JobID, what hash_job() is given: up to the first '.' that is not in "[1,3,...]".
inline std::string_view job_part(std::string_view text) {
  std::size_t dot = text.find('.');
  if (dot != std::string_view::npos && text.substr(0, dot).find('[') != std::string_view::npos)
    dot = text.find('.', text.find(']') == std::string_view::npos ? text.size() : text.find(']'));
  return text.substr(0, dot);
}
/// `text`, or with bytes that are no UTF-8, or NUL, replaced by U+FFFD (in `arena`), which `mended` then says
/// (it is not set to false).
std::string_view valid_utf8(std::string_view text, Arena& arena, bool& mended);

}  // namespace sickbay::workload
