// SPDX-License-Identifier: Apache-2.0
// Requests and answers.  Frames: nonstop_frame.cc.
#include "model/nonstop_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/hostlist.h"
#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::wire {
namespace {

// What stands behind a command's name.
enum class Shape : std::uint8_t {
  nothing,
  job,
  job_flags,
  job_node,
  job_minutes,
  job_port,
  job_after,
  drain
};

struct CommandRow {
  Command command;
  std::string_view name;
  Shape shape;
  std::string_view form;  // for the remedy
};
constexpr std::array kCommands = {
    CommandRow{Command::get_fail_nodes, "GET_FAIL_NODES", Shape::job_flags,
               "GET_FAIL_NODES:JOBID:17:STATE_FLAGS:6"},
    CommandRow{Command::drain, "DRAIN", Shape::drain, "DRAIN:NODES:\"n3\":REASON:\"text\""},
    CommandRow{Command::replace_node, "REPLACE_NODE", Shape::job_node, "REPLACE_NODE:JOBID:17:NODE:n3"},
    CommandRow{Command::drop_node, "DROP_NODE", Shape::job_node, "DROP_NODE:JOBID:17:NODE:n3"},
    CommandRow{Command::time_incr, "TIME_INCR", Shape::job_minutes, "TIME_INCR:JOBID:17:MINUTES:30"},
    CommandRow{Command::callback, "CALLBACK", Shape::job_port, "CALLBACK:JOBID:17:PORT:40000"},
    CommandRow{Command::show_job, "SHOW_JOB", Shape::job, "SHOW_JOB:JOBID:17"},
    CommandRow{Command::show_config, "SHOW_CONFIG", Shape::nothing, "SHOW_CONFIG"},
    CommandRow{Command::events, "EVENTS", Shape::job_after, "EVENTS:JOBID:17:AFTER:0"},
};

const CommandRow& row_of(Command command) { return kCommands[static_cast<std::size_t>(command)]; }

constexpr std::array kCodes = {
    CodeRow{Code::enoerror, "ENOERROR", 0, "done"},
    CodeRow{Code::ereplacelater, "EREPLACELATER", 1011, "a replacement will come later"},
    CodeRow{Code::ereplacepending, "EREPLACEPENDING", 1012, "another node waits for its replacement"},
    CodeRow{Code::emaxsparecount, "EMAXSPARECOUNT", 1013, "the job has had all the replacements it may have"},
    CodeRow{Code::enodenotfail, "ENODENOTFAIL", 1009, "the node is neither failed nor failing"},
    CodeRow{Code::enodereplacefail, "ENODEREPLACEFAIL", 1014, "there is no replacement"},
    CodeRow{Code::enodenocpu, "ENODENOCPU", 1010, "the job has no CPU on the node"},
    CodeRow{Code::nodenotinjob, "NODENOTINJOB", 1010, "the node is not in the job"},
    CodeRow{Code::enoincreasetimelimit, "ENOINCREASETIMELIMIT", 1015, "the job has no time credit"},
    CodeRow{Code::etimeoverlimit, "ETIMEOVERLIMIT", 1016, "more minutes than the job's credit"},
    CodeRow{Code::ecmd, "ECMD", 1002, "the request cannot be read"},
    CodeRow{Code::eperm, "EPERM", 1022, "this user may not"},
    CodeRow{Code::ejobid, "EJOBID", 1004, "no such job"},
    CodeRow{Code::ejobnotrun, "EJOBNOTRUN", 1007, "the job does not run"},
    CodeRow{Code::enohost, "ENOHOST", 1008, "no such node"},
    CodeRow{Code::eupdnode, "EUPDNODE", 1003, "Slurm refused to change the node"},
    CodeRow{Code::eport, "EPORT", 1005, "not a port to be called back at"},
    CodeRow{Code::euid, "EUID", 1006, "the job is another user's"},
    CodeRow{Code::ejobupdate, "EJOBUPDATE", 1017, "Slurm refused to change the job"},
};
// DROP_NODE's word for EJOBNOTRUN in every release of the plugin.
constexpr std::string_view kDropNotRunning = "EJOBNOTRUNRROR";

tl::unexpected<Error> refuse(std::string what, std::string cause, std::string_view form) {
  return fail(Error(ErrorCode::bad_input, std::move(what))
                  .because(std::move(cause))
                  .remedied_by(fmt::format("write it as VERSION:22.05:{}", form)));
}

constexpr std::string_view kEnds = " \t\r\n";

// What the request says of its fields, taken from the front.
class Fields {
 public:
  Fields(std::string_view text, const CommandRow& row) : rest_(text), row_(row) {}

