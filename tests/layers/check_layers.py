#!/usr/bin/env python3
"""Holds every #include of the tree against the layer table of the design: a folder is a layer, and
an arrow only points down. Usage: check_layers.py [SOURCE_FOLDER]. Exit status 1 on a violation."""

import fnmatch
import pathlib
import re
import sys

# A folder -> what its files may include: whole layers, or single headers that are plain data.
RUNTIME = {"runtime"}
TLS = {"tls"} | RUNTIME
HTTP = {"http", "tls/peer.hpp"} | RUNTIME
ACTORS = {"actors", "http"} | TLS
SUPERVISION = {"supervision", "actors", "http", "tls/options.hpp"} | RUNTIME
LIBRARY = {"supervision", "actors", "http", "tls", "runtime", "bulkhead.hpp"}
FIXTURES = {"fixtures"} | LIBRARY
CLI = {"cli"} | FIXTURES
ALLOWED = {
    "runtime": RUNTIME,
    "tls": TLS,
    "http": HTTP,
    "actors": ACTORS,
    "supervision": SUPERVISION,
    "fixtures": FIXTURES,
    "cli": CLI,
    "tests": CLI,
}
ANYWHERE = {"version.hpp"}

# A library that stays behind a layer -> the folders whose sources may include it. A header of these
# folders may only when it is internal (not installed); tests/ and `loose` folders always may.
GUARDED = {
    "caf": ({"actors", "supervision"}, {"tests"}),
    "openssl": ({"tls"}, {"tests", "fixtures"}),
    "llhttp.h": ({"http"}, {"tests"}),
    "spdlog": ({"runtime"}, set()),
    "fmt": ({"runtime"}, set()),
    "CLI": ({"cli"}, set()),
    "toml++": ({"cli"}, set()),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def read_internal(root):
    """The globs of cmake/internal-headers.txt: headers that are not installed."""
    path = root / "cmake" / "internal-headers.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def check_file(name, text, internal):
    """Yields what is wrong with one file. `name` is its path from the root, as in "http/x.cpp"."""
    layer = name.split("/")[0] if "/" in name else "bulkhead.hpp"
    allowed = ALLOWED.get(layer, LIBRARY)
    is_header = name.endswith(".hpp")

    def is_internal(header):
        return any(fnmatch.fnmatch(header, glob) for glob in internal)

    is_public = is_header and layer in LIBRARY and not is_internal(name)
    for quote, target in INCLUDE.findall(text):
        if quote == '"':
            if layer != "tests":
                yield f'includes "{target}": write <bulkhead/LAYER/...>, so that layers can be seen'
            continue
        first, _, rest = target.partition("/")
        if first == "bulkhead":
            if rest in ANYWHERE:
                continue
            if rest not in allowed and rest.split("/")[0] not in allowed:
                yield f"includes <{target}>, which {layer}/ may not: an arrow only points down"
            elif is_public and is_internal(rest):
                yield (f"is installed, but includes the internal <{target}>: list it in "
                       "cmake/internal-headers.txt too, or include that in the .cpp")
        elif first in GUARDED:
            sources, loose = GUARDED[first]
            if layer in loose:
                continue
            if layer not in sources:
                yield f"includes <{target}>: only {' and '.join(sorted(sources))} may"
            elif is_public:
                yield (f"is installed, but includes <{target}>: list it in "
                       "cmake/internal-headers.txt, or include that in the .cpp")


def check_tree(root):
    """All violations below `root`, and the number of files read."""
    internal = read_internal(root)
    files = [root / "bulkhead.hpp"] if (root / "bulkhead.hpp").exists() else []
    for layer in ALLOWED:
        for suffix in ("hpp", "cpp", "h", "c"):
            files += sorted((root / layer).rglob(f"*.{suffix}"))
    violations = []
    for path in files:
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        violations += [f"{name} {what}" for what in check_file(name, text, internal)]
    for glob in internal:
        if not any(fnmatch.fnmatch(p.relative_to(root).as_posix(), glob) for p in files):
            violations.append(f"cmake/internal-headers.txt names {glob}, which does not exist")
    return violations, len(files)


def main(folder="."):
    root = pathlib.Path(folder).resolve()
    violations, count = check_tree(root)
    for violation in violations:
        print(violation, file=sys.stderr)
    print(f"layers: {count} files read, {len(violations)} violations")
    return 1 if violations or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
