#!/usr/bin/env bash
# Refuses C files over 800 lines and functions over 80 (aim: 400 and 40).
. "$(dirname "$0")/common.sh"
command -v ctags >/dev/null || { echo "universal-ctags is not installed"; exit 77; }
mapfile -t files < <(c_files lib server cli)
for file in ${files[@]+"${files[@]}"}; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt 800 ]; then
    offence "$file: $lines lines; split it by concept"
  fi
done
while IFS=$'\t' read -r name file start end; do
  if [ $((end - start + 1)) -gt 80 ]; then
    offence "$file:$start: $name has $((end - start + 1)) lines; split it"
  fi
done < <([ ${#files[@]} -eq 0 ] || ctags -x --kinds-C=f --fields=+ne --_xformat=$'%N\t%F\t%n\t%e' "${files[@]}")
# A connection to PostgreSQL prepares each statement once, and has room for a fixed number. Counts the lines that begin a statement,
# some of which are parts of others, so the real number is lower.
room=$(sed -nE 's/^[[:space:]]*CAIRN_PG_PREPARED_MAX = ([0-9]+),.*/\1/p' lib/index/postgres/connection.h 2>/dev/null)
if [ -n "$room" ]; then
  statements=$(cat lib/index/*.c lib/index/postgres/*.[ch] 2>/dev/null | grep -cE '"(WITH|SELECT|INSERT|UPDATE|DELETE|LOCK|SET|BEGIN|COMMIT|ROLLBACK) ' || true)
  if [ "$statements" -gt "$room" ]; then
    offence "lib/index/postgres/connection.h: about $statements statements, and CAIRN_PG_PREPARED_MAX is $room; raise it"
  fi
fi
finish