  bool at_end() const { return rest_.empty(); }
  // Skips "NAME:", with a colon before it where something stands before.
  Status name(std::string_view name) {
    if (!rest_.starts_with(':') || !rest_.substr(1).starts_with(name) ||
        !rest_.substr(1 + name.size()).starts_with(':'))
      return refuse(fmt::format("{} without {}:", row_.name, name),
                    fmt::format("{} stands where it should be", quote_for_message(rest_, 30)), row_.form);
    rest_.remove_prefix(name.size() + 2);
    return {};
  }
  template <class Number>
  Result<Number> number(std::string_view name, Number most) {
    if (const Status found = this->name(name); !found) return tl::unexpected<Error>(found.error());
    const std::string_view text = until_colon();
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > most)
      return refuse(fmt::format("{}: {} is no number", name, quote_for_message(text, 30)),
                    fmt::format("it must be a whole number from 0 to {}", most), row_.form);
    return value;
  }
  Result<JobId> job() {
    auto id = number<JobId>("JOBID", 0xfffffffdU);  // the two above are Slurm's NO_VAL and INFINITE
    if (id && *id == 0) return refuse("JOBID: 0 is no job", "Slurm's job ids begin at 1", row_.form);
    return id;
  }
  // A text in quotes, or up to the next colon.
  Result<std::string> text(std::string_view name) {
    if (const Status found = this->name(name); !found) return tl::unexpected<Error>(found.error());
    // (A text in quotes holds no quote: the form has no escape for one.)
    if (!rest_.starts_with('"')) return std::string(until_colon());
    const auto end = rest_.find('"', 1);
    if (end == std::string_view::npos)
      return refuse(fmt::format("{}: a quote that is not closed", name), "the text has no second '\"'",
                    row_.form);
    std::string found(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return found;
  }
  Status end() const {
    if (at_end()) return {};
    return refuse(fmt::format("{}: {} at its end", row_.name, quote_for_message(rest_, 30)),
                  "no such field is known", row_.form);
  }
  const CommandRow& row() const { return row_; }

 private:
  std::string_view until_colon() {
    const std::string_view found = rest_.substr(0, rest_.find(':'));
    rest_.remove_prefix(found.size());
    return found;
  }

  std::string_view rest_;
  const CommandRow& row_;
};

// The names of a hostlist of a request, as a set; `list` becomes its short text.
Result<std::vector<std::string>> names_of(std::string& list, const CommandRow& row) {
  auto names = expand_hostlist(list, kMaxNodesAsked);
  if (!names) return refuse(names.error().what, names.error().cause, row.form);
  *names = sorted_hosts(std::move(*names));
  if (names->empty())
    return refuse(fmt::format("{} without a node", row.name), "the list of nodes is empty", row.form);
  list = compress_hostlist(*names);
  return names;
}

Status read_fields(Fields& fields, Request& request) {
  const Shape shape = fields.row().shape;
  // Puts what was read where it belongs, and passes the error on.
  const auto take = [](auto read, auto& to) -> Status {
    if (!read) return tl::unexpected<Error>(std::move(read.error()));
    to = std::move(*read);
    return {};
  };
  if (shape == Shape::drain) {
    if (auto read = take(fields.text("NODES"), request.nodes); !read) return read;
    if (auto read = take(fields.text("REASON"), request.reason); !read) return read;
    if (request.reason.size() > kMaxReason)
      return refuse(fmt::format("a reason of {} bytes", request.reason.size()),
                    fmt::format("it may have {}", kMaxReason), fields.row().form);
    for (char& c : request.reason) {
      // The reason goes on to Slurm and to terminals, and comes from any user.
      if (c < ' ' || c > '~') c = '?';
      if (c == '"') c = '\'';
    }
    if (!fields.at_end())
      if (auto read = take(fields.job(), request.job); !read) return read;
    return take(names_of(request.nodes, fields.row()), request.names);
  }
  if (shape == Shape::nothing) return {};
  if (auto read = take(fields.job(), request.job); !read) return read;
  switch (shape) {
    case Shape::job_flags: {
      auto flags = fields.number<std::uint32_t>("STATE_FLAGS", 0xffffU);
      if (!flags) return tl::unexpected<Error>(std::move(flags.error()));
      request.state_flags = *flags & (kFailed | kFailing);
      return {};
    }
    case Shape::job_node:
      if (auto read = take(fields.text("NODE"), request.node); !read) return read;
      return take(names_of(request.node, fields.row()), request.names);
    case Shape::job_minutes:
      return take(fields.number<std::uint32_t>("MINUTES", 0xfffffffdU), request.minutes);
    case Shape::job_port:
      return take(fields.number<std::uint16_t>("PORT", 0xffffU), request.port);
    case Shape::job_after:
      return take(fields.number<std::uint64_t>("AFTER", ~std::uint64_t{0}), request.after);
    default:
      return {};
  }
}

std::string one_line(std::string_view text) {
  std::string out(text.substr(0, kMaxReason));
  for (char& c : out)
    if (c < ' ' || c > '~') c = c == '\n' || c == '\t' ? ' ' : '?';
  return out;
}

// A value in quotes, as SHOW_CONFIG and SHOW_JOB have it; the original's word for nothing is "none".
// (Not named quoted: std::quoted is found for std::string, too, once a header brings it.)
std::string in_quotes(std::string_view text) {
  std::string out = one_line(text);
  std::replace(out.begin(), out.end(), '"', '\'');
  return fmt::format("\"{}\"", out.empty() ? "none" : out);
}

// Blanks part the fields of an answer, so a field must have none and be there.
std::string field(std::string_view text) {
  std::string out = one_line(text);
  std::replace(out.begin(), out.end(), ' ', '_');
  return out.empty() ? "none" : out;
}

std::string set_text(const NodeSet& set) {
  std::string out = fmt::format("NewNodeList {} NewNodeCount {}", field(set.nodes), set.count);
  if (!set.cpus_per_node.empty()) out += " NewCpusPerNode " + cpus_text(set.cpus_per_node);
  return out;
}

std::string config_text(const NonstopConfig& config) {
  return fmt::format(
      "BackupAddr {} ControlAddr {} Debug {} HotSpareCount {} MaxSpareNodeCount {} Port {} TimeLimitDelay {} "
      "TimeLimitDrop {} TimeLimitExtend {} UserDrainAllow {} UserDrainDeny {}",
      in_quotes(config.backup_addr), in_quotes(config.control_addr), config.debug,
      in_quotes(config.hot_spares_text()), config.max_spare_nodes, config.port, config.time_limit_delay,
      config.time_limit_drop, config.time_limit_extend, in_quotes(config.drain_allow.text()),
      in_quotes(config.drain_deny.text()));
}

std::string job_text(const JobReport& job) {
  std::string out = fmt::format("FAIL_NODE_CNT {} ", job.faulty.size());
  for (const FaultyNode& node : job.faulty) out += fmt::format("{} {} ", field(node.name), node.cpus);
  return out + fmt::format(
                   "PENDING_JOB_DELAY {} PENDING_JOB_ID {} PENDING_NODE_NAME {} REPLACE_NODE_CNT {} "
                   "TIME_EXTEND_AVAIL {}",
                   job.pending_delay, job.pending_job, in_quotes(job.pending_node), job.replaced, job.credit);
}

// What stands behind ENOERROR, without the blank before it.
std::string payload_of(const Reply& reply) {
  switch (reply.command) {
    case Command::get_fail_nodes: {
      std::string out;  // ends in a blank, and is empty but for that of the code where there are none
      for (const FaultyNode& node : reply.faulty)
        out += fmt::format("{} {} {} ", field(node.name), node.cpus, node.state);
      return out;
    }
    case Command::replace_node:
      return fmt::format("ReplacementNode {} {}", field(reply.replacement), set_text(reply.set));
    case Command::drop_node:
      return set_text(reply.set);
    case Command::show_job:
      return job_text(reply.job);
    case Command::show_config:
      return config_text(reply.config);
    default:
      return "";
  }
}

}  // namespace

