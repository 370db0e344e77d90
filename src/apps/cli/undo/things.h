// SPDX-License-Identifier: Apache-2.0
// What a run is made from, as far as it lies in files of the user's: what they hold now, and what they held
// at an operation of the history (its `work`, doc/formats/api.md).
#pragma once
#include <string>
#include <vector>

#include "apps/cli/undo/objects.h"
#include "apps/cli/undo/record.h"
#include "base/json.h"
#include "base/result.h"

namespace sickbay::cli {

/// One file that a run reads.
struct Thing {
  std::string key;     ///< "file:/home/alice/in.dat", "script"
  std::string path;    ///< where it lies
  std::string digest;  ///< of what it held; "": there was none
  std::string now;     ///< of what it holds; "": there is none
  unsigned mode = 0644;
  bool differs() const { return digest != now; }
};

/// The files of `work` and, where it was read from a file, the script; each looked at.  Errors: denied,
/// bad_input (no regular file any more), os.
Result<std::vector<Thing>> look_at_things(const Json& work, const Record& record);

/// Whether it can be given back what it held, before anything is done: the contents were kept and are whole,
/// and its folder may be written.  Errors: with cause and remedy.
Status can_put_back(const Objects& objects, const Thing& thing);

/// Keeps what it holds now, looks again, and gives it back what it held (or removes it, where there was
/// none). `thing.now` becomes what was kept.
Status put_back(const Objects& objects, Thing& thing);

/// What differs between two contents, for people: unified, at most `most` bytes; "" where there is nothing to
/// say (no diff at hand).
std::string diff_text(const Objects& objects, const std::string& from, const std::string& to,
                      const std::string& name, std::size_t most = 1900);

/// {key, from, to, diff}, as POST /v1/undo takes it.
Json change_json(const std::string& key, const std::string& from, const std::string& to,
                 const std::string& diff = {});

}  // namespace sickbay::cli
