#!/usr/bin/env bash
# Refuses unbounded string functions, sleeps in tests, marks of unfinished work, SQL outside of lib/index, and hard casts of bytes.
. "$(dirname "$0")/common.sh"

# Removes comments and contents of strings before it looks for functions: naming a function does not use it.
code_of() { # FILE...: its code, each line as FILE:LINE:CODE
  sed -sE -e 's/"([^"\\]|\\.)*"/""/g' -e 's@//.*$@@' -e 's@/\*[^*]*\*/@@g' -e 's@^[[:space:]]*\*.*$@@' -e '1s/^/\x01/' "$@" |
    awk -v names="$(printf '%s\n' "$@")" 'BEGIN { split(names, name, "\n") } /^\001/ { file = name[++n]; at = 0; sub(/^\001/, "") }
      { print file ":" ++at ":" $0 }'
}

ban() { # PATTERN WHY FILE...
  local pattern=$1 why=$2 line
  shift 2
  if [ $# -eq 0 ]; then
    return
  fi
  while IFS= read -r line; do
    offence "$line: $why"
  done < <(code_of "$@" | grep -E "^[^:]*:[0-9]+:.*($pattern)" | cut -c1-160 || true)
}

mapfile -t all < <(c_files lib server cli tests bench)
mapfile -t tests < <(c_files tests)
mapfile -t library < <(c_files lib)
mapfile -t callers < <(c_files lib server cli | grep -E '\.c$' | grep -vx lib/base/sys.c)
mapfile -t walkers < <(c_files lib server cli | grep -vx lib/base/folder.c)

ban '\b(sprintf|vsprintf|strcpy|strcat|stpcpy|strncpy|strncat|atoi|atol|atoll|alloca|gets|strtok|tmpnam|mktemp)[[:space:]]*\(' \
  'a banned function; use the bounded one (snprintf, memcpy, cairn_buf, strtoull)' "${all[@]}"
ban '\bgoto\b' 'no goto; use CLEANUP()' "${all[@]}"
ban '\b(printf|puts|perror|fprintf|vprintf|putchar)[[:space:]]*\(' 'lib/ never prints; hand the text up in a cairn_diag' "${library[@]}"
calls='open|openat|creat|mkostemp|mkstemp|mkdir|mkdirat|rmdir|unlink|unlinkat|rename|renameat|renameat2|link|linkat|symlink|symlinkat|readlink|readlinkat'
calls+='|access|faccessat|chmod|fchmod|stat|lstat|fstat|fstatat|statvfs|fstatvfs|read|pread|readv|write|pwrite|writev|copy_file_range|sendfile|splice'
calls+='|fsync|fdatasync|syncfs|truncate|ftruncate|fallocate|posix_fallocate|flock|accept|accept4|connect|send|sendto|sendmsg|recv|recvfrom|recvmsg'
calls+='|poll|ppoll|select|epoll_wait|wait|waitpid|sleep|usleep|nanosleep|clock_nanosleep|getrandom|msync'
ban "(^|[^[:alnum:]_.>])($calls)\\(" 'call it by base/sys.h, which repeats what a signal interrupts' "${callers[@]}"
ban '\b(opendir|fdopendir|readdir|scandir|scandirat|nftw|ftw|fts_open|glob)[[:space:]]*\(' \
  'base/folder.h walks folders: it tells an error from the end' "${walkers[@]}"
ban '\b(sleep|usleep|nanosleep)[[:space:]]*\(' 'tests do not sleep; wait for the thing itself' "${tests[@]}"

while IFS= read -r line; do
  offence "$line: only lib/index has SQL; ask for a function there"
done < <(c_files lib server cli | grep -vE '^lib/(index|db)/' | tr '\n' '\0' |
  xargs -0 -r grep -HnE '"[^"]*\b(SELECT .*\bFROM|INSERT INTO|UPDATE [a-z_]+ SET|DELETE FROM|CREATE TABLE|PRAGMA)\b' | cut -c1-160 || true)

while IFS= read -r line; do
  offence "$line: html() has only %s, %d, %u and their long forms"
done < <(c_files server | grep -E '^server/(page|ask)/' | tr '\n' '\0' |
  xargs -0 -r grep -HnE '"[^"]*%([-+#0-9.*]+[a-z]|[cefgipx])' | grep -v 'printf(' | cut -c1-160 || true)

while IFS= read -r line; do
  offence "$line: finish it, or write an issue"
done < <({ printf '%s\n' "${all[@]}"; find tests dev docker .ci -name '*.sh' -o -name '*.py' -o -name dev 2>/dev/null; } | grep -v '^tests/lint/' |
  sort -u | tr '\n' '\0' | xargs -0 grep -HnE '\b(TODO|FIXME|XXX|HACK)\b' | cut -c1-160 || true)
while IFS= read -r line; do
  offence "$line: tests do not sleep; wait for the thing itself"
done < <(find tests -name '*.py' -print0 2>/dev/null | sort -z | xargs -0 grep -HnE '\btime\.sleep\(|^from time import .*sleep' | grep -v 'a poll' |
  cut -c1-160 || true)
finish
