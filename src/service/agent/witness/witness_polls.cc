// SPDX-License-Identifier: Apache-2.0
#include "service/agent/witness/witness_polls.h"

#include <utility>

namespace sickbay::agent {
namespace {

constexpr const char* kMember = "witness";  // of the agent's state

}  // namespace

WitnessPolls::WitnessPolls(Loop& loop, AgentStore& store, std::string node, std::function<Micros()> clock,
                           std::vector<HttpClient*> sickbayds)
    : loop_(loop),
      store_(store),
      node_(std::move(node)),
      clock_(std::move(clock)),
      sickbayds_(std::move(sickbayds)) {}

Status WitnessPolls::start() {
  succession::Witness::Record record;
  if (Status read = store_.update_state(
          [&](const Json& state) { record = succession::Witness::record_from(state[kMember]); });
      !read)
    return read;
  witness_.emplace(std::move(record), clock_());
  for (std::size_t i = 0; i < sickbayds_.size(); ++i) poll(i, std::nullopt);
  return {};
}

void WitnessPolls::again(std::size_t sickbayd) {
  loop_.at(loop_.now() + kAgain, lifetime_.guard([this, sickbayd] { poll(sickbayd, std::nullopt); }));
}

void WitnessPolls::poll(std::size_t sickbayd, std::optional<LeaseAnswer> answer) {
  HttpQuestion question;
  question.method = "POST";
  question.target = kLeaseTarget;
  question.body = Json::object({{"node", node_}, {"answer", answer ? to_json(*answer) : Json()}}).dump();
  question.time_limit = kLimit;
  sickbayds_[sickbayd]->ask(std::move(question), lifetime_.guard([this, sickbayd](Result<Json> told) {
    if (!told) return again(sickbayd);
    take(sickbayd, *told);
  }));
}

void WitnessPolls::take(std::size_t sickbayd, const Json& told) {
  if (told["ask"].is_null()) return poll(sickbayd, std::nullopt);
  const auto ask = lease_ask_from(told["ask"]);
  if (!ask) return again(sickbayd);
  LeaseAnswer answer = witness_->take(*ask, clock_());
  if (Status kept = keep(); !kept) return again(sickbayd);
  poll(sickbayd, std::move(answer));
}

Status WitnessPolls::keep() {
  if (!witness_->must_keep()) return {};
  Status kept = store_.update_state(
      [this](Json& state) { state.set(kMember, succession::Witness::to_json(witness_->record())); });
  if (kept) witness_->kept();
  return kept;
}

}  // namespace sickbay::agent
