// SPDX-License-Identifier: Apache-2.0
// Rule files of the agent: read from their folders, made into rules, and looked at again while it lives.
//
// What cannot be read, or has an error by lint, is refused as a whole: half of a site's rules is not what the
// site meant.  The files that were good last are kept beside the agent's state, for its next start.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/node/lanes.h"
#include "engine/diagnose/rules.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay::agent {

using RuleFiles = std::vector<diagnose::SpecificationFile>;
using RuleSet = std::vector<std::shared_ptr<const diagnose::Rules>>;

/// Adds the specifications of `folder`, by name; tests beside them and the schema are none.  Errors: those of
/// read_file.
Status read_rule_folder(const std::string& folder, RuleFiles& files);
Result<RuleFiles> read_rule_folders(const std::vector<std::string>& folders);
struct MadeRules {
  RuleSet rules;
  /// Restarts that they ask for and nobody here can do: for people, and no reason not to run.
  std::vector<std::string> warnings;
};
/// `restartable`: the components that this node can restart, for lint.  Errors: those of `files`; bad_input
/// with file:line:column, also for what lint calls an error.
Result<MadeRules> make_rules(const Result<RuleFiles>& files, const diagnose::NodeIdentity& node,
                             const std::vector<std::string>& restartable, PredicateCompiler& compiler);
/// The files that were good last; none where nobody kept any.
RuleFiles kept_rule_files(const std::string& path);
Status keep_rule_files(const std::string& path, const RuleFiles& files);

/// Tells when what `read` gives is other than `known`, on the loop: every kLook, or when asked.  A change
/// counts when two looks a second apart show the same, for files may be half written.  Reads on a thread: a
/// folder on storage that hangs must not hang the agent.
class RuleWatch {
 public:
  using Read = std::function<Result<RuleFiles>()>;  ///< on a thread, which may outlive the watch
  using Changed = std::function<void(Result<RuleFiles>)>;
  RuleWatch(Loop& loop, Read read, const Result<RuleFiles>& known, Changed changed);
  ~RuleWatch();
  RuleWatch(const RuleWatch&) = delete;
  RuleWatch& operator=(const RuleWatch&) = delete;
  /// Looks now.
  void look();

 private:
  void take(Result<RuleFiles> files);

  Loop& loop_;
  const Read read_;
  const Changed changed_;
  node::Lanes lanes_;
  std::string known_, seen_;  ///< digests: of what was told, and of the last look
  bool reading_ = false;
  Loop::TimerId timer_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
