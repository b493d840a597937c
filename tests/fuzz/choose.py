"""Chooses the inputs that are worth keeping: the most edges of the code with the fewest and smallest of them.

usage: choose.py CONTROL_FILE

CONTROL_FILE is what libFuzzer writes while it merges: the names of the inputs, then for each its size and the edges that
it reaches. Those with a name that a person gave are always kept. Prints the chosen names, one a line.
"""

import re
import sys
from pathlib import Path

INPUTS = 100
BYTES = 180_000


def read(control):
    """The names, and by number the size and the edges."""
    lines = control.read_text().splitlines()
    count = int(lines[0])
    names = lines[2 : 2 + count]
    sizes, edges = {}, {}
    for line in lines[2 + count :]:
        kind, number, *values = line.split()
        if kind == "STARTED":
            sizes[int(number)] = int(values[0])
        elif kind == "FT":
            edges[int(number)] = set(values)
    return names, sizes, edges


def choose(names, sizes, edges):
    """The numbers of the chosen inputs."""
    found = re.compile(r"[0-9a-f]{40}")
    chosen = [number for number in edges if not found.fullmatch(Path(names[number]).name)]
    reached = set().union(*(edges[number] for number in chosen))
    left = {number for number in edges if number not in chosen}
    room = BYTES - sum(sizes[number] for number in chosen)
    while left and len(chosen) < INPUTS:
        best = max(sorted(left), key=lambda number: len(edges[number] - reached) / (200 + sizes[number]))
        left.remove(best)
        if not edges[best] - reached:
            break
        if sizes[best] <= room:
            chosen.append(best)
            reached |= edges[best]
            room -= sizes[best]
    return chosen


names, sizes, edges = read(Path(sys.argv[1]))
for number in choose(names, sizes, edges):
    print(names[number])
