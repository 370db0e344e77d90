# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where.  The programs look for their parts relative to themselves (../libexec, ../share,
# ../lib), so any PREFIX will do.
include(GNUInstallDirs)
set(ours ${CMAKE_INSTALL_LIBEXECDIR}/sickbay)

# Programs and libraries.  Built ones have the run path that they are installed with.
# One of the build folder CMake would end with an empty place, to put the other one there while installing; the loader
# takes that for the current folder, and root runs these programs in folders of users.
function(install_targets folder)
  install(TARGETS ${ARGN} RUNTIME DESTINATION ${folder} LIBRARY DESTINATION ${folder})
  set_target_properties(${ARGN} PROPERTIES BUILD_WITH_INSTALL_RPATH TRUE)
endfunction()

# sickbayd stands beside sickbay: `sickbay lab` starts the one that belongs to it.
install_targets(${CMAKE_INSTALL_BINDIR} sickbay sickbayd sickbay-agent sickbay-ckpt)
if(TARGET sickbay-verify)
  install_targets(${CMAKE_INSTALL_BINDIR} sickbay-verify)
endif()
# For users whose jobs lose nodes: the command, its script, and what to begin with.
install_targets(${CMAKE_INSTALL_BINDIR} smd_program)
install(PROGRAMS src/apps/smd/nonstop.sh DESTINATION ${CMAKE_INSTALL_BINDIR})
install(PROGRAMS src/apps/smd/steps.sh demo/nonstop/job.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay/nonstop)
install(FILES demo/nonstop/heat.c demo/nonstop/heat.f90 demo/nonstop/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay/nonstop)
# For users whose jobs save their state.
install(PROGRAMS demo/checkpoint/job.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay/checkpoint)
install(FILES demo/checkpoint/wave.c demo/checkpoint/wave_files.c demo/checkpoint/plate.h demo/checkpoint/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay/checkpoint)
install(FILES src/apps/smd/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME smd)
install_targets(${ours} sickbay-slurm sickbay-folder sickbay-ranks)
install(DIRECTORY labels DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay FILES_MATCHING PATTERN "*.json")
install(PROGRAMS verify/sickbay-verify.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay)
foreach(folder reports labels)  # of workload analysis; a plug-in may be a program
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay USE_SOURCE_PERMISSIONS)
  endif()
endforeach()
install_targets(${CMAKE_INSTALL_DATADIR}/sickbay/operations
                operation_cpu_test operation_disk_test operation_memory_test operation_throughput)
install(PROGRAMS operations/kernel_log operations/known_good operations/memory_bank DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay/operations)
install(DIRECTORY rules DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay FILES_MATCHING PATTERN "*.json")
install(FILES tools/install/sickbay.sysusers DESTINATION lib/sysusers.d RENAME sickbay.conf)
install_targets(lib/sickbay sickbay_clock_shift)

# What others made, with their licences.
set(others ${PROJECT_SOURCE_DIR}/third_party)
set(licences ${CMAKE_INSTALL_DOCDIR}/licenses)
if(DuckDB_IS_OURS)
  install(FILES ${DuckDB_LIBRARY} DESTINATION lib/sickbay)
  install(FILES ${others}/duckdb/LICENSE DESTINATION ${licences} RENAME duckdb-MIT.txt)
endif()
if(EXISTS ${others}/echarts)
  install(FILES ${others}/echarts/echarts.min.js DESTINATION ${CMAKE_INSTALL_DATADIR}/sickbay)
  install(FILES ${others}/echarts/LICENSE DESTINATION ${licences} RENAME echarts-Apache-2.0.txt)
  install(FILES ${others}/echarts/NOTICE DESTINATION ${licences} RENAME echarts-NOTICE.txt)
endif()

file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES doc/man/smd.3 doc/man/sickbay_ckpt.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(FILES doc/man/nonstop.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES doc/man/sickbay-agent.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
file(GLOB formats CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/formats/*.md)
install(FILES ${formats} DESTINATION ${CMAKE_INSTALL_DOCDIR}/formats)
install(FILES README.md CHANGELOG.md doc/operations.md doc/first-rule.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSES/Apache-2.0.txt LICENSES/GPL-2.0-or-later.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses)

# These hold the PREFIX or are written by the program, so they are made while installing.
install(CODE "set(unit_templates \"${PROJECT_SOURCE_DIR}/tools/install\")
              set(bin \"${CMAKE_INSTALL_BINDIR}\")
              set(data \"${CMAKE_INSTALL_DATADIR}\")
              set(build \"${PROJECT_BINARY_DIR}\")")
install(CODE [[
  set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
  # The same program under the names that its first users knew.
  foreach(name mybatch myrequeue mytrigger)
    file(CREATE_LINK sickbay "${root}/${bin}/${name}" SYMBOLIC)
    message(STATUS "Installing: ${root}/${bin}/${name}")
  endforeach()
  foreach(unit sickbayd.service sickbay-agent.service sickbay-backup.service sickbay-backup.timer
               sickbay-import.service sickbay-import.timer)
    configure_file("${unit_templates}/${unit}.in" "${root}/lib/systemd/system/${unit}" @ONLY)
    message(STATUS "Installing: ${root}/lib/systemd/system/${unit}")
  endforeach()
  file(MAKE_DIRECTORY "${root}/${data}/bash-completion/completions")
  execute_process(COMMAND "${build}/bin/sickbay" completion bash
                  OUTPUT_FILE "${root}/${data}/bash-completion/completions/sickbay" COMMAND_ERROR_IS_FATAL ANY)
  foreach(name mybatch myrequeue mytrigger)
    file(CREATE_LINK sickbay "${root}/${data}/bash-completion/completions/${name}" SYMBOLIC)
  endforeach()
  message(STATUS "Installing: ${root}/${data}/bash-completion/completions/sickbay")
]])

# sickbay looks for libduckdb.so in ../lib/sickbay, built or installed.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/sickbay)
file(CREATE_LINK ${DuckDB_LIBRARY} ${PROJECT_BINARY_DIR}/lib/sickbay/libduckdb.so SYMBOLIC)
