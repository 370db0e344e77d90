// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/nodes_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace sickbay::smd {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;  // a hostlist of four million nodes fits

// Not in the original's file, whose Slurm let steps share.  Since 20.11 a step has its CPUs and memory to
// itself, and one that lost a node never ends for slurmctld: it keeps them, and the next srun would wait for
// good.
constexpr std::string_view kBesideTheLostStep =
    "export SLURM_OVERLAP=1\n"
    "export SLURM_MEM_PER_NODE=0\n"
    "unset SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU\n";

tl::unexpected<Error> file_trouble(int number, std::string_view doing, const std::string& path) {
  ErrorCode code = ErrorCode::storage_broken;
  std::string remedy = "give another folder with --folder";
  if (number == ENOSPC || number == EDQUOT) code = ErrorCode::storage_full;
  if (number == ENOENT || number == ENOTDIR) code = ErrorCode::not_found;
  if (number == EACCES || number == EPERM || number == EISDIR || number == ELOOP) {
    code = ErrorCode::denied;
    remedy = "see whose file it is, and give a folder of your own with --folder";
  }
  return fail(Error(code, fmt::format("cannot {} {}: {}", doing, path, std::strerror(number)))
                  .remedied_by(std::move(remedy)));
}

// Everything else gets a backslash: the file is sourced by a shell, and names come from the service.
bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::strchr(",._-+:=@/", c) != nullptr;
}

std::string escaped(const std::string& value) {
  std::string out;
  for (const char c : value) {
    // Control characters cannot be escaped by a backslash (a newline would join two lines).
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) continue;
    if (!plain(c)) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string nodes_file_path(const std::string& folder, std::uint32_t job) {
  return fmt::format("{}/smd_job_{}_nodes.sh", folder == "/" ? "" : folder, job);
}

std::string nodes_file_text(const NodeSet& set) {
  const std::string nodes = escaped(set.nodes);
  std::string text = fmt::format(
      "export SLURM_NODELIST={0}\nexport SLURM_JOB_NODELIST={0}\n"
      "export SLURM_NNODES={1}\nexport SLURM_JOB_NUM_NODES={1}\n",
      nodes, set.count);
  if (!set.cpus.empty()) text += fmt::format("export SLURM_JOB_CPUS_PER_NODE={}\n", escaped(set.cpus));
  // It holds a count for each of the old nodes, and srun would take it for those of the new ones.
  text += "unset SLURM_TASKS_PER_NODE\n";
  return text.append(kBesideTheLostStep);
}

Status write_nodes_file(const std::string& path, const std::string& text) {
  // Not write_durably (adapters/posix): its fixed name for the new file is for folders of one's own.
  std::string made;
  int fd = -1;
  // A name by chance, made with O_EXCL: /tmp is everybody's, and what lies there under a known name may be a
  // link.
  for (int attempt = 0; attempt < 100 && fd < 0; ++attempt) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number)
      return file_trouble(EIO, "make a file beside", path);
    made = fmt::format("{}.{:016x}", path, number);
    fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) return file_trouble(errno, "make a file beside", path);
  }
  if (fd < 0) return file_trouble(EEXIST, "make a file beside", path);
  int number = 0;
  for (std::size_t at = 0; at < text.size() && number == 0;) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) number = errno;
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  // (Some file systems tell of a full disk only here.)
  if (::close(fd) != 0 && number == 0) number = errno;
  // By rename: a step that sources it at this moment reads the old file or the new one, whole.
  if (number == 0 && ::rename(made.c_str(), path.c_str()) != 0) number = errno;
  if (number == 0) return {};
  ::unlink(made.c_str());
  return file_trouble(number, "write", path);
}

Result<std::string> read_nodes_file(const std::string& path) {
  // O_NONBLOCK: a FIFO under that name must not hold the job.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return file_trouble(errno, "open", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_trouble(errno, "look at", path);
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0)
    return fail(Error(ErrorCode::denied, fmt::format("{} is not to be trusted", path))
                    .because("it is no plain file of yours that only you may write")
                    .remedied_by("see whose it is, and give a folder of your own with --folder"));
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t n = ::read(file.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_trouble(errno, "read", path);
    if (n == 0) return text;
    text.append(bytes, static_cast<std::size_t>(n));
    if (text.size() > kMostBytes) return file_trouble(EFBIG, "read", path);
  }
}

}  // namespace sickbay::smd
