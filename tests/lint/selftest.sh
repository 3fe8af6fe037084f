#!/usr/bin/env bash
# A lint that cannot fail proves nothing: each one is shown a tree with one offence and must refuse it, naming the file.
set -euo pipefail
cd "$(dirname "$0")"
passed=0
failed=0

# refused LINT FILE CONTENT: LINT must fail on a tree with just that file, and name it
refused() {
  local tree out
  tree=$(mktemp -d)
  mkdir -p "$tree/$(dirname "$2")"
  printf '%b' "$3" >"$tree/$2"
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

# accepted LINT FILE CONTENT: the counterpart that is no offence
accepted() {
  local tree out
  tree=$(mktemp -d)
  mkdir -p "$tree/$(dirname "$2")"
  printf '%b' "$3" >"$tree/$2"
  if out=$("./$1" "$tree" 2>&1); then
    passed=$((passed + 1))
  else
    echo "$1 refuses $2: $out"
    failed=$((failed + 1))
  fi
  rm -rf "$tree"
}

for library in zlib microhttpd sqlite3 openssl/evp blake3 lz4frame jansson jwt curl/curl ini check; do
  refused includes.sh lib/chunk/a.c "#include <$library.h>\n"
done
accepted includes.sh server/http/http.c '#include <microhttpd.h>\n'
accepted includes.sh tests/unit/test_a.c '#include <check.h>\n'
refused includes.sh server/route/route_a.c '  #  include <microhttpd.h>\n'
refused includes.sh server/http/a.c '#include "server/route/spill.h"\n'
refused includes.sh lib/base/a.c '#include "hash/hash.h"\n'
refused includes.sh lib/hash/a.c '#include "shard/reader.h"\n'
refused includes.sh lib/chunk/a.c '#include "xorb/format.h"\n'
refused includes.sh lib/verify/a.c '#include "cas/cas.h"\n'
refused includes.sh lib/index/a.c '#include "cas/cas.h"\n'
refused includes.sh lib/store/a.c '#include "index/index.h"\n'
refused includes.sh lib/token/a.c '#include "server/auth.h"\n'
refused includes.sh lib/cas/a.c '#include "server/app.h"\n'
refused includes.sh server/a.c '#include "cli/common/client.h"\n'
refused includes.sh cli/a.c '#include "server/http/http.h"\n'
accepted includes.sh lib/cas/a.c '#include "verify/verify.h"\n#include "base/buf.h"\n#include "internal.h"\n'

refused banned.sh lib/base/a.c 'int a(char *b) { return sprintf(b, "x"); }\n'
refused banned.sh lib/base/a.c 'int a(char *b) { return atoi(b); }\n'
refused banned.sh cli/a.c 'void a(char *b) { strcat (b, "x"); }\n'
refused banned.sh server/a.c 'void a(void) { char *p = alloca(1); }\n'
refused banned.sh lib/base/a.c 'void a(void) { puts("x"); }\n'
refused banned.sh lib/base/a.c 'void a(void) {\n\tgoto out;\n}\n'
refused banned.sh tests/unit/test_a.c 'void a(void) { usleep(1); }\n'
refused banned.sh tests/clients/test_a.py 'import time\ntime.sleep(1)\n'
refused banned.sh lib/base/a.c '/* TO''DO later */\n'
accepted banned.sh lib/base/a.c '/* no sprintf() here */\nint a(void) { return snprintf(0, 0, "gets("); }\n'

refused headers.sh lib/base/a.h 'size_t a(void);\n'
accepted headers.sh lib/base/a.h '#include <stddef.h>\nsize_t a(void);\n'
refused names.sh docs/a.md 'see /wo''rk/main\n'
refused names.sh docs/a.md 'see ../sha''red/x\n'
accepted names.sh docs/a.md 'see lib/work/main, and https://example.org/home/you\n'
if command -v ctags >/dev/null; then
  refused sizes.sh lib/base/a.c "$(printf 'int a%.0s;\\n' $(seq 801))"
  refused sizes.sh lib/base/a.c "int a(void)\n{\n$(printf '\\t;\\n%.0s' $(seq 80))\treturn 0;\n}\n"
fi
if command -v clang-format >/dev/null; then
  refused format.sh lib/base/a.c 'int a( void )\n{ return 0; }\n'
fi
refused docs.sh docs/a.md 'see [this](missing.md)\n'
refused rules.sh lib/base/a.c 'int a(void) {\n\treturn cairn_fail(d, CAIRN_E_FORMAT,\n\t\t"shard.none", 0, "x");\n}\n'
refused rules.sh server/a.c 'void a(void) {\n\thttp_reply_error(req, 400, c ? "made_up" :\n\t\t"other", "text; more", 0);\n}\n'
refused rules.sh lib/base/a.c 'int a(void) {\n\treturn cairn_fail(d, status, "alone", 0, "x");\n}\n'
refused rules.sh docs/errors.md '| `shard.none` | 400 | nothing gives it |\n'
accepted rules.sh lib/base/a.c '/* "a.rule" */\n#include "a.h"\nconst char *A = "index.sqlite", *b = "one_word"; // "b.rule"\n'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