std::string_view command_name(Command command) { return row_of(command).name; }

const CodeRow& code_row(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

std::optional<Code> code_from(std::string_view name) {
  if (name == kDropNotRunning) return Code::ejobnotrun;
  for (const CodeRow& row : kCodes)
    if (row.name == name) return row.code;
  return std::nullopt;
}

Result<Request> parse_request(std::string_view payload) {
  // Clients in C send their string with its NUL.
  payload = payload.substr(0, payload.find('\0'));
  while (!payload.empty() && kEnds.find(payload.back()) != std::string_view::npos) payload.remove_suffix(1);
  if (payload.size() > kMaxMessage)
    return refuse(fmt::format("a request of {} bytes", payload.size()),
                  fmt::format("it may have {}", kMaxMessage), "SHOW_CONFIG");
  constexpr std::string_view kVersion = "VERSION:";
  if (!payload.starts_with(kVersion))
    return refuse("a request without its version",
                  fmt::format("it begins with {}", quote_for_message(payload, 30)), "SHOW_CONFIG");
  payload.remove_prefix(kVersion.size());
  const auto colon = payload.find(':');
  const std::string_view release = payload.substr(0, colon);
  const auto fits = [](char c) { return is_digit(c) || c == '.' || c == '-' || (c >= 'a' && c <= 'z'); };
  if (colon == std::string_view::npos || release.empty() || release.size() > 32 || !is_digit(release[0]) ||
      !std::all_of(release.begin(), release.end(), fits))
    return refuse(fmt::format("{} is no version", quote_for_message(release, 30)),
                  "it must be a release of Slurm, and a colon", "SHOW_CONFIG");
  Request request;
  request.release = release;
  payload.remove_prefix(colon + 1);
  const std::string_view name = payload.substr(0, payload.find(':'));
  const auto row =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const CommandRow& r) { return r.name == name; });
  if (row == kCommands.end()) {
    std::vector<std::string> known;
    for (const CommandRow& r : kCommands) known.emplace_back(r.name);
    const std::string meant = did_you_mean(name, known);
    return refuse(fmt::format("{} is no command", quote_for_message(name, 30)),
                  meant.empty() ? "no command has this name" : fmt::format("did you mean {}?", meant),
                  "SHOW_CONFIG");
  }
  request.command = row->command;
  payload.remove_prefix(name.size());
  // Clients may end each field by a colon.
  if (payload.ends_with(':')) payload.remove_suffix(1);
  Fields fields(payload, *row);
  if (const Status read = read_fields(fields, request); !read) return tl::unexpected<Error>(read.error());
  if (const Status end = fields.end(); !end) return tl::unexpected<Error>(end.error());
  return request;
}

