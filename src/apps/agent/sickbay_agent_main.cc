// SPDX-License-Identifier: Apache-2.0
// sickbay-agent: joins loop, rules, operations, spool and the way to sickbayd, on one node.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "adapters/duktape/duktape_predicates.h"
#include "adapters/munge/munge_credentials.h"
#include "adapters/net/asio_loop.h"
#include "adapters/net/signed_client.h"
#include "adapters/net/tcp_answers.h"
#include "adapters/net/udp_socket.h"
#include "adapters/node/echo.h"
#include "adapters/node/fleet_facts.h"
#include "adapters/node/job_here.h"
#include "adapters/node/node_runner.h"
#include "adapters/node/process_identity.h"
#include "adapters/node/tcp_connections.h"
#include "adapters/node/wait_times.h"
#include "adapters/posix/agent_files.h"
#include "adapters/posix/boot_clock.h"
#include "adapters/posix/files.h"
#include "adapters/posix/host_name.h"
#include "adapters/posix/installed_file.h"
#include "adapters/posix/leaving_file.h"
#include "adapters/posix/operation_process.h"
#include "adapters/posix/process_runner.h"
#include "adapters/posix/rights.h"
#include "apps/agent/nhc_rules.h"
#include "apps/agent/rule_files.h"
#include "model/builtin_operations.h"
#include "service/agent/agent.h"
#include "service/agent/config.h"
#include "service/agent/witness/either_sickbayd.h"
#include "service/agent/witness/witness_polls.h"
#include "settings/paths.h"

namespace sickbay::agent {
namespace {

constexpr std::size_t kConfigBound = 1 << 20;
constexpr std::chrono::seconds kLookLimit{20};  // three rounds, and 4 s of work at most
constexpr std::chrono::seconds kOnceLimit{50};  // Slurm gives a prolog, epilog or health check 60
constexpr const char* kUsage =
    "usage: sickbay-agent [--config FILE] [--nhc FILE] [--once[=verdict]] [--check-config] [--help-config] "
    "[--help-components] [--version]\n"
    "Examines this node by its rules and tells sickbayd.  Runs in the foreground as root.\n"
    "  --once          one run in quick mode, for Slurm's HealthCheckProgram, prolog or epilog; always ends "
    "with 0,\n"
    "                  for Slurm would drain the node\n"
    "  --once=verdict  the same, and ends with 1 where a rule would take this node out of service; with 0 "
    "where it is\n"
    "                  well, and where that cannot be told.  Slurm drains a node whose prolog or epilog says "
    "1: at once,\n"
    "                  and without sickbayd's bound on how many may leave\n"
    "  --nhc FILE      the rules are those that this nhc.conf makes, and no others; no file is written\n"
    "  --check-config  reads the configuration and the rules, and does nothing else\n";

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

// Built-in operations and executables, as a specification names them.
class Operations final : public OperationRunner {
 public:
  explicit Operations(Loop& loop)
      : loop_(loop),
        programs_(make_process_runner(loop)),
        builtin_(make_node_runner(loop, *programs_)),
        executable_(make_operation_process_runner(loop, standard_operation_folders())) {}
  void run(OperationCall call, std::function<void(OperationEnd)> done) override {
    if (!call.run.starts_with(kBuiltin)) return executable_->run(std::move(call), std::move(done));
    const BuiltinOperation* row = builtin_operation(std::string_view(call.run).substr(kBuiltin.size()));
    if (row == nullptr || row->place != BuiltinPlace::program)
      return builtin_->run(std::move(call), std::move(done));
    // Built in by name, and a program of ours: it gets its arguments whole, as the others do.
    auto arguments = builtin_arguments(*row, call.arguments, call.inputs);
    if (!arguments) {
      OperationEnd end;
      end.text = arguments.error().line();
      return loop_.post([done = std::move(done), end] { done(end); });
    }
    call.arguments = std::move(*arguments);
    call.run = row->name;
    executable_->run(std::move(call), std::move(done));
  }

