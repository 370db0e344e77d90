// SPDX-License-Identifier: Apache-2.0
// The labeller on the lists that we ship: what must be found, and what plain substring matching finds
// wrongly.
#include "workload/label/label.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "workload/label/lists.h"
#include "workload/label/name.h"

namespace sickbay::workload {
namespace {

std::vector<LabelFile> shipped_files() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SB_LABELS))
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<LabelFile> files;
  for (const std::string& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    files.push_back({path, text.str()});
  }
  return files;
}

const Labeller& shipped() {
  static const auto files = shipped_files();
  static const auto labeller = Labeller::make(files);
  if (!labeller) ADD_FAILURE() << labeller.error().line();
  return *labeller;
}

Labeller made(std::vector<std::string> texts) {
  std::vector<LabelFile> files;
  for (std::size_t i = 0; i < texts.size(); ++i)
    files.push_back({"list" + std::to_string(i + 1) + ".json", texts[i]});
  auto labeller = Labeller::make(files);
  EXPECT_TRUE(labeller) << labeller.error().line();
  return std::move(*labeller);
}

std::string error_of(std::string text, std::string before = "{}") {
  const std::vector<LabelFile> files{{"a.json", before}, {"b.json", text}};
  const auto labeller = Labeller::make(files);
  if (labeller) return "no error";
  return labeller.error().what + " | " + std::string(labeller.error().remedy());
}

TEST(ShippedLabels, AreManyAndEachKeywordIsOfOneApplication) {
  EXPECT_GE(shipped().applications(), 1240u);
  // A later file takes a keyword over, so that two shipped files with the same one would hide a mistake.
  std::map<std::string, std::string> owner;
  std::size_t listed = 0;
  for (const LabelFile& file : shipped_files()) {
    const auto lists = parse_lists({&file, 1});
    ASSERT_TRUE(lists) << lists.error().line();
    listed += lists->applications.size();
    for (const Application& a : lists->applications) {
      EXPECT_FALSE(a.field.empty()) << a.name;
      for (const Keyword& k : a.keywords) {
        const std::string key = claim_of(k);
        EXPECT_TRUE(owner.emplace(key, a.name).second) << key << ": " << owner[key] << " and " << a.name;
      }
    }
  }
  EXPECT_EQ(listed, shipped().applications()) << "a name stands twice";
}

struct NameCase {
  std::string_view name, application, version;
};

TEST(Labeller, FindsApplicationsInJobNames) {
  const NameCase cases[] = {
      {"vasp_std", "VASP", ""},
      {"VASP", "VASP", ""},
      {"vasp_5.4.4_std", "VASP", "5.4.4"},
      {"vasp.6.3.2", "VASP", "6.3.2"},
      {"my-vasp-job", "VASP", ""},
      {"runvasp.sh", "VASP", ""},
      {"GPUVasp", "VASP", ""},
      {"VASPrun", "VASP", ""},
      {"run-lammps2", "LAMMPS", ""},
      {"lammps-29Oct20", "LAMMPS", "29Oct20"},
      {"lammps.run", "LAMMPS", ""},
      {"LaMMPS_test", "LAMMPS", ""},
      {"gromacs2021", "GROMACS", "2021"},
      {"gromacs-2021.3_mdrun", "GROMACS", "2021.3"},
      {"mygromacsjob", "GROMACS", ""},
      {"cp2k", "CP2K", ""},
      {"cp2k-7.1.psmp", "CP2K", "7.1"},
      {"g09", "Gaussian", "09"},
      {"g16_opt", "Gaussian", "16"},
      {"gaussian1+", "Gaussian", ""},
      {"namd2", "NAMD", "2"},
      {"NAMD_2.14", "NAMD", "2.14"},
      {"amber20", "AMBER", ""},
      {"amber", "AMBER", ""},
      {"orca_5.0.3", "ORCA", "5.0.3"},
      {"wrf.exe", "WRF", ""},
      {"run_wrf_d02", "WRF", ""},
      {"WRFV4.1.2", "WRF", "4.1.2"},
      {"abinit", "ABINIT", ""},
      {"ls-dyna", "LS-DYNA", ""},
      {"LS_DYNA_crash", "LS-DYNA", ""},
      {"star-ccm+", "STAR-CCM+", ""},
      {"starccm+_wing", "STAR-CCM+", ""},
      {"star-align-s1", "STAR", ""},
      {"salmon-quant", "Salmon", ""},
      {"bowtie2_x", "Bowtie", "2"},
      {"lared-s_3", "LARED-S", ""},
      {"lared_test", "LARED", ""},
      {"ior", "IOR", ""},
      {"ior-3.3.0", "IOR", "3.3.0"},
      {"GAMESS-UK", "GAMESS-UK", ""},
      {"gamess", "GAMESS", ""},
      {"train_resnet50", "ResNet training", ""},
      {"spades.sb+", "SPAdes", ""},
      {"run_hisat+", "HISAT2", ""},
      {"HISAT2", "HISAT2", ""},
      {"xdmod.app+", "XDMoD application kernels", ""},
  };
  for (const NameCase& c : cases) {
    const Label label = shipped().label({.job_name = c.name});
    EXPECT_EQ(label.application, c.application) << c.name << ": " << label.evidence;
    EXPECT_EQ(label.version, c.version) << c.name;
    EXPECT_EQ(label.labelled_by, "keyword") << c.name;
    EXPECT_FALSE(label.field.empty()) << c.name;
  }
}

