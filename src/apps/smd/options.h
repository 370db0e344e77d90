// SPDX-License-Identifier: Apache-2.0
// smd's command line.
//
// One table has every option with its letter, its word and its help, so that the parser, the help and the
// tests of man page and completion cannot differ.  The letters are those of the original smd.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sickbay::smd {

enum class Action : std::uint8_t {
  none,
  faulty,
  drain,
  replace,
  drop,
  extend,
  job,
  config,
  handle,  ///< failed, failing or both
  exports,
  check_policy,
  help,
  version,
};

struct Wish {
  Action action = Action::none;
  bool failed = false, failing = false;  ///< of handle
  std::vector<std::string> nodes;        ///< of drain, replace, drop; each once
  std::string reason;                    ///< of drain; "": the library's own
  std::uint32_t minutes = 0;             ///< of extend; 0: all the credit
  std::uint32_t job = 0;                 ///< 0: none was named, and none is in the environment
  std::string folder = "/tmp";           ///< of the nodes file
  bool exports = false;                  ///< print the exports, beside another action
  bool json = false, verbose = false;
};

struct OptionRow {
  char letter;  ///< 0: none
  const char* word;
  const char* value;  ///< the name of its value; null: none
  const char* help;
};
/// All options, in the order of the help.
const std::vector<OptionRow>& option_rows();

/// Reads the words behind "smd".  `slurm_job_id`: what the environment has, "" for nothing; a job id among
/// the words goes before it.  Errors: usage, with what is wrong and what to write.
Result<Wish> parse_options(const std::vector<std::string>& words, const std::string& slurm_job_id);

/// A job id: 1 to 4294967294.  Errors: usage; says what to do with ids of array tasks and steps.
Result<std::uint32_t> parse_job(const std::string& text);

std::string help_text();

}  // namespace sickbay::smd
