#!/usr/bin/env bash
# Checks the documents: every relative link leads to a file and a heading in it, man pages have no error of markup, the OpenAPI file parses.
. "$(dirname "$0")/common.sh"

# anchors_of PAGE: prints the anchors of its headings, as forges make them, one a line
anchors_of() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" | sed -E 's/[^a-z0-9_ -]//g; s/ /-/g'
}

while IFS= read -r page; do
  while IFS= read -r link; do
    target=${link%%#*}
    if [ -n "$target" ] && [ ! -e "$(dirname "$page")/$target" ]; then
      offence "$page: links to $target, which is not there"
      continue
    fi
    target=$([ -n "$target" ] && echo "$(dirname "$page")/$target" || echo "$page")
    if [[ $link == *#* && $target == *.md ]] && ! grep -qxF -- "${link#*#}" <<<"$(anchors_of "$target")"; then
      offence "$page: links to $link, which is no heading there"
    fi
  done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\((.*)\)$/\1/' | grep -vE '^(https?:|mailto:)' || true)
done < <(find . \( -name .git -o -name .venv -o -name 'build*' -o -name cairn-data \) -prune -o -name '*.md' -print | sort)

if command -v groff >/dev/null; then
  for page in docs/man/*.[1-8] docs/*.[1-8]; do
    [ -e "$page" ] || continue
    faults=$(groff -man -Tutf8 -ww -z "$page" 2>&1 || true)
    [ -z "$faults" ] || offence "$page: $faults"
  done
fi
if [ -f docs/openapi.yaml ] && [ -x .venv/bin/python ]; then
  .venv/bin/python -c 'import sys, yaml; yaml.safe_load(open("docs/openapi.yaml"))' || offence "docs/openapi.yaml: is not YAML"
fi
finish
