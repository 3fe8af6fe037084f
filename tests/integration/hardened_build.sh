#!/usr/bin/env bash
# The programs, built as they are shipped, have the protections that meson.build asks for, and all that is shipped is installed. An argument names a build
# folder without sanitizers to look at instead of building one.
. "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/../.." || exit 1

build=${1:-}
if [ -z "$build" ]; then
  build=$WORK/build
  if ! meson setup "$build" --buildtype=release -Dwerror=true -Db_ndebug=false -Dtests=false >"$WORK/log" 2>&1 ||
    ! meson compile -C "$build" >>"$WORK/log" 2>&1; then
    tail -n 20 "$WORK/log" >&2
    exit 1
  fi
fi

# has FILE WHAT TEXT OPTION...: readelf OPTION... says TEXT (an extended regular expression)
has() {
  local file=$1 what=$2 text=$3
  shift 3
  readelf -W "$@" "$file" | grep -qE -- "$text" || fail "$file: $what: readelf $* does not say \"$text\""
}

lacks() {
  local file=$1 what=$2 text=$3
  shift 3
  ! readelf -W "$@" "$file" | grep -E -- "$text" >&2 || fail "$file: $what: readelf $* says \"$text\""
}

check() {
  local file=$1 starts
  has "$file" "position independent" 'Type: +DYN' -h
  has "$file" "position independent" 'Flags:.* PIE' -d
  has "$file" "all symbols bound at the start" 'BIND_NOW|Flags:.* NOW' -d
  has "$file" "tables read-only after that" 'GNU_RELRO' -l
  has "$file" "no code on the stack" 'GNU_STACK .* RW +0x' -l
  lacks "$file" "nothing writable and executable" ' (RWE|WE|R?W E) ' -l
  lacks "$file" "no relocations in code" 'TEXTREL' -d
  lacks "$file" "libraries found by the system alone" 'RPATH|RUNPATH' -d
  has "$file" "stack protector" '__stack_chk_fail' --dyn-syms
  has "$file" "checked functions of the C library" '__(memcpy|snprintf|vsnprintf|printf|fprintf)_chk' --dyn-syms
  # Landing pads: each function of ours that is called through a pointer starts with one.
  if readelf -h "$file" | grep -q 'X86-64'; then
    starts=$(objdump -d --no-show-raw-insn "$file" | grep -c 'endbr64')
    [ "$starts" -gt 500 ] || fail "$file: control flow: only $starts landing pads (endbr64)"
    # Large frames are touched page by page, so that no other mapping is jumped over.
    objdump -d --no-show-raw-insn "$file" | grep -qE 'orq +\$0x0,.*\(%rsp\)' || fail "$file: stack clash: no probes"
  fi
}

check "$build/server/cairnd"
check "$build/cli/cairn"
if [ -z "${1:-}" ]; then
  run 0 env DESTDIR="$WORK/root" meson install -C "$build" --no-rebuild
  for file in bin/cairnd bin/cairn lib/systemd/system/cairnd.service lib/sysusers.d/cairn.conf; do
    [ -s "$WORK/root/usr/local/$file" ] || fail "$file is not installed"
  done
  grep -q '^ExecStart=/usr/local/bin/cairnd ' "$WORK/root/usr/local/lib/systemd/system/cairnd.service" || fail "the unit starts another program"
fi
done_testing
