// SPDX-License-Identifier: Apache-2.0
// The part of sickbayd that makes it one of two: it waits and follows until it may act, and then holds back
// what does not count yet.  A site with one sickbayd never makes one.
//
// While it waits it serves its own endpoints, a short status, and "ask the other" to all else.  When the
// lease is given, wait() returns and sickbayd starts as it always does; begin() is the last step of that.
// When the lease is lost the process ends at once, and its unit starts it again: as the standby, if the other
// took over.  Source: doc/design/standby.md.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/net/asio_loop.h"
#include "adapters/net/http_server.h"
#include "adapters/net/signed_client.h"
#include "adapters/posix/lease_end.h"
#include "apps/daemon/case_folders.h"
#include "client/controller_place.h"
#include "ports/journal_rows.h"
#include "ports/people.h"
#include "service/config.h"
#include "service/controller.h"
#include "service/standby/case_feed.h"
#include "service/standby/case_follower.h"
#include "service/standby/feed.h"
#include "service/standby/follower.h"
#include "service/standby/succession_part.h"

namespace sickbay {

class StandbyPart {
 public:
  struct Setup {
    std::string version, journal, cases, socket;  ///< paths of the latter
    std::string host_name;                        ///< up to its first dot
  };
  /// Opens the copy, which is the journal of this host.  Errors: bad_input (this host is neither of the two),
  /// and those of open_journal().
  static Result<std::unique_ptr<StandbyPart>> make(AsioLoop& loop, Credentials& credentials,
                                                   const Config& config, Setup setup);
  ~StandbyPart();

  /// Runs the loop until this one may act; false: it was told to stop.  The journal is free then.
  Result<bool> wait();
  /// The journal is replayed: as soon as the lease is held, the term begins in it and `start` is called.
  Status begin(Controller& controller, std::function<void()> start);

  /// Answers what is for this part, and all else while the term has not begun; false: it is the API's.
  bool serve(HttpRequest& request, const std::shared_ptr<HttpReply>& reply);
  /// For `sickbay status`.
  Json view() const;

 private:
  StandbyPart(AsioLoop& loop, Credentials& credentials, const Config& config, Setup setup);
  Status open(std::size_t self);
  void admit(const HttpRequest& request, const std::string& host, std::shared_ptr<HttpReply> reply,
             std::function<void()> then);
  void serve_lease(const HttpRequest& request, std::shared_ptr<HttpReply> reply);
  void serve_rows(const HttpRequest& request, std::shared_ptr<HttpReply> reply);
  void serve_cases(const HttpRequest& request, std::shared_ptr<HttpReply> reply);
  void serve_operator(const HttpRequest& request, HttpReply& reply);
  void serve_meanwhile(const HttpRequest& request, HttpReply& reply);
  void begin_term(std::int64_t term);

  AsioLoop& loop_;
  Credentials& credentials_;
  const Config& config_;
  const Setup setup_;
  AddressBook addresses_;
  ControllerPlace self_, other_;
  std::string name_;  ///< of this one, in leases and in the journal
  std::unique_ptr<SignedClient> client_;
  std::unique_ptr<JournalCopy> copy_;
  CaseFolders cases_;
  std::unique_ptr<CaseFollower> case_follower_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<JournalRows> rows_;
  std::unique_ptr<SuccessionPart> part_;
  std::unique_ptr<StandbyFeed> feed_;
  std::unique_ptr<CaseFeed> case_feed_;
  std::unique_ptr<LeaseEnd> end_;
  Controller* controller_ = nullptr;
  std::function<void()> start_;
  bool may_act_ = false, told_to_stop_ = false, begun_ = false;
  Lifetime lifetime_;
};

}  // namespace sickbay
