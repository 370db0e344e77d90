// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "apps/smd/fault_handling.h"
#include "apps/smd/nodes_file.h"
#include "apps/smd/options.h"
#include "apps/smd/policy.h"
#include "apps/smd/service.h"
#include "base/error_json.h"
#include "base/hostlist.h"
#include "base/json.h"

namespace sickbay::smd {
namespace {

struct PolicyVariable {
  Fault fault;
  const char* name;
};
constexpr PolicyVariable kVariables[] = {{Fault::failed, "SMD_NONSTOP_FAILED"},
                                         {Fault::failing, "SMD_NONSTOP_FAILING"}};

// One call of smd.
class Call {
 public:
  Call(Wish wish, const World& world) : wish_(std::move(wish)), world_(world) {}

  int run() {
    switch (wish_.action) {
      case Action::faulty:
        return show_faulty();
      case Action::drain:
        return drain();
      case Action::replace:
        return replace();
      case Action::drop:
        return drop();
      case Action::extend:
        return extend();
      case Action::job:
        return show_job();
      case Action::config:
        return show_config();
      case Action::handle:
        return handle();
      case Action::exports:
        return show_exports();
      case Action::check_policy:
        return check_policies();
      case Action::version:
        world_.out(fmt::format("smd {}\n", world_.version));
        return 0;
      case Action::help:
      case Action::none:
        break;
    }
    world_.out(help_text());
    return 0;
  }

  int complain(const Error& error) const {
    if (wish_.json) print(error_json(error));
    world_.err(error.message("smd") + "\n");
    return error_row(error.code).exit_code;
  }

 private:
  // What people read; with -E it makes way for the exports, with --json it is left out.
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    tell(fmt::format(format, std::forward<Args>(args)...) + "\n");
  }
  void tell(const std::string& lines) const {
    if (lines.empty() || wish_.json) return;
    (wish_.exports ? world_.err : world_.out)(lines);
  }
  void print(const Json& value) const { world_.out(value.pretty() + "\n"); }
  int complain(const Trouble& trouble, std::string_view doing) const {
    return complain(error_of(trouble, doing));
  }
  std::string of_job() const { return fmt::format("job {}", wish_.job); }
  std::string file_path() const { return nodes_file_path(wish_.folder, wish_.job); }

  static Json set_json(const NodeSet& set) {
    if (set.nodes.empty()) return nullptr;
    return Json::object({{"nodes", set.nodes}, {"count", set.count}, {"cpus_per_node", set.cpus}});
  }

  // The nodes file of a set that is new, and what is said of it.  0, or the exit code.
  int keep(const NodeSet& set) const {
    if (set.nodes.empty()) return 0;
    const std::string text = nodes_file_text(set);
    if (const Status written = write_nodes_file(file_path(), text); !written)
      return complain(written.error());
    // These lines, with their odd names in front, are those of the paper's output: scripts match them.
    say("_generate_node_file: job {} all nodes replaced", wish_.job);
    say("source the {} hostfile to get the new job environment", file_path());
    if (wish_.exports) world_.out(text);
    return 0;
  }

  int show_faulty() const {
    const auto nodes = faulty_nodes(wish_.job);
    if (!nodes) return complain(nodes.error(), "ask for the faulty nodes of " + of_job());
    Json list = Json::array();
    for (const FaultyNode& node : *nodes) {
      list.push(Json::object({{"node", node.name}, {"state", fault_name(node.fault)}, {"cpus", node.cpus}}));
      say("job {} {} node {} cpu_count {}", wish_.job, fault_name(node.fault), node.name, node.cpus);
    }
    if (nodes->empty()) say("job {} has no faulty nodes", wish_.job);
    if (wish_.json) print(Json::object({{"job_id", wish_.job}, {"nodes", list}}));
    return 0;
  }

  int drain() const {
    const std::string nodes = compress_hostlist(wish_.nodes);
    const auto done = drain_nodes(wish_.job, nodes, wish_.reason);
    if (!done) return complain(done.error(), "drain " + nodes);
    say("node {} is set to state FAIL", nodes);
    if (wish_.json) print(Json::object({{"nodes", nodes}, {"drained", true}}));
    return 0;
  }

