// SPDX-License-Identifier: Apache-2.0
#include "apps/agent/rule_files.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "adapters/posix/files.h"
#include "adapters/posix/installed_file.h"
#include "adapters/posix/rights.h"
#include "base/fnv.h"
#include "base/json.h"
#include "engine/diagnose/lint.h"
#include "engine/diagnose/strict_json.h"
#include "settings/paths.h"

namespace sickbay::agent {
namespace {

constexpr std::chrono::seconds kLook{10}, kSettle{1};
constexpr std::chrono::minutes kHangs{10};  // slow storage may take long, and is not asked twice meanwhile
constexpr std::size_t kMostKept = std::size_t{64} << 20;  // bytes

std::string digest_of(const Result<RuleFiles>& files) {
  std::string text;
  if (!files) return files.error().line();
  for (const diagnose::SpecificationFile& file : *files)
    text += fmt::format("{} {:016x}\n", file.path, fnv64(file.text));
  return text;
}

// What rules say is done by root.  (Whoever may change what is shipped may change this program as well; and a
// lab is its owner's.)
Status may_be_obeyed(const std::string& folder, const std::string& name) {
  if (!Paths::from_environment().root.empty() || folder == installed_file("rules")) return {};
  return only_ours_to_change(folder + "/" + name);
}

}  // namespace

Status read_rule_folder(const std::string& folder, RuleFiles& files) {
  std::vector<std::string> names;
  if (DIR* open = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(open)) names.emplace_back(entry->d_name);
    ::closedir(open);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!name.ends_with(".json") || name.starts_with('.') || name.ends_with(".test.json") ||
        name.ends_with(".schema.json"))
      continue;
    if (Status good = may_be_obeyed(folder, name); !good)
      return fail(std::move(good.error()).in("reading " + folder));
    auto text = read_file(folder + "/" + name, diagnose::kMostSpecificationBytes);
    if (!text) return fail(std::move(text.error()).in("reading " + folder));
    files.push_back({folder + "/" + name, std::move(*text)});
  }
  return {};
}

Result<RuleFiles> read_rule_folders(const std::vector<std::string>& folders) {
  RuleFiles files;
  for (const std::string& folder : folders)
    if (!folder.empty())
      if (Status read = read_rule_folder(folder, files); !read) return fail(std::move(read.error()));
  return files;
}

Result<MadeRules> make_rules(const Result<RuleFiles>& files, const diagnose::NodeIdentity& node,
                             const std::vector<std::string>& restartable, PredicateCompiler& compiler) {
  if (!files) return fail(files.error());
  auto specifications = diagnose::read_specifications(*files, node);
  if (!specifications) return fail(std::move(specifications.error()));
  MadeRules all;
  diagnose::Faults faults;
  for (diagnose::Specification& one : *specifications) {
    auto rules = diagnose::compile(std::move(one), compiler);
    if (!rules) {
      faults.add(rules.error());
      continue;
    }
    for (const diagnose::LintFinding& f : diagnose::lint(**rules, restartable)) {
      if (f.error)
        faults.add(Error(ErrorCode::bad_input, fmt::format("{}: {} [{}]", f.place.text(), f.text, f.code))
                       .remedied_by("'sickbay rules lint' says the same, and warns of more"));
      else if (f.code == "unknown_component")
        all.warnings.push_back(fmt::format("{}: warning: {}", f.place.text(), f.text));
    }
    all.rules.push_back(std::move(*rules));
  }
  if (!faults.empty()) return fail(faults.error());
  return all;
}

RuleFiles kept_rule_files(const std::string& path) {
  RuleFiles files;
  const auto text = read_file(path, kMostKept);
  const auto json = text ? Json::parse(*text) : Result<Json>(fail(text.error()));
  if (json)
    for (const Json& file : (*json)["files"].items())
      files.push_back({file["path"].as_string(), file["text"].as_string()});
  return files;
}

Status keep_rule_files(const std::string& path, const RuleFiles& files) {
  Json list = Json::array();
  for (const diagnose::SpecificationFile& file : files)
    list.push(Json::object({{"path", file.path}, {"text", file.text}}));
  const std::string text = Json::object({{"files", std::move(list)}}).dump();
  if (const auto before = read_file(path, kMostKept); before && *before == text) return {};
  return write_durably(path, text, 0600);
}

RuleWatch::RuleWatch(Loop& loop, Read read, const Result<RuleFiles>& known, Changed changed)
    : loop_(loop),
      read_(std::move(read)),
      changed_(std::move(changed)),
      lanes_(loop),
      known_(digest_of(known)),
      seen_(known_) {
  timer_ = loop_.at(loop_.now() + kLook, [this] { look(); });
}

RuleWatch::~RuleWatch() { loop_.cancel(timer_); }

void RuleWatch::look() {
  if (std::exchange(reading_, true)) return;
  loop_.cancel(timer_);
  const auto files = std::make_shared<std::optional<Result<RuleFiles>>>();
  const auto work = [files, read = read_](const std::atomic<bool>&) {
    *files = read();
    OperationEnd end;
    end.result = OperationEnd::Result::ok;
    return end;
  };
  lanes_.start("the rule folders", kHangs, work, lifetime_.guard([this, files](const OperationEnd& end) {
    reading_ = false;
    // A thread that hangs may write to them still.
    if (end.result == OperationEnd::Result::ok) return take(std::move(**files));
    timer_ = loop_.at(loop_.now() + kLook, [this] { look(); });
  }));
}

void RuleWatch::take(Result<RuleFiles> files) {
  const std::string digest = digest_of(files);
  const bool settled = std::exchange(seen_, digest) == digest;
  const bool news = digest != known_;
  timer_ = loop_.at(loop_.now() + (news && !settled ? kSettle : kLook), [this] { look(); });
  if (!news || !settled) return;
  known_ = digest;
  changed_(std::move(files));
}

}  // namespace sickbay::agent
