// SPDX-License-Identifier: Apache-2.0
// All parsers of what a node's kernel and programs write (adapters/node, base/mount_table.h) on the same
// bytes: total, within the bounds of a specification's values.
#include "adapters/node/parse.h"
#include "adapters/node/parse_site.h"
#include "base/mount_table.h"
#include "property.h"

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 53;

void check(const std::optional<std::int64_t>& value, const char* what) {
  SB_CHECK(!value || (*value >= 0 && *value <= kMost), what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  using namespace sickbay::node;
  const std::string_view text = fuzz::as_text(bytes, size);
  for (const char* name : {"MemTotal", "SwapFree", "read_bytes", ""}) check(field_of(text, name), "a field");
  check(smbios_memory(text), "SMBIOS");
  check(smbios_memory_modules(text), "SMBIOS modules");
  check(count_list(text), "a list");
  check(interrupts_of(text, "MCE"), "interrupts");
  if (const auto stat = parse_process_stat(text)) {
    SB_CHECK(stat->pid > 0, "a process has a number");
    SB_CHECK(stat->nice >= -20 && stat->nice <= 19, "nice is bounded");
    check(stat->ticks, "ticks");
    check(stat->started, "start");
    check(stat->pages, "pages");
    SB_CHECK(stat->name.size() < size, "a name is a part of the line");
  }
  if (const auto thread = parse_schedstat(text))
    SB_CHECK(thread->ran.count() >= 0 && thread->waited.count() >= 0, "times are not negative");
  check(parse_children(text), "ticks of children");
  SB_CHECK(cpu_stat_file(text).find("..") == std::string::npos, "a file below the control groups");
  SB_CHECK(parse_throttled(text) >= -1, "a time or none");
  const CpuSet cpus = parse_cpu_list(text);
  SB_CHECK(count_cpus(cpus) <= 8192, "processors are bounded");
  check(parse_uid(text), "a user");
  check(job_of_cgroup(text), "a job");
  check(job_of_title(text), "a job");
  for (const Mount& m : parse_mountinfo(text))
    SB_CHECK(!m.place.empty() && !m.type.empty(), "a mount is whole");
  for (const FstabLine& l : parse_fstab(text)) {
    SB_CHECK(!l.place.empty(), "a line names a place");
    (void)l.has("ro");
  }
  (void)parse_snmp(text, "Tcp");
  SB_CHECK(default_route(text).find('\n') == std::string::npos, "a device is a word");
  const SlurmControllers controllers = parse_controllers(text);
  SB_CHECK(controllers.port > 0 && controllers.port < 65536, "a port is a port");
  for (const std::string& host : controllers.hosts) SB_CHECK(!host.empty(), "a host has a name");
  (void)user_name(text, 0);
  const SmartAnswer smart = parse_smart(text);
  check(smart.reallocated, "sectors");
  SB_CHECK(!smart.wear_percent || (*smart.wear_percent >= 0 && *smart.wear_percent <= 100), "a percent");
  for (const GpuLine& gpu : parse_gpus(text)) check(gpu.uncorrected, "errors");
  const PowerSupplies supplies = parse_power_supplies(text);
  SB_CHECK(supplies.failed <= supplies.all, "a part of all");
  (void)upsc_value(text, "ups.status");
  const auto time = parse_sntp(text);
  SB_CHECK(!time || (*time > 0 && *time < 1e10), "a time of this age");
  for (const char* name : {"tcp", "udp6", "unix"})
    for (const SocketLine& one : parse_sockets(text, name)) {
      check(one.inode, "an inode");
      SB_CHECK(one.uid >= -1 && one.uid <= kMost, "a user");
      SB_CHECK(one.protocol == "unix" || one.local.rfind(':') != std::string::npos, "an address has a port");
    }
  for (const MountLine& m : parse_mounts(text))
    SB_CHECK(!m.source.empty() && !m.place.empty() && !m.type.empty() && !m.options.empty(),
             "a mount is whole");
  if (const auto counted = parse_cpuinfo(text))
    SB_CHECK(counted->sockets > 0 && counted->cores >= 0 && counted->threads >= 0, "counts are none below 0");
  for (const DmiStructure& one : parse_dmidecode(text))
    for (const std::string& line : one.lines) SB_CHECK(!line.empty(), "a line says something");
  if (const auto record = parse_kmsg(text)) {
    check(record->facility, "a facility");
    SB_CHECK(record->level >= 0 && record->level < 8, "a level");
    // (AddressSanitizer thinks that regexec reads on to a NUL, also where it is told the end.)
    (void)kind_of_kernel_text(std::string(record->text));
  }
  (void)kind_of_kernel_text(std::string(text));
  for (const auto& errors : {parse_mcelog(text), parse_ras_summary(text)})
    if (errors) {
      check(errors->corrected, "errors");
      check(errors->uncorrected, "errors");
    }
  return 0;
}
