# shellcheck shell=bash
# Sourced by the scripts that start engines.

# wait_for SECONDS COMMAND...: repeats COMMAND until it succeeds; after SECONDS ends the script, or the subshell of begin
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $end ]; then
      echo "$(basename "$0"): gave up: $*" >&2
      exit 1
    fi
    sleep 0.1
  done
}

# show_logs FOLDER: prints the last lines of each of the engine's logs
show_logs() {
  find "$1" -maxdepth 1 -type f \( -name '*.log' -o -name '*.out' -o -name 'log*' \) -size +0 -print0 | sort -z | xargs -0r tail -v -n 8
}

# show_logs_on_failure FOLDER: shows the logs if the script fails from now on
show_logs_on_failure() {
  logs_folder=$1
  trap '[ $? = 0 ] || show_logs "$logs_folder" >&2' EXIT
}

# begin FOLDER COMMAND...: runs COMMAND with its output in FOLDER/start.out, and ends the script if a step fails. A shell ignores failed
# steps of a function before ||, so call this on a line of its own.
begin() {
  local folder=$1 status
  shift
  set +e
  (
    set -e
    "$@"
  ) >"$folder/start.out" 2>&1 </dev/null
  status=$?
  set -e
  [ $status = 0 ] || exit 1
}
