// SPDX-License-Identifier: Apache-2.0
// sickbayd: joins loop, journal, Slurm, engine and API, and runs until it is told to stop.
#include <sys/statvfs.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "adapters/munge/munge_credentials.h"
#include "adapters/net/asio_loop.h"
#include "adapters/net/http_server.h"
#include "adapters/net/signed_client.h"
#include "adapters/net/tcp_answers.h"
#include "adapters/posix/files.h"
#include "adapters/posix/host_name.h"
#include "adapters/posix/host_people.h"
#include "adapters/posix/installed_file.h"
#include "adapters/posix/process_runner.h"
#include "adapters/posix/rights.h"
#include "adapters/slurm/slurm_manager.h"
#include "adapters/sqlite/journal.h"
#include "apps/daemon/accounts.h"
#include "apps/daemon/archivist.h"
#include "apps/daemon/case_folders.h"
#include "apps/daemon/daemon_log.h"
#include "apps/daemon/installation.h"
#include "apps/daemon/nonstop_part.h"
#include "apps/daemon/slurm_user.h"
#include "apps/daemon/snapshot_maker.h"
#include "apps/daemon/snapshots.h"
#include "apps/daemon/standby_part.h"
#include "service/agents.h"
#include "service/api.h"
#include "service/controller.h"
#include "service/effects.h"
#include "service/submissions.h"
#include "settings/paths.h"

