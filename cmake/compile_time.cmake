# SPDX-License-Identifier: Apache-2.0
# What keeps a build from nothing short.  Measured on 2 cores: doc/dependencies.md, "Build time".
#
# Up to 24 files of a library or program are compiled as one (CMake's unity build): nearly all of a compiler's time
# goes into the headers and templates that they share.  So names in the unnamed namespaces of one target must differ.
# That each file includes what it uses is checked where the files are compiled alone: `make lint` does so with those
# changed, and -DSB_UNITY=OFF with all; that is also the quicker way to compile one file again and again.
#
# Programs of tests, and all under a sanitizer, are not optimized (test_targets.cmake, CMakePresets.json).
option(SB_UNITY "compile up to 24 files of a target as one" ON)
if(SB_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
  # (It takes each file for a header then.)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
