# SPDX-License-Identifier: Apache-2.0
"""A lab as bench/blame/run needs it: up and down, commands in it, faults, and what sickbayd says of a job."""
import json
import shlex
import subprocess
import time
from pathlib import Path


class LabError(Exception):
    """The lab did not do what it must: nothing about a verdict can be learned from this run."""


class Lab:
    """One lab, from `with` to its end.  Its name holds the process's id, so runs beside each other do not meet."""

    def __init__(self, build: Path, name: str, nodes: int, cpus: int, site: dict):
        self.sickbay = str(build / "bin" / "sickbay")
        self.name, self.count, self.cpus, self.site = name, nodes, cpus, site
        self.nodes = [f"n{i}" for i in range(1, nodes + 1)]
        self.folder = Path("/var/tmp") / f"sickbay-lab-{name}"
        self.left_running: list[subprocess.Popen] = []
        self.over = False

    def __enter__(self):
        try:
            self._call([self.sickbay, "lab", "up", self.name, "--nodes", str(self.count), "--spares", "0", "--cpus",
                        str(self.cpus)], 180)
            self._configure()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def down(self):
        self.over = True
        subprocess.run([self.sickbay, "lab", "down", self.name], capture_output=True, timeout=300, check=False)
        # Their other ends died with the namespaces.
        for process in self.left_running:
            process.kill()
            process.wait()

    def _call(self, argv: list[str], limit: float) -> str:
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=limit, check=False, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as late:
            raise LabError(f"not over after {limit:.0f} s: {shlex.join(argv)}") from late
        if done.returncode != 0:
            raise LabError(f"{shlex.join(argv)}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
        return done.stdout

    def exec(self, *argv: str, node: str = "", limit: float = 60) -> str:
        """As root, on ctl or a node."""
        where = ["--node", node] if node else []
        return self._call([self.sickbay, "lab", "exec", "-l", self.name, *where, "--", *argv], limit)

    def as_alice(self, script: str, limit: float = 120) -> str:
        return self._call([self.sickbay, "lab", "exec", "-l", self.name, "--user", "alice", "--", "sh", "-c", script], limit)

    def _configure(self):
        """Adds the site's keys to sickbay.json and starts sickbayd anew with them."""
        file = self.folder / "root/etc/sickbay/sickbay.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        for key, value in self.site.items():
            known.setdefault(key, {}).update(value)
        file.write_text(json.dumps(known))
        self.restart("sickbayd")
        self.until(lambda: self.exec(self.sickbay, "status", limit=10), 60, "sickbayd answers")

    def restart(self, service: str):
        self._call([self.sickbay, "lab", "fault", "-l", self.name, "ctl", f"kill-service={service}"], 60)
        self._call([self.sickbay, "lab", "heal", "-l", self.name, "ctl", "kill-service"], 120)

    def until(self, look, most: float, what: str):
        """Looks until `look` gives something and raises nothing."""
        end = time.monotonic() + most
        why = ""
        while time.monotonic() < end:
            try:
                if found := look():
                    return found
            except LabError as error:
                why = str(error)
            time.sleep(0.3)
        raise LabError(f"not within {most:.0f} s: {what} {why}")

    def fault(self, node: str, words: list[str]):
        self._call([self.sickbay, "lab", "fault", "-l", self.name, node, *words], 120)

    # --- what is no fault of the lab's own

    def do(self, where: str, words: list[str], busy: list[str]):
        """`drain`, `down`, `restart SERVICE`, `burn N`, `write`, `fill SECONDS`: see cases.txt.  `busy`: the job's."""
        verb, argument = words[0], words[1] if len(words) > 1 else ""
        if verb in ("drain", "down"):
            self.exec("scontrol", "update", f"nodename={where}", f"state={verb}", "reason=its board is exchanged")
        elif verb == "restart":
            self.restart(argument)
        elif verb == "fill":
            for node in self.nodes:
                if node not in busy:
                    self.as_alice(f"cd && sbatch -w {node} --exclusive -t 5 -o /dev/null --wrap 'sleep {argument}'")
        else:
            if verb == "burn":
                self._give_way(where)
            script = {"burn": f"for i in $(seq {argument}); do while :; do :; done & done; wait",
                      "write": "while dd if=/dev/zero of=/tmp/neighbour bs=64k count=16 conv=fsync 2>/dev/null; do :; done"}[verb]
            self.left_running.append(subprocess.Popen(
                [self.sickbay, "lab", "exec", "-l", self.name, "--node", where, "--", "sh", "-c", script],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def _give_way(self, node: str):
        """The broken nodes take what the others leave of the machine; all else is as cpu= made it.  The lab's own group has
        them alone."""
        name = self.folder.name
        for file, least in ((f"/sys/fs/cgroup/cpu/{name}/cpu.shares", "2"), (f"/sys/fs/cgroup/{name}/cpu.weight", "1")):
            if Path(file).exists():
                Path(file).write_text(least)
                return
        raise LabError(f"{node} has no control group of the processor: cpu= comes first")

    # --- jobs

    def submit(self, folder: str, variables: dict[str, str], options: list[str], script: list[str]) -> int:
        """The job id.  The job has a folder of its own in alice's home, so that runs do not find each other's files."""
        words = " ".join(f"{k}={shlex.quote(v)}" for k, v in variables.items())
        out = self.as_alice(f"mkdir -p ~/{folder} && cd ~/{folder} && env {words} {self.sickbay} submit --parsable "
                            f"{shlex.join(options)} {shlex.join(script)} 2>submit.err || {{ cat submit.err >&2; false; }}")
        return int(out.split(";")[0].strip())

    def state(self, job: int) -> str:
        return self.exec("squeue", "-h", "-j", str(job), "-o", "%T", limit=30).strip()

    def why(self, job: int) -> dict:
        """The case of a job; {} while it cannot be had."""
        try:
            out = self.as_alice(f"{self.sickbay} why --json {job} 2>/dev/null || true", 60)
            return json.loads(out) if out.strip() else {}
        except (LabError, json.JSONDecodeError):
            return {}

    def verdict(self, job: int, most: float) -> dict:
        """The case when its verdict is final and its runs have ended, or as it stands after `most` seconds."""
        end = time.monotonic() + most
        case: dict = {}
        while time.monotonic() < end and not self.over:
            try:  # (it ends early when sickbayd is restarted, and its exit code is the verdict's)
                self.as_alice(f"timeout 60 {self.sickbay} why --wait {job} >/dev/null 2>&1 || true", 120)
            except LabError:
                pass
            case = self.why(job) or case
            if (case.get("verdict") or {}).get("final") and case.get("state") == "closed":
                break
            time.sleep(1)
        return case
