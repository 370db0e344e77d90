// SPDX-License-Identifier: Apache-2.0
// Whose code is a library, by the name of its file: the user's, the C library's, or that of MPI and OpenMP?
//
// A thread that only stands in MPI's own libraries was started by them and does nothing for the program by
// itself.  Any other may be the user's: what is not in this table is taken for his.
#pragma once
#include <cstdint>
#include <string_view>

namespace sickbay {

enum class WhoseCode : std::uint8_t {
  users,    ///< of the program, of a library of his, or nobody knows
  base,     ///< C, C++, the loader: whoever calls it says more
  runtime,  ///< MPI, what it stands on, or OpenMP
};
/// `module` as RankFrame has it: the file's name.
WhoseCode whose_code(std::string_view module);

}  // namespace sickbay
