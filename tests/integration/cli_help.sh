#!/usr/bin/env bash
# The contract of --help and of errors: width, stream, exit code.
. "$(dirname "$0")/common.sh"

help_of() {
  run 0 "$CAIRN" "$@" --help
  no_err
  out "Usage: cairn"
  local wide
  wide=$(awk 'length > 80' "$WORK/out")
  [ -z "$wide" ] || fail "cairn $*: wider than 80 columns: $wide"
  if grep -qP '\t' "$WORK/out"; then fail "cairn $*: a tab in the help"; fi
}

help_of
commands=$(sed -nE '/^Commands:/,/^$/s/^  ([a-z-]+) .*/\1/p' "$WORK/out")
is "$(wc -w <<<"$commands")" 33 "number of commands"
for command in $commands; do
  help_of "$command"
  out "Usage: cairn $command"
  out "--help"
  out "Exit codes:"
  out "Examples:"
  # An example has only options of the command.
  "$CAIRN" "$command" --print-options | tr -d = >"$WORK/options"
  sed -n '/^Examples:$/,/^$/p' "$WORK/out" | sed -n "s/^  .*cairn $command//p" | grep -oE -- ' --?[a-z][a-z-]*' | tr -d ' ' |
    grep -vxF -f "$WORK/options" >"$WORK/unknown" && fail "cairn $command: examples with $(tr '\n' ' ' <"$WORK/unknown")"
  cp "$WORK/out" "$WORK/help"
  run 0 "$CAIRN" help "$command"
  cmp -s "$WORK/out" "$WORK/help" || fail "cairn help $command is not cairn $command --help"
  run 0 "$CAIRN" "$command" -h
  run 64 "$CAIRN" "$command" --no-such-option
  no_out
  err "--no-such-option"
  err "cairn $command --help"
  case $command in
  claims | gc | ls | stats | telemetry | usage) run 64 "$CAIRN" "$command" argument ;; # take no argument
  quota) run 64 "$CAIRN" quota one 2 3 ;; # lists all quotas without an argument
  *) run 64 "$CAIRN" "$command" ;;
  esac
  no_out
done

run 0 "$CAIRN" --version
out "cairn 0."
no_err
run 64 "$CAIRN"
no_out
err "Usage: cairn"
run 64 "$CAIRN" nonsense
no_out
err '"nonsense"'
if grep -qF "did you mean" "$WORK/err"; then fail "nonsense is near to a command"; fi
run 64 "$CAIRN" psuh
err 'there is no command "psuh"; did you mean push? See: cairn --help'
run 64 "$CAIRN" help restor
err "did you mean restore?"
run 64 "$CAIRN" --json push x
err 'before a command there is no option "--json"; those of a command come after its name; see: cairn --help'
run 64 "$CAIRN" lx
err "did you mean ls?"
run 64 "$CAIRN" "$(printf 'push%.0s' {1..20})"
run 64 "$CAIRN" help nonsense
err '"nonsense"'
run 64 "$CAIRN" help push pull
run 64 "$CAIRN" hash --json=1 x
err "--json takes no value; see: cairn hash --help"
run 64 "$CAIRN" hash --help=1
err "--help takes no value"
run 64 "$CAIRN" push --manifset=docs.json docs
err 'there is no option "--manifset" (did you mean --manifest?); see: cairn push --help'
run 64 "$CAIRN" stats --jsn
err "did you mean --json?"
run 64 "$CAIRN" stats --hepl
err "did you mean --help?"
run 64 "$CAIRN" stats --nonsense
err 'there is no option "--nonsense"; see: cairn stats --help'
# With --json a failure is also a JSON object, which has the exit code.
for args in "push --json" "push --json --no-such-option x" "pull --json abc -o $WORK/x" "query --json abc" "rm --json abc" \
  "nonsense --json" "stats --json --server http://127.0.0.1:1 --retries 0" "fsck --json --data-dir $WORK/absent" \
  "fold list --json $WORK/absent" "token --json --key $WORK/absent" "push --json $WORK --server ftp://x" "backup --json --data-dir $WORK/absent $WORK/out.fold" \
  "ls --json --server http://127.0.0.1:1 --retries 0" "inspect --json $WORK/absent" "migrate-store --json --data-dir $WORK/absent --to $WORK/other" \
  "query --json $(printf 'a%.0s' {1..64}) --server http://127.0.0.1:1 --retries 0"; do
  got=0
  # shellcheck disable=SC2086
  "$CAIRN" $args >"$WORK/out" 2>"$WORK/err" || got=$?
  is "$(json 'd["exit_code"], len(d["error"]["message"]) > 5, set(d["error"]) >= {"status", "rule", "message"}')" "($got, True, True)" "$args"
  is "$(json 'd["error"]["status"] == "ok"')" False "$args"
  [ -s "$WORK/err" ] || fail "$args: nothing for people"
done
run 66 "$CAIRN" push -- --json # --json is a file's name here
err "--json: No such file"
out "0 files"
run 64 "$CAIRN" push --server
err "--server needs a value"
run 64 "$CAIRN" push --server a --server b x
err "given twice"
run 64 "$CAIRN" query abc
err "64 hexadecimal digits"
run 64 "$CAIRN" push --server ftp://example.org "$0"
err "http://HOST:PORT"
run 64 "$CAIRN" push --retries 21 "$0"
run 64 "$CAIRN" token --new-key a --key b
run 64 "$CAIRN" inspect --hash xyz "$0"
run 64 "$CAIRN" pull abc -o
err "-o needs a value"
run 64 "$CAIRN" hash -o x "$0"
run 0 "$CAIRN" hash -q "$0"
run 64 "$CAIRN" pull abc -o x -j 17
run 64 "$CAIRN" pull abc -o x -j
err "-j needs a value"
run 64 "$CAIRN" hash -v "$0"
err "no option \"-v\""
run 64 "$CAIRN" hash -xq "$0"
err "no option \"-x\""
run 64 "$CAIRN" hash -qx "$0"
err "no option \"-x\""
run 64 "$CAIRN" pull abc -o x -o y
err "given twice"
# Files that cannot be created where they are wanted.
run 73 "$CAIRN" token --new-key "$WORK/absent/key"
run 66 "$CAIRN" migrate-store --data-dir "$WORK/absent" --to "$WORK/other"
run 66 "$CAIRN" backups verify "$WORK" # a folder without backups, such as an unmounted disk, is an error
err "no backups"
[ ! -e "$WORK/lock" ] || fail "looking at a folder left a lock in it"
# A full disk is an error even if only a help text is lost.
got=0
"$CAIRN" --help >/dev/full 2>/dev/null || got=$?
is "$got" 74 "--help to a full disk"
done_testing
