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
commands=$(sed -nE 's/^  ([a-z]+) .*/\1/p' "$WORK/out")
is "$(wc -w <<<"$commands")" 21 "number of commands"
for command in $commands; do
  help_of "$command"
  out "Usage: cairn $command"
  out "--help"
  out "Exit codes:"
  run 0 "$CAIRN" "$command" -h
  run 64 "$CAIRN" "$command" --no-such-option
  no_out
  err "--no-such-option"
  err "cairn $command --help"
  case $command in
  gc | stats | telemetry) run 64 "$CAIRN" "$command" argument ;; # need none
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
run 64 "$CAIRN" hash --json=1 x
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
run 64 "$CAIRN" pull abc -o x -o y
err "given twice"
# A full disk is an error also where only a help text is lost.
got=0
"$CAIRN" --help >/dev/full 2>/dev/null || got=$?
is "$got" 74 "--help to a full disk"
done_testing
