#!/usr/bin/env bash
# Tests daemons while parts of their engines fail: PostgreSQL with two standbys, one of which must confirm each commit, and Ceph
# with three copies of each object. All are plain processes here. Prints how long nothing was acknowledged. Where Patroni and
# etcd are installed (packages patroni and etcd-server), also tests PostgreSQL under Patroni. 77: the packages of the engines, or
# HAProxy, are not there.
set -euo pipefail
cd "$(dirname "$0")/../.."
for program in /usr/sbin/haproxy ceph-mon ceph-mgr ceph-osd ceph radosgw curl; do
  if ! command -v "$program" >/dev/null; then
    echo "there is no $program: install haproxy, ceph-mon, ceph-mgr, ceph-osd, ceph-common and radosgw"
    exit 77
  fi
done
tests/engines/postgresql.sh find

folder=$(mktemp -d)
trap 'tests/engines/ceph.sh stop "$folder/ceph"; tests/engines/replicas.sh stop "$folder/replicas"; tests/engines/patroni.sh stop "$folder/patroni"; rm -rf "$folder"' EXIT
chmod 755 "$folder"
tests/engines/replicas.sh start "$folder/replicas" $((20000 + RANDOM % 5000))
tests/engines/ceph.sh start "$folder/ceph" $((25000 + RANDOM % 5000)) 4
# shellcheck disable=SC1091 # made by the lines above
. "$folder/replicas/environment"
# shellcheck disable=SC1091
. "$folder/ceph/environment"
status=0
CAIRN_INDEX=postgres CAIRN_STORE=s3 tests/clients/run.sh tests/clients/engines/test_failover.py "$@" || status=$?
tests/engines/replicas.sh stop "$folder/replicas"
if command -v patroni >/dev/null && command -v etcd >/dev/null; then
  tests/engines/patroni.sh start "$folder/patroni" $((20000 + RANDOM % 5000))
  # shellcheck disable=SC1091
  . "$folder/patroni/environment"
  CAIRN_INDEX=postgres CAIRN_STORE=s3 tests/clients/run.sh tests/clients/engines/test_patroni.py "$@" || status=$?
else
  echo "there is no Patroni: install patroni and etcd-server"
fi
exit $status
