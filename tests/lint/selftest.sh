#!/usr/bin/env bash
# Gives each lint a tree with one fault, which the lint must refuse and name the file.
set -euo pipefail
cd "$(dirname "$0")"
passed=0
failed=0

# tree_of FILE CONTENT...: makes a folder with only these files
tree_of() {
  local tree
  tree=$(mktemp -d)
  while [ $# -gt 0 ]; do
    mkdir -p "$tree/$(dirname "$1")"
    printf '%b' "$2" >"$tree/$1"
    shift 2
  done
  printf '%s\n' "$tree"
}

# refused LINT FILE CONTENT [FILE CONTENT]...: LINT must fail on a tree with only these files, and name the first
refused() {
  local tree out
  tree=$(tree_of "${@:2}")
  if out=$("./$1" "$tree" 2>&1); then
    echo "$1 accepts $2: $3"
    failed=$((failed + 1))
  elif [[ $out != *"$2"* ]]; then
    echo "$1 refuses $2 without naming it: $out"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
  rm -rf "$tree"
}

# accepted LINT FILE CONTENT [FILE CONTENT]...: LINT must accept a tree with only these files
accepted() {
  local tree out
  tree=$(tree_of "${@:2}")
  if out=$("./$1" "$tree" 2>&1); then
    passed=$((passed + 1))
  else
    echo "$1 refuses $2: $out"
    failed=$((failed + 1))
  fi
  rm -rf "$tree"
}

for library in zlib zstd microhttpd sqlite3 libpq-fe openssl/evp blake2 blake3 isa-l/crc lz4frame jansson jwt curl/curl expat yaml ini md4c gnutls/gnutls \
  seccomp linux/landlock check; do
  refused includes.sh lib/chunk/a.c "#include <$library.h>\n"
done
# Each line of the table of parts, and each line of the table of rooms.
for part in $(sed -nE "/^PARTS='/,/^'/s#^((lib|server)[a-z/_]*).*#\1#p" includes.sh); do
  refused includes.sh "$part/a.c" '#include "cli/common/client.h"\n'
done
for header in cas/internal.h cas/move/move_work.h index/backend.h index/writer.h index/postgres/pool.h index/sqlite/write.h store/s3/xml.h; do
  refused includes.sh cli/a.c "#include \"$header\"\n"
done
refused includes.sh server/http/a.c '#include "server/app.h"\n'
refused includes.sh server/log/a.c '#include "server/http/http.h"\n'
refused includes.sh server/hub/a.c '#include "server/page/page.h"\n'
refused includes.sh server/ask/a.c '#include "server/hub/hub_routes.h"\n'
refused includes.sh server/a.c 'void a(void)\n{\n\tcairn_index_xorb(ix, h, &x);\n}\n'
refused includes.sh lib/hub/a.c '#include "mirror/mirror.h"\n'
refused includes.sh lib/mirror/net/a.c '#include "mirror/hub/ask.h"\n'
accepted includes.sh server/http/http_mhd.c '#include <microhttpd.h>\n'
accepted includes.sh tests/unit/test_a.c '#include <check.h>\n'
refused includes.sh server/route/route_a.c '  #  include <microhttpd.h>\n'
refused includes.sh server/http/a.c '#include "server/ask/route_spill.h"\n'
refused includes.sh server/page/a.c '#include "server/hub/hub_routes.h"\n'
refused includes.sh server/hub/a.c '#include "server/route/routes.h"\n'
refused includes.sh lib/base/a.c '#include "hash/hash.h"\n'
refused includes.sh lib/hash/a.c '#include "shard/reader.h"\n'
refused includes.sh lib/chunk/a.c '#include "xorb/format.h"\n'
refused includes.sh lib/verify/a.c '#include "cas/cas.h"\n'
refused includes.sh lib/index/a.c '#include "cas/cas.h"\n'
refused includes.sh lib/index/a.c '#include "index/hub/hub.h"\n'
accepted includes.sh lib/index/hub/a.c '#include "index/records.h"\n'
refused includes.sh lib/store/a.c '#include "index/index.h"\n'
refused includes.sh lib/token/a.c '#include "server/http/auth.h"\n'
refused includes.sh lib/cas/a.c '#include "server/app.h"\n'
refused includes.sh lib/cas/a.c '#include "backup/backup.h"\n'
refused includes.sh lib/cas/a.c '#include "cas/object/mend.h"\n'
refused includes.sh lib/cas/object/a.c '#include "cas/serve/plan.h"\n'
refused includes.sh lib/cas/serve/a.c '#include "cas/keep/garbage.h"\n'
refused includes.sh lib/hub/a.c '#include "cas/internal.h"\n'
accepted includes.sh lib/cas/keep/a.c '#include "cas/keep/removal.h"\n#include "cas/object/mend.h"\n'
refused includes.sh lib/backup/a.c '#include "cas/cas.h"\n'
refused includes.sh server/a.c '#include "cli/common/client.h"\n'
refused includes.sh cli/a.c '#include "server/http/http.h"\n'
accepted includes.sh lib/cas/a.c '#include "verify/verify.h"\n#include "base/buf.h"\n#include "internal.h"\n'

refused circles.sh lib/cas/a.c 'void a(void)\n{\n\tb();\n}\n' lib/cas/b.c 'void b(void)\n{\n\ta();\n}\n'
refused circles.sh lib/cas/a.c 'int a(int n)\n{\n\treturn B[n].c;\n}\n' lib/hub/b.c 'const struct b B[] = {\n\t{.c = a},\n};\n'
list='#define CALLS(BOTH, ONE) BOTH(a) ONE(b)\n#define LACKS(name)\n'
table='#define HAS(name) .name = x_##name,\nconst struct t T = { CALLS(HAS, LACKS) };\n'
refused circles.sh lib/index/a.c 'void x_a(void)\n{\n\tT.a();\n}\n' lib/index/calls.h "$list" lib/index/t.c "$table"
accepted circles.sh lib/index/b.c 'void x_b(void)\n{\n\tT.a();\n}\n' lib/index/calls.h "$list" lib/index/t.c "$table"
refused circles.sh lib/index/a.c 'void a(void)\n{\n\tx_b();\n}\n' lib/index/b.c '#define MAKE(name) \\\n\tvoid x_##name(void) \\\n\t{ \\\n\t\ta(); \\\n\t}\nMAKE(b)\n'
accepted circles.sh lib/cas/a.c 'void a(void)\n{\n\tb();\n}\n' lib/cas/b.c '/* a() */\nvoid b(void)\n{\n\tstruct a c = {.a = 1};\n\tc.a();\n}\n'

refused banned.sh lib/base/a.c 'int a(char *b) { return sprintf(b, "x"); }\n'
refused banned.sh lib/cas/a.c 'static const char A[] = "SELECT id FROM xorb";\n'
accepted banned.sh lib/index/a.c 'static const char A[] = "SELECT id FROM xorb";\n'
refused banned.sh lib/base/a.c 'int a(char *b) { return atoi(b); }\n'
refused banned.sh cli/a.c 'void a(char *b) { strcat (b, "x"); }\n'
refused banned.sh server/a.c 'void a(void) { char *p = alloca(1); }\n'
refused banned.sh lib/base/a.c 'void a(void) { puts("x"); }\n'
refused banned.sh lib/base/a.c 'void a(void) {\n\tgoto out;\n}\n'
refused banned.sh cli/a.c 'int a(int b) { return fsync(b); }\n'
accepted banned.sh lib/base/sys.c 'int a(int b) { return fsync(b); }\n'
accepted banned.sh cli/a.c 'int a(int b) { return cairn_sys_fsync(b) + b->read(1); }\n'
refused banned.sh cli/a.c 'void a(void *b) { (void)readdir(b); }\n'
accepted banned.sh lib/base/folder.c 'void a(void *b) { (void)readdir(b); }\n'
refused banned.sh tests/unit/test_a.c 'void a(void) { usleep(1); }\n'
refused banned.sh tests/clients/test_a.py 'import time\ntime.sleep(1)\n'
refused banned.sh server/page/a.c 'void a(b *b) { html(b, "<p>%.10s</p>", "x"); }\n'
accepted banned.sh server/page/a.c 'void a(b *b) { html(b, "<p>%s %zu%%</p>", "x", n); snprintf(c, 1, "%.10s", d); }\n'
refused banned.sh lib/base/a.c '/* TO''DO later */\n'
accepted banned.sh lib/base/a.c '/* no sprintf() here */\nint a(void) { return snprintf(0, 0, "gets("); }\n'

refused headers.sh lib/base/a.h 'size_t a(void);\n'
accepted headers.sh lib/base/a.h '#include <stddef.h>\nsize_t a(void);\n'
refused names.sh docs/a.md 'see /wo''rk/main\n'
refused names.sh docs/a.md 'see ../sha''red/x\n'
accepted names.sh docs/a.md 'see lib/work/main, and https://example.org/home/you\n'
refused suites.sh tests/clients/hub/test_a.py '' tests/clients/meson.build "'hub/ab', 'xet/a'" tests/engines/s3.sh 'run test_{ab,c}.py'
accepted suites.sh tests/clients/hub/test_a.py '' tests/clients/meson.build "'hub/a'"
accepted suites.sh tests/clients/hub/test_a.py '' tests/engines/s3.sh 'run test_{ab,a}.py'
if command -v ctags >/dev/null; then
  refused sizes.sh lib/index/postgres/connection.h 'enum {\n\tCAIRN_PG_PREPARED_MAX = 1, /* "SELECT 1" "SELECT 2" */\n};\n#define A "SELECT 1"\n'
  refused sizes.sh lib/base/a.c "$(printf 'int a%.0s;\\n' $(seq 801))"
  refused sizes.sh lib/base/a.c "int a(void)\n{\n$(printf '\\t;\\n%.0s' $(seq 80))\treturn 0;\n}\n"
fi
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  refused format.sh lib/base/a.c 'int a( void )\n{ return 0; }\n'
fi
refused docs.sh docs/a.md 'see [this](missing.md)\n'
refused docs.sh docs/a.md 'see [this](#no-such)\n# Such\n'
refused docs.sh docs/a.md 'see [this](b.md#commented)\n' docs/b.md '```\n# commented\n```\n'
accepted docs.sh docs/a.md 'see [this](#such-and_such)\n## Such and_such!\n' docs/b.md '[that](a.md#such-and_such)\n'
refused rules.sh lib/base/a.c 'int a(void) {\n\treturn cairn_fail(d, CAIRN_E_FORMAT,\n\t\t"shard.none", 0, "x");\n}\n'
refused rules.sh server/a.c 'void a(void) {\n\thttp_reply_error(req, 400, c ? "made_up" :\n\t\t"other", "text; more", 0);\n}\n'
refused rules.sh lib/base/a.c 'int a(void) {\n\treturn cairn_fail(d, status, "alone", 0, "x");\n}\n'
refused rules.sh docs/errors.md '| `shard.none` | 400 | nothing gives it |\n'
refused rules.sh docs/errors.md '| `shard.none` | 400 | the shard is empty | |\n' lib/base/a.c 'int a(void) {\n\treturn cairn_fail(d, s, "shard.none", 0, "x");\n}\n'
accepted rules.sh docs/errors.md '| `shard.none` | 400 | the shard is empty | send one |\n' lib/base/a.c 'int a(void) {\n\treturn cairn_fail(d, s, "shard.none", 0, "x");\n}\n'

meson() { # VERSION
  printf "project(\\n  version : '%s',\\n)\\n" "$1"
}
released="## 1.2.0 (2026-01-02)\\n"
script=schema/0001_a.sql
line="1.2.0 0001_a.sql $(printf 'A' | sha256sum | cut -d ' ' -f 1)\\n"
accepted release.sh CHANGELOG.md '## Unreleased\n## 1.2.0 (2026-01-02)\n' meson.build "$(meson 1.3.0-dev)"
accepted release.sh CHANGELOG.md "$released" meson.build "$(meson 1.2.0)"
refused release.sh meson.build "$(meson 1.2)" CHANGELOG.md '## 1.2 (2026-01-02)\n'
refused release.sh CHANGELOG.md "$released" meson.build "$(meson 1.3.0-dev)"
refused release.sh CHANGELOG.md '## Unreleased\n' meson.build "$(meson 1.2.0)"
refused release.sh CHANGELOG.md '## Unreleased\n## 1.2.0 (2026-01-02)\n' meson.build "$(meson 1.2.0-dev)"
refused release.sh CHANGELOG.md '## 1.2.0 (2026-01-02)\n## 1.10.0 (2026-01-01)\n' meson.build "$(meson 1.2.0)"
refused release.sh docs/openapi.yaml '  version: 1.1.0\n' CHANGELOG.md "$released" meson.build "$(meson 1.2.0)"
accepted release.sh $script A CHANGELOG.md "$released" meson.build "$(meson 1.2.0)" schema/RELEASED "$line"
accepted release.sh $script A CHANGELOG.md '## Unreleased\n' meson.build "$(meson 1.3.0-dev)"
refused release.sh $script B CHANGELOG.md "$released" meson.build "$(meson 1.2.0)" schema/RELEASED "$line"
refused release.sh $script A CHANGELOG.md "$released" meson.build "$(meson 1.2.0)"
refused release.sh $script A CHANGELOG.md '## Unreleased\n' meson.build "$(meson 1.2.1-dev)"
refused release.sh schema/RELEASED "$line" CHANGELOG.md "$released" meson.build "$(meson 1.2.0)"
refused release.sh schema/RELEASED "$line" $script A CHANGELOG.md '## 1.3.0 (2026-01-02)\n' meson.build "$(meson 1.3.0)"
refused release.sh lib/meson.build "a = dependency('libnew')\\n"
accepted release.sh lib/meson.build "a = dependency('libnew')\\n" docs/licences.md '| `libnew` | MIT |\n'
accepted rules.sh lib/base/a.c '/* "a.rule" */\n#include "a.h"\nconst char *A = "index.sqlite", *b = "one_word"; // "b.rule"\n'

refused words.sh lib/chunk/a.c '/* Of those that are there the last one counts. */\n'
refused words.sh lib/chunk/a.c 'f("What was sent is not what was announced");\n'
accepted words.sh lib/chunk/a.c '/* Takes the last one of several chunks. */\nf("the upload is longer than announced");\n'
accepted words.sh lib/chunk/a.c '/* Of those that are there the last one counts. */\n' tests/lint/words_allowed 'lib 1\n'
refused words.sh tests/lint/words_allowed 'lib 99\n' lib/chunk/a.c 'int a;\n'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
