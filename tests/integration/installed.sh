#!/usr/bin/env bash
# Checks that everything that is shipped gets installed.
. "$(dirname "$0")/common.sh"

run 0 env DESTDIR="$WORK/root" meson install -C "$BUILD" --no-rebuild
for file in bin/cairnd bin/cairn lib/systemd/system/cairnd.service lib/sysusers.d/cairn.conf; do
  [ -s "$WORK/root/usr/local/$file" ] || fail "$file is not installed"
done
grep -q '^ExecStart=/usr/local/bin/cairnd ' "$WORK/root/usr/local/lib/systemd/system/cairnd.service" || fail "the unit starts another program"
done_testing