  int replace() const {
    const std::string nodes = compress_hostlist(wish_.nodes);
    say("_try_replace: job {} trying to replace {} nodes", wish_.job, wish_.nodes.size());
    const auto done = replace_node(wish_.job, nodes, wish_.nodes.size() > 1);
    if (!done) return complain(done.error(), fmt::format("replace {} in {}", nodes, of_job()));
    const bool later = done->by.empty();
    // 75 (EX_TEMPFAIL): a script can tell "ask again" from "no".
    int code = later ? error_row(ErrorCode::busy).exit_code : 0;
    if (later) {
      tell(replaced_later_line(wish_.job, nodes, done->when));
    } else {
      say("_try_replace: job {} node {} replaced by {}", wish_.job, nodes, done->by);
      if (const int trouble = keep(done->set); trouble != 0) return trouble;
    }
    if (wish_.json)
      print(Json::object({{"job_id", wish_.job},
                          {"nodes", nodes},
                          {"replacement", later ? Json(nullptr) : Json(done->by)},
                          {"when_available", done->when},
                          {"new_set", set_json(done->set)}}));
    return code;
  }

  // One by one, which the original's service understands, too.
  int drop() const {
    NodeSet set;
    Json dropped = Json::array();
    int code = 0;
    for (const std::string& node : wish_.nodes) {
      auto done = drop_node(wish_.job, node);
      if (!done) {
        code = complain(done.error(), fmt::format("drop {} from {}", node, of_job()));
        break;
      }
      say("_drop_nodes: job {} node {} dropped all right", wish_.job, node);
      dropped.push(node);
      if (!done->nodes.empty()) set = std::move(*done);
    }
    // What was dropped before one was refused is dropped: the file must say so.
    const int kept = keep(set);
    if (code == 0 && kept == 0 && wish_.json)
      print(Json::object({{"job_id", wish_.job}, {"dropped", dropped}, {"new_set", set_json(set)}}));
    return code != 0 ? code : kept;
  }

  int extend() const {
    if (wish_.minutes == 0)
      say("_time_limit_extend: job {} extending job time limit by all its credit", wish_.job);
    else
      say("_time_limit_extend: job {} extending job time limit by {} minutes", wish_.job, wish_.minutes);
    const auto done = extend_time(wish_.job, wish_.minutes);
    if (!done) return complain(done.error(), "extend the time limit of " + of_job());
    if (wish_.minutes == 0)
      say("_increase_job_runtime: job {} run time limit extended by all its credit successfully", wish_.job);
    else
      say("_increase_job_runtime: job {} run time limit extended by {}min successfully", wish_.job,
          wish_.minutes);
    if (wish_.json)
      print(Json::object({{"job_id", wish_.job}, {"minutes", wish_.minutes}, {"extended", true}}));
    return 0;
  }

  int show_job() const {
    const auto info = job_info(wish_.job);
    if (!info) return complain(info.error(), "ask about " + of_job());
    Json nodes = Json::array();
    std::string names;
    for (const FaultyNode& node : info->faulty) {
      nodes.push(Json::object({{"node", node.name}, {"cpus", node.cpus}}));
      names += fmt::format("{}{}({})", names.empty() ? "" : ",", node.name, node.cpus);
    }
    if (wish_.json) {
      print(Json::object(
          {{"job_id", wish_.job},
           {"faulty", nodes},
           {"pending_node", info->pending_node.empty() ? Json(nullptr) : Json(info->pending_node)},
           {"pending_job_id", info->pending_job},
           {"pending_delay", info->pending_delay},
           {"replaced", info->replaced},
           {"credit", info->credit}}));
      return 0;
    }
    say("JobId={}", wish_.job);
    say("FaultyNodes={}", names.empty() ? "none" : names);
    say("PendingNode={}", info->pending_node.empty() ? "none" : info->pending_node);
    say("PendingJobId={}", info->pending_job);
    say("PendingJobDelay={}", info->pending_delay);
    say("ReplacedNodes={}", info->replaced);
    say("TimeExtendAvail={}", info->credit);
    return 0;
  }

