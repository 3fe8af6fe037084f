#!/usr/bin/env bash
# Each third-party library has its one includer, no part includes a part above it, and rooms are entered by their door.
. "$(dirname "$0")/common.sh"

# header (extended regular expression)   who may include it (extended regular expression of paths)
LIBRARIES='
microhttpd\.h                  server/http/http_(kept|mhd|reply|values|wait)\.c|bench/.*
libpq-fe\.h                    lib/index/postgres/.*|tests/contract/postgres_.*|bench/.*
sqlite3\.h                     lib/index/sqlite/.*|tests/unit/index/.*
openssl/.*                     lib/hash/crypto\.c|lib/token/.*|tests/fuzz/fuzz_token\.c
blake2\.h                      lib/hash/blake2b\.c
isa-l/.*                       lib/hash/crc32c\.c
blake3(_impl)?\.h             lib/hash/blake3\.c|bench/.*
lz4.*\.h                       lib/xorb/codec\.c|bench/.*
zlib\.h                        lib/archive/deflate\.c
zstd.*\.h                      lib/archive/zstd\.c|bench/.*
jansson\.h                     lib/base/json\.c|tests/.*
jwt\.h                         lib/token/.*
curl/.*                        lib/store/s3/http\.c|lib/mirror/net/net\.c|cli/common/client(\.c|_fetch\.c|_work\.h)|bench/.*
expat\.h                       lib/store/s3/xml\.c
yaml\.h                        lib/base/yaml\.c
ini\.h                         server/config.*\.c
gnutls/.*                      server/http/tls\.c
md4c.*\.h                      server/page/markdown\.c
seccomp\.h                     server/sandbox/sandbox_calls\.c|tests/unit/server/test_sandbox\.c
linux/landlock\.h              server/sandbox/sandbox_files\.c
check\.h                       tests/.*
'

# Headers that are private to a folder, as above.
ROOMS='
cas/(internal|.*_(work|run|table))\.h  lib/cas/.*|tests/(unit|support)/.*
index/(backend|writer|settler|health)\.h  lib/index/.*|tests/unit/index/.*|tests/contract/postgres_exchanges_contract\.c
index/postgres/.*                 lib/index/(postgres/.*|open\.c)|tests/unit/index/test_failover\.c
index/sqlite/.*                   lib/index/(sqlite/.*|open\.c)|tests/(unit/index/.*|support/index_sqlite)\..|bench/.*
store/s3/.*                       lib/store/s3/.*|tests/(unit/store/test_(s3_.*|sigv4)|contract/s3_contract)\.c
'

# The sources of lib/index use none of its rooms. Only its headers name the types of all records, for the list of calls.
ROOMLESS='lib/index/[a-z_]*\.c'

