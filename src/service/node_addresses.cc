// SPDX-License-Identifier: Apache-2.0
#include "service/node_addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/text.h"
#include "service/controller.h"

namespace sickbay {
namespace {

constexpr std::chrono::seconds kLookAgain{10};   // how old a look at the nodes may be that refuses an agent
constexpr std::chrono::seconds kAddressAge{60};  // of a name that was looked up

}  // namespace

void NodeAddresses::compare(const std::string& address, const std::string& node, Done<bool> done) {
  const auto it = controller_.watch().nodes().find(node);
  if (it == controller_.watch().nodes().end()) return done(false);
  const std::string& name = it->second.address;
  if (name == address) return done(true);
  if (const auto known = looked_up_.find(name);
      known != looked_up_.end() && loop_.now() - known->second.first < kAddressAge)
    return done(std::ranges::find(known->second.second, address) != known->second.second.end());
  look_up_(name, lifetime_.guard(
                     [this, name, address, done = std::move(done)](Result<std::vector<std::string>> found) {
                       if (!found) return done(fail(std::move(found.error())));
                       const bool is = std::ranges::find(*found, address) != found->end();
                       looked_up_[name] = {loop_.now(), std::move(*found)};
                       done(is);
                     }));
}

void NodeAddresses::check(const Caller& caller, const std::string& node, std::function<void(Status)> then) {
  if (caller.address.empty())
    return then(fail(Error(ErrorCode::denied, "this is for agents, who call over TCP")
                         .because("the Unix socket does not tell from which node a caller comes")));
  if (caller.uid != 0)
    return then(
        fail(Error(ErrorCode::denied, fmt::format("this is for agents, and {} is not root", caller.user))));
  if (node.empty()) return then(fail(ErrorCode::bad_input, "an agent must name its node"));
  compare(
      caller.address, node, [this, address = caller.address, node, then = std::move(then)](Result<bool> is) {
        if (is && *is) return then({});
        // Slurm's own names may have changed since we looked.
        controller_.watch().with_nodes(kLookAgain, lifetime_.guard([this, address, node,
                                                                    then](Status looked) {
          const auto it = controller_.watch().nodes().find(node);
          if (it == controller_.watch().nodes().end())
            return then(looked
                            ? fail(Error(ErrorCode::not_found, "Slurm has no node " + quote_for_message(node))
                                       .remedied_by(
                                           "name the agent's node as slurm.conf does ('node' in agent.json)"))
                            : Status(fail(looked.error())));
          compare(address, node, [node, address, name = it->second.address, then](Result<bool> now) {
            if (now && *now) return then({});
            then(fail(
                Error(ErrorCode::denied, fmt::format("{} is not the address of {}", address, node))
                    .because(now ? fmt::format("Slurm has NodeAddr={}", name) : now.error().line())
                    .remedied_by("correct NodeAddr, or let the agent call from it ('from' in agent.json)")));
          });
        }));
      });
}

void NodeAddresses::numeric(const std::string& node, Done<std::pair<std::string, std::uint16_t>> done) {
  const auto it = controller_.watch().nodes().find(node);
  if (it == controller_.watch().nodes().end())
    return done(fail(ErrorCode::not_found, "Slurm has no node " + quote_for_message(node)));
  if (it->second.port == 0) return done(fail(ErrorCode::not_found, "Slurm tells no port of " + node));
  look_up_(it->second.address,
           [port = it->second.port, done = std::move(done)](Result<std::vector<std::string>> found) {
             if (!found) return done(fail(std::move(found.error())));
             if (found->empty()) return done(fail(ErrorCode::not_found, "it has no address"));
             done(std::pair(found->front(), port));
           });
}

void NodeAddresses::ask_node(const std::string& node, const std::string& control, const AskByTcp& ask,
                             Done<Json> done) {
  // Both at once: what one of them says about the way there is worth what the other one says then.
  struct Both {
    std::optional<Result<bool>> node, control;
    Done<Json> done;
  };
  auto both = std::make_shared<Both>();
  both->done = std::move(done);
  const auto over = [both] {
    if (!both->node || !both->control) return;
    if (!*both->node) return both->done(fail(both->node->error()));
    if (!*both->control) return both->done(fail(both->control->error()));
    both->done(Json::object({{"answers", **both->node}, {"control", **both->control}}));
  };
  const auto one = [this, &ask, over](const std::string& name, std::optional<Result<bool>>& answer,
                                      const std::shared_ptr<Both>& keep) {
    numeric(name, [ask, over, &answer, keep](Result<std::pair<std::string, std::uint16_t>> at) {
      if (!at) {
        answer = Result<bool>(fail(std::move(at.error())));
        return over();
      }
      ask(at->first, at->second, [over, &answer, keep](Result<bool> said) {
        answer = std::move(said);
        over();
      });
    });
  };
  one(node, both->node, both);
  one(control, both->control, both);
}

}  // namespace sickbay
