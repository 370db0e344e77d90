#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nonstop.sh [OPTIONS OF smd]: between two steps of a job, does what SMD_NONSTOP_FAILED and SMD_NONSTOP_FAILING say
# about its faulty nodes.  Ends with 0 where the job may go on, else with 1.
#
# The job must run with --no-kill.  What has changed stands in the nodes file (smd(1)), which the job sources before
# its next step; steps.sh shows how.  Words are given on to smd: `nonstop.sh -o "$HOME"`, `nonstop.sh -v`.
set -u

# smd is in PATH, or stands beside this script.
smd=smd
command -v smd >/dev/null 2>&1 || smd=$(dirname "$0")/smd

# Failing nodes are still in the job and may live on: they are looked at only where a policy asks for it.
what=-H
[ -z "${SMD_NONSTOP_FAILING:-}" ] || what=-HG
"$smd" "$what" "$@" || exit 1
