// SPDX-License-Identifier: Apache-2.0
// What a job reads, as far as its submission names it: so that a re-run on other input is not taken for a
// repetition.
//
// A plain reading of words (model/script_words.h), no shell: the lines of the script that are no comments,
// its arguments, the value of --input.  A word counts where it is the path of a regular file, absolute or
// from the folder that the job runs in; variables, patterns and programs found by PATH are not looked for.
// Bounds: model/input_file.h.  (The script itself needs no digest of its own: its text is kept, and a re-run
// has it.)
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/cases/batch_script.h"
#include "model/input_file.h"

namespace sickbay::cli {

struct Inputs {
  std::vector<InputFile> files;
  std::string script_digest;  ///< of the script's text, its arguments and sbatch's options: the same program
  /// Script or arguments say the own path of the job's folder, with ~ and variables written out, or direct
  /// output to another absolute path: a copy would not protect it.
  bool names_folder = false;
  bool submits_jobs = false;  ///< the script calls sbatch: each run of it submits jobs of the user's
};

/// `folders`: what the working folder is called, as it is and as the user's shell has it ($PWD).
Inputs find_inputs(const SbatchLine& line, const Submission& submission,
                   const std::vector<std::string>& folders);

}  // namespace sickbay::cli
