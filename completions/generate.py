#!/usr/bin/env python3
"""Make the completions of a program for one shell: generate.py bash|zsh|fish PROGRAM [EMULATOR...] >OUT

The options come from the program's own table, and their meanings from its --help. If the two disagree, the script fails."""

import os
import re
import subprocess
import sys

FILES = {"FILE", "PATH", "OUT", "TARGET", "MANIFEST", "SHARD", "NAME.shard", "IN.fold", "OUT.fold"}
FOLDERS = {"DIR"}
WORDS = r"(\w+(?:, \w+)* or \w+)"


class Option:
    def __init__(self, names, value, text):
        self.names = names  # "-o", "--output": names of one option
        self.value = value  # name of its value in --help; None: no value
        said = re.match(WORDS + r"\b", text) or re.search(r"\[" + WORDS + "; default", text)
        self.words = re.split(", | or ", said[1]) if said and value not in FILES else []
        self.text = re.split(r"[;.] |(?<=.{25}): | \(default| \[|[.:]$", text)[0]


class Command:
    """A command of cairn, or all of cairnd."""

    def __init__(self, name, text, options, usage=()):
        self.name, self.text, self.options = name, text, options
        self.verbs, self.files = [], False
        for words in usage:
            if words and re.fullmatch("[a-z]+", words[0]):
                self.verbs.append(words.pop(0))
            after = [""] + words  # an option's value is not an argument
            self.files |= any(w.strip("[].") in FILES | FOLDERS and not before.startswith("-") for before, w in zip(after, words))


def run(*command):
    return subprocess.run([*EMULATOR, *command], check=True, stdout=subprocess.PIPE, text=True).stdout


def options_of(text):
    """Reads the options of a help text: names, a value, and the description, on this line and the next ones."""
    out = []
    for line in text.splitlines():
        start = re.fullmatch(r" {2,6}(-(?:\w|-[\w-]+)(?:, --[\w-]+)*)(?: ([A-Z][\w:-]*))?(?: +(.*))?", line)
        if start:
            out.append([start[1].split(", "), start[2], start[3] or ""])
        elif out and re.match(" {8}", line):
            out[-1][2] = (out[-1][2] + " " + line.strip()).strip()
    return [Option(*option) for option in out]


def command_of(program, name, text):
    said = run(program, name, "--help")
    head, _, body = said.partition("\n\n")
    command = Command(name, text, options_of(body), [u.split() for u in re.findall(rf"cairn {name}\b ?(.*)", head) if not u.startswith("`")])
    shown = {n + ("=" if o.value else "") for o in command.options for n in o.names}
    known = set(run(program, name, "--print-options").split())
    if shown != known:
        sys.exit(f"cairn {name}: only one of --help and its table of options has {' '.join(sorted(shown ^ known))}")
    return command


def commands_of(program):
    """Gets the options and commands from the program."""
    said = run(program, "--help")
    named = re.findall(r"^  ([a-z-]+) +(.*)$", said.partition("Commands:\n")[2], re.M)
    options = options_of(said[said.index("\n  -") :])
    whole = Command(None, "", options)
    if not named and "--data-dir" not in (n for o in options for n in o.names):
        sys.exit(f"{program}: its --help has neither commands nor settings")
    return whole, [command_of(program, name, text) for name, text in named]


BASH = """\
# Completions of {name} for bash, made by completions/generate.py.
_{name}()
{{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= take=
  COMPREPLY=()
  if [ "$cur" = = ]; then # --option=value comes in three words
    cur=
  elif [ "$prev" = = ]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  {where}
  case "$command:$prev" in
{values}
  *)
    case "$command:$cur" in
{options}
    esac
    ;;
  esac
  case $take in
  files | folders)
    compopt -o filenames
    [ $take = files ] && words=-f || words=-d
    mapfile -t COMPREPLY < <(compgen $words -- "$cur")
    ;;
  words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
  esac
}}
complete -F _{name} {name}
"""


