#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A node loses its shared storage, and no rule says anything of it: the others have it, so it is told as the odd one out.
#   fleet.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: fleet.sh BUILD}")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
SECONDS=0
lab_up --nodes 5 --spares 0 --cpus 2
set_site '{fleet: {settle: "5s"}}'

nodes=(n1 n2 n3 n4 n5)
on() { "$sickbay" lab exec -l "$lab" --node "$1" -- "${@:2}"; } # NODE COMMAND...
odd() { ctl "$sickbay" nodes --json | jq -r ".items[] | select(.name == \"$1\") | .odd[] | .severity + \": \" + .text"; }
# Agents look every 2 minutes; these do so with each poll.
for node in "${nodes[@]}"; do
  config=$(root_of "$node")/etc/sickbay/agent.json
  jq '.periods.facts = "5s"' "$config" >"$config.new"
  mv "$config.new" "$config"
  restart "$node" sickbay-agent
done

# All have told of a mount at /srv.
told() { [ "$(ctl "$sickbay" journal --json | jq -r 'select(.kind == "facts_seen" and .body.facts["mount:/srv"]) | .subject' | sort -u | wc -l)" = 5 ]; }
lacks() { [ "$(odd n3)" = "warn: n3 lacks /srv (tmpfs), which 4 others mount" ]; }
all_alike() { for n in "${nodes[@]}"; do [ -z "$(odd "$n")" ] || return 1; done; }

for node in "${nodes[@]}"; do on "$node" mount -t tmpfs shared /srv; done
until_true "all agents tell of their nodes" told
until_true "equal nodes are alike" all_alike
on n3 umount /srv
until_true "n3 is the odd one" lacks
on n3 mount -t tmpfs shared /srv
until_true "and no more" all_alike
holds "nobody was drained" sh -c "! '$sickbay' lab exec -l '$lab' -- sinfo -h -N -t drain -o %N | grep -q ."
finish
