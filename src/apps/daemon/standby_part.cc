// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/standby_part.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "adapters/posix/boot_clock.h"
#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/journal_rows.h"
#include "apps/daemon/daemon_log.h"
#include "service/standby/term_events.h"

namespace sickbay {
namespace {

// A call of libslurm takes 30 s at most, then its process is killed; and a little for what goes before it.
constexpr std::chrono::seconds kLongestAct{33};
constexpr std::string_view kHandOver = "/v1/standby/hand-over", kTakeOver = "/v1/standby/take-over";
constexpr int kExitLost = 75;  // its unit starts it again
// A page of submissions and one more, each character of which may take six bytes.
constexpr std::size_t kAnswerBytes = std::size_t{64} << 20;

// Nobody's name matters here: root is who he is.
class Nobody final : public People {
 public:
  void ask(std::uint32_t, std::uint32_t, std::function<void(const Person&)> then) override { then({}); }
  std::string name_now(std::uint32_t) override { return ""; }
};

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

Result<SuccessionPart::Before> last_term(const std::string& journal) {
  SuccessionPart::Before last;
  if (!std::filesystem::exists(journal)) return last;
  auto opened = open_journal_reader(journal);
  if (!opened) return fail(std::move(opened.error()));
  auto read = (*opened)->read_subject(std::string(kTermSubject), 0, [&](const Event& event) {
    last.take(event);
    return true;
  });
  if (!read) return fail(std::move(read.error()));
  return last;
}

// What was under way is what a crash leaves, and whoever is next looks for it.
[[noreturn]] void end_process(const char* why) {
  say(fmt::format("event=standby lease=lost why={}", Json(why).dump()));
  ::_exit(kExitLost);
}

Done<Json> answer_to(std::shared_ptr<HttpReply> reply) {
  return [reply = std::move(reply)](Result<Json> answer) {
    reply->respond(answer ? json_response(200, *answer) : error_response(answer.error()));
  };
}

}  // namespace

StandbyPart::StandbyPart(AsioLoop& loop, Credentials& credentials, const Config& config, Setup setup)
    : loop_(loop),
      credentials_(credentials),
      config_(config),
      setup_(std::move(setup)),
      addresses_(loop),
      cases_(setup_.cases) {}
StandbyPart::~StandbyPart() = default;

Result<std::unique_ptr<StandbyPart>> StandbyPart::make(AsioLoop& loop, Credentials& credentials,
                                                       const Config& config, Setup setup) {
  std::unique_ptr<StandbyPart> part(new StandbyPart(loop, credentials, config, std::move(setup)));
  const Config::Standby& two = config.standby;
  if (two.witnesses.empty() || config.agent.address.empty())
    return fail(Error(ErrorCode::bad_input, "of two sickbayds none may act")
                    .because(two.witnesses.empty() ? "'standby.witnesses' names no node"
                                                   : "'agent.listen' is off, so witnesses are not heard")
                    .remedied_by("see doc/design/standby.md"));
  const std::string name = two.name.empty() ? part->setup_.host_name : two.name;
  std::vector<ControllerPlace> places;
  constexpr std::size_t kNeither = 2;
  std::size_t self = kNeither;
  for (const std::string& text : two.controllers) {
    auto place = parse_controller(text, config.agent.port);
    if (!place) return fail(std::move(place.error()).in("reading 'standby.controllers'"));
    const bool is_us =
        place->text() == name || place->host == name || place->host.substr(0, place->host.find('.')) == name;
    if (is_us && self != kNeither)
      return fail(Error(ErrorCode::bad_input, fmt::format("'{}' names both sickbayds", name))
                      .remedied_by("set 'standby.name' to HOST:PORT of this one"));
    if (is_us) self = places.size();
    places.push_back(std::move(*place));
  }
  if (self == kNeither)
    return fail(Error(ErrorCode::bad_input, fmt::format("'{}' is neither of the two sickbayds", name))
                    .because("'standby.controllers' has other names")
                    .remedied_by("set 'standby.name' to one of them"));
  part->self_ = places[self];
  part->other_ = places[1 - self];
  part->name_ = places[0].host == places[1].host ? part->self_.text() : part->self_.host;
  if (auto opened = part->open(self); !opened) return fail(std::move(opened.error()));
  return part;
}

Status StandbyPart::open(std::size_t self) {
  const auto last = last_term(setup_.journal);
  if (!last) return fail(last.error());
  auto copy = open_journal_copy(setup_.journal);
  if (!copy) return fail(std::move(copy.error()));
  copy_ = std::move(*copy);

  SignedClientOptions to;
  to.host = other_.host;
  to.port = other_.port;
  to.answer_bytes = kAnswerBytes;
  if (is_address(self_.host)) to.from = self_.host;
  client_ = make_signed_client(loop_, credentials_, to);

  SuccessionPart::Setup lease;
  lease.name = name_;
  lease.witnesses = config_.standby.witnesses;
  lease.timing.lease = config_.standby.lease;
  lease.patience = config_.standby.patience;
  lease.longest_act = kLongestAct;
  lease.clock = boot_clock;
  lease.random = [] {
    std::uint32_t number = 0;
    SB_CHECK(::getentropy(&number, sizeof number) == 0, "the kernel gives up to 256 bytes");
    return number;
  };
  lease.journal_term = last->term;
  const bool was_active = last->term > 0 && last->who == name_;
  lease.prompt = last->term == 0 ? self == 0 : was_active && !last->is_over;
  lease.yields = was_active && last->is_over;
  part_ = std::make_unique<SuccessionPart>(
      loop_, std::move(lease),
      SuccessionPart::Listener{[this] {
                                 may_act_ = true;
                                 loop_.stop();
                               },
                               [this](std::int64_t term) { begin_term(term); },
                               [] { end_process("no majority of the witnesses renewed it"); },
                               [this](Micros until) {
                                 if (end_) end_->set(until);
                               }});
  case_follower_ = std::make_unique<CaseFollower>(*client_, cases_);
  follower_ =
      std::make_unique<Follower>(loop_, *client_, *copy_,
                                 Follower::Listener{[this](std::int64_t term) { part_->heard_active(term); },
                                                    [this](std::int64_t term) { part_->copy_has_term(term); },
                                                    [](const std::string& line) { say(line); }},
                                 case_follower_.get());
  return {};
}

Result<bool> StandbyPart::wait() {
  Nobody nobody;
  const auto server = make_http_server(loop_);
  server->name_callers_by(nobody);
  server->on_request(
      [this](HttpRequest request, std::shared_ptr<HttpReply> reply) { (void)serve(request, reply); });
  constexpr unsigned kAnybody = 0666;
  if (auto bound = server->listen_unix(setup_.socket, kAnybody); !bound)
    return fail(std::move(bound.error()));
  if (auto port = server->listen_tcp(config_.agent.address, config_.agent.port, credentials_); !port)
    return fail(std::move(port.error()));
  if (auto armed = loop_.on_signals({SIGTERM, SIGINT}, lifetime_.guard([this](int) {
        told_to_stop_ = true;
        loop_.stop();
      }));
      !armed)
    return fail(std::move(armed.error()));
  say(fmt::format("event=standby waiting={} other={} seq={}", name_, other_.text(), copy_->place().seq));
  follower_->start();
  part_->start();
  loop_.run();
  server->close();
  follower_->stop();
  follower_.reset();
  case_follower_.reset();
  copy_.reset();
  return may_act_ && !told_to_stop_;
}

Status StandbyPart::begin(Controller& controller, std::function<void()> start) {
  auto rows = open_journal_rows(setup_.journal);
  if (!rows) return fail(std::move(rows.error()));
  rows_ = std::move(*rows);
  feed_ = std::make_unique<StandbyFeed>(
      loop_, *rows_, [this] { return part_->standing(); },
      [this](std::int64_t seq) { part_->standby_has(seq); });
  case_feed_ = std::make_unique<CaseFeed>(cases_, [this] { return part_->standing(); });
  end_ = std::make_unique<LeaseEnd>([] { end_process("its time was over, and the loop stood"); });
  controller_ = &controller;
  start_ = std::move(start);
  controller.hold_by([this](std::int64_t seq, std::function<void()> then) {
    feed_->woken();
    part_->hold(seq, std::move(then));
  });
  part_->prepared();
  return {};
}

void StandbyPart::begin_term(std::int64_t term) {
  begun_ = true;
  say(fmt::format("event=standby active={} term={}", name_, term));
  controller_->take({SuccessionPart::term_began(term, name_)});
  start_();
}

void StandbyPart::admit(const HttpRequest& request, const std::string& host, std::shared_ptr<HttpReply> reply,
                        std::function<void()> then) {
  const Caller& caller = request.caller;
  const auto refuse = [host, reply](const std::string& why) {
    reply->respond(error_response(Error(ErrorCode::denied, "this is for root of " + host).because(why)));
  };
  if (caller.uid != 0 || caller.address.empty()) return refuse("root calls over TCP, from that host");
  addresses_.look_up(host, lifetime_.guard([refuse, address = caller.address,
                                            then = std::move(then)](Result<std::vector<std::string>> known) {
    if (!known) return refuse(known.error().line());
    if (std::ranges::find(*known, address) == known->end()) return refuse(address + " is not its address");
    then();
  }));
}

void StandbyPart::serve_lease(const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
  auto body = Json::parse(request.body);
  if (!body) return reply->respond(error_response(body.error()));
  const std::string node = (*body)["node"].as_string();
  if (std::ranges::find(config_.standby.witnesses, node) == config_.standby.witnesses.end())
    return reply->respond(error_response(
        Error(ErrorCode::conflict, "this node is none of 'standby.witnesses'")
            .remedied_by(
                "name the same witnesses on both hosts, and 'controller.witness' on these nodes alone")));
  admit(request, node, reply,
        [this, node, body = std::move(*body), reply] { part_->desk().take(node, body, answer_to(reply)); });
}

void StandbyPart::serve_rows(const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
  auto body = Json::parse(request.body);
  if (!body) return reply->respond(error_response(body.error()));
  admit(request, other_.host, reply, [this, body = std::move(*body), reply] {
    if (feed_ == nullptr)
      return reply->respond(error_response(Error(ErrorCode::busy, "this sickbayd is not the active one")));
    feed_->ask(body, answer_to(reply));
  });
}

// As the journal: it is root's of the other host alone, over the signed way.
void StandbyPart::serve_cases(const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
  auto body = Json::parse(request.body);
  if (!body) return reply->respond(error_response(body.error()));
  admit(request, other_.host, reply, [this, body = std::move(*body), reply] {
    if (case_feed_ == nullptr)
      return reply->respond(error_response(Error(ErrorCode::busy, "this sickbayd is not the active one")));
    answer_to(reply)(case_feed_->answer(body));
  });
}

// For root of this host: who else may act here is not known before the journal is replayed.
void StandbyPart::serve_operator(const HttpRequest& request, HttpReply& reply) {
  const auto refuse = [&reply](const Error& error) { reply.respond(error_response(error)); };
  const Json stands = view();
  const bool is_active = stands["role"].as_string() == "active";
  if (request.caller.uid != 0 || !request.caller.address.empty())
    return refuse(Error(ErrorCode::not_root, "this is for root of this host only"));
  if (request.path == kHandOver) {
    if (!begun_ || !is_active)
      return refuse(Error(ErrorCode::conflict, "this sickbayd is not the active one"));
    if (stands["alone"].as_bool(true))
      return refuse(Error(ErrorCode::conflict, other_.text() + " does not have what was acknowledged last")
                        .remedied_by("hand over when 'sickbay status' says that it has all"));
    say("event=standby hand_over=asked");
    controller_->take({part_->hand_over(request.caller.user)});
  } else {
    if (is_active) return refuse(Error(ErrorCode::conflict, "this sickbayd is the active one already"));
    const auto body = Json::parse(request.body);
    if (!stands["lacks"].as_bool())
      return refuse(Error(ErrorCode::conflict, "the lease is not free")
                        .because(other_.text() + " holds it, or has held it until just now")
                        .remedied_by("'sickbay takeover --hand-over' there; of a host that is off it is free "
                                     "when it has run out, and this one begins by itself"));
    if (!body || !(*body)["force"].as_bool())
      return refuse(Error(ErrorCode::conflict, other_.text() + " alone has what was acknowledged last")
                        .remedied_by("start that one; where it is lost for good, --force begins without"));
    say("event=standby take_over=forced");
    part_->allow_loss();
  }
  constexpr int kAccepted = 202;
  reply.respond(json_response(kAccepted, Json::object({{"standby", stands}})));
}

void StandbyPart::serve_meanwhile(const HttpRequest& request, HttpReply& reply) {
  if (request.method == "GET" && request.path == "/v1/status")
    return reply.respond(json_response(
        200, Json::object({{"version", setup_.version}, {"pid", ::getpid()}, {"standby", view()}})));
  reply.respond(error_response(standby_answer(name_, other_.text())));
}

bool StandbyPart::serve(HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
  const bool is_post = request.method == "POST";
  if (is_post && request.path == kLeaseTarget)
    serve_lease(request, reply);
  else if (is_post && request.path == kRowsTarget)
    serve_rows(request, reply);
  else if (is_post && request.path == kCasesTarget)
    serve_cases(request, reply);
  else if (is_post && (request.path == kHandOver || request.path == kTakeOver))
    serve_operator(request, *reply);
  else if (!begun_)
    serve_meanwhile(request, *reply);
  else
    return false;
  return true;
}

Json StandbyPart::view() const {
  Json view = part_->view();
  view.set("other", other_.text());
  if (follower_ != nullptr) {
    const Follower::Standing& following = follower_->standing();
    view.set("following", following.following);
    view.set("behind", following.behind);
    view.set("trouble", following.trouble);
  }
  return view;
}

}  // namespace sickbay
