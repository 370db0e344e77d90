// SPDX-License-Identifier: Apache-2.0
// Who asks sickbayd during a soak: a thousand agents, users with their commands, and Eve.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "adapters/net/asio_loop.h"
#include "adapters/net/signed_client.h"
#include "client/api_client.h"
#include "model/job.h"
#include "test/soak/plain_credentials.h"
#include "test/soak/soak.h"

namespace sickbay::soak {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The pace of a load is the clock's, and of nothing else.
void pause_for(milliseconds time) {
  timespec t{static_cast<time_t>(time.count() / 1000), static_cast<long>(time.count() % 1000 * 1'000'000)};
  ::nanosleep(&t, nullptr);
}

// Nobody goes on alone.  (To become another user forgets it.)
void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void wait_until_there(const Shared& shared) {
  while (shared.away && !shared.over) pause_for(milliseconds(20));
}

// What went wrong counts, unless sickbayd was not there, or another one than was asked in `life` is now, or
// it said that it has too much to do.
void note_failure(Shared& shared, int life, const std::string& what, const Error& error) {
  if (shared.away || shared.over || shared.lives != life) return;
  if (error.code == ErrorCode::busy) {
    ++shared.busy;
    return;
  }
  shared.fail_with(fmt::format("{}: {} ({})", what, error.line(), error.cause));
}

// --- agents

// In an hour each has a fault every ten minutes or so, for one of them.
class Agent {
 public:
  Agent(AsioLoop& loop, Credentials& credentials, const Plan& plan, Shared& shared, int i)
      : loop_(loop),
        plan_(plan),
        shared_(shared),
        node_("n" + std::to_string(i)),
        random_(static_cast<unsigned>(i)) {
    SignedClientOptions options;
    options.host = "127.0.0.1";
    options.port = static_cast<std::uint16_t>(shared.port.load());
    options.from = address_of(i);
    client_ = make_signed_client(loop, credentials, options);
    // They come within half a minute, as after a start of the cluster.
    later(milliseconds(random_() % std::min(30'000U, 250U * static_cast<unsigned>(plan.seconds))),
          [this] { hello(); });
    fault_later();
  }

 private:
  void later(milliseconds in, std::function<void()> what) { loop_.at(loop_.now() + in, std::move(what)); }
  Json word() const {
    return Json::object({{"node", node_}, {"boot_id", "b"}, {"now", to_micros(loop_.now())}});
  }
  HttpQuestion post(const char* target, const Json& body) const {
    HttpQuestion asked;
    asked.method = "POST";
    asked.target = target;
    asked.body = body.dump();
    return asked;
  }
  void hello() {
    Json body = word();
    body.set("version", "soak").set("digests", Json::object()).set("mode", "quick").set("period", "day");
    client_->ask(post("/v1/agent/hello", body), [this, life = shared_.lives.load()](Result<Json> answer) {
      if (!answer) return failed(life, "hello", answer.error());
      ++shared_.hellos;
      poll();
    });
  }
  void poll() {
    HttpQuestion asked;
    asked.target = fmt::format("/v1/agent/tasks?node={}&after=0&active=none", node_);
    asked.time_limit = seconds(45);
    client_->ask(std::move(asked), [this, life = shared_.lives.load()](Result<Json> answer) {
      if (!answer) return failed(life, "a poll", answer.error());
      ++shared_.polls;
      poll();
    });
  }
  void failed(int life, const char* what, const Error& error) {
    note_failure(shared_, life, fmt::format("{} of the agent of {}", what, node_), error);
    later(milliseconds(2000 + random_() % 3000), [this] { hello(); });
  }
  int fault_lasts() const { return std::max(1, plan_.seconds / 60); }
  void fault_later() {
    const auto most = static_cast<unsigned>(plan_.seconds) / 3;
    later(seconds(fault_lasts() + random_() % (most + 1)), [this] { tell("fault"); });
  }
  void tell(const std::string& result) {
    Json item = word();
    ++n_;
    item.set("n", n_).set("at", to_micros(loop_.now())).set("run", n_).set("specification", "node");
    item.set("rule", "disk").set("result", result).set("action", "drain").set("to", "operator");
    item.set("text", "the disk answers with errors").set("values", Json::object());
    item.set("components", Json::array({Json("disk")}));
    Json body = word();
    body.set("items", Json::array({std::move(item)}));
    client_->ask(post("/v1/agent/findings", body),
                 [this, result, began = Clock::now(), life = shared_.lives.load()](Result<Json> answer) {
                   if (!answer) {
                     note_failure(shared_, life, "findings of " + node_, answer.error());
                     --n_;
                     return later(seconds(5), [this, result] { tell(result); });
                   }
                   for (const Json& one : (*answer)["refused"].items())
                     shared_.fail_with("a finding is refused: " + one["what"].as_string());
                   shared_.findings.add(Clock::now() - began);
                   if (result == "fault")
                     later(seconds(fault_lasts()), [this] { tell("ok"); });
                   else
                     fault_later();
                 });
  }

  AsioLoop& loop_;
  const Plan& plan_;
  Shared& shared_;
  const std::string node_;
  std::minstd_rand random_;
  std::int64_t n_ = 0;
  std::unique_ptr<SignedClient> client_;
};

// --- users

// A person's terminal: looks, and now and then a job.
class Client {
 public:
  Client(const Plan& plan, Shared& shared, unsigned seed)
      : plan_(plan), shared_(shared), random_(seed), jobs_every_(std::max(1, plan.clients / 2)) {}

  void live() {
    while (!shared_.over) {
      pause_for(milliseconds(200 + random_() % 600));
      wait_until_there(shared_);
      if (shared_.over) return;
      // (Its connection was to the one before, which was killed while this user did nothing.)
      const int life = shared_.lives;
      if (std::exchange(life_, life) != life) client_.reset();
      if (!client_) {
        auto connected = ApiClient::connect(plan_.socket());
        if (!connected) {
          note_failure(shared_, life_, "a connection", connected.error());
          continue;
        }
        client_.emplace(std::move(*connected));
      }
      // All clients together submit four jobs a second at most.
      switch (random_() % 4) {
        case 0:
          look("/v1/status", shared_.status);
          break;
        case 1:
          look("/v1/nodes", shared_.nodes);
          break;
        case 2:
          look("/v1/cases", shared_.cases);
          break;
        default:
          if (static_cast<int>(random_() % static_cast<unsigned>(jobs_every_)) < 2) submit();
      }
    }
  }

 private:
  void look(const char* target, Latency& times) {
    const auto began = Clock::now();
    if (auto answer = client_->get(target); !answer) return failed(target, answer.error());
    times.add(Clock::now() - began);
  }
  void submit() {
    Submission s;
    s.script = random_() % 10 == 0 ? "#!/bin/sh\n#SIM run=20s exit=1\n" : "#!/bin/sh\n#SIM run=20s\n";
    s.script_name = "job.sh";
    s.sbatch_options = {"--nodes=2", "--time=5", "--no-requeue"};
    s.environment = {"PATH=/bin", "SECRET_TOKEN=1"};
    s.work_dir = "/home/soak";
    const Json body = Json::object({{"submission", s.to_json()}, {"options", Json::object()}});
    const auto began = Clock::now();
    auto opened = client_->post("/v1/cases", body, new_idempotency_key());
    if (!opened) return failed("opening a case", opened.error());
    shared_.submits.add(Clock::now() - began);
    // sbatch, which in the product asks slurmctld (soak.cc).
    auto job = client_->post("/soak/sbatch", body, new_idempotency_key());
    if (!job) return failed("sbatch", job.error());
    const std::string target = "/v1/cases/" + (*opened)["case"].as_string() + "/job";
    auto bound = client_->post(target, Json::object({{"job_id", (*job)["job_id"]}}), new_idempotency_key());
    if (!bound) return failed("binding a job", bound.error());
    ++shared_.jobs;
  }
  void failed(const std::string& what, const Error& error) {
    note_failure(shared_, life_, what, error);
    client_.reset();
  }

  const Plan& plan_;
  Shared& shared_;
  std::minstd_rand random_;
  const int jobs_every_;
  std::optional<ApiClient> client_;
  int life_ = 0;  ///< of the sickbayd that it talks to
};

// --- Eve

// A raw connection, on the socket or (as anybody in the network) by TCP; -1: refused.
int connected(const Plan& plan, int port) {
  const int fd = ::socket(port > 0 ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int done = 0;
  if (port > 0) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    done = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  } else {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, plan.socket().c_str(), sizeof at.sun_path - 1);
    done = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }
  if (done == 0 || errno == EINPROGRESS) return fd;
  ::close(fd);
  return -1;
}

std::string post(const std::string& target, const std::string& body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: s\r\nIdempotency-Key: {}\r\nContent-Length: {}\r\n\r\n{}",
                     target, new_idempotency_key(), body.size(), body);
}

std::vector<std::string> attacks() {
  std::string names = "{\"submission\":{\"limits\":{";
  for (int i = 0; i < 100'000; ++i) names += fmt::format("{}\"N{}\":1", i > 0 ? "," : "", i);
  names += "}}}";
  return {
      "GET /v1/nodes HT",  // and no more
      "POST /v1/cases HTTP/1.1\r\nHost: s\r\nContent-Length: 8388608\r\n\r\n" + std::string(100'000, ' '),
      std::string(64 << 10, '\xff'),
      post("/v1/cases", names),
      post("/v1/cases", std::string(1 << 20, '[')),
      post("/v1/cases", "{\"submission\":{\"script\":\"#!\"},\"options\":{\"check\":\"" +
                            std::string(200'000, 'x') + "\"}}"),
      post("/v1/cases/c1/job", "{\"job_id\":4000000}"),
      post("/v1/undo-drains", "{\"all\":true}"),
      "GET /v1/events?follow=1 HTTP/1.1\r\nHost: s\r\n\r\n",  // and nothing of it read
      "GET /v1/nodes HTTP/1.1\r\nHost: s\r\n\r\nGET /v1/nodes HTTP/1.1\r\nHost: s\r\n\r\n",
      "GET /v1/cases?all=1&user=" + std::string(7000, 'a') + " HTTP/1.1\r\nHost: s\r\n\r\n",
  };
}

}  // namespace

void be_agents(const Plan& plan, Shared& shared) {
  end_with_parent();
  wait_until_there(shared);
  auto loop = make_asio_loop();
  PlainCredentials credentials(*loop);
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 1; i <= plan.agents; ++i)
    agents.push_back(std::make_unique<Agent>(*loop, credentials, plan, shared, i));
  std::function<void()> watch = [&] {
    if (shared.over) return loop->stop();
    loop->at(loop->now() + milliseconds(100), watch);
  };
  watch();
  loop->run();
}

void be_user(const Plan& plan, Shared& shared, std::uint32_t uid) {
  if (::setgid(uid) != 0 || ::setuid(uid) != 0)
    return shared.fail_with("no other user can be taken: not root");
  end_with_parent();
  std::vector<std::thread> terminals;
  for (int i = 0; i < plan.clients / kUsers; ++i)
    terminals.emplace_back(
        [&, seed = uid * 1000 + static_cast<unsigned>(i)] { Client(plan, shared, seed).live(); });
  for (std::thread& terminal : terminals) terminal.join();
}

void be_eve(const Plan& plan, Shared& shared) {
  if (::setgid(kEve) != 0 || ::setuid(kEve) != 0) return;
  end_with_parent();
  const std::vector<std::string> all = attacks();
  std::minstd_rand random(666);
  std::vector<int> open;  // she keeps as many as she is let
  std::string sink(1 << 16, '\0');
  while (!shared.over) {
    wait_until_there(shared);
    const int fd = connected(plan, random() % 4 == 0 ? shared.port.load() : 0);
    if (fd < 0) {
      pause_for(milliseconds(5));
    } else {
      const std::string& attack = all[random() % all.size()];
      // What does not go out at once is not waited for; what comes back is read now and then.
      const ssize_t sent = ::send(fd, attack.data(), attack.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) ++shared.attacks;
      open.push_back(fd);
    }
    while (open.size() > 300 || (!open.empty() && random() % 50 == 0)) {
      const std::size_t which = random() % open.size();
      if (random() % 2 == 0) (void)!::recv(open[which], sink.data(), sink.size(), MSG_DONTWAIT);
      ::close(open[which]);
      open[which] = open.back();
      open.pop_back();
    }
    if (random() % 8 == 0) pause_for(milliseconds(1));
  }
}

}  // namespace sickbay::soak
