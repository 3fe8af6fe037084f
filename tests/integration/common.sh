# shellcheck shell=bash
# Functions that the scripts share. Sourced; the environment names CAIRN, CAIRND and DATA (tests/data).
set -u
: "${CAIRN:?the command to test}" "${DATA:?tests/data}"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/cairn-it-XXXXXX")
SERVER_PID=
FAILED=0
unset CAIRN_SERVER CAIRN_TOKEN TESTS_TRY_AGAIN

finish() {
  stop_server
  rm -rf "$WORK"
}
trap finish EXIT

fail() {
  echo "FAIL: $*" >&2
  FAILED=1
}

done_testing() {
  [ "$FAILED" = 0 ] || exit 1
  echo "ok"
}

# run CODE COMMAND...: runs it, with output in $WORK/out and $WORK/err; the exit code must be CODE
run() {
  local want=$1 got=0
  shift
  "$@" >"$WORK/out" 2>"$WORK/err" || got=$?
  if [ "$got" != "$want" ]; then
    fail "$*: exit code $got, not $want"
    head -n 5 "$WORK/err" >&2
  fi
}

# out TEXT, err TEXT: checks that the last run printed TEXT on standard output, or standard error
out() { grep -qF -- "$1" "$WORK/out" || fail "standard output has no \"$1\": $(head -c 300 "$WORK/out")"; }
err() { grep -qF -- "$1" "$WORK/err" || fail "standard error has no \"$1\": $(head -c 300 "$WORK/err")"; }
no_out() { [ ! -s "$WORK/out" ] || fail "standard output is not empty: $(head -c 300 "$WORK/out")"; }
no_err() { [ ! -s "$WORK/err" ] || fail "standard error is not empty: $(head -c 300 "$WORK/err")"; }

# json EXPRESSION: prints a Python expression over d, the last output
json() {
  python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$WORK/out" "$1"
}
is() { [ "$1" = "$2" ] || fail "${3:-value}: \"$1\", not \"$2\""; }

# start_server OPTION...: starts a daemon on a free port with a new folder; sets URL
start_server() {
  local line
  mkfifo "$WORK/listening"
  CAIRN_GC_SCHEDULE=off CAIRN_SCRUB_PERIOD=0 "${CAIRND:?the daemon}" --data-dir "$WORK/data" --listen 127.0.0.1:0 "$@" >"$WORK/listening" 2>"$WORK/server.log" &
  SERVER_PID=$!
  read -r line <"$WORK/listening" || line= # a daemon that ends closes the pipe
  rm "$WORK/listening"
  URL=${line#cairnd listening on }
  case $URL in
  http://127.0.0.1:*) ;;
  *)
    cat "$WORK/server.log" >&2
    fail "the daemon does not start"
    exit 1
    ;;
  esac
}

stop_server() {
  if [ -n "$SERVER_PID" ]; then
    kill "$SERVER_PID" 2>/dev/null
    wait "$SERVER_PID" || fail "the daemon ended with exit code $?"
    SERVER_PID=
  fi
}
