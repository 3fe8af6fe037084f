#!/usr/bin/env bash
# Checks the promises of a release: one version in all places, and the newest entry of the changelog is about it. Released scripts of the schema
# do not change, a new script comes with a new version, and each library's licence is listed.
. "$(dirname "$0")/common.sh"

version=$(sed -nE "s/^ *version : '([^']*)',$/\1/p" meson.build 2>/dev/null || true)
release=${version%-dev}
mapfile -t headings < <(sed -n 's/^## //p' CHANGELOG.md 2>/dev/null || true)

check_version() {
  local api i number previous=
  [[ $release =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || offence "meson.build: version '$version' is neither X.Y.Z nor X.Y.Z-dev"
  if [ -f docs/openapi.yaml ]; then
    api=$(sed -n 's/^  version: //p' docs/openapi.yaml)
    [ "$api" = "$version" ] || offence "docs/openapi.yaml: version $api, but meson.build says $version"
  fi
  if [ "$version" != "$release" ]; then
    [ "${headings[0]:-}" = Unreleased ] || offence "CHANGELOG.md: version $version is not released, so the first entry is 'Unreleased'"
    headings=("$release" "${headings[@]:1}")
  elif ! [[ ${headings[0]:-} =~ ^"$version"\ \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$ ]]; then
    offence "CHANGELOG.md: the first entry is not '$version (YYYY-MM-DD)', but meson.build says $version"
  fi
  for i in "${!headings[@]}"; do
    number=${headings[i]%% *}
    if [ -n "$previous" ] && { [ "$number" = "$previous" ] || [ "$(printf '%s\n' "$number" "$previous" | sort -V | tail -n 1)" != "$previous" ]; }; then
      offence "CHANGELOG.md: $number stands below $previous"
    fi
    previous=$number
  done
}

# If the repository has its tags, compares released scripts with them, too.
check_tag() {
  git rev-parse -q --verify "refs/tags/v$release" >/dev/null 2>&1 || return 0
  if [ "$version" != "$release" ]; then
    offence "meson.build: v$release is a tag already, so the next version is a later one"
  elif ! git diff --quiet "v$release" -- 'schema/*.sql' 'schema/postgres/*.sql'; then
    offence "schema: changed since the tag v$release; a schema change comes with a new version"
  fi
}

check_schema() {
  local script name when was
  for script in schema/[0-9]*.sql schema/postgres/[0-9]*.sql; do
    [ -e "$script" ] || continue
    name=${script#schema/}
    read -r when was < <(awk -v name="$name" '$2 == name { print $1, $3 }' schema/RELEASED 2>/dev/null) || true
    if [ -n "$when" ]; then
      [ "$was" = "$(sha256sum "$script" | cut -d ' ' -f 1)" ] || offence "$script: was released with $when and has changed since; write a new script"
      [[ $when == *.0 ]] || offence "schema/RELEASED: $name came with $when; a schema change takes X.Y.0"
      [[ " ${headings[*]%% *} " == *" $when "* ]] || offence "schema/RELEASED: $name names $when, of which CHANGELOG.md knows nothing"
    elif [ "$version" = "$release" ]; then
      offence "$script: is newer than release $version, which meson.build still names; a schema change comes with a new version"
    elif [[ $release != *.0 ]]; then
      offence "$script: is new, and $release is a version for fixes only; a schema change takes X.Y.0"
    fi
  done
  while read -r when name was; do
    [ -z "$name" ] || [[ $when == '#'* ]] || [ -f "schema/$name" ] || offence "schema/RELEASED: $name of $when is gone"
  done < <(cat schema/RELEASED 2>/dev/null)
}

check_licences() {
  local file name
  while IFS=: read -r file name; do
    grep -qF "| \`$name\` |" docs/licences.md 2>/dev/null || offence "$file: docs/licences.md does not tell the licence of $name"
  done < <(find . -name meson.build -not -path './build*' -exec grep -HoE "dependency\('[^']+'" {} + | sed -E "s/^\.\///; s/dependency\('//; s/'$//" | sort -u)
}

if [ -n "$version" ]; then
  check_version
  check_tag
  check_schema
fi
check_licences
finish
