// SPDX-License-Identifier: Apache-2.0
// Effects: how each verb of a command becomes an act, and how an act is made safe to meet twice.
//
// The verbs stand in service/verbs, one row each.  An effect that fails because something is away is tried
// again with growing pauses up to a bound; each further try, and the first after a restart of sickbayd, looks
// for what the try before may have done (doc/design/decisions.md 16, 17).  Engines see `failed` once.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/event.h"
#include "ports/loop.h"

namespace sickbay {

class ResourceManager;
class ProcessRunner;
class CaseStore;
struct Config;

class Effects {
 public:
  /// What a verification runs, and as whom.
  struct Verification {
    std::string script;                                    ///< the text of the batch script
    std::vector<std::string> environment;                  ///< "NAME=value" of its job
    std::uint32_t uid = 0, gid = 0;                        ///< of the service account
    std::uint32_t notify_uid = 65534, notify_gid = 65534;  ///< of the user who runs notify.command
  };
  Effects(Loop& loop, ResourceManager& manager, ProcessRunner& processes, CaseStore& cases,
          const Config& config, Verification verification);
  ~Effects();

  /// How a node is examined on request: node, mode, and the answer {"passed": bool, ...}.
  using Examine = std::function<void(const std::string& node, const std::string& mode, Done<Json> done)>;
  /// Who does it; without it, where agents are not listened to, the verb `diagnose` fails with conflict.
  void set_examine(Examine examine);
  /// How an agent acts on components of its node: node, key of the command, order (agent_tasks.h, act()).
  using ActOnNode =
      std::function<void(const std::string& node, const std::string& key, const Json& order, Done<Json>)>;
  void set_act_on_node(ActOnNode act);

  /// How a node is asked by TCP whether it answers, and `control` with it: {"answers": bool, "control":
  /// bool}.
  using AskNode = std::function<void(const std::string& node, const std::string& control, Done<Json> done)>;
  /// Who does it; without it the verb `ask_node` fails with conflict.
  void set_ask_node(AskNode ask);

  /// Where sickbay-folder is; without it one is looked for by its name.
  void set_folder_program(std::string path);

  /// Each further try waits until `then` is called, which `begin` gets: of two sickbayds one whose lease has
  /// become too short for an act begins none, however long ago the first try was.
  void begin_tries_by(std::function<void(std::function<void()> then)> begin);

  /// Starts `command`.  `again`: it may have been done before.  The answer is the `result` of its done event.
  void start(const Command& command, bool again, Done<Json> done);
  /// Under way right now, for /metrics.
  std::size_t under_way() const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace sickbay
