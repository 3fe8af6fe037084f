#!/usr/bin/env bash
# Checks that no file names a place outside of the project, such as a person's folder or a machine.
. "$(dirname "$0")/common.sh"
PLACES='(^|[^[:alnum:]_./-])(/work/|/home/[a-z]|/root/|/Users/|/tmp/(b-|brief|house))|\.\./shared\b|\.\./\.\./shared\b'
while IFS= read -r line; do
  offence "${line:0:160}: names a place outside of the project"
done < <(find . \( -name .git -o -name .venv -o -name 'build*' -o -path ./tests/lint -o -path ./tests/data -o -name cairn-data \) -prune \
  -o -type f -print0 | xargs -0 grep -HInE "$PLACES" || true)
finish
