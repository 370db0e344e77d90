// SPDX-License-Identifier: Apache-2.0
// One table from names to functions; three ways to run them.
#include "adapters/node/node_runner.h"

#include <fmt/format.h>
#include <time.h>

#include <array>
#include <utility>

#include "adapters/node/families.h"
#include "adapters/node/lanes.h"
#include "adapters/node/process_table.h"
#include "base/duration.h"
#include "base/text.h"
#include "model/builtin_operations.h"
#include "ports/lifetime.h"

namespace sickbay {
namespace node {
namespace {

using Function = OperationEnd (*)(const Call&);
using Planner = ChildPlan (*)(const Call&);

// On the loop's thread: they read files of /proc and /sys alone, which never wait.
struct InlineRow {
  std::string_view name;
  Function run;
};
constexpr auto kInline = std::to_array<InlineRow>({
    {"hardware", hardware},
    {"parts", parts},
    {"memory", memory},
    {"swap", swap},
    {"cpus", cpus},
    {"machine_checks", machine_checks},
    {"load", load},
    {"edac", edac},
    {"dimm", dimm},
    {"disks", disks},
    {"disk_place", disk_place},
    {"mount", mount},
    {"read_only_mounts", read_only_mounts},
    {"nic", nic},
    {"tcp", tcp},
    {"infiniband", infiniband},
    {"memory_hogs", memory_hogs},
    {"memory_process", memory_process},
    {"zombies", zombies},
    {"processes", processes},
    {"jobs", jobs},
    {"process_gone", process_gone},
    {"job_gone", job_gone},
    {"service", service},
    {"mount_match", mount_match},
    {"net_device", net_device},
    {"ib_link", ib_link},
    {"cpu_info", cpu_info},
});

// On a thread each (lanes.h): they may wait for a file server, a name service, a bus or a process.
struct ThreadRow {
  std::string_view name;
  Function run;
  std::string_view
      key;  // the argument that says what may hang; "": the operation itself, "*": each use of it
};
constexpr auto kThreads = std::to_array<ThreadRow>({
    {"temperature", temperature, ""},
    {"filesystem", filesystem, "path"},
    {"reach", reach, "host"},
    {"clock", clock, "server"},
    {"temporary_files", temporary_files, "path"},
    {"clean_temporary", clean_temporary, "path"},
    {"job_network", job_network, ""},
    {"kill_leftovers", kill_leftovers, ""},
    {"kill_process", kill_process, ""},
    {"file_test", file_test, "*"},
    {"file_stat", file_stat, "*"},
    {"file_contents", file_contents, "*"},
    {"sockets", sockets, "*"},
    {"kernel_messages", kernel_messages, ""},
    {"process_match", process_match, "*"},
    {"process_use", process_use, "*"},
    {"kswapd", kswapd, ""},
    {"stray_processes", stray_processes, ""},
});

// They ask other programs.
struct ChildRow {
  std::string_view name;
  Planner plan;
};
constexpr auto kChildren = std::to_array<ChildRow>({
    {"disk_smart", disk_smart},
    {"gpu", gpu},
    {"power_supplies", power_supplies},
    {"ups", ups},
    {"remount", remount},
    {"restart_service", restart_service},
    {"cancel_job", cancel_job},
    {"job_slurm", job_slurm},
    {"command", command},
    {"nhc_check", nhc_check},
    {"ping", ping},
    {"slurm_ping", slurm_ping},
    {"dmi", dmi},
    {"memory_errors", memory_errors},
});

template <class Rows>
auto row_of(const Rows& rows, std::string_view name) -> decltype(rows.data()) {
  for (const auto& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

Micros thread_time() {
  timespec cpu{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return Micros(cpu.tv_sec * 1'000'000 + cpu.tv_nsec / 1000);
}

class NodeRunner : public OperationRunner {
 public:
  NodeRunner(Loop& loop, ProcessRunner& programs, std::string_view root)
      : loop_(loop),
        programs_(programs),
        tree_(std::make_shared<const Tree>(root)),
        processes_(*tree_),
        lanes_(loop) {}

  void run(OperationCall wanted, std::function<void(OperationEnd)> done) override {
    const std::string_view name =
        std::string_view(wanted.run).substr(wanted.run.starts_with("builtin:") ? 8 : 0);
    const BuiltinOperation* row = wanted.run.starts_with("builtin:") ? builtin_operation(name) : nullptr;
    if (row == nullptr)
      return answer(std::move(done),
                    unknown(fmt::format("there is no built-in operation {}", quote_for_message(wanted.run))));
    auto arguments = builtin_arguments(*row, wanted.arguments, wanted.inputs);
    if (!arguments) return answer(std::move(done), unknown(arguments.error().line()));
    Call call{.operation = wanted.operation,
              .arguments = std::move(*arguments),
              .inputs = std::move(wanted.inputs),
              .input_names = std::move(wanted.input_names),
              .tree = tree_.get(),
              .counters = &counters_,
              .processes = &processes_,
              .time_limit = wanted.time_limit,
              .early_end = wanted.early_end,
              .now = loop_.now(),
              .cancelled = nullptr};
    if (const auto* here = row_of(kInline, name))
      return run_inline(here->run, std::move(call), std::move(done));
    if (const auto* thread = row_of(kThreads, name))
      return run_thread(*thread, std::move(call), std::move(done));
    if (const auto* child = row_of(kChildren, name)) {
      ChildPlan plan = child->plan(call);
      return run_children(std::move(plan), std::move(call), std::move(done));
    }
    answer(std::move(done), unknown(fmt::format("builtin:{} is done by {}", name, to_string(row->place))));
  }

 private:
  void answer(std::function<void(OperationEnd)> done, OperationEnd end) {
    loop_.post([done = std::move(done), end = std::move(end)] { done(end); });
  }

  void run_inline(Function function, Call call, std::function<void(OperationEnd)> done) {
    // Posted, so that `done` never comes before run() has returned.
    loop_.post(lifetime_.guard([function, call = std::move(call), done = std::move(done)] {
      const auto began = std::chrono::steady_clock::now();
      const Micros cpu = thread_time();
      OperationEnd end = function(call);
      end.cpu = thread_time() - cpu;
      end.wall = std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - began);
      done(std::move(end));
    }));
  }

  void run_thread(const ThreadRow& row, Call call, std::function<void(OperationEnd)> done) {
    std::string key(row.name);
    if (row.key == "*")
      key += " " + call.operation;
    else if (!row.key.empty())
      key += " " + quote_for_message(call.text(row.key));
    // They are the loop's, without a lock.
    call.counters = nullptr;
    call.processes = nullptr;
    const auto limit = call.time_limit;
    const auto early_end = std::exchange(call.early_end, nullptr);
    // The thread may outlive us: it has its own share of the tree.
    lanes_.start(
        key, limit,
        [call = std::move(call), tree = tree_, function = row.run](const std::atomic<bool>& cancelled) {
          Call mine = call;
          mine.cancelled = &cancelled;
          return function(mine);
        },
        std::move(done), early_end);
  }

  // Programs of a plan run one after the other, all within the time limit.
  struct Children {
    ChildPlan plan;
    Call call;
    std::vector<Result<ProcessOutcome>> outcomes = {};
    std::function<void(OperationEnd)> done;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    Micros cpu{0};
  };
  void run_children(ChildPlan plan, Call call, std::function<void(OperationEnd)> done) {
    if (plan.instead) return answer(std::move(done), std::move(*plan.instead));
    auto children = std::make_shared<Children>(
        Children{.plan = std::move(plan), .call = std::move(call), .done = std::move(done)});
    next_child(children);
  }
  void next_child(const std::shared_ptr<Children>& c) {
    const auto spent = std::chrono::steady_clock::now() - c->began;
    if (c->call.early_end && c->call.early_end->asked())
      return c->done(unknown(c->call.operation + " was ended: " + c->call.early_end->why()));
    if (c->outcomes.size() == c->plan.programs.size()) {
      OperationEnd end = c->plan.read(c->outcomes);
      end.cpu = c->cpu;
      end.wall = std::chrono::duration_cast<Micros>(spent);
      return c->done(std::move(end));
    }
    ProcessSpec spec = c->plan.programs[c->outcomes.size()];
    const auto left = c->call.time_limit - std::chrono::duration_cast<std::chrono::milliseconds>(spent);
    // What the programs before have left of the whole limit.
    spec.time_limit = std::max(left, std::chrono::milliseconds(1));
    spec.early_end = c->call.early_end;
    programs_.run(std::move(spec), lifetime_.guard([this, c](Result<ProcessOutcome> outcome) {
      if (outcome) c->cpu += outcome->cpu;
      c->outcomes.push_back(std::move(outcome));
      next_child(c);
    }));
  }

  Loop& loop_;
  ProcessRunner& programs_;
  std::shared_ptr<const Tree> tree_;
  Counters counters_;
  ProcessTable processes_;
  Lanes lanes_;
  Lifetime lifetime_;
};

}  // namespace

ProcessSpec program_spec(const Call& call, std::vector<std::string> argv) {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  std::string path = "PATH=";
  for (const char* folder : kProgramFolders) path += (path.size() > 5 ? ":" : "") + call.tree->path(folder);
  // C, since answers are read by their English words.
  spec.environment = {path, "LC_ALL=C", "HOME=/"};
  if (call.tree->is_this_machine())
    // scancel finds the controller by it, where slurm.conf lies in a place of its own.
    for (const char* name : {"SLURM_CONF"})
      if (const char* value = std::getenv(name))
        spec.environment.push_back(fmt::format("{}={}", name, value));
  spec.time_limit = call.time_limit;
  return spec;
}

std::optional<OperationEnd> no_answer(const std::string& program, const Result<ProcessOutcome>& outcome) {
  if (!outcome) return unknown(outcome.error().line());
  if (outcome->timed_out) return unknown(fmt::format("{} did not end in time and was killed", program));
  if (outcome->signal != 0)
    return unknown(fmt::format("{} was killed by signal {}", program, outcome->signal));
  return std::nullopt;
}

}  // namespace node

std::unique_ptr<OperationRunner> make_node_runner(Loop& loop, ProcessRunner& programs, std::string root) {
  return std::make_unique<node::NodeRunner>(loop, programs, root);
}

}  // namespace sickbay
