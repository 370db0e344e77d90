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
enum class KernelKind : std::uint8_t {
  disk,
  filesystem,
  hardware,  ///< machine checks and memory errors, corrected ones, too
  gpu,       ///< Xid of NVIDIA's driver
  hung_task,
  out_of_memory,
  soft_lockup,  ///< a processor that the kernel itself could not have back
  pcie_fatal,   ///< a link of PCI Express was lost
  gpu_lost      ///< NVIDIA's driver says so without an Xid
};
inline constexpr std::size_t kKernelKinds = 9;
std::optional<KernelKind> kind_of_kernel_text(std::string_view text);

/// What an Xid means for its graphics processor, by its number.
enum class XidMeaning : std::uint8_t {
  program,  ///< mostly a fault of the program, or no fault: 13, 31, 43, 45, ...
  warning,  ///< hardware that goes on, and should be looked at: 63, 74, 92, 94
  fault     ///< the processor is of no use until it is reset, at least: 48, 79, 95, ...
};
XidMeaning meaning_of_xid(std::int64_t xid);
/// The number in a text of the kind gpu.
std::optional<std::int64_t> xid_of(std::string_view text);
/// Whether a text of the kind hardware tells of an error that could not be corrected.
bool is_uncorrected(std::string_view text);
/// The device whose link went down, as the kernel names it: "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1"; ""
/// where the text tells of no such thing.
std::string_view link_down_of(std::string_view text);

/// The worst memory module of mcelog's answer, by its last 24 hours; nothing where it tells of none.
struct MemoryErrors {
  std::int64_t corrected = 0, uncorrected = 0;
};
std::optional<MemoryErrors> parse_mcelog(std::string_view text);
/// The same of rasdaemon's summary.
std::optional<MemoryErrors> parse_ras_summary(std::string_view text);

}  // namespace sickbay::node
