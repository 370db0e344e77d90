// SPDX-License-Identifier: Apache-2.0
// Parsers of what the operations for sites' own checks read: sockets, mounts, processors, SMBIOS as dmidecode
// prints it, records of the kernel's log, memory errors of a day.  Total, like those of parse.h; fuzzed with
// them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay::node {

/// One socket of /proc/net/{tcp,udp,raw,unix} and their kin.
struct SocketLine {
  std::string protocol;       ///< "tcp", "tcp6", "udp", "unix" ...
  std::string local, remote;  ///< "127.0.0.1:22", "[::1]:22"; a path, for unix
  std::string state, type;    ///< "LISTEN"; "STREAM", for unix
  std::int64_t uid = -1, inode = 0;
};
/// `protocol` is the name of the file that `text` was read from.
std::vector<SocketLine> parse_sockets(std::string_view text, std::string_view protocol);

/// One line of /proc/self/mounts, without escapes.
struct MountLine {
  std::string source, place, type, options;
};
std::vector<MountLine> parse_mounts(std::string_view text);

/// Sockets, cores and threads as /proc/cpuinfo tells them; one socket for each processor where it tells none.
struct CpuCounts {
  std::int64_t sockets = 0, cores = 0, threads = 0;
};
std::optional<CpuCounts> parse_cpuinfo(std::string_view text);

/// A structure of dmidecode's output: each line with the headings above it, "BIOS Information: Version: 2.4".
struct DmiStructure {
  std::string handle;  ///< "0x0000"
  std::int64_t type = -1;
  std::string title;  ///< "BIOS Information"
  std::vector<std::string> lines;
};
std::vector<DmiStructure> parse_dmidecode(std::string_view text);

/// A record of /dev/kmsg: "6,1339,5140900,-;text", further lines begin with a blank.
struct KernelRecord {
  std::int64_t facility = 0, level = 0, at_us = 0;  ///< since boot
  std::string_view text;
};
std::optional<KernelRecord> parse_kmsg(std::string_view line);
/// What a message of the kernel itself tells of; nothing where it is of no kind that is counted, or speaks of
/// a process by its name, which its user chose.
enum class KernelKind : std::uint8_t { disk, filesystem, hardware, gpu, hung_task, out_of_memory };
inline constexpr std::size_t kKernelKinds = 6;
std::optional<KernelKind> kind_of_kernel_text(std::string_view text);

/// The worst memory module of mcelog's answer, by its last 24 hours; nothing where it tells of none.
struct MemoryErrors {
  std::int64_t corrected = 0, uncorrected = 0;
};
std::optional<MemoryErrors> parse_mcelog(std::string_view text);
/// The same of rasdaemon's summary.
std::optional<MemoryErrors> parse_ras_summary(std::string_view text);

}  // namespace sickbay::node
