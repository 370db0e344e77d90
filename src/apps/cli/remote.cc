// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/remote.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "adapters/munge/munge_credentials.h"
#include "adapters/net/asio_loop.h"
#include "adapters/net/signed_client.h"
#include "adapters/posix/files.h"
#include "adapters/posix/process_runner.h"
#include "client/controller_place.h"
#include "service/config.h"
#include "settings/paths.h"

extern char** environ;  // NOLINT: POSIX's name

namespace sickbay::cli {
namespace {

constexpr std::size_t kConfigBound = 1 << 20;
constexpr std::size_t kAnswerBound = 256 << 20;    // as over the Unix socket
constexpr std::chrono::seconds kScontrolLimit{5};  // slurmctld may be away
constexpr std::chrono::milliseconds kConnectLimit{5'000};

std::string& named_place() {
  static std::string place;
  return place;
}

// The places to try, and who named them.
struct Places {
  std::vector<ControllerPlace> all;
  std::string source;
};

// What this host is told in the configuration; nothing where users may not read it.
Result<Config> local_config() {
  const std::string path = Paths::from_environment().config();
  auto text = read_file(path, kConfigBound);
  if (!text && (text.error().code == ErrorCode::not_found || text.error().code == ErrorCode::denied))
    return Config{};
  if (!text) return fail(std::move(text.error()).in("reading the configuration"));
  return parse_config(*text, path);
}

// What slurm.conf says, where this host has one.  It comes before scontrol, which needs munged and slurmctld:
// the user would hear of neither, but that nobody knows where sickbayd is.
std::vector<ControllerPlace> slurm_conf_places(const Config& config, std::uint16_t port) {
  const char* variable = std::getenv("SLURM_CONF");
  for (const std::string& path :
       {config.slurm.conf, std::string(variable != nullptr ? variable : ""),
        std::string("/etc/slurm/slurm.conf"), std::string("/run/slurm/conf/slurm.conf")})
    if (!path.empty())
      if (const auto text = read_file(path, kConfigBound))
        if (auto places = slurm_controllers(*text, port); !places.empty()) return places;
  return {};
}

Result<std::string> slurm_configuration(AsioLoop& loop) {
  ProcessSpec spec;
  spec.argv = {"scontrol", "show", "config"};
  // The user's own: SLURM_CONF may name another cluster.
  for (char** one = environ; *one != nullptr; ++one) spec.environment.emplace_back(*one);
  spec.time_limit = kScontrolLimit;
  Result<ProcessOutcome> outcome = fail(ErrorCode::internal, "");
  const auto processes = make_process_runner(loop);
  processes->run(std::move(spec), [&](Result<ProcessOutcome> ended) {
    outcome = std::move(ended);
    loop.stop();
  });
  loop.run();
  if (!outcome) return fail(std::move(outcome.error()));
  if (outcome->timed_out) return fail(ErrorCode::timed_out, "'scontrol show config' takes too long");
  if (outcome->exit_code != 0)
    return fail(ErrorCode::slurm_away,
                "'scontrol show config' fails: " + outcome->err.substr(0, outcome->err.find('\n')));
  return std::move(outcome->out);
}

Result<Places> find_places(AsioLoop& loop, const Config& config) {
  const std::uint16_t port = config.agent.port != 0 ? config.agent.port : kSickbaydPort;
  const char* variable = std::getenv("SICKBAY_CONTROLLER");
  struct Row {
    std::string place;
    const char* source;
  };
  for (const Row& row :
       {Row{named_place(), "--controller"}, Row{variable != nullptr ? variable : "", "SICKBAY_CONTROLLER"},
        Row{config.client.controller, "client.controller of the configuration"}}) {
    if (row.place.empty()) continue;
    auto place = parse_controller(row.place, port);
    if (!place) return fail(std::move(place.error()).in(std::string("reading ") + row.source));
    return Places{{std::move(*place)}, row.source};
  }
  // A file that is the same on all hosts names both.
  if (!config.standby.controllers.empty()) {
    Places places{{}, "standby.controllers of the configuration"};
    for (const std::string& text : config.standby.controllers) {
      auto place = parse_controller(text, port);
      if (!place) return fail(std::move(place.error()).in("reading " + places.source));
      places.all.push_back(std::move(*place));
    }
    return places;
  }
  if (auto places = slurm_conf_places(config, port); !places.empty())
    return Places{std::move(places), "SlurmctldHost of Slurm's configuration"};
  auto said = slurm_configuration(loop);
  Places places{said ? slurm_controllers(*said, port) : std::vector<ControllerPlace>(),
                "SlurmctldHost of Slurm's configuration"};
  if (!places.all.empty()) return places;
  return fail(Error(ErrorCode::not_found, "nothing says where sickbayd runs")
                  .because(said ? "'scontrol show config' names no SlurmctldHost" : said.error().line()));
}

class Remote final : public RemoteSickbayd {
 public:
  Remote(std::unique_ptr<AsioLoop> loop, const std::string& munge_socket, Places places)
      : loop_(std::move(loop)),
        credentials_(make_munge_credentials(*loop_, {munge_socket, 1})),
        source_(std::move(places.source)),
        round_(std::move(places.all)) {}

  Result<std::string> ask(HttpQuestion question) override {
    for (;;) {
      auto answer = ask_at(round_.at(), question);
      if (round_.goes_on(answer ? nullptr : &answer.error())) continue;
      if (answer) return answer;
      if (!round_.said().empty()) answer.error().cause = round_.said();
      return answer.error().code == ErrorCode::daemon_away ? fail(with_remedy(std::move(answer.error())))
                                                           : std::move(answer);
    }
  }

 private:
  Result<std::string> ask_at(const ControllerPlace& place, const HttpQuestion& question) {
    SignedClientOptions options;
    options.host = place.host;
    options.port = place.port;
    options.answer_bytes = kAnswerBound;
    options.connect_limit = kConnectLimit;
    const auto client = make_signed_client(*loop_, *credentials_, options);
    Result<std::string> got = fail(ErrorCode::internal, "");
    client->ask_text(question, [&](Result<std::string> answer) {
      got = std::move(answer);
      loop_->stop();
    });
    loop_->run();
    return got;
  }

  Error with_remedy(Error error) const {
    return std::move(error).remedied_by(
        fmt::format("start sickbayd there, and open its port to this host; {} named it, and --controller or "
                    "SICKBAY_CONTROLLER names another",
                    source_));
  }

  const std::unique_ptr<AsioLoop> loop_;
  const std::unique_ptr<Credentials> credentials_;
  const std::string source_;
  ControllerRound round_;
};

Result<std::shared_ptr<RemoteSickbayd>> make_remote() {
  auto loop = make_asio_loop();
  auto config = local_config();
  if (!config) return fail(std::move(config.error()));
  auto places = find_places(*loop, *config);
  if (!places) return fail(std::move(places.error()));
  return std::make_shared<Remote>(std::move(loop), config->munge.socket, std::move(*places));
}

}  // namespace

void name_controller(std::string place) { named_place() = std::move(place); }
bool controller_is_named() { return !named_place().empty(); }

Result<std::shared_ptr<RemoteSickbayd>> remote_sickbayd() {
  // Once: scontrol and MUNGE are not asked again for each connection of a command.
  static const Result<std::shared_ptr<RemoteSickbayd>> remote = make_remote();
  return remote;
}

}  // namespace sickbay::cli
