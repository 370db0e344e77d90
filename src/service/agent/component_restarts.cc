// SPDX-License-Identifier: Apache-2.0
#include "service/agent/component_restarts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace sickbay::agent {
namespace {

constexpr std::size_t kMostSaid = 300;
constexpr std::string_view kNotedOrders = "component_orders";  // in the agent's state: [task, ...]

}  // namespace

struct ComponentRestarts::Order {
  std::int64_t task = 0;
  bool restart = false;
  std::vector<const ComponentSpec*> components;
  const ComponentSpec* check = nullptr;  // of a restart
  Done<Json> done;
  // How far it is.
  std::size_t at = 0;
  TimePoint began = kNoTime, must_be_well = kNoTime;
  std::string said;
};

ComponentRestarts::ComponentRestarts(Loop& loop, ProcessRunner& processes, AgentStore& store,
                                     std::vector<ComponentSpec> components, bool permitted,
                                     std::function<void(const std::string& line)> log)
    : loop_(loop),
      processes_(processes),
      store_(store),
      components_(std::move(components)),
      permitted_(permitted),
      log_(std::move(log)) {}
ComponentRestarts::~ComponentRestarts() { loop_.cancel(timer_); }

const ComponentSpec* ComponentRestarts::find(const std::string& name) const {
  const auto it = std::ranges::find(components_, name, &ComponentSpec::name);
  return it == components_.end() ? nullptr : &*it;
}

void ComponentRestarts::take(std::int64_t task, const Json& order, Done<Json> done) {
  // sickbayd may tell of one again that is under way here.
  if (std::ranges::any_of(orders_, [&](const auto& one) { return one->task == task; })) return;
  auto wanted = std::make_unique<Order>();
  wanted->task = task;
  wanted->done = std::move(done);
  const std::string& act = order["act"].as_string();
  wanted->restart = act == "restart";
  std::vector<std::string> names = order["components"].as_strings();
  if (!wanted->restart && names.empty())
    for (const ComponentSpec& one : components_) names.push_back(one.name);
  const auto refuse = [&](Error why) {
    loop_.post([done = wanted->done, why = std::move(why)] { done(fail(why)); });
  };
  if (act != "restart" && act != "check")
    return refuse(Error(ErrorCode::bad_input, "this agent knows no act " + quote_for_message(act)));
  for (const std::string& name : names) {
    const ComponentSpec* found = find(name);
    if (found == nullptr)
      return refuse(Error(ErrorCode::not_found, "this node has no component " + quote_for_message(name))
                        .remedied_by("describe it in a file of components.d"));
    wanted->components.push_back(found);
  }
  if (wanted->restart) {
    wanted->check = find(std::string(order["check"].as_string_or(names.empty() ? "" : names.back())));
    if (names.empty() || wanted->check == nullptr)
      return refuse(Error(ErrorCode::bad_input, "a restart names components, and one of them to look at"));
    if (!permitted_)
      return refuse(Error(ErrorCode::denied, "repairs are not permitted on this node")
                        .remedied_by("set repair.allowed in agent.json, where they are to be"));
  }
  orders_.push_back(std::move(wanted));
  if (orders_.size() == 1) loop_.post(lifetime_.guard([this] { next(); }));
}

// Durable before anything is done.  Errors: conflict, where it was noted before; those of the store.
Status ComponentRestarts::note(std::int64_t task) {
  bool before = false;
  const Status kept = store_.update_state([&](Json& state) {
    std::vector<Json> noted;
    for (const Json& one : state[kNotedOrders].items()) noted.push_back(one);
    before = std::ranges::any_of(noted, [&](const Json& one) { return one.as_int() == task; });
    if (before) return;
    noted.emplace_back(task);
    Json list = Json::array();
    for (std::size_t i = noted.size() > kNoted ? noted.size() - kNoted : 0; i < noted.size(); ++i)
      list.push(std::move(noted[i]));
    state.set(std::string(kNotedOrders), std::move(list));
  });
  if (!kept) return kept;
  if (before)
    return fail(Error(ErrorCode::conflict, "this restart was begun before, by an agent that is no more")
                    .because("whether it came to its end nobody knows"));
  return {};
}

