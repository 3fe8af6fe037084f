#!/usr/bin/env bash
# Checks that docs/errors.md lists exactly the rules (the "code" of an error) in the code. For rules of the index and the store,
# docs/troubleshooting.md must have a line in "Troubleshooting". Each rule says what to do, where its table has a column for that.
. "$(dirname "$0")/common.sh"
export LC_ALL=C # comm and sort agree
PAGE=docs/errors.md
# Literals that look like rules but are not: names of files, marks of a backup, columns of a table with a letter.
NOT_RULES='[a-z]\.[a-z]+|(icon|page|style)\.(svg|js|css)|index\.sqlite(\.part)?|cairn\.backup(\.(objects|moment))?|keep\.index|moment\.part|next\.index|next\.part|prune\.part|config\.json|model\.safetensors(\.index\.json)?'

# Prints the file's code on one line, without comments and includes.
one_line() {
  sed -E -e '/^[[:space:]]*#[[:space:]]*include/d' -e 's@/\*([^*]|\*[^/])*\*/@@g' -e 's@//.*$@@' -e '/^[[:space:]]*\*/d' \
    -e 's@/\*.*$@@' "$1" | tr '\n' ' '
}

# A literal of words with dots between them is always a rule. A single word is a rule in a statement that replies,
# and as the rule of cairn_fail().
rules_of() {
  local code
  code=$(one_line "$1")
  {
    grep -oE '"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+"' <<<"$code" || true
    grep -oE '(http_reply_error\(|http_error_raw\(|gate_refuse\(|http_refusal\)\{|errors_reply\)\{)[^;]*' <<<"$code" |
      grep -oE '"[a-z_]+"' || true
    grep -oE 'cairn_fail\([^;"]*"[a-z_]+"' <<<"$code" | grep -oE '"[a-z_]+"' || true
  } | tr -d '"' | { grep -vxE "$NOT_RULES" || true; } | sort -u
}

page=""
[ ! -f "$PAGE" ] || page=$(sed -nE 's/^\| `([a-z0-9_.]+)` \|.*/\1/p' "$PAGE" | sort -u)
all=""
while IFS= read -r file; do
  rules=$(rules_of "$file")
  all+=$rules$'\n'
  while IFS= read -r rule; do
    [ -z "$rule" ] || offence "$file: gives the rule $rule, which $PAGE does not list"
  done < <(comm -23 <(printf '%s\n' "$rules") <(printf '%s\n' "$page"))
done < <(c_files lib server cli)
while IFS= read -r rule; do
  [ -z "$rule" ] || offence "$PAGE: lists $rule, which no code gives"
done < <(comm -13 <(sort -u <<<"$all") <(printf '%s\n' "$page"))

while IFS= read -r rule; do
  [ -z "$rule" ] || offence "$PAGE: does not say what to do about $rule"
done < <([ ! -f "$PAGE" ] || sed -nE 's/^\| `([a-z0-9_.]+)` \|.*\| *\|$/\1/p' "$PAGE")

troubleshooting=docs/troubleshooting.md
if [ -f "$troubleshooting" ]; then
  troubles=$(awk '/^## / { on = /^## Troubleshooting/ } on' "$troubleshooting" | grep -oE '`(index|store)\.[a-z_]+`' | tr -d '`' | sort -u || true)
  while IFS= read -r rule; do
    [ -z "$rule" ] || offence "$troubleshooting: \"Troubleshooting\" has no line for $rule"
  done < <(comm -23 <(grep -E '^(index|store)\.' <<<"$page") <(printf '%s\n' "$troubles"))
fi
finish
