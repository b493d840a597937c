#!/usr/bin/env python3
"""Measures what each pass of the compiler gains.

    benches/passes/run.py [PASS ...]

Builds a copy of the compiler that leaves out the pass that WITHOUT_PASS names (without.patch). Then it asks the
questions of `cargo bench --bench applications` (variant `full`, 60,000 rows) and of `--bench scale` (scale 0.1): with
all passes, and without each of them. A statement must return the right rows in every run. The table has a line for
each pass:

- of the statements for the caller's database, how many change in length, how the changed ones compare in length and in
  time (without : with; the time is the server's, relative to the expert's statement), and the worst;
- of the requests to the service, the worst of the medians (without : with) and whose it is.

The statements are measured without two passes at a time, each next to the expert's; the requests one after the other.
The copy and its build are in target/passes. All passes take about half an hour on two idle processors.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "passes"
TREE = WORK / "tree"
HOST = WORK / "host"
LISTS = ["rewrite/mod.rs", "optimise/mod.rs", "local/filter/passes.rs"]
# A statement that takes longer without a pass has shown what the pass is for.
TIMEOUT = "5"


def copy_tree():
    """Copies the tree with the patch; each file keeps its time, so that only the compiler is built again."""
    subprocess.run(["rm", "-rf", TREE], check=True)
    TREE.mkdir(parents=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
    packed = subprocess.run(
        ["tar", "--null", "--files-from=-", "-cf", "-"], cwd=ROOT, input=files, check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-xf", "-", "-C", TREE], input=packed, check=True)
    patch = (ROOT / "benches/passes/without.patch").read_bytes()
    subprocess.run(["patch", "-s", "-p1", "-d", TREE], input=patch, check=True)


def bench(name, args, without=""):
    """What a benchmark prints."""
    environment = {
        **os.environ,
        "WITHOUT_PASS": without,
        "CARGO_TARGET_DIR": str(WORK / "target"),
    }
    command = ["cargo", "bench", "--quiet", "--profile", "differential", "--bench", name, "--", *args]
    return subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, text=True).stdout


def local(without=""):
    """The length of each statement for the caller's database, and its time relative to the expert's."""
    args = ["--variant", "full", "--rows", "60000", "--rounds", "3", "--timeout", TIMEOUT, "--json"]
    rows = json.loads(bench("applications", args, without).strip().splitlines()[-1])["questions"]
    wrong = [row for row in rows if any(remark.startswith(("WRONG", "FAILED")) for remark in row["remarks"])]
    for row in wrong:
        print(f"without {without}: {row['question']}: {row['remarks']}", file=sys.stderr)
    return {row["application"] + " " + row["question"]: (row["bytes"], row.get("ratio")) for row in rows}


def hosted(without=""):
    """The medians of the requests to the service, in microseconds."""
    numbers = WORK / "numbers.json"
    numbers.unlink(missing_ok=True)
    parts = ["--only", "authorize,list,actions,resources", "--seconds", "1"]
    bench("scale", ["--scale", "0.1", "--reuse", str(HOST), *parts, "--json", str(numbers)], without)
    timed = json.loads(numbers.read_text())["scales"][0]["microseconds"]
    return {name: times["p50"] for name, times in timed.items()}


def passes():
    """The names of all passes, in their order."""
    names = []
    for source in LISTS:
        text = (ROOT / "compiler/src" / source).read_text()
        names += re.findall(r'^\s+name: "([a-z-]+)"', text, re.MULTILINE)
    return list(dict.fromkeys(names))


def of_local(known, found):
    """How the statements that changed compare."""
    changed = {name for name in known if found[name][0] != known[name][0]}
    if not changed:
        return f"0 of {len(known)} |  |  | "
    lengths = [found[name][0] / known[name][0] for name in changed if found[name][0]]
    if not lengths:
        return f"{len(changed)} of {len(known)}, none compiles |  |  | "
    length = median(lengths)
    answered = [name for name in changed if found[name][1] and known[name][1]]
    late = sum(1 for name in changed if known[name][1] and not found[name][1])
    ratios = {name: found[name][1] / known[name][1] for name in answered}
    worst = max(ratios, key=ratios.get, default=None)
    shown = f"{ratios[worst]:.1f} ({worst})" if worst else ""
    shown += f", {late} without an answer in {TIMEOUT} s" if late else ""
    time = f"{median(ratios.values()):.2f}" if ratios else ""
    return f"{len(changed)} of {len(known)} | {length:.2f} | {time} | {shown}"


def of_hosted(known, found):
    """The request that is slower most."""
    ratios = {name: found[name] / known[name] for name in known if name in found}
    worst = max(ratios, key=ratios.get)
    return f"{ratios[worst]:.2f} ({worst})"


def main():
    copy_tree()
    HOST.mkdir(exist_ok=True)
    if not (HOST / "scale-0.1").exists():
        bench("scale", ["--scale", "0.1", "--only", "load", "--keep", str(HOST)])
    names = sys.argv[1:] or passes()
    with ThreadPoolExecutor(max_workers=2) as pool:
        known_local, *found = pool.map(local, ["", *names])
    known_hosted = hosted()
    print("| without | statements that change | length | time | worst | slowest request |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for name, changed in zip(names, found):
        row = f"{of_local(known_local, changed)} | {of_hosted(known_hosted, hosted(name))}"
        print(f"| `{name}` | {row} |", flush=True)


if __name__ == "__main__":
    main()
