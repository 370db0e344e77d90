// SPDX-License-Identifier: Apache-2.0
// The HTTP API: one table of endpoints with the role each needs (doc/formats/api.md).
//
// Reads answer from the controller's state; writes become events and answer when these are durable.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ports/http.h"
#include "ports/lifetime.h"
#include "service/controller.h"
#include "service/node_list.h"
#include "service/post_book.h"
#include "service/user_quotas.h"

namespace sickbay {

class Agents;
class CaseStore;
class NonstopService;

class Api {
 public:
  struct Identity {
    std::string version;
    int pid = 0;
    TimePoint started = kNoTime;
  };
  /// To be made before the controller's replay, which tells it of earlier POSTs.  `is_operator` says whether
  /// a caller may see and cancel everybody's cases (root on this host always may).
  Api(Controller& controller, CaseStore& cases, ResourceManager& manager, Identity identity,
      std::function<bool(const Caller&)> is_operator);
  ~Api();

  /// Refuses what would open a case from another host: a submission holds a script and an environment, and
  /// TCP carries them signed, not encrypted (decisions.md 4).
  void refuse_remote_submissions() { remote_submissions_ = false; }
  /// What users may have kept; to be set before the first request.
  void set_quotas(UserQuotas quotas) { quotas_.emplace(std::move(quotas)); }
  /// Takes the word of a lab, too: what it did to a node (SICKBAY_ROOT is set).
  void serve_lab() { lab_ = true; }
  /// Serves the endpoints of agents, too.  `agents` must outlive this.
  void serve_agents(Agents& agents) { agents_ = &agents; }
  /// Shows the figures of the nonstop service, too.  It must outlive this.
  void serve_nonstop(const NonstopService& nonstop) { nonstop_ = &nonstop; }

  /// How this one of two sickbayds stands, for the status.
  void show_standby(std::function<Json()> view) { standby_ = std::move(view); }

  /// The handler for HttpServer::on_request.
  void serve(HttpRequest request, std::shared_ptr<HttpReply> reply);

  struct Call;
  struct Row;
  /// The table of endpoints.
  static std::span<const Row> rows();

 private:
  friend struct AgentEndpoints;
  friend struct CaseEndpoints;
  friend struct ClusterEndpoints;
  friend struct EventEndpoints;
  friend struct FailureEndpoints;
  friend struct HistoryEndpoints;
  friend struct PatrolEndpoints;
  friend struct RecoverEndpoints;
  friend struct PendingEndpoints;
  friend struct SparesEndpoints;
  struct Stream;
  Status may_post(const Row& row, const Call& call);
  void publish(const Event& event);
  bool may_see(const Caller& caller, const Event& event) const;
  /// Root on this host, or an operator on any.
  bool is_operator(const Caller& caller) const;
  bool hides_post(const Caller& caller, const Event& event) const;
  std::string line_for(const Caller& caller, const Event& event) const;

  Controller& controller_;
  CaseStore& cases_;
  ResourceManager& manager_;
  Agents* agents_ = nullptr;
  const NonstopService* nonstop_ = nullptr;
  std::function<Json()> standby_;
  bool remote_submissions_ = true, lab_ = false;
  Identity identity_;
  std::function<bool(const Caller&)> is_operator_;
  std::list<std::shared_ptr<Stream>> streams_;
  std::map<std::int64_t, JobId> binding_;  ///< cases and their jobs that the next round binds
  std::optional<UserQuotas> quotas_;
  PostBook posts_;
  NodeList nodes_;
  Lifetime lifetime_;
};

}  // namespace sickbay
