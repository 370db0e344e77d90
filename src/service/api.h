// SPDX-License-Identifier: Apache-2.0
// The HTTP API: one table of endpoints with the role each needs (doc/formats/api.md).
//
// Reads answer from the controller's state; writes become events and answer when these are durable.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "ports/http.h"
#include "service/controller.h"
#include "service/post_book.h"

namespace sickbay {

class Agents;
class CaseStore;
class Metrics;

class Api {
 public:
  struct Identity {
    std::string version;
    int pid = 0;
    TimePoint started = kNoTime;
  };
  /// To be made before the controller's replay, which tells it of earlier POSTs.  `is_operator` says whether
  /// a caller may see and cancel everybody's cases (root always may).
  Api(Controller& controller, CaseStore& cases, ResourceManager& manager, Identity identity,
      std::function<bool(const Caller&)> is_operator);
  ~Api();

  /// Serves the endpoints of agents, too.  `agents` must outlive this.
  void serve_agents(Agents& agents) { agents_ = &agents; }

  /// The handler for HttpServer::on_request.
  void serve(HttpRequest request, std::shared_ptr<HttpReply> reply);

  struct Call;
  struct Row;

 private:
  friend struct AgentEndpoints;
  friend struct CaseEndpoints;
  friend struct ClusterEndpoints;
  friend struct EventEndpoints;
  friend struct PendingEndpoints;
  struct Stream;
  void publish(const Event& event);
  bool may_see(const Caller& caller, const Event& event) const;

  Controller& controller_;
  CaseStore& cases_;
  ResourceManager& manager_;
  Agents* agents_ = nullptr;
  Identity identity_;
  std::function<bool(const Caller&)> is_operator_;
  std::list<std::shared_ptr<Stream>> streams_;
  PostBook posts_;
};

}  // namespace sickbay