TEST(Labeller, FindsNothingInsideOtherWords) {
  for (const std::string_view name :
       {"run_calibration", "prior_run", "reverse", "every_eve", "priority", "behavior", "interior_fix",
        "charm", "star", "starfish", "calculate", "librarian", "envasping", "dynamo", "wrfx", "xwrf",
        "decamber", "chamber", "december_run", "unorcaed", "gamesson", "namdar", "scaffold", "class_a",
        "grid_search", "elegant_name", "salmonella", "pluton", "torchwood", "sandman", "gaussian_process",
        "gaussian-filter-3", "R", "go", "FLEURY", "structure_A", "blast_wave", "sierra", "merlin", "vampires",
        "castrol", "g091", "bwax", "EYR378CSFYHIMYW", "10.bi.trp+", "ampl.py", "CompileOnDemandLayer",
        "_mb_bot24+", "Fqgz30.1", "subsamp.j+", "DonsLM2li+", "5Fe2L-hyd+", "D12.50_q0+", "t23-10",
        "camk-S3_C4", "pT1.0_20K",

        // Grids and other parts of climate models' names.
        "ne30_g16", "f09_g16", "ne30_g16_opt", "hycom1_N75", "TL319_t232_wgx3_hycom1_N75",

        // Digests and ids.
        "9f86d081a3dec4f1b2b0b822cd15d6c15b0f00a08e3b0c44298fc1c149afbf4c",
        "job_9f86d081a3dec4f1b2b0b822cd15d6c15b0f00a0", "run-1f3a3dec9b",
        "c0ffee11-3dec-4f1b-8b0b-822cd15d6c15", "Xk93g16r72QpL05z",

        // What handles the output of an application is not the application.
        "wrf_postprocess", "plot_cesm", "vasp_compile", "E3SM_regrid",

        // Plain words and short ones that mean something else besides.
        "pop2", "gene", "gaussian20d", "octopus_v2", "medaka_genome", "su2_beta5.2"}) {
    const Label label = shipped().label({.job_name = name});
    EXPECT_EQ(label.application, "unknown") << name << ": " << label.evidence;
  }
}

TEST(Labeller, TakesAnAmbiguousKeywordAloneOrWithASign) {
  const struct {
    JobNames names;
    std::string_view application;
  } cases[] = {
      // Alone, or beside words that say nothing.
      {{.job_name = "g16"}, "Gaussian"},
      {{.job_name = "run_g16_test3.sh"}, "Gaussian"},
      {{.job_name = "qe_job"}, "Quantum ESPRESSO"},
      {{.job_name = "g16_bcb"}, "unknown"},
      {{.job_name = "g16_cat", .user = "cat"}, "Gaussian"},

      // A sign in the name, the script's name, the command line, a module, a step, a folder, the comment, the
      // account.
      {{.job_name = "g16_bcb_freq"}, "Gaussian"},
      {{.job_name = "g16_bcb", .submit_line = "sbatch run_b3lyp.sh"}, "Gaussian"},
      {{.job_name = "g16_bcb", .submit_line = "sbatch --wrap='module load gaussian16; g x'"}, "Gaussian"},
      {{.job_name = "g16_bcb", .step_names = "linda"}, "Gaussian"},
      {{.job_name = "g16_bcb", .work_dir = "/scratch/eve/tddft/bcb"}, "Gaussian"},
      {{.job_name = "g16_bcb", .comment = "dimer"}, "Gaussian"},
      {{.job_name = "g16_bcb", .account = "gaussian"}, "Gaussian"},
      {{.job_name = "ne30_g16", .account = "gaussian"}, "unknown"},

      // The same word a second time is no second sign.
      {{.job_name = "g16_bcb", .work_dir = "/scratch/eve/g16_bcb"}, "unknown"},
      // Where a sign is needed, to be alone is not enough.
      {{.job_name = "star"}, "unknown"},
      {{.job_name = "star_rnaseq"}, "STAR"},
      {{.job_name = "pop2", .work_dir = "/scratch/eve/cesm/run"}, "POP"},
  };
  for (const auto& c : cases) {
    const Label label = shipped().label(c.names);
    EXPECT_EQ(label.application, c.application)
        << c.names.job_name << " / " << c.names.submit_line << c.names.work_dir << ": " << label.evidence;
  }
}