 private:
  static constexpr std::string_view kBuiltin = "builtin:";
  Loop& loop_;
  std::unique_ptr<ProcessRunner> programs_;
  std::unique_ptr<OperationRunner> builtin_, executable_;
};

Result<Config> load_config(const std::string& path, bool must_exist) {
  auto text = read_file(path, kConfigBound);
  if (!text && text.error().code == ErrorCode::not_found && !must_exist) return Config{};
  if (!text) return fail(std::move(text.error()).in("reading the configuration"));
  if (Paths::from_environment().root.empty())
    if (Status good = only_ours_to_change(path); !good)
      return fail(std::move(good.error()).in("reading the configuration"));
  return parse_config(*text, path);
}

std::string node_name(const Config& config) {
  if (!config.node.name.empty()) return config.node.name;
  if (const char* slurm = std::getenv("SLURMD_NODENAME"); slurm && *slurm) return slurm;
  return short_host_name();
}

std::vector<std::string> rule_folders(const Config& config, const Paths& paths) {
  if (!config.rules.folders.empty()) return config.rules.folders;
  return {installed_file("rules"), paths.root + "/etc/sickbay/rules.d"};
}

// For the next start, which may find worse; with "" nothing is kept.
void keep_good(const std::string& kept, const RuleFiles& files) {
  if (kept.empty()) return;
  if (const Status is = keep_rule_files(kept, files); !is) say("event=rules_not_kept " + is.error().line());
}

// The rules to begin with: `made`, of `files`.  Where these are bad: those that were good last, else the
// shipped ones alone, else none; `refused` then says what is wrong with them.
struct FirstRules {
  MadeRules made;
  std::string refused;
};
template <class Make>
FirstRules first_rules(Result<MadeRules> made, const Result<RuleFiles>& files, const std::string& kept,
                       const Make& make) {
  if (made) {
    keep_good(kept, *files);
    return {std::move(*made), ""};
  }
  FirstRules first{{}, made.error().line()};
  RuleFiles shipped;
  const std::string folder = installed_file("rules");
  if (!folder.empty()) (void)read_rule_folder(folder, shipped);
  for (const RuleFiles& others : {kept_rule_files(kept), shipped})
    if (auto old = make(others); old && !old->rules.empty()) {
      first.made = std::move(*old);
      break;
    }
  return first;
}

void tell_warnings(const MadeRules& made) {
  for (const std::string& warning : made.warnings) say("sickbay-agent: " + warning);
}

// "17:17:0x4011f3,17:19:0x7f0c"
std::string call_list(const std::vector<CallReturn>& calls) {
  std::string list;
  for (const CallReturn& one : calls)
    list += fmt::format("{}{}:{}:{:#x}", list.empty() ? "" : ",", one.pid, one.tid, one.back);
  return list;
}

// By a program of its own: what a user's file does to the library that reads it harms no agent.
LookAtRanks look_by_program(ProcessRunner& processes) {
  const std::string program = installed_file("sickbay-ranks");
  if (program.empty()) return {};
  return [&processes, program](const RankLookOrder& order, Done<RankLook> done) {
    ProcessSpec spec;
    spec.argv = {program, std::to_string(order.job), "--uid", std::to_string(order.uid)};
    if (!order.glance.empty()) {
      std::vector<std::string> programs;
      for (const auto& ranks : order.glance) programs.push_back(fmt::format("{}", fmt::join(ranks, ",")));
      const auto ms = [](Micros time) { return std::to_string(time / std::chrono::milliseconds(1)); };
      spec.argv.insert(spec.argv.end(), {"--glance", fmt::format("{}", fmt::join(programs, "/")), "--seen",
                                         std::to_string(to_micros(order.seen)), "--for", ms(order.last),
                                         "--again", ms(order.again)});
      if (!order.calls.empty()) spec.argv.insert(spec.argv.end(), {"--calls", call_list(order.calls)});
    }
    if (order.prove)
      spec.argv.insert(spec.argv.end(), {"--prove", order.returns.empty() ? "-" : call_list(order.returns)});
    spec.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    spec.time_limit = kLookLimit + std::chrono::duration_cast<std::chrono::milliseconds>(order.last);
    spec.early_end = order.early_end;
    spec.output_limit = kMostLookText;
    processes.run(std::move(spec), [done = std::move(done)](Result<ProcessOutcome> ended) {
      if (!ended) return done(fail(std::move(ended.error())));
      if (ended->timed_out || ended->signal != 0 || ended->exit_code != 0)
        return done(fail(Error(ended->timed_out ? ErrorCode::timed_out : ErrorCode::os,
                               ended->timed_out ? "sickbay-ranks did not end in time"
                               : ended->signal != 0
                                   ? fmt::format("sickbay-ranks was killed by signal {}", ended->signal)
                                   : "sickbay-ranks failed: " + ended->err.substr(0, 300))));
      done(parse_rank_look(ended->out));
    });
  };
}

// Of this node, as a target of nhc.conf may name it.
std::vector<std::string> names_of_node(const Config& config) {
  std::vector<std::string> names = {node_name(config)};
  if (std::string host = host_name(); names[0] != host) names.push_back(std::move(host));
  return names;
}

struct Wish {
  std::string config, nhc;
  bool once = false, verdict = false, check_only = false;
};

constexpr int kSick = 1;

// The exit code.
Result<int> run(const Wish& wish) {
  const Paths paths = Paths::from_environment();
  auto config = load_config(wish.config.empty() ? paths.agent_config() : wish.config, !wish.config.empty());
  if (!config) return fail(std::move(config.error()));
  DuktapePredicates compiler;
  RuleFiles component_files;
  if (Status read = read_rule_folder(paths.components(), component_files); !read)
    return fail(std::move(read.error()));
  auto components = read_components(component_files);
  if (!components) return fail(std::move(components.error()));
  std::vector<std::string> restartable;
  for (const ComponentSpec& one : *components) restartable.push_back(one.name);
  const auto make =
      [&compiler, restartable, node = diagnose::NodeIdentity{node_name(*config), config->node.features}](
          const Result<RuleFiles>& files) { return make_rules(files, node, restartable, compiler); };
  RuleWatch::Read read = [folders = rule_folders(*config, paths)] { return read_rule_folders(folders); };
  if (!wish.nhc.empty())
    read = [path = wish.nhc, names = names_of_node(*config)]() -> Result<RuleFiles> {
      auto made = read_nhc(path, names);
      if (!made) return fail(std::move(made.error()));
      return std::move(made->files);
    };
  const auto files = read();
  auto made = make(files);
  // (Others' rules in the place of an nhc.conf that was asked for would be a surprise.)
  if (!made && (wish.check_only || !wish.nhc.empty())) return fail(std::move(made.error()));
  if (wish.check_only) {
    tell_warnings(*made);
    if (!wish.nhc.empty())
      if (const auto taken = read_nhc(wish.nhc, names_of_node(*config)))
        std::fputs(describe(*taken).c_str(), stdout);
    return 0;
  }
  if (::geteuid() != 0)
    return fail(Error(ErrorCode::not_root, "sickbay-agent must run as root")
                    .because("only root can read all that it examines, and sickbayd hears root only"));
  auto boot = read_file("/proc/sys/kernel/random/boot_id", 64);
  if (!boot) return fail(std::move(boot.error()));
  auto store = open_agent_files(paths.agent_state());
  if (!store) return fail(std::move(store.error()));
  const std::string kept = wish.nhc.empty() ? paths.agent_state() + "/rules.good.json" : "";
  FirstRules first = first_rules(std::move(made), files, kept, make);
  tell_warnings(first.made);

  auto loop = make_asio_loop();
  auto credentials = make_munge_credentials(*loop, {config->munge.socket, 1});
  SignedClientOptions to;
  to.host = config->controller.host;
  to.port = static_cast<std::uint16_t>(config->controller.port);
  to.from = config->controller.from;
  auto client = to.host.empty() ? nullptr : make_signed_client(*loop, *credentials, to);
  // Where there are two, what the agent tells goes to the active one; as a witness it hears both.
  std::unique_ptr<SignedClient> second;
  std::unique_ptr<EitherSickbayd> either;
  std::unique_ptr<WitnessPolls> witness;
  if (client != nullptr && !config->controller.standby.empty()) {
    to.host = config->controller.standby;
    to.port = static_cast<std::uint16_t>(config->controller.standby_port);
    second = make_signed_client(*loop, *credentials, to);
    either = std::make_unique<EitherSickbayd>(*client, *second);
    to.host = config->controller.host;
    if (config->controller.witness)
      witness = std::make_unique<WitnessPolls>(*loop, **store, node_name(*config), boot_clock,
                                               std::vector<HttpClient*>{client.get(), second.get()});
  }
  HttpClient* const sickbayd = either != nullptr ? static_cast<HttpClient*>(either.get()) : client.get();
  Operations operations(*loop);
  auto processes = make_process_runner(*loop);
  const node::Tree here("/");
  node::TimesReader times(here);
  AgentOptions options;
  options.node = node_name(*config);
  options.boot_id = boot->substr(0, boot->find('\n'));
  options.version = SICKBAY_VERSION;
  options.repair = config->repair.allowed;
  options.every = config->periods.every;
  options.log = say;
  options.busy = [] { return a_step_runs_here(); };
  options.jobs = [] { return jobs_here(); };
  options.facts_every = config->periods.facts;
  options.facts = [features = config->node.features] {
    Json facts = read_fleet_facts();
    if (!features.empty()) facts.set("features", fmt::format("{}", fmt::join(features, ",")));
    facts.set("version:sickbay-agent", SICKBAY_VERSION);
    return facts;
  };
  options.self = process_identity();
  options.lives = [](const std::string& process) { return process_lives(process); };
  options.datagrams = udp_on(*loop);
  options.ask_by_tcp = [&loop](const std::string& address, std::uint16_t port, Done<bool> said) {
    ask_by_tcp(*loop, address, port, std::move(said));
  };
  const LeavingFile leaving(paths.leaving());
  options.leaving = leaving.shown();
  options.show_leaving = [leaving](std::optional<TimePoint> since) { return leaving.show(since); };
  options.look_at_ranks = look_by_program(*processes);
  options.times = {
      [&times](JobId job, std::uint32_t uid, bool search) { return times.count(job, uid, search); },
      [&times](const std::vector<std::int64_t>& pids) { return times.states(pids); },
      [&times](JobId job) { times.forget(job); }, [] { return node::look_at_connections(); },
      [](const std::string& address) { return node::open_echo(address); }};
  options.components = std::move(*components);
  options.processes = processes.get();
  options.random = [] {
    std::uint32_t number = 0;
    SB_CHECK(::getentropy(&number, sizeof number) == 0, "the kernel gives up to 256 bytes");
    return number;
  };
  const std::size_t specifications = first.made.rules.size();
  Agent agent(*loop, **store, operations, sickbayd, std::move(first.made.rules), std::move(options));
  agent.tell_rules_refused(first.refused);
  if (auto armed = loop->on_signals({SIGTERM, SIGINT}, [&loop](int) { loop->stop(); }); !armed)
    return fail(std::move(armed.error()));
  std::unique_ptr<RuleWatch> watch;
  if (wish.once) {
    agent.once(kOnceLimit, [&loop] { loop->stop(); });
  } else {
    agent.start();
    // (One that cannot read what it promised must not promise anything.)
    if (witness != nullptr)
      if (Status begun = witness->start(); !begun)
        say("sickbay-agent: this node does not witness: " + begun.error().line());
    watch = std::make_unique<RuleWatch>(*loop, read, files, [&](Result<RuleFiles> now) {
      auto others = make(now);
      agent.tell_rules_refused(others ? "" : others.error().line());
      if (!others) return;
      keep_good(kept, *now);
      tell_warnings(*others);
      agent.change_rules(std::move(others->rules));
    });
    if (auto armed = loop->on_signals({SIGHUP}, [&watch](int) { watch->look(); }); !armed)
      return fail(std::move(armed.error()));
    // Now SIGHUP ends it no more.
    say(fmt::format("event=started version={} node={} specifications={} controller={}", SICKBAY_VERSION,
                    node_name(*config), specifications, to.host.empty() ? "none" : to.host));
  }
  loop->run();
  if (!wish.verdict || agent.sick().empty()) return 0;
  say("sickbay-agent: this node is sick: " + agent.sick());
  return kSick;
}

}  // namespace
}  // namespace sickbay::agent