  int show_config() const {
    const auto found = service_config();
    if (!found) return complain(found.error(), "ask for the configuration of the service");
    const ServiceConfig& c = *found;
    const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
    const Json all = Json::object({{"ConfigFile", text(c.file)},
                                   {"ControlAddr", text(c.control_addr)},
                                   {"BackupAddr", text(c.backup_addr)},
                                   {"Port", c.port},
                                   {"Debug", c.debug},
                                   {"HotSpareCount", text(c.hot_spares)},
                                   {"MaxSpareNodeCount", c.max_spare_nodes},
                                   {"TimeLimitDelay", c.delay},
                                   {"TimeLimitDrop", c.drop},
                                   {"TimeLimitExtend", c.extend},
                                   {"UserDrainAllow", text(c.drain_allow)},
                                   {"UserDrainDeny", text(c.drain_deny)},
                                   {"ReadTimeout", c.read_timeout},
                                   {"WriteTimeout", c.write_timeout}});
    if (wish_.json) {
      print(all);
      return 0;
    }
    for (const auto& [key, value] : all.members())
      say("{}={}", key, value.is_null() ? "none" : value.is_string() ? value.as_string() : value.dump());
    return 0;
  }

  int show_exports() const {
    // No such file is the usual case; one that is there and is not trusted is an error, for its text is run
    // by a shell.
    auto text = read_nodes_file(file_path());
    if (!text && text.error().code != ErrorCode::not_found) return complain(text.error());
    if (text) {
      world_.out(*text);
      return 0;
    }
    // Nothing was replaced or dropped: what the job began with.
    NodeSet set{world_.variable("SLURM_JOB_NODELIST"), 0, world_.variable("SLURM_JOB_CPUS_PER_NODE")};
    const auto names = expand_hostlist(set.nodes);
    if (!names || names->empty())
      return complain(
          Error(ErrorCode::not_found, fmt::format("no new nodes of {} are known here", of_job()))
              .because(fmt::format("there is no {}, and SLURM_JOB_NODELIST is not set", file_path()))
              .remedied_by("run it where smd -r, -D, -H or -G ran, or in the job"));
    set.count = static_cast<int>(names->size());
    world_.out(nodes_file_text(set));
    return 0;
  }

  // ---- policies ----

  // The policy of a fault; an empty one where the variable is not set.
  Result<Policy> policy_of(const PolicyVariable& variable) const {
    const std::string text = world_.variable(variable.name);
    if (text.empty()) return Policy{};
    return parse_policy(text, variable.name);
  }

  int check_policies() const {
    int code = 0;
    Json all = Json::object();
    for (const PolicyVariable& variable : kVariables) {
      const auto policy = policy_of(variable);
      if (!policy) {
        code = complain(policy.error());
        continue;
      }
      if (policy->steps.empty()) {
        say("{} is not set", variable.name);
        all.set(variable.name, nullptr);
        continue;
      }
      say("{}={}", variable.name, format_policy(*policy));
      for (const std::string& line : describe_policy(*policy)) say("  {}", line);
      all.set(variable.name,
              Json::object({{"policy", format_policy(*policy)}, {"does", describe_policy(*policy)}}));
    }
    if (code == 0 && wish_.json) print(all);
    return code;
  }

  int handle() const {
    // Both policies are read before the service is asked anything: a word that is wrong in the second one
    // must not be found after nodes were dropped by the first.
    std::vector<std::pair<const PolicyVariable*, Policy>> todo;
    for (const PolicyVariable& variable : kVariables) {
      if (!(variable.fault == Fault::failed ? wish_.failed : wish_.failing)) continue;
      auto policy = policy_of(variable);
      if (!policy) return complain(policy.error());
      todo.emplace_back(&variable, std::move(*policy));
    }
    int code = 0;
    Json handled = Json::array();
    for (auto& [variable, policy] : todo) {
      const bool none = policy.steps.empty();
      FaultHandling handling(wish_.job, variable->fault, std::move(policy), file_path());
      code = drive(handling);
      handled.push(json_of(*variable, handling));
      if (const Trouble* trouble = handling.stopped_by()) {
        world_.err(error_of(*trouble, "handle the faults of " + of_job()).message("smd") + "\n");
      } else if (code != 0 && none) {
        world_.err(
            Error(ErrorCode::conflict, fmt::format("{} is not set", variable->name))
                .because("there are nodes to be cared for, and nothing says how")
                .remedied_by(fmt::format("set it before the job starts, as {}=REPLACE", variable->name))
                .message("smd") +
            "\n");
      }
      // One kind was not cared for: the job may not go on, so nothing more is done to it.
      if (code != 0) break;
    }
    if (wish_.json)
      print(Json::object({{"job_id", wish_.job}, {"may_go_on", code == 0}, {"handled", handled}}));
    return code;
  }

