# Shared by the lints: the place of the tree, and the form of a finding. Sourced, not run.
# Each lint takes the root of a tree as its argument (default: the tree it lies in), so that selftest.sh can show it a bad one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "${1:-$here}"
offences=0

offence() {
  printf '%s\n' "$*"
  offences=$((offences + 1))
}

# Prints the C files of the named folders that exist.
c_files() {
  local folder
  for folder in "$@"; do
    if [ -d "$folder" ]; then
      find "$folder" -name '*.[ch]' -type f
    fi
  done | sort
}

finish() {
  if [ "$offences" -gt 0 ]; then
    printf '%s: %d offences\n' "$(basename "$0")" "$offences" >&2
    exit 1
  fi
}