int main(int argc, char** argv) {
  using namespace sickbay;
  agent::Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--help" || arg == "-h") return std::fputs(agent::kUsage, stdout) < 0;
    if (arg == "--version") return std::printf("sickbay-agent %s\n", SICKBAY_VERSION) < 0;
    if (arg == "--help-components") return std::fputs(agent::describe_component_keys().c_str(), stdout) < 0;
    if (arg == "--help-config") return std::fputs(agent::describe_config().c_str(), stdout) < 0;
    if (arg == "--check-config") {
      wish.check_only = true;
    } else if (arg == "--once" || arg == "--once=verdict") {
      wish.once = true;
      wish.verdict = arg != "--once";
    } else if (arg == "--config" && i + 1 < argc) {
      wish.config = argv[++i];
    } else if (arg == "--nhc" && i + 1 < argc) {
      wish.nhc = argv[++i];
    } else {
      agent::say(Error(ErrorCode::usage, fmt::format("unknown option '{}'", arg))
                     .remedied_by("see 'sickbay-agent --help'")
                     .message("sickbay-agent"));
      return error_row(ErrorCode::usage).exit_code;
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  int code = 0;
  try {
    const Result<int> ended = agent::run(wish);
    if (ended) return *ended;
    agent::say(ended.error().message("sickbay-agent"));
    code = error_row(ended.error().code).exit_code;
  } catch (const std::exception& e) {
    agent::say(Error(ErrorCode::internal, fmt::format("stopped by an exception: {}", e.what()))
                   .message("sickbay-agent"));
    code = error_row(ErrorCode::internal).exit_code;
  }
  return wish.once ? 0 : code;  // what keeps the agent from looking says nothing of the node
}
