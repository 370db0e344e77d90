// SPDX-License-Identifier: Apache-2.0
#include "adapters/duckdb/library.h"

#include <dlfcn.h>

#include <string>

namespace sickbay::duck {

Library lib;

namespace {

// What went wrong; empty: nothing.
std::string load() {
  // By name alone: the run path of the program says where (../lib/sickbay; of a test, where the library is),
  // else the system.  Never unloaded: DuckDB has threads and destructors of its own.
  void* handle = ::dlopen("libduckdb.so", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return why ? why : "dlopen failed";
  }
#define X(function)                                                                    \
  lib.function = reinterpret_cast<decltype(lib.function)>(::dlsym(handle, #function)); \
  if (lib.function == nullptr) return "libduckdb.so has no " #function;
  SB_DUCKDB_FUNCTIONS(X)
#undef X
  return {};
}

}  // namespace

Status load_library() {
  static const std::string wrong = load();
  if (wrong.empty()) return {};
  return fail(
      Error(ErrorCode::missing_program, "cannot load libduckdb.so, which reads and writes the store")
          .because(wrong)
          .remedied_by("run tools/setup and 'make install' again; lib/sickbay under the prefix holds it"));
}

}  // namespace sickbay::duck
