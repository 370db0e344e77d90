// SPDX-License-Identifier: Apache-2.0
// The nonstop protocol: what libsmd asks and what the service answers, as bytes both ways.
//
// One request per TCP connection: a frame with a MUNGE credential, whose payload is read here; the answer is
// a frame of plain text.  The texts are to the blank those of Slurm 22.05's plugin slurmctld/nonstop, so that
// its clients read ours; requests of any release are taken.  Ours alone: several nodes in one REPLACE_NODE or
// DROP_NODE, the job behind a DRAIN, port 0 for "call no more", EVENTS. Everything from outside is bounded,
// and what does not parse is refused with a reason; nothing is guessed. Page: doc/formats/nonstop.md. Nothing
// here knows sockets or MUNGE.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/nonstop_config.h"

namespace sickbay::wire {

inline constexpr std::size_t kMaxMessage =
    64 * 1024;  ///< bytes of the body of a frame that clients send, its NUL included
inline constexpr std::size_t kHeaderBytes = 9;         ///< 8 digits and a line end
inline constexpr std::size_t kMaxNodesAsked = 4096;    ///< in one request
inline constexpr std::size_t kMaxReason = 1024;        ///< bytes of a drain's reason
inline constexpr std::string_view kRelease = "22.05";  ///< what our own clients say
inline constexpr std::uint32_t kFailed = 2, kFailing = 4,
                               kReplace = 8;  ///< STATE_FLAGS, events of a callback

enum class Command : std::uint8_t {
  get_fail_nodes,
  drain,
  replace_node,
  drop_node,
  time_incr,
  callback,
  show_job,
  show_config,
  events,  ///< ours
};
std::string_view command_name(Command command);  ///< "GET_FAIL_NODES"

/// How a request ended; named as on the wire, in small letters (EPERM is a macro of the system's).
enum class Code : std::uint8_t {
  enoerror,
  ereplacelater,         ///< with the time
  ereplacepending,       ///< with the node that is replaced already
  emaxsparecount,        ///< with the limit
  enodenotfail,          ///< the node is neither failed nor failing
  enodereplacefail,      ///< with the reason
  enodenocpu,            ///< REPLACE_NODE: the job has no CPU on it
  nodenotinjob,          ///< DROP_NODE: the same
  enoincreasetimelimit,  ///< the job has no credit
  etimeoverlimit,        ///< more than the credit
  ecmd,                  ///< the request cannot be read
  eperm,
  ejobid,
  ejobnotrun,
  enohost,
  eupdnode,
  eport,
  euid,
  ejobupdate,  ///< with the reason
};
/// One row of the table of codes.
struct CodeRow {
  Code code;
  std::string_view name;   ///< "EREPLACELATER"
  int enstop;              ///< the ENSTOP_* number of libsmd/smd.h
  std::string_view means;  ///< for people
};
const CodeRow& code_row(Code code);
std::optional<Code> code_from(std::string_view name);  ///< also DROP_NODE's "EJOBNOTRUNRROR"

/// A request, after MUNGE.  What a command does not have is empty.
struct Request {
  Command command = Command::show_config;
  JobId job = 0;                   ///< 0: SHOW_CONFIG, and DRAIN of clients that do not say it
  std::string node;                ///< NODE: of REPLACE_NODE and DROP_NODE; a hostlist
  std::string nodes;               ///< NODES: of DRAIN; a hostlist
  std::vector<std::string> names;  ///< of either, one by one, each once, in natural order
  std::string reason;              ///< of DRAIN, printable
  std::uint32_t minutes = 0;       ///< 0: all the credit
  std::uint32_t state_flags = 0;   ///< kFailed, kFailing; others are dropped
  std::uint16_t port = 0;          ///< 0: call no more
  std::uint64_t after = 0;         ///< of EVENTS: the number of the last event known
  std::string release;             ///< "22.05"

  friend bool operator==(const Request&, const Request&) = default;
};

/// Reads `VERSION:22.05:REPLACE_NODE:JOBID:17:NODE:n3`.  NULs, blanks, line ends and one colon at the end do
/// not count.  Errors: bad_input, with what is wrong, why and what to do; O(bytes + names).
Result<Request> parse_request(std::string_view payload);
/// The text that parse_request reads; parse_request(format_request(r)) is r.
std::string format_request(const Request& request);

struct FaultyNode {
  std::string name;
  std::uint32_t cpus = 0;
  std::uint32_t state = kFailed;  ///< kFailed or kFailing
};

/// The job's nodes from now on.
struct NodeSet {
  std::string nodes;  ///< hostlist
  std::uint32_t count = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cpus_per_node;  ///< {8, 3} for three nodes with 8 each
};

/// What SHOW_JOB tells.
struct JobReport {
  std::vector<FaultyNode> faulty;
  std::uint32_t pending_delay = 0;  ///< minutes of credit for waiting
  JobId pending_job = 0;
  std::string pending_node;
  std::uint32_t replaced = 0;
  std::uint32_t credit = 0;  ///< minutes
};

/// An answer.  Of the payload only what its command and code have is looked at.
struct Reply {
  Command command = Command::show_config;
  Code code = Code::enoerror;
  std::vector<FaultyNode> faulty;  ///< GET_FAIL_NODES: failing ones first, as the original
  std::string replacement;         ///< REPLACE_NODE: hostlist
  NodeSet set;                     ///< REPLACE_NODE, DROP_NODE
  TimePoint when = kNoTime;        ///< ereplacelater; kNoTime: "0", not known
  std::string node;                ///< ereplacepending
  std::uint32_t limit = 0;         ///< emaxsparecount
  std::string why;                 ///< enodereplacefail, ejobupdate; others: behind the code, ours
  JobReport job;                   ///< SHOW_JOB
  NonstopConfig config;            ///< SHOW_CONFIG
};

/// "22.05.8 ENOERROR ReplacementNode n9 NewNodeList n[1-3] NewNodeCount 3 NewCpusPerNode 8(x3)".
/// Texts are made printable and of one line.  Without the final NUL; see frame().
std::string format_reply(const Reply& reply, std::string_view slurm_version);

/// What is answered where there is no request: `Error:"Message decrypt failure"`.
std::string format_failure(std::string_view what);
inline constexpr std::string_view kNotDecrypted = "Message decrypt failure";
inline constexpr std::string_view kBadVersion = "Message version invalid";

/// "8(x3),4"
std::string cpus_text(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& cpus_per_node);

/// A body as it goes over the wire: header, body, NUL.  (An answer may be longer than kMaxMessage: thousands
/// of nodes.)
std::string frame(std::string_view body);

/// The 8 bytes that call a client back: a length in network order, then the flags, which the original sends
/// in its host's order, x86's; libsmd takes either.
std::string callback_message(std::uint32_t flags);

/// Frames out of a stream of bytes, however it is cut.  After an error it takes nothing more.
class FrameReader {
 public:
  explicit FrameReader(std::size_t most = kMaxMessage) : most_(most) {}

  /// Takes what has arrived.  Errors: bad_input (no header, longer than `most`, empty), at once when it can
  /// be known: a hostile length costs no memory.
  Status take(std::string_view bytes);
  /// The next whole body, without its NUL and what follows that; nothing: more bytes are needed.
  std::optional<std::string> next();
  /// Whether a frame has begun and is not whole: the end of the stream is then an error.
  bool half() const { return !bytes_.empty(); }

 private:
  Status look_at_header();

  std::size_t most_;
  std::string bytes_;  ///< from the start of the frame that is not given out yet
  std::optional<std::size_t> length_;
  std::optional<Error> broken_;
};

}  // namespace sickbay::wire
