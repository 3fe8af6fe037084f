#!/usr/bin/env bash
# What the code does not use: unbounded string functions, sleeps in tests, unfinished-work marks, hard casts of bytes.
. "$(dirname "$0")/common.sh"

# Comments and string contents are cut off before functions are looked for: naming one is no use of it.
code_of() {
  sed -E -e 's/"([^"\\]|\\.)*"/""/g' -e 's@//.*$@@' -e 's@/\*[^*]*\*/@@g' -e 's@^[[:space:]]*\*.*$@@' "$1"
}

ban() { # PATTERN WHY FILE...
  local pattern=$1 why=$2 file line
  shift 2
  for file in "$@"; do
    while IFS= read -r line; do
      offence "$file:$line: $why"
    done < <(code_of "$file" | grep -nE "$pattern" | cut -c1-120 || true)
  done
}

mapfile -t all < <(c_files lib server cli tests bench)
mapfile -t tests < <(c_files tests)
mapfile -t library < <(c_files lib)

ban '\b(sprintf|vsprintf|strcpy|strcat|stpcpy|strncpy|strncat|atoi|atol|atoll|alloca|gets|strtok|tmpnam|mktemp)[[:space:]]*\(' \
  'a banned function; use the bounded one (snprintf, memcpy, cairn_buf, strtoull)' "${all[@]}"
ban '\bgoto\b' 'goto is for SQL transactions only; use CLEANUP()' \
  $(printf '%s\n' "${all[@]}" | grep -vE '^(lib/index/|bench/)' || true)
ban '\b(printf|puts|perror|fprintf|vprintf|putchar)[[:space:]]*\(' 'lib/ never prints; hand the text up in a cairn_diag' "${library[@]}"
ban '\b(sleep|usleep|nanosleep)[[:space:]]*\(' 'tests do not sleep; wait for the thing itself' "${tests[@]}"

for file in "${all[@]}" $(find tests dev docker .ci -name '*.sh' -o -name '*.py' -o -name dev 2>/dev/null | sort || true); do
  [[ $file == tests/lint/* ]] && continue
  while IFS= read -r line; do
    offence "$file:$line: finish it, or write an issue"
  done < <(grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "$file" | cut -c1-120 || true)
done
for file in $(find tests -name '*.py' 2>/dev/null | sort || true); do
  while IFS= read -r line; do
    offence "$file:$line: tests do not sleep; wait for the thing itself"
  done < <(grep -nE '\btime\.sleep\(|^from time import .*sleep' "$file" | grep -v 'a poll' | cut -c1-120 || true)
done
finish
