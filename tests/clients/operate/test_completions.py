"""Completions, as bash, zsh and fish offer them when somebody presses Tab."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import cairn
import pytest

MADE = Path(cairn.CAIRN).parents[1] / "completions"
MARK = "all of them: "
WAIT_S = 20

# Set up a shell before the line is typed. Its key ^X inserts everything that it would offer into the line.
BASH = """
PS1=; bind 'set enable-bracketed-paste off'; bind '"\\C-x": insert-completions'
. {made}/cairn; . {made}/cairnd
"""
ZSH = """
PS1=; unsetopt zle_bracketed_paste prompt_cr prompt_sp; zmodload zsh/zle; fpath=({made} $fpath)
autoload -Uz compinit; compinit -D -u; bindkey -e
zle -C everything complete-word _generic; bindkey '^X' everything
zstyle ':completion:everything:*' completer _all_matches _complete
zstyle ':completion:everything:*' insert true
"""
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], BASH),
    "zsh": (["zsh", "-f", "-i"], ZSH),
}


def read_until(fd, wanted):
    seen, end = b"", time.monotonic() + WAIT_S
    while not re.search(wanted, seen):
        ready, _, _ = select.select([fd], [], [], max(0, end - time.monotonic()))
        assert ready, f"the shell said only {seen!r}"
        seen += os.read(fd, 65536)
    return re.search(wanted, seen)[1].decode()


def typed(shell, line, folder):
    """The line in the terminal after everything that is offered was inserted."""
    command, told = SHELLS[shell]
    (folder / "told").write_text(told.format(made=MADE))
    terminal, inner = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "COLUMNS": "4000", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    subprocess.run(["stty", "-F", os.ttyname(inner), "cols", "30000", "-echo"], check=True)
    process = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, cwd=folder / "here", env=environment, start_new_session=True)
    os.close(inner)
    try:
        os.write(terminal, b". ../told; printf 'rea%s\\n' dy\n")
        read_until(terminal, rb"(ready)\r?\n")
        os.write(terminal, f"{line}\x18\x01printf '%s\\n' '{MARK}' \x05 ':end'\n".encode())
        return read_until(terminal, rb"(?:^|[\r\n])" + MARK.encode() + rb"\r?\n((?:[^\r\n]*\r?\n)*?):end\r?\n").replace("\r", "").splitlines()
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def offered(shell, line, folder):
    """The words offered for the last word of a line."""
    (folder / "here").mkdir(exist_ok=True)
    if shell == "fish":
        told = f"source {MADE}/cairn.fish; source {MADE}/cairnd.fish; complete -C {shlex.quote(line)}"
        done = subprocess.run(["fish", "--no-config", "-c", told], capture_output=True, text=True, cwd=folder / "here", timeout=WAIT_S, check=True)
        assert done.stderr == ""
        return {answer.split("\t")[0] for answer in done.stdout.splitlines()}
    before = len(line.split(" ")) - 1
    return set(typed(shell, line, folder)[before:]) - {""}


@pytest.fixture(params=["bash", "zsh", "fish"])
def tab(request, tmp_path):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed; ./dev test systems installs it")

    def press(line):
        return {answer.rstrip("=/") for answer in offered(request.param, line, tmp_path)}

    press.folder = tmp_path / "here"
    press.folder.mkdir()
    press.shell = request.param
    return press


def ask(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def commands():
    return re.findall(r"^  ([a-z-]+) ", ask(cairn.CAIRN, "--help").partition("Commands:")[2], re.M)


def test_commands(tab):
    assert tab("cairn ") == set(commands())
    assert tab("cairn pu") == {"push", "pull"}
    assert tab("cairn --") == {"--help", "--version"}


def test_options_are_those_of_each_command(tab):
    for command in commands():
        known = {option.rstrip("=") for option in ask(cairn.CAIRN, command, "--print-options").split()}
        assert len(known) > 2
        assert tab(f"cairn {command} --") == {option for option in known if option.startswith("--")}, command


def test_options_are_the_settings_of_the_daemon(tab):
    settings = re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|", ask(cairn.CAIRND, "--print-settings-table"), re.M)
    assert len(settings) > 40
    known = {"--" + name.replace("_", "-") for name, _ in settings}
    known |= {"--no-" + name.replace("_", "-") for name, allowed in settings if allowed == "yes or no"}
    assert tab("cairnd --") == known | {"--config", "--check", "--help", "--version"}


def test_values_of_an_option_are_completed(tab):
    assert tab("cairnd --sandbox ") == {"auto", "on", "off"}
    assert tab("cairn token --dedupe ") == {"global", "namespace", "repository"}
    assert tab("cairn export --format ") == {"tiledb", "csv"}
    assert tab("cairnd --sandbox=a") in ({"auto"}, {"--sandbox=auto"})
    assert tab("cairn push --server ") <= {"--server"}, "the value may be any text, so nothing is offered"


def test_verbs_and_files(tab):
    (tab.folder / "model.bin").write_text("x")
    (tab.folder / "mother").mkdir()
    assert tab("cairn pack ") == {"create", "list", "get", "verify", "delete"}
    assert tab("cairn pack list mod") == {"model.bin"}
    assert tab("cairn push mo") == {"model.bin", "mother"}
    assert tab("cairn push --json --token-file mod") == {"model.bin"}
    assert tab("cairn fsck --data-dir mo") == {"mother"}
    assert tab("cairnd --config mod") == {"model.bin"}


def test_a_help_that_differs_from_the_table_is_refused(tmp_path):
    program = tmp_path / "cairn"
    help_text = "Usage: cairn a\\n\\n      --one FILE  text\\n  -h, --help      this help\\n"
    program.write_text(f"""#!/bin/sh
case "$*" in
--help) printf 'Usage: cairn\\n\\nCommands:\\n  a  does it\\n\\n  -h, --help  this help\\n' ;;
"a --help") printf '{help_text}' ;;
"a --print-options") printf '%s\\n' -h --help --one= $MORE ;;
esac
""")
    program.chmod(0o755)

    def made(more):
        command = [cairn.ROOT / "completions" / "generate.py", "bash", program]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MORE": more})

    assert "a:--one) take=files" in made("").stdout
    assert made("--two").returncode == 1 and "--two" in made("--two").stderr
