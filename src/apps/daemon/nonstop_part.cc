// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/nonstop_part.h"

#include <fmt/format.h>

#include "adapters/munge/munge_credentials.h"
#include "adapters/net/nonstop_server.h"
#include "adapters/posix/files.h"
#include "apps/daemon/daemon_log.h"

namespace sickbay {
namespace {

constexpr std::size_t kConfBound = 1 << 20;
constexpr unsigned kMungeThreads = 4;
constexpr std::size_t kMungeQueue = 4096;  // beyond, clients are told to try again

}  // namespace

std::string nonstop_conf_path(const Config& config, const std::string& slurm_conf) {
  if (!config.nonstop_server.conf.empty()) return config.nonstop_server.conf;
  std::string beside = config.slurm.conf.empty() ? slurm_conf : config.slurm.conf;
  if (beside.empty()) beside = "/etc/slurm/slurm.conf";
  const std::size_t slash = beside.rfind('/');
  return (slash == std::string::npos ? std::string() : beside.substr(0, slash + 1)) + "nonstop.conf";
}

Result<wire::NonstopConfig> read_nonstop_conf(const std::string& path) {
  auto text = read_file(path, kConfBound);
  if (!text) {
    Error error = std::move(text.error());
    if (error.code == ErrorCode::not_found)
      error.remedy_text =
          "write it (doc/formats/nonstop.md; 'ControlAddr=HOST' is enough), name it in 'nonstop.conf' of "
          "sickbay.json, or set 'nonstop.on' to false";
    return fail(std::move(error).in("reading the configuration of replacements"));
  }
  return wire::parse_nonstop_config(*text, path);
}

NonstopPart::NonstopPart(AsioLoop& loop, Controller& controller, Config& config, std::string path,
                         NonstopService::Users users)
    : controller_(controller),
      config_(config),
      path_(std::move(path)),
      credentials_(make_munge_credentials(loop, {config.munge.socket, kMungeThreads, kMungeQueue})),
      server_(make_nonstop_server(loop)),
      service_(
          std::make_unique<NonstopService>(loop, controller, *credentials_, *server_, std::move(users))) {}
NonstopPart::~NonstopPart() = default;

std::uint16_t NonstopPart::wanted_port() const {
  return config_.nonstop_server.port != 0 ? config_.nonstop_server.port : config_.nonstop.config.port;
}

Status NonstopPart::listen() {
  auto port = server_->listen(config_.nonstop_server.address, wanted_port());
  if (!port) return fail(std::move(port.error()));
  port_ = *port;
  return {};
}

Status NonstopPart::reload() {
  auto read = read_nonstop_conf(path_);
  if (!read) return fail(std::move(read.error()));
  const std::uint16_t before = config_.nonstop.config.port;
  config_.nonstop.config = std::move(*read);
  Status listening;
  if (wanted_port() != port_) {
    listening = listen();
    if (!listening) config_.nonstop.config.port = before;  // SHOW_CONFIG tells what is so
  }
  service_->configured();
  return listening;
}

}  // namespace sickbay
