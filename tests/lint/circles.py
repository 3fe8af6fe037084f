"""Prints circles of C files: files that call each other, directly or by way of others, so that none can be read first.

Reads sources, not objects, so that no build is needed. A name counts as used wherever it stands outside of comments, strings, members
and tags, so that a function whose address is taken counts as called."""

import re
import sys

DEFINED = re.compile(r"^(?!static\b|typedef\b|return\b|extern\b)\w[\w\s*]*?[\s*](\w+)\([^;{}]*\)\s*\{", re.M)
TABLE = re.compile(r"^(?:const )?struct TAG (\w+)(?:\[[^\]]*\])? = ", re.M)
STATIC = re.compile(r"^static\b[^;{}()=]*?[\s*](\w+)\(", re.M)


def code_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"^\s*#\s*include[^\n]*", "", text, flags=re.M)
    text = re.sub(r"\b(struct|enum|union)\s+\w+", r"\1 TAG", text)
    return re.sub(r"(->|\.)\s*[A-Za-z_]\w*", "", text)


def uses_of(paths):
    """Returns for each file the files that it uses, and one name that it uses of each."""
    code = {path: code_of(path) for path in paths}
    home = {name: path for path in paths for pattern in (DEFINED, TABLE) for name in pattern.findall(code[path])}
    uses = {path: {} for path in paths}
    for path in paths:
        own = set(STATIC.findall(code[path])) | {"main"}
        for name in sorted(set(re.findall(r"[A-Za-z_]\w*", code[path])) - own):
            if home.get(name, path) != path:
                uses[path].setdefault(home[name], name)
    return uses


def circles(uses):
    """Returns the strongly connected components that have more than one file (Tarjan's algorithm)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(path):
        number[path] = lowest[path] = len(number)
        stack.append(path)
        for other in uses[path]:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[path] = min(lowest[path], lowest[other])
        if lowest[path] == number[path]:
            at = stack.index(path)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(10000)
    for path in uses:
        if path not in number:
            visit(path)
    return found


all_uses = uses_of(sys.argv[1:])
for circle in circles(all_uses):
    calls = [f"{path} uses {name}() of {other}" for path in circle for other, name in all_uses[path].items() if other in circle]
    print(f"{circle[0]}: in a circle of {len(circle)} files: " + "; ".join(calls))
