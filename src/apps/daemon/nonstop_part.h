// SPDX-License-Identifier: Apache-2.0
// The part of sickbayd that serves the nonstop protocol: nonstop.conf, the listener and the service.
#pragma once
#include <memory>
#include <string>

#include "adapters/net/asio_loop.h"
#include "ports/credentials.h"
#include "ports/nonstop_server.h"
#include "service/nonstop/nonstop_service.h"

namespace sickbay {

/// Where nonstop.conf is: as configured, else beside slurm.conf (`slurm_conf`: of the environment, may be
/// empty).
std::string nonstop_conf_path(const Config& config, const std::string& slurm_conf);

/// Reads the file at `path`.  Errors: not_found, denied, bad_input (with the line), each with its remedy.
Result<wire::NonstopConfig> read_nonstop_conf(const std::string& path);

class NonstopPart {
 public:
  /// `config.nonstop.config` has been read from `path` already.  All that is given must outlive this.
  NonstopPart(AsioLoop& loop, Controller& controller, Config& config, std::string path,
              NonstopService::Users users);
  ~NonstopPart();

  /// Errors: as NonstopServer::listen.
  Status listen();
  /// Reads nonstop.conf again (SIGHUP).  A file with a fault is refused, and the old one stays; so does the
  /// old port where the new one cannot be had.
  Status reload();
  void close() { server_->close(); }
  const NonstopService& service() const { return *service_; }
  std::uint16_t port() const { return port_; }

 private:
  std::uint16_t wanted_port() const;

  Controller& controller_;
  Config& config_;
  const std::string path_;
  std::unique_ptr<Credentials> credentials_;  ///< of its own: strangers must not keep agents from munged
  std::unique_ptr<NonstopServer> server_;
  std::unique_ptr<NonstopService> service_;
  std::uint16_t port_ = 0;
};

}  // namespace sickbay