TEST(Labeller, NamesTheModelAndNotItsForcing) {
  const NameCase cases[] = {
      {"WRF_NorESM2", "WRF", ""},
      {"WRF_CESM2_ssp585", "WRF", ""},
      {"run.g.e30_b06.GJRAv4.TL319_t232_wgx3_hycom1_N75.2025.081", "CESM", ""},
      {"b.e12.B1850C5CN.ne30_g16.init.ch.027", "CESM", ""},
      {"hycom_gom", "HYCOM", ""},
      {"om4_hycom1_N75", "MOM6", ""},
      {"nemo-gyre", "NEMO", ""},
  };
  for (const NameCase& c : cases) {
    const Label label = shipped().label({.job_name = c.name});
    EXPECT_EQ(label.application, c.application) << c.name << ": " << label.evidence;
  }
}

TEST(Labeller, ReadsComments) {
  const Label l = shipped().label({.job_name = "x1", .comment = "FULL_COUPLE;NJORD_HYCOM"});
  EXPECT_EQ(l.application, "HYCOM");
  EXPECT_EQ(l.labelled_by, "comment");
  EXPECT_EQ(shipped().label({.job_name = "x1", .comment = "sickbay:c17.r2"}).application, "unknown");
  EXPECT_EQ(shipped().label({.job_name = "x1", .account = "hycom"}).application, "unknown")
      << "an account is no evidence of its own";
}

TEST(Labeller, NeedsOfKeywordsStandInTheLists) {
  const Labeller l = made({R"({"field": "f", "not": ["plot"], "applications": [
      {"name": "A", "keywords": ["ab", {"text": "abc", "needs": "nothing"}]},
      {"name": "B", "keywords": [{"text": "beta", "needs": "sign"}], "signs": ["tokamak"]}]})",
                           R"({"field": "g", "applications": [{"name": "C", "keywords": ["gamma"]}]})"});
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"ab", "A"},         {"ab_xyz", "unknown"}, {"abc_xyz", "A"},    {"plot_abc", "unknown"},
      {"beta", "unknown"}, {"beta_tokamak", "B"}, {"plot_gamma", "C"},
  };
  for (const auto& [name, application] : cases)
    EXPECT_EQ(l.label({.job_name = name}).application, application) << name;
}

TEST(Labeller, TakesTheEvidenceInOrder) {
  const JobNames all{.job_name = "run_lammps",
                     .step_names = "mkdir bash vasp_std",
                     .work_dir = "/scratch/alice/gromacs/run1",
                     .submit_line = "sbatch -p normal orca.sh",
                     .user = "alice"};
  JobNames names = all;
  EXPECT_EQ(shipped().label(names).application, "VASP");
  EXPECT_EQ(shipped().label(names).labelled_by, "step");
  names.step_names = "bash pmi_proxy hydra_pmi+ python";
  EXPECT_EQ(shipped().label(names).application, "LAMMPS");
  EXPECT_EQ(shipped().label(names).labelled_by, "keyword");
  names.job_name = "job.sh";
  EXPECT_EQ(shipped().label(names).application, "ORCA");
  EXPECT_EQ(shipped().label(names).labelled_by, "submit_line");
  names.submit_line = "sbatch job.sh";
  EXPECT_EQ(shipped().label(names).application, "GROMACS");
  EXPECT_EQ(shipped().label(names).labelled_by, "work_dir");
  names.work_dir = "/home/alice/x";
  EXPECT_EQ(shipped().label(names).application, "unknown");
  EXPECT_EQ(shipped().label(names).labelled_by, "interpreter");
}