namespace sickbay {
namespace {

constexpr std::size_t kConfigBound = 1 << 20;
constexpr const char* kUsage =
    "usage: sickbayd [--config FILE] [--check-config] [--snapshot] [--help-config] [--version]\n"
    "Runs in the foreground as root on the controller host; SICKBAY_ROOT stands before all its paths.\n"
    "--snapshot keeps the state of the journal beside it, for the next start, while sickbayd runs or not: "
    "sickbayd\n"
    "orders it by itself once a day; after an update, before the new one is started, it saves a long "
    "start.\n";

enum class Mode { serve, check, snapshot };

struct Loaded {
  Config config;
  std::string text;  ///< that it was read from
};
Result<Loaded> load_config(const std::string& path, bool must_exist) {
  auto text = read_file(path, kConfigBound);
  if (!text && text.error().code == ErrorCode::not_found && !must_exist) return Loaded{};
  if (!text) return fail(std::move(text.error()).in("reading the configuration"));
  auto config = parse_config(*text, path);
  if (!config) return fail(std::move(config.error()));
  return Loaded{std::move(*config), std::move(*text)};
}

// What sickbayd obeys and runs as root, besides what is installed with it.  (A lab is its owner's.)
Status check_rights(const Config& config, const std::string& config_path, const std::string& nonstop_conf,
                    const Paths& paths) {
  if (!paths.root.empty()) return {};
  std::vector<std::string> obeyed{config_path};
  if (config.nonstop.on) obeyed.push_back(nonstop_conf);
  if (!config.verify.script.empty()) obeyed.push_back(config.verify.script);
  for (const char* program : {"/sbatch", "/sacct", "/scontrol"})
    obeyed.push_back(config.slurm.bin_dir + program);
  for (const std::string& path : obeyed)
    if (Status good = only_ours_to_change(path); !good) return good;
  return {};
}

// Of keys: the kernel's, which never fails for so few.
std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  SB_CHECK(::getentropy(bytes.data(), bytes.size()) == 0, "the kernel gives up to 256 bytes");
  return bytes;
}

Status run(const std::string& config_path, Mode mode) {
  const Paths paths = Paths::from_environment();
  auto loaded = load_config(config_path.empty() ? paths.config() : config_path, !config_path.empty());
  if (!loaded) return fail(loaded.error());
  Config* const config = &loaded->config;
  std::vector<std::string> config_texts{std::move(loaded->text)};
  if (config->verify.folder.empty()) config->verify.folder = paths.verify();
  const char* const environment_conf = std::getenv("SLURM_CONF");
  const std::string nonstop_conf =
      nonstop_conf_path(*config, environment_conf == nullptr ? "" : environment_conf);
  if (config->nonstop.on) {
    auto read = read_nonstop_conf(nonstop_conf);
    if (!read) return fail(std::move(read.error()));
    config->nonstop.config = std::move(*read);
    if (auto text = read_file(nonstop_conf, kConfigBound)) config_texts.push_back(std::move(*text));
  }
  if (Status good =
          check_rights(*config, config_path.empty() ? paths.config() : config_path, nonstop_conf, paths);
      !good)
    return good;
  auto verification = verification_for(*config);
  if (!verification) return fail(verification.error());
  if (mode == Mode::check) return {};
  if (::geteuid() != 0)
    return fail(Error(ErrorCode::not_root, "sickbayd must run as root")
                    .because("only root may submit and cancel jobs for their owners"));

  for (const auto& [folder, rights] :
       {std::pair(paths.state(), 0700u), std::pair(paths.cases(), 0700u), std::pair(paths.run(), 0755u)})
    if (auto made = make_folder(folder, rights); !made) return made;

  if (auto made = make_folder(config->verify.folder, 0755); !made) return made;
  // V runs as the service account and writes its output there.
  if (::chown(config->verify.folder.c_str(), verification->uid, verification->gid) != 0)
    return fail(file_error(errno, "hand over to the service account", config->verify.folder));

  std::error_code no_self;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", no_self).string();
  auto loop = make_asio_loop();
  auto credentials = make_munge_credentials(*loop, {config->munge.socket});
  std::unique_ptr<StandbyPart> standby;  // of two sickbayds; null: there is one
  if (mode == Mode::serve && !config->standby.controllers.empty()) {
    auto made = StandbyPart::make(
        *loop, *credentials, *config,
        {SICKBAY_VERSION, paths.journal(), paths.cases(), paths.socket(), short_host_name()});
    if (!made) return fail(std::move(made.error()));
    standby = std::move(*made);
    const auto may_act = standby->wait();
    if (!may_act) return fail(may_act.error());
    if (!*may_act) return {};
  }
  auto journal =
      mode == Mode::snapshot ? open_journal_reader(paths.journal()) : open_journal(paths.journal());
  if (!journal) return fail(journal.error());
  auto processes = make_process_runner(*loop);
  slurm::SlurmOptions options;
  if (environment_conf != nullptr && config->slurm.conf.empty()) options.slurm_conf = environment_conf;
  if (!config->slurm.conf.empty()) options.slurm_conf = config->slurm.conf;
  options.sbatch_path = config->slurm.bin_dir + "/sbatch";
  options.sacct_path = config->slurm.bin_dir + "/sacct";
  options.scontrol_path = config->slurm.bin_dir + "/scontrol";
  options.service_account = Owner{config->verify.user, verification->uid, verification->gid};
  options.log = [](std::string_view line) { say(fmt::format("event=slurm text={}", Json(line).dump())); };
  auto manager = slurm::make_slurm_manager(*loop, *processes, options);
  if (!manager) return fail(manager.error());

  CaseFolders cases(paths.cases());
  config->drain.examine = config->nonstop.examine = !config->agent.address.empty();
  Snapshots snapshots(paths.snapshot(), config_texts);
  if (mode == Mode::snapshot)
    return make_snapshot({*loop, **journal, **manager, *processes, cases, *config, *verification}, snapshots);
  Effects effects(*loop, **manager, *processes, cases, *config, std::move(*verification));
  if (const std::string program = installed_file("sickbay-folder"); !program.empty())
    effects.set_folder_program(program);
  Seats seats(*config);
  Controller controller(*loop, **journal, **manager, effects, seats, *config);
  controller.on_committed(log_event);
  AddressBook addresses(*loop);
  SlurmUser slurm_user(*loop, **manager);
  HostPeople people(*loop, [groups = config->operators.groups](std::uint32_t uid, std::uint32_t gid) {
    return person_of(uid, gid, groups);
  });
  Agents agents(*loop, controller,
                [&addresses](const std::string& name, Done<std::vector<std::string>> done) {
                  addresses.look_up(name, std::move(done));
                });
  Api api(controller, cases, **manager, {SICKBAY_VERSION, ::getpid(), loop->now()},
          [&config, &slurm_user](const Caller& caller) {
            return slurm_user.is(caller) ||
                   belongs_to(caller, config->operators.users, config->operators.groups);
          });
  agents.name_users_by([&people](std::uint32_t uid) { return people.name_now(uid); });
  api.serve_agents(agents);
  UserQuotas quotas(config->client.quotas);
  quotas.watch_space([folder = paths.state()]() -> std::int64_t {
    struct statvfs at {};
    if (::statvfs(folder.c_str(), &at) != 0) return -1;
    return static_cast<std::int64_t>(at.f_bavail) * static_cast<std::int64_t>(at.f_frsize);
  });
  api.set_quotas(std::move(quotas));
  if (!paths.root.empty()) api.serve_lab();
  if (!config->client.submit) api.refuse_remote_submissions();
  Submissions submissions(*loop, controller, cases, config->keep_submission,
                          [](const Error& error) { say(error.message("sickbayd")); });
  auto kept = snapshots.load(**journal);
  const auto replayed = controller.replay(kept ? &*kept : nullptr);
  if (!replayed) return fail(replayed.error());
  kept.reset();
  if (!snapshots.why_not().empty() || replayed->unreadable)
    say(fmt::format("event=snapshot taken=no why={}",
                    Json(replayed->unreadable ? "it cannot be restored" : snapshots.why_not()).dump()));
  if (const std::size_t swept = submissions.sweep(); swept > 0)
    say(fmt::format("event=swept submissions={}", swept));
  effects.set_act_on_node(
      [&agents](const std::string& node, const std::string& key, const Json& order, Done<Json> done) {
        agents.tasks().act(node, key, order, std::move(done));
      });
  effects.set_examine([&agents](const std::string& node, const std::string& depth, Done<Json> done) {
    agents.tasks().examine(node, depth, std::move(done));
  });
  agents.watch_each_other(config->detect_port, random_bytes);
  agents.watch_ranks(config->hang);
  agents.tell_leaving();
  agents.bound_active(config->diagnose.active_at_once);
  agents.lend_peers();
  effects.set_ask_node(
      [&agents, &loop](const std::string& node, const std::string& control, Done<Json> done) {
        agents.addresses().ask_node(
            node, control,
            [&loop](const std::string& address, std::uint16_t port, Done<bool> said) {
              ask_by_tcp(*loop, address, port, std::move(said));
            },
            std::move(done));
      });
  auto server = make_http_server(*loop);
  server->name_callers_by(people);
  server->on_request([&api, &standby](HttpRequest request, std::shared_ptr<HttpReply> reply) {
    if (standby != nullptr && standby->serve(request, reply)) return;
    api.serve(std::move(request), std::move(reply));
  });
  if (standby != nullptr) api.show_standby([&standby] { return standby->view(); });
  if (auto bound = server->listen_unix(paths.socket(), 0666); !bound) return bound;
  if (!config->agent.address.empty())
    if (auto port = server->listen_tcp(config->agent.address, config->agent.port, *credentials); !port)
      return fail(port.error());
  std::unique_ptr<NonstopPart> nonstop;
  if (config->nonstop.on) {
    nonstop = std::make_unique<NonstopPart>(
        *loop, controller, *config, nonstop_conf,
        NonstopService::Users{
            [&slurm_user](std::uint32_t uid) { return uid == 0 || uid == ::geteuid() || slurm_user.is(uid); },
            [&people](std::uint32_t uid, std::function<void(const std::string&)> then) {
              people.ask(uid, People::kAnyGid,
                         [then = std::move(then)](const Person& person) { then(person.user); });
            }});
    if (auto bound = nonstop->listen(); !bound) return bound;
    api.serve_nonstop(nonstop->service());
  }
  const auto reload = [&nonstop, &nonstop_conf](int) {
    if (nonstop == nullptr) return say("event=reload text=\"nothing is read again: 'nonstop.on' is off\"");
    if (auto read = nonstop->reload(); !read)
      return say(read.error().message("sickbayd: nonstop.conf was not taken over"));
    say(fmt::format("event=reload file={} nonstop={}", nonstop_conf, nonstop->port()));
  };
  if (auto armed = loop->on_signals({SIGHUP}, reload); !armed) return armed;
  if (auto armed = loop->on_signals({SIGTERM, SIGINT}, [&loop](int) { loop->stop(); }); !armed) return armed;

  say(fmt::format(
      "event=started version={} seq={} snapshot={} replayed={} open_cases={} socket={} tcp={} nonstop={}",
      SICKBAY_VERSION, (*journal)->last_seq(), replayed->from, replayed->events,
      controller.seats().cases().state().open.size(), paths.socket(),
      config->agent.address.empty() ? "off" : fmt::format("{}:{}", config->agent.address, config->agent.port),
      nonstop == nullptr ? "off" : fmt::format("{}:{}", config->nonstop_server.address, nonstop->port())));
  Archivist archivist(*loop, **journal, controller);
  // What was archived is in no snapshot before: a new one is made as soon as the archives are done for the
  // day.
  archivist.on_done([&] {
    std::vector<std::string> child{self, "--snapshot"};
    if (!config_path.empty()) child.insert(child.end(), {"--config", config_path});
    snapshots.order_if_due(**journal, *processes, std::move(child),
                           [](const std::string& end) { say("event=snapshot " + end); });
  });
  const auto start = [&] {
    controller.start();
    slurm_user.learn();
    archivist.work();
  };
  if (standby == nullptr) start();
  if (standby != nullptr)
    if (auto begun = standby->begin(controller, start); !begun) return begun;
  loop->run();
  server->close();
  if (nonstop != nullptr) nonstop->close();
  say(fmt::format("event=stopped seq={}", (*journal)->last_seq()));
  return {};
}

}  // namespace
}  // namespace sickbay

int main(int argc, char** argv) {
  using namespace sickbay;
  std::string config_path;
  Mode mode = Mode::serve;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--help" || arg == "-h") return std::fputs(kUsage, stdout) < 0;
    if (arg == "--version") return std::printf("sickbayd %s\n", SICKBAY_VERSION) < 0;
    if (arg == "--help-config") return std::fputs(describe_config().c_str(), stdout) < 0;
    if (arg == "--check-config") {
      mode = Mode::check;
    } else if (arg == "--snapshot") {
      mode = Mode::snapshot;
    } else if (arg == "--config" && i + 1 < argc) {
      config_path = argv[++i];
    } else {
      say(Error(ErrorCode::usage, fmt::format("unknown option '{}'", arg))
              .remedied_by("see 'sickbayd --help'")
              .message("sickbayd"));
      return error_row(ErrorCode::usage).exit_code;
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const Status ended = run(config_path, mode);
    if (ended) return 0;
    say(ended.error().message("sickbayd"));
    return error_row(ended.error().code).exit_code;
  } catch (const std::exception& e) {
    say(Error(ErrorCode::internal, fmt::format("stopped by an exception: {}", e.what())).message("sickbayd"));
    return error_row(ErrorCode::internal).exit_code;
  }
}
