// SPDX-License-Identifier: Apache-2.0
// sickbay-ckpt: saves the files that a program of a job has written, and puts them back.  It runs in the job,
// as its user, once in each process of a step.  Its work: src/ckpt.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/duration.h"
#include "base/error_json.h"
#include "base/size.h"
#include "base/text_table.h"
#include "base/words.h"
#include "ckpt/declared.h"
#include "ckpt/due.h"
#include "ckpt/go_back.h"
#include "ckpt/take.h"

namespace sickbay::ckpt {
namespace {

struct Options {
  std::string store, name, folder, session, label, timeout = "30m", cost, mttf, node_mttf;
  std::vector<std::string> patterns;
  std::int64_t job = 0, rank = -1, ranks = 0, from = 0, keep = 3, fewest = 0, most = 0;
  bool json = false, own = false, full = false;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int threads_here() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "sickbay-ckpt: note: {}\n", for_terminal(note));
}

// What every command begins with.
struct Place {
  std::unique_ptr<checkpoint::Files> files = checkpoint::make_posix_files();
  Participant me;
  std::string root;
};

Result<Place> place_of(const Options& o) {
  Place place;
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  Known known;
  if (o.job > 0) known.job = o.job;
  // A replay (sickbay redo) goes on in the series of the job that it goes back in.
  const auto replayed = to_integer(variable("SICKBAY_CHECKPOINT_JOB"));
  if (o.job == 0 && replayed && *replayed > 0) known.job = *replayed;
  if (o.rank >= 0) known.rank = o.rank;
  if (o.ranks > 0) known.ranks = o.ranks;
  known.session = o.session;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  auto me = participant_from(variable, known, ::getuid(), host, fmt::format("alone-{}-{}", ::getpid(), now));
  if (!me) return tl::unexpected<Error>(std::move(me.error()));
  place.me = std::move(*me);
  place.root = o.store.empty() ? variable("SICKBAY_CHECKPOINTS") : o.store;
  if (place.root.empty() && !variable("SLURM_SUBMIT_DIR").empty())
    place.root = variable("SLURM_SUBMIT_DIR") + "/sickbay-checkpoints";
  if (place.root.empty())
    return fail(
        Error(ErrorCode::usage, "no folder for checkpoints is named")
            .remedied_by("set SICKBAY_CHECKPOINTS, or give --store, a folder that all processes see"));
  place.root = std::filesystem::absolute(place.root).lexically_normal().string();
  while (place.root.size() > 1 && place.root.ends_with('/')) place.root.pop_back();
  return place;
}

Result<std::string> folder_of_program(const Options& o) {
  std::error_code wrong;
  const auto path = std::filesystem::canonical(o.folder.empty() ? "." : o.folder, wrong);
  if (wrong) return fail(ErrorCode::not_found, fmt::format("no folder {}: {}", o.folder, wrong.message()));
  return path.string();
}

Result<Waiting> waiting_of(const Options& o) {
  const auto patience = parse_duration(o.timeout);
  if (!patience) return tl::unexpected<Error>(patience.error());
  return real_waiting(*patience);
}

Result<int> save(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  const auto folder = folder_of_program(o);
  if (!folder) return tl::unexpected<Error>(folder.error());
  const auto waiting = waiting_of(o);
  if (!waiting) return tl::unexpected<Error>(waiting.error());
  const auto sources = declared_files(*folder, o.patterns, place->me, o.own, place->root);
  if (!sources) return tl::unexpected<Error>(sources.error());
  auto series = Series::open(*place->files, place->root, place->me.job, o.name);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  TakeWish wish;
  wish.label = o.label;
  wish.full = o.full;
  wish.threads = threads_here();
  wish.fewest = o.fewest;
  wish.most = o.most;
  if (o.keep > 0) wish.keep.count = static_cast<std::size_t>(o.keep);
  const auto taken = take_checkpoint(*series, place->me, *sources, wish, *waiting);
  if (!taken) return tl::unexpected<Error>(taken.error());
  tell_notes(taken->notes);
  if (place->me.rank != 0) return 0;
  if (o.json)
    fmt::print("{}\n", Json::object({{"checkpoint", taken->number},
                                     {"parent", taken->parent ? Json(*taken->parent) : Json()},
                                     {"ranks", place->me.ranks},
                                     {"bytes", taken->raw},
                                     {"stored_bytes", taken->written},
                                     {"seconds", static_cast<double>(taken->took.count()) / 1e6},
                                     {"folder", series->store.folder()},
                                     {"notes", Json(taken->notes)}})
                           .dump());
  else
    fmt::print("{}\n", taken->number);
  return 0;
}

Result<int> restore(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  const auto folder = folder_of_program(o);
  if (!folder) return tl::unexpected<Error>(folder.error());
  const auto waiting = waiting_of(o);
  if (!waiting) return tl::unexpected<Error>(waiting.error());
  auto series = Series::open(*place->files, place->root, place->me.job, o.name);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  BackWish wish{.from = o.from, .target = *folder, .threads = threads_here()};
  // What sickbay redo says counts for the series that it says it of.
  if (o.job == 0) wish.begin_at = to_integer(variable("SICKBAY_CHECKPOINT_FROM")).value_or(0);
  const auto back = go_back(*series, place->me, wish, *waiting);
  if (!back) return tl::unexpected<Error>(back.error());
  tell_notes(back->notes);
  constexpr int kNoneYet = 1;
  if (place->me.rank == 0 && o.json)
    fmt::print("{}\n", Json::object({{"checkpoint", back->number == 0 ? Json() : Json(back->number)},
                                     {"label", back->label},
                                     {"bytes", back->raw},
                                     {"seconds", static_cast<double>(back->took.count()) / 1e6},
                                     {"notes", Json(back->notes)}})
                           .dump());
  else if (place->me.rank == 0)
    fmt::print("{}\n", back->number == 0 ? "none" : fmt::format("{}", back->number));
  return back->number == 0 ? kNoneYet : 0;
}

// list, and with `whole` every byte is looked at.
Result<int> look(const Options& o, bool whole) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  auto series = Series::open(*place->files, place->root, place->me.job, o.name);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  const auto listed = series->store.list();
  if (!listed) return tl::unexpected<Error>(listed.error());
  bool damaged = false;
  Json items = Json::array();
  TextTable table({{"CHECKPOINT", TextTable::Column::Align::right},
                   {"AT"},
                   {"AFTER"},
                   {"PROCESSES", TextTable::Column::Align::right},
                   {"SIZE", TextTable::Column::Align::right},
                   {"LABEL"},
                   {"STATE"}});
  std::map<std::string, checkpoint::Digest> sure;
  for (const checkpoint::Listed& one : *listed) {
    if (o.from != 0 && one.number != o.from) continue;
    std::string wrong = one.wrong;
    std::int64_t raw = 0;
    if (one.control)
      for (const checkpoint::Image& image : one.control->images) {
        raw += image.raw;
        if (const auto read = whole ? series->store.verify_pack(image, sure, threads_here()) : Status();
            !read)
          wrong = fmt::format("rank {}: {}", image.rank, read.error().line());
      }
    damaged = damaged || !wrong.empty();
    const auto& c = one.control;
    const std::string after = c && !c->ancestors.empty() ? fmt::format("{}", c->ancestors.front()) : "";
    items.push(Json::object({{"checkpoint", one.number},
                             {"at", c ? format_time(c->at) : ""},
                             {"parent", after.empty() ? Json() : Json(c->ancestors.front())},
                             {"ranks", c ? Json(c->images.size()) : Json()},
                             {"bytes", raw},
                             {"label", c ? c->label : ""},
                             {"wrong", wrong}}));
    table.add({fmt::format("{}", one.number), c ? format_time(c->at) : "", after,
               c ? fmt::format("{}", c->images.size()) : "", c ? describe_size({raw}) : "",
               c ? for_terminal(c->label) : "",
               wrong.empty() ? (whole ? "whole" : "there") : "damaged: " + for_terminal(wrong)});
  }
  if (whole && o.from != 0 && items.size() == 0)
    return fail(ErrorCode::not_found, fmt::format("there is no checkpoint {}", o.from));
  if (o.json)
    fmt::print("{}\n", Json::object({{"items", std::move(items)}}).dump());
  else
    fmt::print("{}", table.empty() ? "no checkpoints\n" : table.text());
  return whole && damaged ? error_row(ErrorCode::bad_input).exit_code : 0;
}

