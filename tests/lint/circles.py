"""Prints circles of C files: files that call each other, directly or by way of others, so that none can be read first.

Reads sources, not objects, so that no build is needed. A name counts as used wherever it stands outside of comments, strings, members
and tags, so that a function whose address is taken counts as called. Macros that make names are expanded, because such a macro makes
the table of the index's engines. Headers are read only for their macros."""

import re
import sys

DEFINED = re.compile(r"^(?!static\b|typedef\b|return\b|extern\b)\w[\w\s*]*?[\s*](\w+)\([^;{}]*\)\s*\{", re.M)
TABLE = re.compile(r"^(?:const )?struct TAG (\w+)(?:\[[^\]]*\])? = ", re.M)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([\w, ]*)\)((?:\\\n|[^\n])*)\n?", re.M)
EXPANSIONS_MAX = 20000  # of one file; stops a macro that expands to itself
STATIC = re.compile(r"^static\b[^;{}()=]*?[\s*](\w+)\(", re.M)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def macros_of(text):
    """Returns the parameters and the body of each macro with parameters."""
    return {name: ([p.strip() for p in params.split(",")], body.replace("\\\n\t", "\n").replace("\\\n", "\n"))
            for name, params, body in MACRO.findall(text)}


def makers_of(macros):
    """Returns the names of macros that paste names together or call a parameter, and of those that use such a macro."""
    makers = {name for name, (params, body) in macros.items() if "##" in body or set(params) & set(re.findall(r"(\w+)\(", body))}
    while True:
        more = {name for name, (_, body) in macros.items() if makers & set(re.findall(r"\w+", body))} - makers
        if not more:
            return makers
        makers |= more


def arguments_of(text, at):
    """Returns the arguments from the parenthesis at this place, and the place after the last one."""
    depth, begin, arguments = 0, at + 1, []
    for end in range(at, len(text)):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if depth == 0 or (depth == 1 and text[end] == ","):
            arguments.append(text[begin:end].strip())
            begin = end + 1
        if depth == 0:
            return arguments, begin
    return arguments, len(text)


def expanded(text, shared):
    """Expands the macros that make names: those of the file, else those of headers."""
    macros = {**shared, **macros_of(text)}
    makers = makers_of(macros)
    if not makers:
        return text
    text = MACRO.sub(lambda found: "" if found.group(1) in makers else found.group(), text)
    call = re.compile(r"\b(" + "|".join(sorted(makers)) + r")\(")
    at = 0
    for _ in range(EXPANSIONS_MAX):
        found = call.search(text, at)
        if not found:
            break
        at = found.start()
        params, body = macros[found.group(1)]
        arguments, end = arguments_of(text, found.end() - 1)
        given = dict(zip(params, arguments))
        body = re.sub(r"\w+", lambda word: given.get(word.group(), word.group()), body)
        text = text[:at] + "\n" + re.sub(r"\s*##\s*", "", body).lstrip() + text[end:]
    return text


def code_of(path, shared):
    text = expanded(text_of(path), shared)
    text = re.sub(r"^\s*#\s*include[^\n]*", "", text, flags=re.M)
    text = re.sub(r"\b(struct|enum|union)\s+\w+", r"\1 TAG", text)
    return re.sub(r"(->|\.)\s*[A-Za-z_]\w*", "", text)


def uses_of(paths, headers):
    """Returns for each file the files that it uses, and one name that it uses of each."""
    shared = {}
    for header in headers:
        shared.update(macros_of(text_of(header)))
    code = {path: code_of(path, shared) for path in paths}
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


all_uses = uses_of([p for p in sys.argv[1:] if p.endswith(".c")], [p for p in sys.argv[1:] if p.endswith(".h")])
for circle in circles(all_uses):
    calls = [f"{path} uses {name}() of {other}" for path in circle for other, name in all_uses[path].items() if other in circle]
    print(f"{circle[0]}: in a circle of {len(circle)} files: " + "; ".join(calls))