# part   parts it may include besides itself; a part within a part stands before it
PARTS='
lib/base
lib/hash    lib/base
lib/chunk   lib/base lib/hash
lib/xorb    lib/base lib/hash
lib/shard   lib/base lib/hash
lib/archive lib/base lib/hash
lib/verify  lib/base lib/hash lib/chunk lib/xorb lib/shard lib/index
lib/dedupe    lib/base lib/hash lib/chunk lib/shard lib/verify
lib/db      lib/base lib/hash
lib/index/hub    lib/index lib/base lib/hash lib/db
lib/index/daemon lib/index lib/index/hub lib/base lib/hash lib/db
lib/index   lib/base lib/hash lib/db lib/index/.*
lib/store   lib/base lib/hash lib/archive
lib/token   lib/base lib/hash
lib/data_dir lib/base lib/hash lib/index lib/store
lib/cas/object  lib/cas lib/base lib/hash lib/xorb lib/index lib/index/.* lib/store
lib/cas/put     lib/cas lib/cas/object lib/base lib/hash lib/chunk lib/xorb lib/shard lib/verify lib/index lib/index/.* lib/store
lib/cas/serve   lib/cas lib/cas/object lib/base lib/hash lib/chunk lib/xorb lib/shard lib/index lib/index/.* lib/store
lib/cas/keep    lib/cas lib/cas/object lib/cas/serve lib/base lib/hash lib/xorb lib/index lib/index/.* lib/store lib/data_dir
lib/cas/check   lib/cas lib/cas/object lib/base lib/hash lib/xorb lib/index lib/index/.* lib/store
lib/cas/move    lib/cas lib/cas/object lib/base lib/hash lib/xorb lib/index lib/index/.* lib/store lib/data_dir
lib/cas/service lib/cas lib/base lib/hash lib/token lib/index lib/index/.*
lib/cas         lib/base lib/hash lib/verify lib/xorb lib/index lib/index/.* lib/store lib/data_dir
lib/backup  lib/base lib/hash lib/archive lib/xorb lib/index lib/store lib/data_dir
server/log      lib/base lib/hash
server/sandbox  lib/base
server/http     lib/base lib/hash lib/token lib/cas lib/cas/service server/log
lib/hub         lib/base lib/hash lib/token lib/index lib/index/.* lib/dedupe lib/cas lib/cas/.*
lib/mirror/net  lib/base
lib/mirror/hub  lib/mirror/net lib/base lib/hash
lib/mirror      lib/mirror/net lib/mirror/hub lib/base lib/hash lib/xorb lib/store lib/index lib/index/.* lib/cas lib/cas/serve lib/cas/keep lib/hub
server/ask      lib/base lib/hash lib/token lib/cas lib/cas/.* lib/hub lib/mirror server server/http server/log
server/route    lib/base lib/hash lib/token lib/cas lib/cas/.* lib/mirror server server/http server/log server/ask
server/hub      lib/base lib/hash lib/token lib/cas lib/cas/.* lib/hub lib/mirror server server/http server/log server/ask
server/page     lib/base lib/hash lib/token lib/cas lib/cas/.* lib/hub server server/http server/log server/ask
server          lib/base lib/hash lib/xorb lib/token lib/data_dir lib/cas lib/cas/.* lib/hub lib/backup lib/mirror schema server/.*
cli         lib/.*
'

# includes FILE: prints its includes, one a line, as "<a/b.h>" or "\"a/b.h\""
includes() {
  sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]*[>"]).*/\1/p' "$1"
}

check_library() { # FILE HEADER
  local header allowed
  while read -r header allowed; do
    if [ -n "$header" ] && [[ $2 =~ ^$header$ ]] && ! [[ $1 =~ ^($allowed)$ ]]; then
      offence "$1: includes <$2>; only ${allowed//\\/} may"
    fi
  done <<<"$LIBRARIES$ROOMS"
}

check_direction() { # FILE HEADER; parts of lib/ include as "shard/reader.h", others as "server/http/http.h"
  local target=${2%%/*} part others other
  case $2 in
  cas/*/* | index/hub/* | index/daemon/* | mirror/*/*) target=lib/${2%/*} ;;
  server/*/*) target=${2%/*} ;;
  server/* | cli/* | schema/* | tests/*) ;;
  */*) target=lib/$target ;;
  *) return 0 ;;
  esac
  while read -r part others; do
    if [ -z "$part" ] || [[ $1 != "$part"/* ]]; then
      continue
    fi
    [ "$target" != "$part" ] || return 0
    for other in $others; do
      [[ $target =~ ^$other$ ]] && return 0
    done
    offence "$1: includes \"$2\"; $part may include only: ${others:-nothing else}"
    return 0
  done <<<"$PARTS"
}

check_rooms() { # FILE HEADER
  if [[ $1 =~ ^$ROOMLESS$ && $1 != lib/index/open.c && $2 == index/*/* ]]; then
    offence "$1: includes \"$2\"; its rooms use lib/index, never the other way"
  fi
}

# Headers of cas use types of the index and the store, but only cas may call these.
check_calls() { # FILE
  local call
  for call in $(grep -oE '\bcairn_(index|store)_[a-z0-9_]+\(' "$1" | sort -u); do
    offence "$1: calls $call); the server asks cas"
  done
}

for file in $(c_files lib server cli tests bench); do
  [[ $file != server/* ]] || check_calls "$file"
  for include in $(includes "$file"); do
    name=${include:1:${#include}-2}
    check_library "$file" "$name"
    if [ "${include:0:1}" = '"' ]; then
      check_direction "$file" "$name"
      check_rooms "$file" "$name"
    fi
  done
done
finish
