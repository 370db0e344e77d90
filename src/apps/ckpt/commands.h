// SPDX-License-Identifier: Apache-2.0
// The commands of sickbay-ckpt: their words, and what each does.  Each gives its exit code.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/board.h"
#include "ckpt/flusher.h"
#include "ckpt/place.h"
#include "ckpt/series.h"
#include "ckpt/tell.h"

namespace sickbay::ckpt {

/// What the command line says; of all commands.
struct Options {
  std::string store, fast, name, folder, session, label, timeout = "30m", cost, mttf, node_mttf;
  std::vector<std::string> patterns;
  std::int64_t job = 0, rank = -1, ranks = 0, from = 0, keep = 3, fewest = 0, most = 0;
  bool json = false, own = false, full = false;
  // Of run.
  std::string every, ask = "USR1", ask_file, done, before_end, at_end = "none", engine = "application";
  std::vector<std::string> program;
  bool ask_one = false, quiet = false;
  // Of flush.
  std::int64_t number = 0;
  bool again = false, background = false;
  // Of keep.
  std::string address;
  std::int64_t parity = 0;
};

Result<int> save_command(const Options& o);
Result<int> restore_command(const Options& o);
/// list, and with `whole` every byte is looked at (verify).
Result<int> look_command(const Options& o, bool whole);
/// Daly's interval, and why it is so long.
Result<int> interval_command(const Options& o);
/// What lies in the fast places comes to shared storage.
Result<int> flush_command(const Options& o);
/// One on each node: it has what another node has in its fast place.  Until a signal ends it.
Result<int> keep_command(const Options& o);
/// What this process lacks in its fast place, from a keeper.
Result<int> fetch_command(const Options& o);
/// A program that is asked for its state while it runs.
Result<int> run_command(const Options& o);

// ---- what they begin with

struct Place : JobPlace {
  std::unique_ptr<checkpoint::Files> files = checkpoint::make_posix_files();
};
/// Who this process is, and where its checkpoints are.  Errors: usage.
Result<Place> place_of(const Options& o);
/// The series, with the fast place where one is named; where that cannot be had this is told, and it is done
/// without.  `uses`: as open_fast.  Errors: those of Series::open.
Result<Series> series_of(const Options& o, const Place& place, bool uses);
/// After checkpoint `number`, where a fast place is named: it is flushed.  What goes wrong is told.
void flush_behind(const Options& o, const Place& place, std::int64_t number, bool again, Telling how);
/// Errors: not_found.
Result<std::string> folder_of_program(const Options& o);
Result<Waiting> waiting_of(const Options& o);
/// Mean time between failures that hit the job, by --mttf or --node-mttf; nothing: neither is given.
/// Errors: usage.
Result<std::optional<Micros>> mttf_of(const Options& o, const Participant& me);
/// Processors that this process may use.
int threads_here();
void tell_notes(const std::vector<std::string>& notes);
/// Of rank 0, else nothing is done.  Whether it was told is nothing that a checkpoint depends on, and where a
/// site has no sickbayd nobody wants to read of it: `sickbay history` shows what was.
void tell_sickbayd(const News& news, const Participant& me, Telling how);

}  // namespace sickbay::ckpt
