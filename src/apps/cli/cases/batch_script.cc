// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/batch_script.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/resource_limits.h"
#include "base/text.h"

extern char** environ;  // NOLINT: POSIX's name

namespace sickbay::cli {
namespace {

Error file_error(int code, const std::string& name) {
  const std::string what =
      fmt::format("cannot read the batch script {}: {}", quote_for_message(name, 200), std::strerror(code));
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return Error(ErrorCode::not_found, what)
          .remedied_by("give the path of a script file, after all options of sbatch");
    case EACCES:
      return Error(ErrorCode::denied, what).remedied_by("make the file readable for you (chmod u+r)");
    default:
      return Error(ErrorCode::os, what);
  }
}

Result<std::string> read_all(int fd, const std::string& name) {
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error(errno, name));
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > kMaxScriptBytes)
      return fail(
          Error(ErrorCode::bad_input, fmt::format("the batch script {} is over {} MiB",
                                                  quote_for_message(name, 200), kMaxScriptBytes >> 20))
              .remedied_by("put data into files of their own and let the script read them"));
  }
}

Result<std::string> read_file(const std::string& path, const std::string& name) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(file_error(errno, name));
  struct stat about = {};
  Result<std::string> text;
  if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode))
    text = fail(file_error(EISDIR, name));
  else
    text = read_all(fd, name);
  close(fd);
  return text;
}

bool is_readable_file(const std::string& path) {
  struct stat about = {};
  return stat(path.c_str(), &about) == 0 && !S_ISDIR(about.st_mode) && access(path.c_str(), R_OK) == 0;
}

std::string joined(const std::string& folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

Result<std::string> current_folder() {
  std::array<char, PATH_MAX> buffer;
  if (getcwd(buffer.data(), buffer.size()) == nullptr)
    return fail(
        Error(ErrorCode::os, fmt::format("the current folder cannot be named: {}", std::strerror(errno)))
            .remedied_by("change to a folder that exists and submit again"));
  return std::string(buffer.data());
}

std::string user_name(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry ? std::string(entry->pw_name) : std::to_string(uid);
}

}  // namespace

Status check_batch_script(std::string_view text, std::string_view name) {
  // In sbatch's own order, so that both name the same fault of a script that has several.
  const std::string shown = quote_for_message(name, 200);
  const auto refused = [](std::string what, std::string remedy) {
    return fail(Error(ErrorCode::bad_input, std::move(what)).remedied_by(std::move(remedy)));
  };
  if (text.empty())
    return refused(fmt::format("the batch script {} is empty", shown),
                   "write the script: '#!/bin/sh' and commands");
  if (trimmed(text).empty())
    return refused(fmt::format("the batch script {} holds only blanks", shown),
                   "write the script: '#!/bin/sh' and commands");
  if (!text.starts_with("#!"))
    return refused(fmt::format("{} does not look like a batch script: its first line is {}", shown,
                               quote_for_message(text.substr(0, text.find('\n')), 40)),
                   "the first line must be #! and the path of an interpreter, such as #!/bin/sh; to submit a "
                   "command alone, use --wrap='COMMAND'");
  if (text.find('\0') != text.npos)
    return refused(
        fmt::format("the batch script {} holds a NUL byte: it is a program or a damaged file", shown),
        "submit a script that starts the program, or use --wrap='COMMAND'");
  if (text.find("\r\n") != text.npos)
    return refused(fmt::format("the batch script {} has DOS line ends (\\r\\n)", shown),
                   "convert it: sed -i 's/\\r$//' FILE");
  return {};
}

std::string script_path(const SbatchLine& line, const std::string& folder, std::string_view path_variable) {
  const std::string& name = *line.script;
  // As sbatch looks for it: by its path; else in the folder of --chdir or the current one; else along PATH.
  if (name.starts_with('.') || name.starts_with('/')) return name;
  const GivenOption* chdir = line.last("chdir");
  std::string base = folder;
  if (chdir && chdir->value)
    base = chdir->value->starts_with('/') ? *chdir->value : joined(folder, *chdir->value);
  if (std::string path = joined(base, name); is_readable_file(path)) return path;
  while (!path_variable.empty()) {
    const std::size_t colon = path_variable.find(':');
    const std::string_view part = path_variable.substr(0, colon);
    path_variable.remove_prefix(colon == path_variable.npos ? path_variable.size() : colon + 1);
    if (part.empty()) continue;
    if (std::string path = joined(std::string(part), name); is_readable_file(path)) return path;
  }
  return name;
}

Result<BatchScript> read_batch_script(const SbatchLine& line) {
  BatchScript script;
  if (const GivenOption* wrap = line.last("wrap")) {
    if (line.script)
      return fail(
          Error(ErrorCode::usage, fmt::format("--wrap takes the place of a script, and there is one: {}",
                                              quote_for_message(*line.script)))
              .remedied_by("quote the whole command: --wrap='COMMAND ARGUMENTS'"));
    script.name = "wrap";
    script.text = "#!/bin/sh\n\n" + wrap->value.value_or("") + "\n";
    return script;
  }
  Result<std::string> text;
  if (line.script) {
    auto folder = current_folder();
    if (!folder) return fail(folder.error());
    const char* path = std::getenv("PATH");
    script.name = *line.script;
    text = read_file(script_path(line, *folder, path ? path : ""), script.name);
  } else {
    script.name = "stdin";
    script.from_stdin = true;
    text = read_all(STDIN_FILENO, script.name);
  }
  if (!text) {
    Error error = text.error();
    for (const GivenOption& given : line.options)  // the word that we took for the script may be its value
      if (given.option == nullptr && given.name.size() > 1 && !given.value)
        return fail(std::move(error).because(fmt::format(
            "--{0} is no option of the sbatch that Sickbay knows; if it takes a value, write it as "
            "--{0}=VALUE",
            given.name)));
    return fail(std::move(error));
  }
  script.text = std::move(*text);
  if (auto checked = check_batch_script(script.text, script.name); !checked) return fail(checked.error());
  return script;
}

Result<Submission> collect_submission(const SbatchLine& line, const BatchScript& script) {
  Submission s;
  s.owner = {user_name(getuid()), getuid(), getgid()};
  s.script = script.text;
  s.script_name = script.name;
  s.sbatch_options = line.passed;
  s.script_args = line.script_args;
  for (char** variable = environ; *variable != nullptr; ++variable) s.environment.emplace_back(*variable);
  auto folder = current_folder();
  if (!folder) return fail(folder.error());
  s.work_dir = std::move(*folder);
  // (POSIX has no call that only asks.)
  s.umask = umask(0);
  umask(s.umask);
  for (const ResourceLimit& row : kResourceLimits) {
    rlimit limit = {};
    if (getrlimit(row.resource, &limit) != 0) continue;
    s.limits.emplace_back(row.name,
                          limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(limit.rlim_cur));
  }
  return s;
}

}  // namespace sickbay::cli