TEST(Labeller, TellsTheKindsOfTheUnknown) {
  const struct {
    std::string_view job_name, steps, kind;
  } cases[] = {
      {"main3d", "", "default_name"},
      {"a.out", "", "default_name"},
      {"run.sh", "", "default_name"},
      {"test_01", "", "default_name"},
      {"", "", "default_name"},
      {"bash", "", "default_name"},
      {"Interact+", "", "default_name"},
      {"XXXJOBNAM+", "", "default_name"},
      {"python", "", "interpreter"},
      {"python3.9", "", "interpreter"},
      {"Rscript", "", "interpreter"},
      {"mine", "", "other"},
      {"mine", "a.out", "default_name"},
      {"mine", "python main3d", "interpreter"},
      {"test", "mycode", "other"},
      {"mine", "mkdir", "other"},
      {"run", "julia mkdir", "interpreter"},
  };
  for (const auto& c : cases) {
    const Label label = shipped().label({.job_name = c.job_name, .step_names = c.steps});
    EXPECT_EQ(label.application, "unknown") << c.job_name;
    EXPECT_EQ(label.labelled_by, c.kind) << c.job_name << " / " << c.steps;
  }
}

TEST(Labeller, ReadsPathsWithoutTakingPeopleForPrograms) {
  const auto at = [](std::string_view dir, std::string_view user = "amber") {
    return shipped().label({.job_name = "x1", .work_dir = dir, .user = user});
  };
  EXPECT_EQ(at("/home/amber/run").application, "unknown");
  EXPECT_EQ(at("/home/orca/run").application, "unknown");
  EXPECT_EQ(at("/scratch/amber/run").application, "unknown");
  EXPECT_EQ(at("/scratch/bob/amber/run", "bob").application, "AMBER");
  EXPECT_EQ(at("/scratch/bob/vasp/lammps_x", "bob").application, "LAMMPS") << "the deepest folder says most";
  const Label versioned = at("/work/bob/vasp/5.4.4/run", "bob");
  EXPECT_EQ(versioned.application, "VASP");
  EXPECT_EQ(versioned.version, "5.4.4");
}

TEST(Labeller, ReadsSubmitLinesWithoutTheirOptions) {
  const auto of = [](std::string_view line) {
    return shipped().label({.job_name = "x1", .submit_line = line});
  };
  EXPECT_EQ(of("sbatch --account=orca -p amber --partition wrf -A vasp run.sh").application, "unknown");
  EXPECT_EQ(of("sbatch -N 2 run_wrf.sh").application, "WRF");
  EXPECT_EQ(of("srun -n 4 ./STAR --genomeDir x").application, "STAR");
  EXPECT_EQ(of("sbatch --wrap=\"mpirun -np 4 /opt/vasp/6.4.1/bin/vasp_std\"").application, "VASP");
  EXPECT_EQ(of("sbatch --wrap=\"mpirun -np 4 /opt/vasp/6.4.1/bin/vasp_std\"").version, "6.4.1");
  EXPECT_EQ(of("sbatch").application, "unknown");
  EXPECT_EQ(of("sbatch --wrap").application, "unknown");
}

TEST(Labeller, CountsWrappersLast) {
  const auto plain = shipped().label({.job_name = "FW_job"});
  EXPECT_EQ(plain.application, "FireWorks");
  EXPECT_EQ(shipped().label({.job_name = "FW_job", .work_dir = "/scratch/b/vasp_runs"}).application, "VASP");
  EXPECT_EQ(shipped().label({.job_name = "relion", .step_names = "singularity"}).application, "RELION");
  EXPECT_EQ(shipped().label({.job_name = "x1", .step_names = "singularity"}).application, "Singularity");
}

TEST(Labeller, TakesAProgramForAWholeName) {
  EXPECT_EQ(shipped().label({.job_name = "x", .step_names = "pw.x"}).application, "Quantum ESPRESSO");
  EXPECT_EQ(shipped().label({.job_name = "x", .step_names = "STAR"}).application, "STAR");
  EXPECT_EQ(shipped().label({.job_name = "x", .step_names = "vasp6"}).version, "6");
  EXPECT_EQ(shipped().label({.job_name = "x", .step_names = "a_star_b"}).application, "unknown");
}

TEST(Labeller, TakesRenamesOfAClusterAndUser) {
  const Labeller l =
      made({R"({"field": "fusion", "applications": [{"name": "LARED", "keywords": ["lared"]}]})",
            R"({"cluster": "c1", "renames": [{"name": "main3d", "application": "lared"},
                               {"name": "prod_*", "application": "MyCode", "field": "own", "user": "alice"}]})"});
  const Label a = l.label({.job_name = "main3d_alice_v2", .user = "alice", .cluster = "c1"});
  EXPECT_EQ(a.application, "LARED");
  EXPECT_EQ(a.field, "fusion");
  EXPECT_EQ(a.labelled_by, "rename");
  EXPECT_EQ(l.label({.job_name = "main3d", .cluster = "c2"}).application, "unknown");
  EXPECT_EQ(l.label({.job_name = "x", .step_names = "main3d", .cluster = "c1"}).application, "LARED");
  EXPECT_EQ(l.label({.job_name = "prod_17", .user = "alice", .cluster = "c1"}).application, "MyCode");
  EXPECT_EQ(l.label({.job_name = "prod_17", .user = "bob", .cluster = "c1"}).application, "unknown");
}

