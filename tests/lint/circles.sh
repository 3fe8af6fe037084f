#!/usr/bin/env bash
# Refuses files that call each other in a circle (circles.py finds them).
. "$(dirname "$0")/common.sh"
while IFS= read -r line; do
  offence "$line"
done < <(c_files lib server cli | xargs -r python3 "$here/tests/lint/circles.py")
finish