void ComponentRestarts::next() {
  if (orders_.empty()) return;
  Order& order = *orders_.front();
  order.began = loop_.now();
  if (!order.restart) return check_next();
  if (Status noted = note(order.task); !noted) return over(fail(std::move(noted.error())));
  restart_next();
}

void ComponentRestarts::over(Result<Json> answer) {
  const std::unique_ptr<Order> order = std::move(orders_.front());
  orders_.pop_front();
  if (!orders_.empty()) loop_.post(lifetime_.guard([this] { next(); }));
  order->done(std::move(answer));
}

void ComponentRestarts::restart_next() {
  Order& order = *orders_.front();
  if (order.at == order.components.size()) {
    order.must_be_well = loop_.now() + order.check->within;
    return look();
  }
  const ComponentSpec& one = *order.components[order.at++];
  log_(fmt::format("event=restart component={} task={}", one.name, order.task));
  run(one.restart, one.timeout, [this, &one](bool well, const std::string& said) {
    Order& mine = *orders_.front();
    // One that could not be restarted: whoever needs it need not be tried.
    if (!well) {
      log_(fmt::format("event=restart_failed component={} why={}", one.name, Json(said).dump()));
      return over(Json::object({{"restarted", false},
                                {"cured", false},
                                {"took_us", (loop_.now() - mine.began).count()},
                                {"said", fmt::format("the restart of {} failed: {}", one.name, said)}}));
    }
    restart_next();
  });
}

void ComponentRestarts::look() {
  const ComponentSpec& one = *orders_.front()->check;
  run(one.check, one.timeout, [this, &one](bool well, const std::string& said) {
    Order& mine = *orders_.front();
    if (!well && loop_.now() + kLookEvery <= mine.must_be_well) {
      timer_ = loop_.at(loop_.now() + kLookEvery, [this] {
        timer_ = 0;
        look();
      });
      return;
    }
    log_(fmt::format("event=restarted component={} well={}", one.name, well));
    over(Json::object({{"restarted", true},
                       {"cured", well},
                       {"took_us", (loop_.now() - mine.began).count()},
                       {"said", well ? "" : fmt::format("{} is not well: {}", one.name, said)}}));
  });
}

void ComponentRestarts::check_next() {
  Order& order = *orders_.front();
  if (order.at == order.components.size())
    return over(Json::object({{"well", order.said.empty()}, {"said", order.said}}));
  const ComponentSpec& one = *order.components[order.at++];
  run(one.check, one.timeout, [this, &one](bool well, const std::string& said) {
    Order& mine = *orders_.front();
    if (!well)
      mine.said += fmt::format("{}{} is not well: {}", mine.said.empty() ? "" : "; ", one.name, said);
    check_next();
  });
}

void ComponentRestarts::run(const std::vector<std::string>& argv, std::chrono::seconds limit,
                            std::function<void(bool well, const std::string& said)> done) {
  ProcessSpec spec;
  spec.argv = argv;
  spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  spec.time_limit = limit;
  spec.output_limit = 4096;
  processes_.run(
      std::move(spec), lifetime_.guard([limit, done = std::move(done)](Result<ProcessOutcome> ended) {
        if (!ended) return done(false, ended.error().line());
        const auto words = [&] {
          const std::string text(trimmed(ended->err.empty() ? ended->out : ended->err));
          return text.empty() ? "" : ": " + text.substr(0, kMostSaid);
        };
        if (ended->timed_out) return done(false, fmt::format("no end within {} s{}", limit.count(), words()));
        if (ended->signal != 0)
          return done(false, fmt::format("killed by signal {}{}", ended->signal, words()));
        done(ended->exit_code == 0,
             ended->exit_code == 0 ? "" : fmt::format("exit code {}{}", ended->exit_code, words()));
      }));
}

}  // namespace sickbay::agent