TEST(Labeller, LaysLaterListsOverEarlierOnes) {
  const std::string base = R"({"applications": [
      {"name": "A", "field": "f", "keywords": ["alpha", "shared"]}, {"name": "B", "field": "f", "keywords": ["beta"]}],
      "ignore": ["noise"], "unknown": {"default_name": ["thing"]}})";
  const Labeller l = made({base, R"({"remove": ["B"], "remove_names": ["noise"],
      "applications": [{"name": "A", "add": true, "keywords": ["aleph"]}, {"name": "C", "keywords": ["shared"]}],
      "unknown": {"other": ["thing"]}})"});
  EXPECT_EQ(l.applications(), 2u);
  EXPECT_EQ(l.label({.job_name = "alpha"}).application, "A");
  EXPECT_EQ(l.label({.job_name = "aleph"}).application, "A");
  EXPECT_EQ(l.label({.job_name = "shared"}).application, "C");
  EXPECT_EQ(l.label({.job_name = "beta"}).application, "unknown");
  EXPECT_EQ(l.label({.job_name = "thing"}).labelled_by, "other");
}

TEST(Labeller, TellsWhereAListIsWrong) {
  const std::string base = R"({"applications": [{"name": "VASP", "keywords": ["vasp"]}]})";
  EXPECT_EQ(error_of("{\n  \"aplications\": []}"),
            "b.json:2:18: unknown key 'aplications' | did you mean 'applications'?");
  EXPECT_EQ(error_of(R"({"renames": [{"name": "x", "application": "VSAP"}]})", base),
            "b.json:1:43: there is no application 'VSAP' | did you mean 'VASP'?");
  EXPECT_EQ(error_of(R"({"remove": ["Vaps"]})", base),
            "b.json:1:13: there is no application 'Vaps' | did you mean 'VASP'?");
  EXPECT_EQ(error_of(R"({"applications": [{"name": "X", "keywords": [{"text": "xx", "match": "hole"}]}]})"),
            "b.json:1:70: match: 'hole' is no way to match | did you mean 'whole'?");
  EXPECT_EQ(error_of(R"({"applications": [{"name": "X", "keywords": [{"text": "xx", "needs": "sing"}]}]})"),
            "b.json:1:70: needs: 'sing' is nothing to need | did you mean 'sign'?");
  EXPECT_NE(error_of(R"({"applications": [{"name": "X", "keywords": ["a/b"]}]})").find("only letters"),
            std::string::npos);
  EXPECT_NE(
      error_of(R"({"applications": [{"name": "X", "keywords": ["k"]}, {"name": "Y", "keywords": ["K"]}]})")
          .find("'K' is already a keyword of 'X'"),
      std::string::npos);
  EXPECT_NE(error_of("{").find("b.json:1:"), std::string::npos);
  EXPECT_NE(error_of("[]").find("an object is expected"), std::string::npos);
}

TEST(Labeller, BearsAnyBytes) {
  std::string long_name(10000, 'v');
  long_name += " vasp \xff\xfe|\n";
  for (const std::string_view name :
       {std::string_view("\xff\xfe_vasp"), std::string_view(long_name), std::string_view("+"),
        std::string_view("/"), std::string_view("..."), std::string_view("\0vasp", 5)})
    shipped().label({.job_name = name,
                     .step_names = name,
                     .work_dir = name,
                     .submit_line = name,
                     .user = name,
                     .comment = name,
                     .account = name});
  EXPECT_EQ(shipped().label({.job_name = "\xe8\xae\xa1vasp\xe8\xae\xa1"}).application, "VASP");
}

TEST(NameParts, StemHasNoVersionDateOrUser) {
  const struct {
    std::string_view name, stem;
  } cases[] = {{"mycode_alice_v2", "mycode"},
               {"/opt/x/mycode-2.1.0.exe", "mycode"},
               {"python3.9", "python"},
               {"t23-8", "t"},
               {"12", "12"},
               {"", ""},
               {"a.out", "a.out"},
               {"code_20211105.sh", "code"},
               {"job.scri+", "job"}};
  for (const auto& c : cases) EXPECT_EQ(stem_of(c.name, "alice"), c.stem) << c.name;
}

}  // namespace
}  // namespace sickbay::workload