def bash(name, whole, commands):
    values, options = [], []
    for c in [whole, *commands]:
        for o in c.options:
            if o.value:
                take = "files" if o.value in FILES else "folders" if o.value in FOLDERS else "words"
                words = f" words='{' '.join(o.words)}'" if o.words else ""
                values.append(f"  {' | '.join(f'{c.name or str()}:{n}' for n in o.names)}) take={take}{words} ;;")
        options.append(f"    {c.name or ''}:-*) take=words words='{' '.join(n for o in c.options for n in o.names)}' ;;")
        if c.verbs:
            options.append(f"    {c.name}:*) [ $COMP_CWORD = 2 ] && take=words words='{' '.join(c.verbs)}' || take=files ;;")
        elif c.files:
            options.append(f"    {c.name}:*) take=files ;;")
    if commands:
        options.append(f"    :*) take=words words='{' '.join(c.name for c in commands)}' ;;")
    where = "[ $COMP_CWORD = 1 ] || command=${COMP_WORDS[1]}" if commands else ": # one command"
    return BASH.format(name=name, where=where, values="\n".join(values), options="\n".join(options))


def zsh_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_option(option):
    text = "[" + re.sub(r"([\[\]:\\])", r"\\\1", option.text) + "]" if option.text else ""
    action = ""
    if option.value:
        take = "_files" if option.value in FILES else "_files -/" if option.value in FOLDERS else f"({' '.join(option.words)})"
        action = ":" + option.value.replace(":", "\\:") + ":" + (take if take != "()" else " ")
    others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    sign = {True: "=", False: "+"}
    return [zsh_quote(others + n + (sign[n.startswith("--")] if option.value else "") + text + action) for n in option.names]


def zsh_arguments(command, indent):
    specs = [spec for o in command.options for spec in zsh_option(o)]
    if command.verbs:
        specs.append(zsh_quote(f"1:what:({' '.join(command.verbs)})"))
    if command.verbs or command.files:
        specs.append(zsh_quote("*:file:_files"))
    return indent + "_arguments " + f" \\\n{indent}  ".join(["-s", *specs]) + "\n"


def zsh(name, whole, commands):
    out = f"#compdef {name}\n# Completions of {name} for zsh, made by completions/generate.py.\n"
    if not commands:
        return out + zsh_arguments(whole, "")
    described = "\n".join("  " + zsh_quote(f"{c.name}:{c.text}") for c in commands)
    out += f"local -a commands=(\n{described}\n)\n"
    out += "if (( CURRENT == 2 )); then\n  [[ $words[2] = -* ]] || { _describe command commands; return }\n"
    out += zsh_arguments(whole, "  ") + "  return\nfi\n"
    out += "shift words\n(( CURRENT-- ))\ncase $words[1] in\n"
    for c in commands:
        out += f"{c.name})\n{zsh_arguments(c, '  ')}  ;;\n"
    return out + "esac\n"


FISH = """\
# Completions of {name} for fish, made by completions/generate.py.
function __fish_{name}_is
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"
end
complete -c {name} -f
"""


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(name, whole, commands):
    out = [FISH.format(name=name).rstrip("\n")]
    for c in [whole, *commands]:
        is_it = f"__fish_{name}_is {c.name}" if c.name else f"__fish_{name}_is ''"
        when = f" -n {fish_quote(is_it)}" if commands else ""
        for o in c.options:
            take = ""
            if o.value:
                take = " -r -F" if o.value in FILES else " -x"
                take += " -a '(__fish_complete_directories)'" if o.value in FOLDERS else ""
                take += f" -a {fish_quote(' '.join(o.words))}" if o.words else ""
            groups = [o.names] if any(len(n) == 2 for n in o.names) else [[n] for n in o.names]
            for names in groups:
                called = "".join(f" -l {n[2:]}" if n.startswith("--") else f" -s {n[1:]}" for n in names)
                out.append(f"complete -c {name}{when}{called}{take} -d {fish_quote(o.text)}")
        if c.name:
            out.append(f"complete -c {name} -n \"__fish_{name}_is ''\" -a {c.name} -d {fish_quote(c.text)}")
        first = is_it + "; and test (count (commandline -opc)) -eq 2"
        if c.verbs:
            out.append(f"complete -c {name} -n {fish_quote(first)} -a {fish_quote(' '.join(c.verbs))}")
            out.append(f"complete -c {name} -n {fish_quote(is_it + '; and test (count (commandline -opc)) -gt 2')} -F")
        elif c.files:
            out.append(f"complete -c {name}{when} -F")
    return "\n".join(out) + "\n"


shell, path, *EMULATOR = sys.argv[1:]
sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[shell](os.path.basename(path), *commands_of(path)))