std::string format_request(const Request& request) {
  const CommandRow& row = row_of(request.command);
  std::string out =
      fmt::format("VERSION:{}:{}", request.release.empty() ? kRelease : request.release, row.name);
  if (row.shape == Shape::drain) {
    std::string reason = request.reason;
    std::replace(reason.begin(), reason.end(), '"', '\'');
    out += fmt::format(":NODES:\"{}\":REASON:\"{}\"", request.nodes, reason);
    return request.job == 0 ? out : out + fmt::format(":JOBID:{}", request.job);
  }
  if (row.shape == Shape::nothing) return out;
  out += fmt::format(":JOBID:{}", request.job);
  switch (row.shape) {
    case Shape::job_flags:
      return out + fmt::format(":STATE_FLAGS:{}", request.state_flags);
    case Shape::job_node:
      return out + ":NODE:" + request.node;
    case Shape::job_minutes:
      return out + fmt::format(":MINUTES:{}", request.minutes);
    case Shape::job_port:
      return out + fmt::format(":PORT:{}", request.port);
    case Shape::job_after:
      return out + fmt::format(":AFTER:{}", request.after);
    default:
      return out;
  }
}

std::string cpus_text(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& cpus_per_node) {
  std::string out;
  for (const auto& [cpus, nodes] : cpus_per_node) {
    if (cpus == 0 || nodes == 0) continue;
    if (!out.empty()) out += ',';
    out += nodes > 1 ? fmt::format("{}(x{})", cpus, nodes) : fmt::format("{}", cpus);
  }
  return out;
}

std::string format_reply(const Reply& reply, std::string_view slurm_version) {
  std::string_view name = code_row(reply.code).name;
  if (reply.code == Code::ejobnotrun && reply.command == Command::drop_node) name = kDropNotRunning;
  std::string out = fmt::format("{} {}", field(slurm_version), name);
  switch (reply.code) {
    case Code::enoerror: {
      // The original ends the code of a query by a blank, also where nothing follows.
      const std::string payload = payload_of(reply);
      if (!payload.empty() || reply.command == Command::get_fail_nodes) out += " " + payload;
      return out;
    }
    case Code::ereplacelater:
      return out + fmt::format(" {}", reply.when == kNoTime
                                          ? 0
                                          : std::max<std::int64_t>(0, to_unix_seconds(reply.when)));
    case Code::ereplacepending:
      return out + " " + field(reply.node);
    case Code::emaxsparecount:
      return out + fmt::format(" {}", reply.limit);
    default:
      return reply.why.empty() ? out : out + " " + one_line(reply.why);
  }
}

std::string format_failure(std::string_view what) {
  std::string text = one_line(what);
  std::replace(text.begin(), text.end(), '"', '\'');
  return fmt::format("Error:\"{}\"", text);
}

}  // namespace sickbay::wire
