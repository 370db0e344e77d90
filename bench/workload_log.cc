// SPDX-License-Identifier: Apache-2.0
// workload_log [JOBS = 1000000] [SEED = 1]: a made-up `sacct -P` log on standard output, as a large cluster
// writes it.
//
// Not a copy of anyone's: names, users and shapes are drawn from the tables below, with the habits that real
// logs show (few users hold most of the work, core counts are powers of two, run times span six decades,
// executables carry versions and dates, one job in seven fails).  About 3.4 rows and 500 bytes a job.  The
// same arguments give the same bytes.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "base/duration.h"
#include "base/time.h"

namespace {

constexpr std::string_view kExecutables[] = {
    "vasp_std",       "vasp_gam-5.4.4", "lmp_mpi",     "lammps-29Oct20", "gmx_mpi",
    "pw.x",           "cp2k.psmp",      "namd2",       "wrf.exe",        "simpleFoam",
    "openfoam-v2012", "relion_refine",  "bwa",         "samtools",       "python",
    "python3",        "Rscript",        "matlab",      "a.out",          "main3d",
    "main2d",         "orca",           "g16",         "nek5000",        "xhpcg",
    "abaqus",         "ansys212",       "fluent",      "cesm.exe",       "icon",
    "enzo.exe",       "gadget4",        "train.py",    "julia",          "my_solver",
    "code_saturne",   "dftb+",          "siesta_v4.1", "nwchem",         "quantum_espresso",
    "blastn",         "gatk",           "solver_v3",   "test1",          "run_calibration",
    "heat3d",         "cactus_sim",     "lared-s",     "lared"};
constexpr std::string_view kScripts[] = {"run.sh",  "job.sh", "submit.slurm",      "prod", "relax",
                                         "md_long", "scan",   "batch_3",           "test", "analysis",
                                         "train",   "eval",   "spawner-jupyterhub"};
constexpr std::string_view kPartitions[] = {"cpu",   "cpu-long", "gpu",        "bigmem",
                                            "debug", "short",    "cpu,physics"};
constexpr std::string_view kQos[] = {"normal", "normal", "normal", "high", "low", "debug"};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double p) { return uniform() < p; }
  /// Low numbers far more often than high ones.
  std::uint64_t skewed(std::uint64_t n) {
    return static_cast<std::uint64_t>(std::pow(uniform(), 3.0) * static_cast<double>(n));
  }
  template <class T, std::size_t N>
  T of(const T (&table)[N]) {
    return table[below(N)];
  }

 private:
  std::mt19937_64 random_;
};

// As sacct writes them: "2021-05-01T10:00:00" and "1-02:03:04".
std::string stamp(std::int64_t seconds) {
  std::string text = sickbay::format_time(sickbay::from_unix_seconds(seconds));
  text.resize(19);  // without the fraction and the zone
  return text;
}

