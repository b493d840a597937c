"""Packs the inputs of a fuzzing target into one file, and unpacks them for the fuzzer.

usage: corpus.py unpack TARGET FOLDER       one file for each input
       corpus.py pack TARGET FOLDER         the inputs become the files of the folder
       corpus.py add TARGET NAME FILE       one input more, or another one under its name

An input is a line of `corpus/TARGET.txt`: its name, a tab, its bytes. A backslash is written `\\\\`, a line's end `\\n`,
and any other control character, or byte that is not UTF-8, as `\\xNN`. Lines are sorted by name.
"""

import re
import sys
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def escaped(data):
    """The bytes on one line."""
    out = []
    for char in data.decode("utf-8", "surrogateescape"):
        code = ord(char)
        if char == "\\":
            out.append("\\\\")
        elif char == "\n":
            out.append("\\n")
        elif code < 0x20 or code == 0x7F:
            out.append(f"\\x{code:02x}")
        elif 0xDC80 <= code <= 0xDCFF:
            out.append(f"\\x{code - 0xDC00:02x}")
        else:
            out.append(char)
    return "".join(out).encode()


def unescaped(line):
    """The bytes that a line describes."""

    def byte(match):
        what = match[1]
        return {b"\\": b"\\", b"n": b"\n"}.get(what) or bytes([int(what[1:], 16)])

    return re.sub(rb"\\(\\|n|x[0-9a-f]{2})", byte, line)


def read(target):
    """The inputs by name."""
    lines = (CORPUS / f"{target}.txt").read_bytes().split(b"\n")
    named = [line.split(b"\t", 1) for line in lines if line]
    return {name.decode(): unescaped(data) for name, data in named}


def write(target, inputs):
    lines = [name.encode() + b"\t" + escaped(data) + b"\n" for name, data in sorted(inputs.items())]
    (CORPUS / f"{target}.txt").write_bytes(b"".join(lines))


def main():
    match sys.argv[1:]:
        case ["unpack", target, folder]:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for name, data in read(target).items():
                (Path(folder) / name).write_bytes(data)
        case ["pack", target, folder]:
            write(target, {file.name: file.read_bytes() for file in Path(folder).iterdir()})
        case ["add", target, name, file]:
            if "\t" in name or "/" in name:
                sys.exit("a name has no tab and no slash")
            write(target, read(target) | {name: Path(file).read_bytes()})
        case _:
            sys.exit(__doc__)


main()
