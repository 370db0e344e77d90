#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libsmd against Slurm's own plugin slurmctld/nonstop, which Debian 12 still ships: everything but REPLACE_NODE of a
# faulty node, which kills slurmctld there (SIGSEGV).
#   nonstop_plugin.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: nonstop_plugin.sh BUILD}")
here=$(dirname "$(realpath "$0")")
# shellcheck source=test/slurm/lab.inc
. "$here/lab.inc"
plugin=$(find /usr/lib -name slurmctld_nonstop.so 2>/dev/null | head -n1)
[ -n "$plugin" ] || { echo "nonstop_plugin.sh: this Slurm has no plugin slurmctld/nonstop" >&2; exit 77; }
lab_up --nodes 4 --spares 0 --cpus 2 --no-sickbayd

# shellcheck source=test/slurm/nonstop.inc
. "$here/nonstop.inc"
nonstop_conf '# As a site had it.' controladdr=ctl BackupAddr=nowhere Port=9114 MaxSpareNodeCount=4 TimeLimitDelay=600 TimeLimitDrop=5 \
  TimeLimitExtend=2 UserDrainAllow=root
sed -i '1a SlurmctldPlugstack=slurmctld/nonstop' "$folder/etc/slurm.conf"
# The plugin asks munged at MUNGE's own place, whatever AuthInfo says: the lab's is put there, in ctl's namespace only.
ctl sh -c "mount -t tmpfs none /run && mkdir -m 755 /run/munge && ln -s $folder/run/munge.sock /run/munge/munge.socket.2"
restart ctl slurmctld

until_true "the plugin answers" ctl sh -c 'sinfo -h -t idle -o %D | grep -qx 4'
gives root 'c = smd.config(); print(c.control_addr, c.backup_addr, c.port, c.hot_spare_count, c.max_spare_node_count, c.time_limit_delay, c.time_limit_drop, c.time_limit_extend, c.user_drain_allow, c.user_drain_deny)' \
  'ctl nowhere 9114 None 4 600 5 2 root None'
job=$(as alice "sbatch --parsable --no-kill -N3 -t 60 -o /dev/null --wrap 'sleep 600'")
until_true "the job runs" runs "$job"

gives alice 'print(smd.faulty_nodes(), smd.job_info())' \
  "[] JobInfo(nodes=[], pending_job_delay=0, pending_job_id=0, pending_node=None, replaced=0, time_extend_avail=0)"
gives bob 'smd.faulty_nodes()' "['PERM']"
gives bob 'smd.drop("n1")' "['PERM']"
gives alice 'smd.faulty_nodes(99999)' "['JOBID']"
gives alice 'smd.drop("n1")' "['NODENOTFAILED']"
gives alice 'smd.replace("n1")' "['NODENOTFAILED']"
gives alice 'smd.replace("nx")' "['NOHOST']"
gives alice 'smd.replace_all("n[1-2]")' "['NOHOST']"
gives alice 'smd.events()' "['INVALCMD']"
gives alice 'smd.extend(5)' "['TIMEOVERLIMIT']"
gives alice 'smd.drain("n2", "ECC errors")' "['PERM']"
gives root 'smd.drain("nx", "ECC errors")' "['UPNODE']"
# The event comes by the callback, in the byte order of the plugin's host; its period is 10 s.
gives root 'smd.register(); os.system("scontrol update nodename=n3 state=down reason=test"); print(smd.wait(30) == smd.EVENT_FAILED, smd.wait(0))' 'True None'
gives alice 'print(smd.faulty_nodes())' "[Node(name='n3', cpus=1, state=2)]"
gives root 'smd.register(); smd.drain("n2", "ECC errors"); print(smd.wait(30) == smd.EVENT_FAILING)' 'True'
gives alice 'print(smd.faulty_nodes())' "[Node(name='n2', cpus=1, state=4), Node(name='n3', cpus=1, state=2)]"
gives alice 'print([n.name for n in smd.job_info().nodes], smd.job_info().time_extend_avail)' "['n3', 'n2'] 2"
# The plugin changes the limit as its caller, and Slurm lets only an operator raise one.
gives alice 'smd.extend(1)' "['JOBUPDATE']"
gives root 'smd.extend(1)' ''
holds "a minute more" [ "$(limit_of "$job")" = 01:01:00 ]
gives alice 'smd.extend(100)' "['TIMEOVERLIMIT']"
gives alice 'print(smd.drop("n3"))' "NodeSet(nodelist='n[1-2]', count=2, cpus_per_node='1(x2)')"
gives alice 'print(smd.job_info().time_extend_avail)' '4'
gives root 'smd.extend()' ''
holds "all the credit" [ "$(limit_of "$job")" = 01:05:00 ]
gives alice 'print(smd.drop("n2"))' "NodeSet(nodelist='n1', count=1, cpus_per_node='1')"
holds "the job runs on one node" ctl sh -c "squeue -h -j $job -o '%T %N' | grep -qx 'RUNNING n1'"
ctl scancel "$job"
until_true "the job has ended" ctl sh -c "! squeue -h -j $job -t R | grep -q ."
gives alice 'smd.drop("n1")' "['JOBNOTRUN']"
finish