  // The state machine says what to do, this does it: no clock and no network is in there.
  int drive(FaultHandling& handling) const {
    Act act = handling.start();
    for (;;) {
      tell(handling.take_said());
      if (act.kind == Act::Kind::finish) return act.exit_code;
      const Reply reply = perform(act, handling);
      act = handling.next(reply, world_.now());  // (the time when it was done)
    }
  }

  Reply perform(const Act& act, const FaultHandling& handling) const {
    Reply reply;
    const auto note = [&](const Trouble& trouble) {
      reply.good = false;
      reply.trouble = trouble;
      if (wish_.verbose && !trouble.why.empty()) world_.err("smd: " + trouble.why + "\n");
    };
    switch (act.kind) {
      case Act::Kind::query:
        if (auto nodes = faulty_nodes(wish_.job, handling.fault()); nodes)
          reply.faulty = std::move(*nodes);
        else
          note(nodes.error());
        break;
      case Act::Kind::replace:
        if (auto replaced = replace_node(wish_.job, act.node); replaced)
          reply.replaced = std::move(*replaced);
        else
          note(replaced.error());
        break;
      case Act::Kind::drop:
        if (auto set = drop_node(wish_.job, act.node); set)
          reply.set = std::move(*set);
        else
          note(set.error());
        break;
      case Act::Kind::extend:
        if (auto done = extend_time(wish_.job, act.minutes); !done) note(done.error());
        break;
      case Act::Kind::wait:
        world_.wait_until(act.until);
        break;
      case Act::Kind::write_file: {
        const std::string text = nodes_file_text(act.set);
        if (const Status written = write_nodes_file(file_path(), text); !written) {
          world_.err(written.error().message("smd") + "\n");
          reply.good = false;
          reply.trouble.text = written.error().what;
        } else if (wish_.exports) {
          world_.out(text);
        }
        break;
      }
      case Act::Kind::finish:
        break;
    }
    return reply;
  }

  Json json_of(const PolicyVariable& variable, const FaultHandling& handling) const {
    Json nodes = Json::array();
    for (const NodeOutcome& one : handling.outcomes()) {
      const bool replaced = one.kind == NodeOutcome::Kind::replaced;
      nodes.push(Json::object({{"node", one.node.name},
                               {"state", fault_name(one.node.fault)},
                               {"cpus", one.node.cpus},
                               {"outcome", replaced                                 ? "replaced"
                                           : one.kind == NodeOutcome::Kind::dropped ? "dropped"
                                                                                    : "left"},
                               {"replacement", replaced ? Json(one.by) : Json(nullptr)}}));
    }
    const Trouble* trouble = handling.stopped_by();
    return Json::object({{"policy", variable.name},
                         {"nodes", nodes},
                         {"new_set", set_json(handling.set())},
                         {"nodes_file", handling.file_written() ? Json(file_path()) : Json(nullptr)},
                         {"extended", handling.extended()},
                         {"error", trouble == nullptr ? Json(nullptr) : Json(trouble->text)}});
  }

  const Wish wish_;
  const World& world_;
};

}  // namespace

int run_smd(const std::vector<std::string>& words, const World& world) {
  // (SLURM_JOBID is the name that older scripts set.)
  std::string job = world.variable("SLURM_JOB_ID");
  if (job.empty()) job = world.variable("SLURM_JOBID");
  auto wish = parse_options(words, job);
  if (!wish) {
    Wish none;
    // The words could not be read, so --json among them is looked for by hand: a program that asked for JSON
    // gets its error so.
    none.json = std::ranges::find(words, "--json") != words.end();
    return Call(none, world).complain(wish.error());
  }
  if (wish->verbose) ::setenv("SMD_DEBUG", "1", 1);  // libsmd then tells what it asks and hears
  return Call(std::move(*wish), world).run();
}

}  // namespace sickbay::smd
