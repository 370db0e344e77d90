// SPDX-License-Identifier: Apache-2.0
// The wish for a checkpoint, from outside of the job's step: FOLDER/JOB/board/ask, replaced by rename.
//
// Whoever asks writes a token of his, new for each wish; rank 0 of whatever runs looks at it, and tells in
// series.json (asked_done) which was done last.  The file stays: nobody has to remove it, and one wish is
// done once, also by a later start of the job.
#pragma once
#include <string>

#include "ckpt/series.h"

namespace sickbay::ckpt {

/// Replaces what was asked before.  Errors: usage: a token that is empty, longer than 200 bytes or not
/// printable; those of write_whole.
Status ask_for_checkpoint(const Series& series, const std::string& token);
/// The file of the wish: who looks often sees by its inode and time whether it is still the same.
std::string ask_path(const Series& series);
/// The token of the wish that is there; "": there is none, or a file that is none.
std::string asked_token(const Series& series);
/// Of rank 0: that wish was answered, by a checkpoint or by `error` ("" for none).
Status note_answer(const Series& series, const std::string& token, const std::string& error);

}  // namespace sickbay::ckpt
