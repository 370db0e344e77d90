// SPDX-License-Identifier: Apache-2.0
// The label of a job: which application it ran, by the names that the log has of it (paper 003, section 2.1).
//
// Pure: the lists come in as text, a job as its names.  Safe for several threads once made.  Order of
// evidence, first hit wins: keywords in the steps' names, the job's name, the submit line, the comment, the
// work folder; then the rename table; then those that run other applications (workflow tools, containers);
// else "unknown" with its kind.  Keywords match whole words, longest first, whatever the case; one that means
// something else besides needs a second sign (words.h, doc/formats/labels.md).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/job/row.h"

namespace sickbay::workload {

struct JobNames {
  std::string_view job_name = {};
  std::string_view step_names = {};  ///< joined by ' '
  std::string_view work_dir = {}, submit_line = {}, user = {}, cluster = {};
  std::string_view comment = {};
  std::string_view account = {};  ///< a sign that makes other evidence sure, never evidence itself
};

struct Label {
  std::string_view application = "unknown";
  std::string_view version;      ///< empty: none found; points into the names or the lists
  std::string_view field;        ///< "materials science"; empty for unknown
  std::string_view labelled_by;  ///< the text field of that name in fields.h
  std::string_view evidence;     ///< the words that matched; points into the names or the lists
};

/// One JSON file of labels and where it came from; later ones lay over earlier ones.
struct LabelFile {
  std::string source, text;
};

class Labeller {
 public:
  /// Errors: bad_input with file:line:column.
  static Result<Labeller> make(std::span<const LabelFile> files);
  Labeller(Labeller&&) noexcept;
  Labeller& operator=(Labeller&&) noexcept;
  ~Labeller();

  Label label(const JobNames& names) const;
  std::size_t applications() const;

  /// These lists with one more laid over them; `alone`: without the applications and renames that are there,
  /// so that what it labels is what `more` has a word for.  Errors: as of make.
  Result<Labeller> with(const LabelFile& more, bool alone = false) const;

 private:
  struct Impl;
  explicit Labeller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sickbay::workload
