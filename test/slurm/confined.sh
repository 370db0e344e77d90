#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sickbayd with no more than its unit leaves it (tools/install/sickbayd.service.in): those capabilities, its umask, /usr, /boot and /etc read-only, the few devices of PrivateDevices, no writable /proc/sys and cgroups.  A case
# with all that a re-run does for its owner must come to its end: sbatch as the user with his limits, a copy of his folder,
# V as the service account, an input that only he may read.
#   confined.sh BUILD
# There is no systemd here: each directive is put into force by its own means.  (The filter of system calls is not: see
# doc/formats/config.md, "Its unit".)
set -euo pipefail
build=$(realpath "${1:?usage: confined.sh BUILD}")
source_dir=$(realpath "$(dirname "$0")/../..")
# shellcheck source=test/slurm/lab.inc
. "$(dirname "$(realpath "$0")")/lab.inc"
lab_up --nodes 4 --spares 0 --cpus 4
unit=$source_dir/tools/install/sickbayd.service.in

kill_service ctl sickbayd
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z' 'a-z' | tr ' ' '\n' | sed 's/^cap_/+/' | paste -sd,)
umask_of_unit=$(sed -n 's/^UMask=//p' "$unit")
cat >"$folder/confined" <<EOF
#!/bin/sh
set -e
mount --make-rslave /
for dir in /usr /boot /etc /proc/sys /sys; do
  [ -d \$dir ] || continue
  mount --rbind \$dir \$dir
  mount -o remount,bind,ro \$dir
done
mkdir -p "$folder/dev"
mount -t tmpfs -o mode=755 tmpfs "$folder/dev"
for device in null zero full random urandom tty; do
  : > "$folder/dev/\$device"
  mount --bind /dev/\$device "$folder/dev/\$device"
done
ln -s /proc/self/fd "$folder/dev/fd"
for name in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/\${name%:*}" "$folder/dev/\${name#*:}"; done
mkdir "$folder/dev/shm"
mount --bind /dev/shm "$folder/dev/shm"
mount --move "$folder/dev" /dev
umask $umask_of_unit
exec setpriv --bounding-set "-all,$caps" "$build/bin/sickbayd"
EOF
chmod 755 "$folder/confined"
ctl unshare -m --propagation unchanged "$folder/confined" >"$folder/confined.log" 2>&1 &
confined=$!
clean_up() { kill "$confined" 2>/dev/null || true; }
until_true "sickbayd runs confined: $(tail -n 3 "$folder/confined.log")" grep -q event=started "$folder/confined.log"
pid=$(ctl pgrep -f "^$build/bin/sickbayd" | head -n1)
# Bit 21 is CAP_SYS_ADMIN.
holds "it has not all rights of root" [ $((0x$(ctl sed -n 's/^CapBnd:[[:space:]]*//p' "/proc/$pid/status") >> 21 & 1)) = 0 ]

# A failing program that reads a file of 0600, in a folder of 0700, with a limit of its own.
as alice "mkdir -p -m 700 work && cd work && echo secret > in.dat && chmod 600 in.dat &&
  printf '#!/bin/sh\n#SBATCH -N2 -t 5\ncat in.dat > out.dat; ulimit -n; srun sh -c \"exit 3\"\n' > job.sh"
job=$(as alice "cd work; ulimit -Sn 4321; $sickbay submit --rerun=copy job.sh" 2>"$folder/submit.err" | sed -n 's/^Submitted batch job //p')
[ -n "$job" ] || fail "no job: $(cat "$folder/submit.err")"
until_true "the case has its verdict" says "$job" '.verdict.final == true'
holds "it is the program: $(jq -c .verdict "$folder/why.json")" says "$job" '.verdict.cause == "a"'
holds "its second run ran in a copy of the folder" says "$job" '[.runs[] | select(.kind == "program" and .nodes != null)] | length == 2'
holds "V ran" says "$job" '[.runs[] | select(.kind == "verification")] | length > 0'
# A node dies: Slurm's word, a drain's text and all that root does by Slurm's own ways.
job=$(as alice "$sickbay submit --no-requeue -N2 -w n3,n4 -t 5 $source_dir/demo/programs/healthy.sh 60" 2>"$folder/submit.err" | sed -n 's/^Submitted batch job //p')
within 60 runs "$job" || fail "the second job does not run: $(cat "$folder/submit.err")"
"$sickbay" lab fault -l "$lab" n4 crash >/dev/null
until_true "the node is the cause" says "$job" '.verdict.cause == "b" and (.verdict.nodes | index("n4")) != null'
until_true "sickbayd ends" ctl sh -c "kill $pid 2>/dev/null; ! kill -0 $pid 2>/dev/null"
finish