std::string duration(std::int64_t seconds) { return sickbay::format_elapsed(std::chrono::seconds(seconds)); }

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t jobs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  Draw draw(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  std::puts(
      "JobID|JobName|User|Account|Partition|QOS|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|"
      "NNodes|NCPUS|"
      "NTasks|ReqMem|MaxRSS|TotalCPU|AveDiskRead|AveDiskWrite|AllocTRES|"
      "NodeList|WorkDir");
  std::int64_t submit = 1'609'459'200;  // 2021-01-01
  std::string out;
  for (std::uint64_t n = 0; n < jobs; ++n) {
    submit += static_cast<std::int64_t>(
        draw.below(static_cast<std::uint64_t>(31'536'000.0 * 2 / static_cast<double>(jobs)) + 1));
    const std::uint64_t id = 4'000'000 + n, user = draw.skewed(600), account = user % 70;
    const bool never = draw.chance(0.03), gpu = draw.chance(0.12);
    const std::int64_t wait = static_cast<std::int64_t>(std::exp(draw.uniform() * 12.0));
    const std::int64_t elapsed = never ? 0 : static_cast<std::int64_t>(std::exp(draw.uniform() * 12.5));
    const std::uint64_t cpus = std::uint64_t{1} << draw.skewed(12), nodes = (cpus + 63) / 64;
    const std::int64_t start = submit + wait, end = never ? submit + wait : start + elapsed;
    const double luck = draw.uniform();
    const char* state = never          ? "CANCELLED by 1000"
                        : luck < 0.84  ? "COMPLETED"
                        : luck < 0.93  ? "FAILED"
                        : luck < 0.96  ? "TIMEOUT"
                        : luck < 0.975 ? "OUT_OF_MEMORY"
                        : luck < 0.995 ? "CANCELLED by 1000"
                                       : "NODE_FAIL";
    const char* exit = luck < 0.84 ? "0:0" : luck < 0.93 ? "1:0" : "0:9";
    const std::string_view executable = kExecutables[draw.skewed(std::size(kExecutables))];
    const std::string job_name = draw.chance(0.4)
                                     ? std::string(executable) + "_" + std::to_string(draw.below(400))
                                     : std::string(draw.of(kScripts));
    std::string nodelist = never        ? "None assigned"
                           : nodes == 1 ? "cn" + std::to_string(1000 + draw.below(3500))
                                        : std::string();
    if (nodelist.empty()) {
      const std::uint64_t first = 1000 + draw.below(3000);
      nodelist = "cn[" + std::to_string(first) + "-" + std::to_string(first + nodes - 1) + "]";
    }
    const std::string cpu_used = duration(
        static_cast<std::int64_t>(static_cast<double>(elapsed) * static_cast<double>(cpus) * draw.uniform()));
    const std::string times = stamp(submit) + "|" + (never ? std::string("None") : stamp(start)) + "|" +
                              stamp(end) + "|" + duration(elapsed);
    const std::string tres = never ? ""
                                   : "billing=" + std::to_string(cpus) + ",cpu=" + std::to_string(cpus) +
                                         ",mem=" + std::to_string(cpus * 2) +
                                         "G,node=" + std::to_string(nodes) + (gpu ? ",gres/gpu=4" : "");
    const std::string head = std::to_string(id);
    out.clear();
    out += head + "|" + job_name + "|u" + std::to_string(user) + "|a" + std::to_string(account) + "|" +
           std::string(gpu ? "gpu" : draw.of(kPartitions)) + "|" + std::string(draw.of(kQos)) + "|" + state +
           "|" + exit + "|" + times + "|" + duration(static_cast<std::int64_t>(1 + draw.below(96)) * 1800) +
           "|" + std::to_string(nodes) + "|" + std::to_string(cpus) + "||" +
           std::to_string(1 + draw.below(8)) + "Gc|||||" + tres + "|" + nodelist + "|/work/u" +
           std::to_string(user) + "/p" + std::to_string(draw.below(40)) + "/run" +
           std::to_string(draw.below(1000)) + "\n";
    const auto step = [&](const std::string& name, std::string_view program, std::uint64_t tasks,
                          bool quiet) {
      const std::uint64_t rss = 20'000 + draw.below(4'000'000);
      out += head + "." + name + "|" + std::string(program) + "||a" + std::to_string(account) + "|||" +
             (state[0] == 'C' && state[1] == 'A' ? "CANCELLED" : state) + "|" + exit + "|" + stamp(start) +
             "|" + stamp(start) + "|" + stamp(end) + "|" + duration(elapsed) + "||" + std::to_string(nodes) +
             "|" + std::to_string(cpus) + "|" + std::to_string(tasks) + "||" +
             (quiet ? std::string("0|00:00:00|0|0")
                    : std::to_string(rss) + "K|" + cpu_used + "|" + std::to_string(draw.below(9000)) +
                          ".25M|" + std::to_string(draw.below(3000)) + "M") +
             "|cpu=" + std::to_string(cpus) + ",mem=" + std::to_string(cpus * 2) +
             "G,node=" + std::to_string(nodes) + "|" + nodelist + "|\n";
    };
    if (!never) {
      step("batch", "batch", 1, draw.chance(0.7));
      const std::uint64_t steps = draw.chance(0.25) ? 2 : 1;
      if (draw.chance(0.25)) step("extern", "extern", 1, true);
      for (std::uint64_t s = 0; s < steps; ++s) step(std::to_string(s), executable, cpus, false);
    }
    std::fwrite(out.data(), 1, out.size(), stdout);
  }
  return std::ferror(stdout) || std::fflush(stdout) != 0;
}