// Daly's interval, and why it is so long.
Result<int> interval(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  std::optional<Micros> cost;
  std::string measured = "as given";
  if (o.cost.empty()) {
    const auto series = Series::open(*place->files, place->root, place->me.job, o.name);
    if (!series) return tl::unexpected<Error>(series.error());
    cost = usual_cost(read_state(*series));
    measured = "the middle of the last ones";
  } else {
    const auto given = parse_duration(o.cost);
    if (!given) return tl::unexpected<Error>(given.error());
    cost = *given;
  }
  if (!cost)
    return fail(Error(ErrorCode::not_found, "no checkpoint of this job was taken yet: its cost is not known")
                    .remedied_by("take one, or give what it costs: --cost 20s"));
  const std::string& text = o.mttf.empty() ? o.node_mttf : o.mttf;
  if (text.empty())
    return fail(Error(ErrorCode::usage, "how often do nodes fail?")
                    .remedied_by("give the mean time to failure of the job (--mttf 5d) or of a node "
                                 "(--node-mttf 900d); 'sickbay tree' shows what was measured"));
  const auto given = parse_duration(text);
  if (!given) return tl::unexpected<Error>(given.error());
  if (given->count() <= 0 || cost->count() < 0)
    return fail(ErrorCode::usage, fmt::format("{} is no time to failure", text));
  const Micros mttf = o.mttf.empty() ? *given / place->me.nodes : *given;
  const Micros length = *interval_of({.mttf = mttf}, cost);
  const std::string why = fmt::format(
      "a checkpoint costs {} ({}), the job loses a node every {}{}: by Daly's formula {} of work between two",
      describe_duration(*cost), measured, describe_duration(mttf),
      o.mttf.empty() ? fmt::format(" (one of {} every {})", place->me.nodes, describe_duration(*given)) : "",
      describe_duration(length));
  if (o.json)
    fmt::print("{}\n", Json::object({{"seconds", static_cast<double>(length.count()) / 1e6},
                                     {"cost_seconds", static_cast<double>(cost->count()) / 1e6},
                                     {"mttf_seconds", static_cast<double>(mttf.count()) / 1e6},
                                     {"why", why}})
                           .dump());
  else
    fmt::print("{}\n{}\n", length.count() / 1'000'000, why);
  return 0;
}

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
    c->add_option("--job", o.job, "whose checkpoints (else SLURM_JOB_ID)")->type_name("N");
    c->add_option("--name", o.name, "of one of several programs of the job")->type_name("NAME");
    c->add_option("--rank", o.rank, "of this process (else SLURM_PROCID)")->type_name("R");
    c->add_option("--ranks", o.ranks, "processes that take part (else SLURM_NTASKS)")->type_name("N");
    c->add_option("--session", o.session, "the same for all that take part, new for each start")
        ->type_name("NAME");
    c->add_option("--timeout", o.timeout, "how long to wait for the other processes (default 30m)")
        ->type_name("TIME");
    c->add_flag("--json", o.json, "answer in JSON");
    return c;
  };
  CLI::App* saves = command("save", "save the files, when all processes have");
  saves->add_option("--files", o.patterns, "the program's state, as %t.dat or out/*")
      ->type_name("GLOB")
      ->required();
  saves->add_option("--folder", o.folder, "of the program (else the current one)")->type_name("DIR");
  saves->add_option("--label", o.label, "what the state is called, the same in all processes")
      ->type_name("TEXT");
  saves->add_option("--keep", o.keep, "checkpoints that stay (default 3; 0: all)")->type_name("N");
  saves->add_option("--fewest", o.fewest, "processes that can go on from it")->type_name("N");
  saves->add_option("--most", o.most, "processes that can go on from it")->type_name("N");
  saves->add_flag("--own", o.own, "the folder is this process's alone");
  saves->add_flag("--full", o.full, "stand on no older checkpoint");
  saves->callback([&] { code = save(o); });
  CLI::App* restores =
      command("restore", "put the newest whole checkpoint back; 1: there is none yet, 65: damaged");
  restores->add_option("--from", o.from, "not newer than this")->type_name("N");
  restores->add_option("--folder", o.folder, "of the program (else the current one)")->type_name("DIR");
  restores->callback([&] { code = restore(o); });
  command("list", "show the checkpoints")->callback([&] { code = look(o, false); });
  CLI::App* verifies = command("verify", "read every byte; 65: something is damaged");
  verifies->add_option("--from", o.from, "this one alone")->type_name("N");
  verifies->callback([&] { code = look(o, true); });
  CLI::App* intervals = command("interval", "how long to work between two checkpoints, in seconds, and why");
  intervals->add_option("--cost", o.cost, "of a checkpoint (else as measured)")->type_name("TIME");
  intervals->add_option("--mttf", o.mttf, "mean time between failures that hit the job")->type_name("TIME");
  intervals->add_option("--node-mttf", o.node_mttf, "of one node")->type_name("TIME");
  intervals->callback([&] { code = interval(o); });
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
