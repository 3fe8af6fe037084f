# shellcheck shell=bash
# Sourced by what starts services.

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $end ]; then
      echo "$(basename "$0"): gave up: $*" >&2
      exit 1
    fi
    sleep 0.25
  done
}
