"""Changes one thing of lib/verify at a time, and checks that a test notices: `./dev mutate`.

A comparison is weakened or inverted, a check is dropped, a number is one off, a failure is called success. Each change is compiled alone and linked in
front of the library into the tests below. A change that no test notices must stand in tests/support/mutants_equal.txt, below the name of its function, with
the reason why no test can notice it. Any other is a check without a test."""

import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The quick tests first: a change that one has noticed is not shown to the next.
TESTS = ["test_verify_strangers", "test_verify_records", "test_verify_xorbs", "test_verify", "test_mutants"]
EQUAL = ROOT / "tests" / "support" / "mutants_equal.txt"
CPU_SECONDS_MAX = 5  # seconds of processor time; a test that takes longer counts as having noticed the change (normally it takes less than one)

# Patterns in the code, and their replacements.
CHANGES = [
    (r"==", "!="),
    (r"!=", "=="),
    (r"<=", "<"),
    (r">=", ">"),
    (r"(?<![<>\-])<(?![<=])", "<="),
    (r"(?<![<>\-])>(?![>=])", ">="),
    (r"&&", "||"),
    (r"\|\|", "&&"),
    (r"!(?!=)", ""),
    (r"\+\+", ""),
    (r"\+=", "="),
    (r"\+ (?=[\w(])", "- "),
    (r"(?<=[\w)]) - (?=\w)", " + "),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\breturn status\b", "return CAIRN_OK"),
    (r"\breturn CAIRN_E_\w+\b", "return CAIRN_OK"),
    (r"(?<=return cairn_fail\(run->diag, )CAIRN_E_\w+", "CAIRN_OK"),
    (r"(?<=return cairn_fail\(diag, )CAIRN_E_\w+", "CAIRN_OK"),
    (r"\b\d+\b", lambda found: str(int(found.group()) + 1)),
]
NOT_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|^\s*#.*?$|(?:->)|PRIu\d\d|uint\d+_t', re.S | re.M)


# Where a function starts: text in column 0 that is no directive, brace or comment.
HEAD = re.compile(r"^[a-z][^;{}]*?\b(\w+)\([^;{}]*\)\n\{", re.M)


def blank(found):
    return re.sub(r"[^\n]", " ", found.group())


def function_at(code, at):
    """The function around an offset; '-' outside of any."""
    before = code[:at]
    heads = list(HEAD.finditer(before))
    return heads[-1].group(1) if heads and "\n}" not in before[heads[-1].end() :] else "-"


def mutants(source):
    """Returns [(line, function, old code, new code, the whole text)]."""
    code = NOT_CODE.sub(blank, source)
    out = []
    for pattern, instead in CHANGES:
        for found in re.finditer(pattern, code):
            new = instead(found) if callable(instead) else instead
            line = source.count("\n", 0, found.start()) + 1
            begins = source.rfind("\n", 0, found.start()) + 1
            was = source[begins : source.find("\n", begins)].strip()
            becomes = (source[begins : found.start()] + new + source[found.end() : source.find("\n", found.end())]).strip()
            out.append((line, function_at(code, found.start()), was, becomes, source[: found.start()] + new + source[found.end() :]))
    # Drops whole checks: their if is never taken.
    for found in re.finditer(r"\bif \(", code):
        end, depth = found.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        line = source.count("\n", 0, found.start()) + 1
        condition = source[found.end() : end - 1]
        text = source[: found.end()] + f"0 && ({condition})" + source[end - 1 :]
        out.append((line, function_at(code, found.start()), f"if ({condition})", "if (never)", text))
    return sorted(out)


def links(build):
    """{test: the command that links it, as words}"""
    out = {}
    for test in TESTS:
        said = subprocess.run(["ninja", "-C", build, "-t", "commands", f"tests/unit/{test}"], capture_output=True, text=True, check=True)
        out[test] = shlex.split(said.stdout.splitlines()[-1])
    return out


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_MAX, CPU_SECONDS_MAX))


def is_noticed(build, compile_, link, text, name):
    with tempfile.TemporaryDirectory() as folder:
        mutant, object_ = Path(folder) / name, Path(folder) / "mutant.o"
        mutant.write_text(text)
        words = [w for w in compile_ if w not in ("-Werror", "-g", "ccache")]
        words[words.index("-o") + 1] = str(object_)
        words[words.index("-c") + 1] = str(mutant)
        if subprocess.run([*words, "-w"], cwd=build, capture_output=True).returncode != 0:
            return None  # not a program
        for test, command in link.items():
            program = str(Path(folder) / test)
            command = list(command)
            command[command.index("-o") + 1] = program
            at = next(i for i, w in enumerate(command) if w.endswith(".o"))
            command[at:at] = [str(object_), "-Wl,--strip-debug"]
            subprocess.run(command, cwd=build, capture_output=True, check=True)
            # Runs without Check's child processes, because an endless one would outlive the killed program. The limit is of processor time, because any test
            # takes long on a busy machine.
            done = subprocess.run([program], cwd=build, capture_output=True, preexec_fn=limit_cpu, env={**os.environ, "CK_FORK": "no"})
            if done.returncode != 0:
                return True
    return False


def known_equal():
    """Returns [(function, old code, new code)], each for one place; the reasons are for people."""
    out, function = [], "-"
    for line in EQUAL.read_text().splitlines():
        if line.startswith("["):
            function = line.strip("[]")
        elif " => " in line and not line.startswith("#"):
            was, becomes = line.split(" => ", 1)
            out.append((function, was.strip(), becomes.strip()))
    return out


def main():
    build, wanted = sys.argv[1], {Path(name).name for name in sys.argv[2:]}
    sources = sorted((ROOT / "lib" / "verify").glob("*.c"))
    if unknown := wanted - {path.name for path in sources}:
        sys.exit(f"mutate.py: not in lib/verify: {', '.join(sorted(unknown))}")
    commands = {Path(c["file"]).name: shlex.split(c["command"]) for c in json.loads((Path(build) / "compile_commands.json").read_text()) if "lib/verify/" in c["file"]}
    known = known_equal()
    link = links(build)
    jobs = []
    for path in sources:
        if not wanted or path.name in wanted:
            jobs += [(path.name, *mutant) for mutant in mutants(path.read_text())]
    noticed = broken = equal = 0
    survivors = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        outcomes = pool.map(lambda job: is_noticed(build, commands[job[0]], link, job[5], job[0]), jobs)
        for (name, line, function, was, becomes, _), outcome in zip(jobs, outcomes, strict=True):
            key = (function, *(" ".join(t.split()) for t in (was, becomes)))
            if outcome is None:
                broken += 1
            elif outcome:
                noticed += 1
            elif key in known:
                equal += 1
                known.remove(key)
            else:
                survivors.append(f"lib/verify/{name}:{line}: [{function}] {key[1]} => {key[2]}")
                print(survivors[-1], flush=True)
    stale = [] if wanted else known
    for function, was, becomes in stale:
        print(f"{EQUAL.name}: [{function}] {was} => {becomes}: no such change is left unnoticed", flush=True)
    print(f"{noticed} noticed, {equal} that nothing can notice, {len(survivors)} that no test notices, {broken} no programs")
    return 1 if survivors or stale else 0


if __name__ == "__main__":
    sys.exit(main())
