// SPDX-License-Identifier: Apache-2.0
// sickbay-ckpt: saves the files that a program of a job has written, and puts them back.  It runs in the job,
// as its user, once in each process of a step.  Its work: src/ckpt; this is its command line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "apps/ckpt/commands.h"
#include "base/error_json.h"

namespace sickbay::ckpt {
namespace {

int run(int argc, char** argv) {
  CLI::App app("Checkpoints of a job's program, by the files that it writes itself", "sickbay-ckpt");
  app.require_subcommand(1);
  app.set_version_flag("--version", "sickbay-ckpt " SICKBAY_VERSION, "print the version");
  Options o;
  Result<int> code = 0;
  const auto command = [&](const char* name, const char* help) {
    CLI::App* c = app.add_subcommand(name, help);
    c->add_option("--store", o.store,
                  "folder of checkpoints, which all processes see (else SICKBAY_CHECKPOINTS)")
        ->type_name("DIR");
    c->add_option("--fast", o.fast,
                  "folder of each node, in its memory or on its disk, that is saved to first (else "
                  "SICKBAY_CHECKPOINT_FAST)")
        ->type_name("DIR[:BYTES]");
    c->add_option("--job", o.job, "whose checkpoints (else SLURM_JOB_ID)")->type_name("N");
    c->add_option("--name", o.name, "of one of several programs of the job")->type_name("NAME");
    c->add_option("--rank", o.rank, "of this process (else SLURM_PROCID)")->type_name("R");
    c->add_option("--ranks", o.ranks, "processes that take part (else SLURM_NTASKS)")->type_name("N");
    c->add_option("--session", o.session, "the same for all that take part, new for each start")
        ->type_name("NAME");
    c->add_option("--timeout", o.timeout, "how long to wait for the other processes (default 30m)")
        ->type_name("TIME");
    return c;
  };
  const auto files_of = [&](CLI::App* c) {
    c->add_option("--files", o.patterns, "the program's state, as %t.dat or out/*")
        ->type_name("GLOB")
        ->required();
    c->add_option("--folder", o.folder, "of the program (else the current one)")->type_name("DIR");
    c->add_option("--keep", o.keep, "checkpoints that stay (default 3; 0: all)")->type_name("N");
    c->add_option("--fewest", o.fewest, "processes that can go on from it")->type_name("N");
    c->add_option("--most", o.most, "processes that can go on from it")->type_name("N");
    c->add_flag("--own", o.own, "the folder is this process's alone");
  };
  const auto mttf_for = [&](CLI::App* c) {
    c->add_option("--mttf", o.mttf, "mean time between failures that hit the job")->type_name("TIME");
    c->add_option("--node-mttf", o.node_mttf, "of one node")->type_name("TIME");
  };
  const auto in_json = [&](CLI::App* c) { c->add_flag("--json", o.json, "answer in JSON"); };
  CLI::App* saves = command("save", "save the files, when all processes have");
  files_of(saves);
  in_json(saves);
  saves->add_option("--label", o.label, "what the state is called, the same in all processes")
      ->type_name("TEXT");
  saves->add_flag("--full", o.full, "stand on no older checkpoint");
  saves->callback([&] { code = save_command(o); });
  CLI::App* restores =
      command("restore", "put the newest whole checkpoint back; 1: there is none yet, 65: damaged");
  restores->add_option("--from", o.from, "not newer than this")->type_name("N");
  restores->add_option("--folder", o.folder, "of the program (else the current one)")->type_name("DIR");
  in_json(restores);
  restores->callback([&] { code = restore_command(o); });
  CLI::App* lists = command("list", "show the checkpoints");
  in_json(lists);
  lists->callback([&] { code = look_command(o, false); });
  CLI::App* verifies = command("verify", "read every byte; 65: something is damaged");
  verifies->add_option("--from", o.from, "this one alone")->type_name("N");
  in_json(verifies);
  verifies->callback([&] { code = look_command(o, true); });
  CLI::App* intervals = command("interval", "how long to work between two checkpoints, in seconds, and why");
  intervals->add_option("--cost", o.cost, "of a checkpoint (else as measured)")->type_name("TIME");
  mttf_for(intervals);
  in_json(intervals);
  intervals->callback([&] { code = interval_command(o); });
  CLI::App* flushes = command("flush", "bring what lies in fast places to shared storage");
  flushes->add_option("--number", o.number, "wait until this one is there")->type_name("N");
  flushes->add_option("--keep", o.keep, "checkpoints that stay (default 3; 0: all)")->type_name("N");
  flushes->add_flag("--again", o.again, "after one that failed; of all processes or of none");
  flushes->add_flag("--background", o.background, "leave it to one that waits to begin, where there is one");
  flushes->callback([&] { code = flush_command(o); });
  CLI::App* keeps =
      command("keep", "on each node one: have what gives back what another node has in its fast place");
  keeps->add_option("--address", o.address, "in numbers, where the other nodes reach this one")
      ->type_name("ADDRESS");
  keeps
      ->add_option("--parity", o.parity,
                   "keep the XOR of a group of so many nodes, in place of a copy of another node's")
      ->type_name("NODES")
      ->check(CLI::Range(2, 32));
  keeps->callback([&] { code = keep_command(o); });
  CLI::App* fetches = command("fetch", "bring what this process lacks in its fast place from a keeper");
  fetches->add_option("--number", o.number, "of the checkpoint")->type_name("N")->required();
  fetches->callback([&] { code = fetch_command(o); });
  CLI::App* runs = command("run", "run a program, and ask it for its state whenever a checkpoint is due");
  files_of(runs);
  runs->add_option("--done", o.done, "the file that the program writes when its state files are written")
      ->type_name("PATH")
      ->required();
  runs->add_option("--every", o.every,
                   "of work between two checkpoints (else by --mttf; else only when asked)")
      ->type_name("TIME");
  mttf_for(runs);
  runs->add_option("--ask", o.ask, "by which the program is asked (default USR1)")->type_name("SIGNAL");
  runs->add_option("--ask-file", o.ask_file, "is made to ask the program, in place of a signal")
      ->type_name("PATH");
  runs->add_flag("--ask-one", o.ask_one, "ask rank 0 alone: the program tells the others");
  runs->add_option("--before-end", o.before_end,
                   "room for one before the job's limit (0: none; else 60 s, or three times the cost)")
      ->type_name("TIME");
  runs->add_option("--at-end", o.at_end, "one more when the program has ended well (default none)")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"none", "save"}));
  runs->add_option("--engine", o.engine,
                   "how its state is got: application (default); dmtcp and criu say what they would need")
      ->type_name("NAME");
  runs->add_flag("--quiet", o.quiet, "tell of no checkpoint that was taken");
  runs->add_option("program", o.program, "and its arguments, behind --")->type_name("PROGRAM")->required();
  runs->callback([&] { code = run_command(o); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    code = fail(Error(ErrorCode::usage, e.what()).remedied_by("see 'sickbay-ckpt --help'"));
  }
  if (code) return *code;
  const Error& error = code.error();
  if (o.json) fmt::print("{}\n", error_json(error).dump());
  fmt::print(stderr, "{}\n", error.message("sickbay-ckpt"));
  return error_row(error.code).exit_code;
}

}  // namespace
}  // namespace sickbay::ckpt

int main(int argc, char** argv) {
  const int code = sickbay::ckpt::run(argc, argv);
  if (code == 0 && std::fclose(stdout) != 0) return 74;
  return code;
}
