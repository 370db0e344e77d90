// SPDX-License-Identifier: Apache-2.0
// Finds the executable, tells it what it is asked, bounds it, and reads its answer.
#include "adapters/posix/operation_process.h"

#include <dirent.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "adapters/posix/installed_file.h"
#include "adapters/posix/process_runner.h"
#include "adapters/posix/rights.h"
#include "base/duration.h"
#include "base/size.h"
#include "base/spelling.h"
#include "base/text.h"
#include "model/operation_answer.h"

namespace sickbay {
namespace {

constexpr std::size_t kOwnMemory = std::size_t{256}
                                   << 20;  // libraries, locale, the interpreter's own mappings

OperationEnd unknown(std::string why) {
  return {OperationEnd::Result::unknown, Json::object(), std::move(why), {}, {}};
}

// A file of the folder and nothing else: no separator, no hidden file.
bool is_operation_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' || c == '-' ||
                  c == '.';
         });
}

// Why the file must not run as us; "" where it may.
std::string objection(const std::string& file, const struct stat& st) {
  if (!S_ISREG(st.st_mode)) return fmt::format("{} is no regular file", file);
  if (::access(file.c_str(), X_OK) != 0) return fmt::format("{} is not executable (chmod +x)", file);
  if (!belongs_to_us(st)) return fmt::format("{} belongs to uid {} and not to root", file, st.st_uid);
  if (others_may_write(st)) return fmt::format("{} may be written by others (chmod go-w)", file);
  return "";
}

class Runner : public OperationRunner {
 public:
  Runner(Loop& loop, OperationFolders folders)
      : loop_(loop), folders_(std::move(folders)), processes_(make_process_runner(loop, true)) {}

  void run(OperationCall call, std::function<void(OperationEnd)> done) override {
    std::string file;
    if (std::string why = find(call.run, file); !why.empty()) {
      loop_.post([done = std::move(done), why = std::move(why)] { done(unknown(why)); });
      return;
    }
    ProcessSpec spec;
    spec.argv = {file};
    // Nothing of the agent's own environment but these two: an operation does the same whoever started the
    // agent.
    spec.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
                        "HOME=/"};
    for (const char* name : {"SLURM_CONF", "SICKBAY_ROOT"})
      if (const char* value = std::getenv(name))
        spec.environment.push_back(fmt::format("{}={}", name, value));
    spec.input = Json::object({{"operation", call.operation},
                               {"kind", call.kind},
                               {"components", call.components},
                               {"inputs", call.inputs},
                               {"arguments", call.arguments},
                               {"root", folders_.root}})
                     .dump() +
                 "\n";
    // DATA is what the operation may use; AS counts mappings as well, so it stands higher.
    spec.limits = {{"DATA", static_cast<std::int64_t>(call.memory_limit)},
                   {"AS", static_cast<std::int64_t>(call.memory_limit + kOwnMemory)},
                   {"CORE", 0}};
    spec.time_limit = call.time_limit;
    spec.output_limit = call.output_limit;
    spec.stop_on_flood = true;
    spec.kill_strays = true;
    spec.early_end = call.early_end;
    const auto began = loop_.now();
    processes_->run(std::move(spec), [this, began, call = std::move(call),
                                      done = std::move(done)](Result<ProcessOutcome> outcome) {
      OperationEnd end = read(call, outcome);
      end.wall = loop_.now() - began;
      if (outcome) end.cpu = outcome->cpu;
      done(std::move(end));
    });
  }

 private:
  // The path of the operation, or why there is none.
  std::string find(const std::string& name, std::string& file) const {
    if (!is_operation_name(name))
      return fmt::format("{} is no name of an operation", quote_for_message(name));
    std::vector<std::string> names;
    for (const std::string& folder : folders_.folders) {
      file = folder + "/" + name;
      struct stat st {};
      // One that is there and must not run hides those behind it: it was meant.
      if (::stat(file.c_str(), &st) == 0) return objection(file, st);
      if (errno != ENOENT && errno != ENOTDIR)
        return fmt::format("cannot look at {}: {}", file, std::strerror(errno));
      const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
      while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    const std::string near = did_you_mean(name, names);
    return fmt::format("there is no operation '{}' in {}{}", name, fmt::join(folders_.folders, " or "),
                       near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
  }

  static OperationEnd read(const OperationCall& call, const Result<ProcessOutcome>& outcome) {
    if (!outcome) return unknown(outcome.error().line());
    std::string left;
    if (outcome->strays > 0)
      left = fmt::format(" (it left {} process{} behind, killed)", outcome->strays,
                         outcome->strays == 1 ? "" : "es");
    // In this order: our own reason for its end before the signal by which we ended it.
    if (outcome->ended_early)
      return unknown(fmt::format("{} was ended: {}{}", call.run, call.early_end->why(), left));
    if (outcome->timed_out)
      return unknown(fmt::format("{} did not end within {} and was killed{}", call.run,
                                 describe_duration(call.time_limit), left));
    if (outcome->flooded)
      return unknown(fmt::format("{} wrote more than {} and was killed{}", call.run,
                                 describe_size({static_cast<std::int64_t>(call.output_limit)}), left));
    if (outcome->signal != 0) {
      std::string why = fmt::format("{} was killed by signal {}", call.run, outcome->signal);
      return unknown(why + left);
    }
    OperationAnswer answer = parse_operation_answer(outcome->exit_code, outcome->out, outcome->err);
    OperationEnd end;
    switch (answer.result) {
      case OperationAnswer::Result::ok:
        end.result = OperationEnd::Result::ok;
        break;
      case OperationAnswer::Result::fault:
        end.result = OperationEnd::Result::fault;
        break;
      case OperationAnswer::Result::unknown:
        end.result = OperationEnd::Result::unknown;
        answer.text = fmt::format("{}: {}", call.run, answer.text);
        break;
    }
    end.outputs = std::move(answer.outputs);
    end.text = std::move(answer.text) + left;
    return end;
  }

  Loop& loop_;
  OperationFolders folders_;
  std::unique_ptr<ProcessRunner> processes_;
};

}  // namespace

OperationFolders standard_operation_folders() {
  const char* root = std::getenv("SICKBAY_ROOT");
  OperationFolders folders;
  folders.folders.push_back(std::string(root == nullptr ? "" : root) + "/etc/sickbay/operations.d");
  const std::string installed = installed_file("operations");
  folders.folders.push_back(installed.empty() ? "/usr/share/sickbay/operations" : installed);
  return folders;
}

std::unique_ptr<OperationRunner> make_operation_process_runner(Loop& loop, OperationFolders folders) {
  return std::make_unique<Runner>(loop, std::move(folders));
}

}  // namespace sickbay
