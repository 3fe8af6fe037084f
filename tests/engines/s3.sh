#!/usr/bin/env bash
# Runs every test that needs a real S3 service, and starts one by the script that SERVICE names, ceph or garage.
#   s3.sh SERVICE STORE_CONTRACT S3_CONTRACT    contract programs and clients' tests over it. If PostgreSQL is installed, too, some tests have
#                                               their index there
#   s3.sh SERVICE BUILD-FOLDER                  tests of a daemon whose service fails, where late answers count as silence; and what the bench
#                                               says of it
# Programs and tests are run one after the other, and each says how many it counted. 77: the programs of the service are not there.
set -euo pipefail
cd "$(dirname "$0")/../.."
service=$1
shift
tests/engines/"$service".sh find

folder=$(mktemp -d)
trap 'tests/engines/"$service".sh stop "$folder/s3"; tests/engines/postgresql.sh stop "$folder/postgresql"; rm -rf "$folder"' EXIT
tests/engines/"$service".sh start "$folder/s3" $((20000 + RANDOM % 5000))
# shellcheck disable=SC1091 # made by the line above
. "$folder/s3/environment"

start_postgresql() {
  chmod 755 "$folder"
  tests/engines/postgresql.sh start "$folder/postgresql" $((25000 + RANDOM % 2500))
  # shellcheck disable=SC1091 # made by the line above
  . "$folder/postgresql/environment"
}

status=0
if [ $# = 1 ]; then
  tests/clients/run.sh tests/clients/engines/test_s3.py tests/clients/engines/test_s3_instance.py || status=1
  if [ "$service" = ceph ] && tests/engines/postgresql.sh find; then
    start_postgresql # the bench leaves out what has no engines
    bench/run "$1" --brief scale || status=1
  fi
  exit $status
fi
"$1" "s3://cairn/contract*?endpoint=$CAIRN_TEST_S3" || status=1
"$2" "s3://cairn/client*?endpoint=$CAIRN_TEST_S3" || status=1
CAIRN_STORE=s3 tests/clients/run.sh tests/clients/xet/test_hf_xet.py tests/clients/xet/test_fetch.py || status=1
CAIRN_STORE=s3-fetch tests/clients/run.sh tests/clients/xet/test_hf_download.py -k "whole_files or streams" || status=1
tests/clients/run.sh tests/clients/engines/test_s3_changes.py || status=1
# Tests that need both engines.
if tests/engines/postgresql.sh find; then
  start_postgresql
  CAIRN_INDEX=postgres CAIRN_STORE=s3 tests/clients/run.sh tests/clients/*/test_{cluster,cluster_clock,cluster_hub,cluster_jobs,cluster_mirror,cluster_races,cluster_commands,left_overs}.py || status=1
  CAIRN_INDEX=postgres tests/clients/run.sh tests/clients/engines/test_s3_changes.py || status=1
  tests/clients/run.sh tests/clients/operate/test_move.py || status=1
  if command -v /usr/sbin/haproxy >/dev/null; then
    CAIRN_DAEMONS=3 CAIRN_INDEX=postgres CAIRN_STORE=s3 tests/clients/run.sh tests/clients/*/test_{hf_xet,fetch,claims,hub_accounts,hub_repos,hub_buckets,hub_lfs}.py || status=1
  fi
  CAIRN_INDEX=postgres CAIRN_STORE=s3-fetch tests/clients/run.sh tests/clients/xet/test_hf_download.py -k "whole_files or streams" || status=1
fi
exit $status
