#!/usr/bin/env bash
# Runs every test that needs a real PostgreSQL, and starts one for them.
#   postgres.sh CONTRACT...   contract programs and clients' tests over it
#   postgres.sh               tests of a daemon whose server fails; late answers count as silence
# Programs and tests are run one after the other, and each says how many tests it counted. 77: the server's package is not there.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/engines/postgresql.sh find

folder=$(mktemp -d)
trap 'tests/engines/postgresql.sh stop "$folder/postgresql"; rm -rf "$folder"' EXIT
chmod 755 "$folder"
tests/engines/postgresql.sh start "$folder/postgresql" $((27500 + RANDOM % 2500)) # none of the ports of s3.sh, which may run beside
# shellcheck disable=SC1091 # made by the line above
. "$folder/postgresql/environment"

status=0
if [ $# = 0 ]; then
  tests/clients/run.sh tests/clients/engines/test_postgres.py || status=1
  exit $status
fi
for contract; do
  "$contract" "$CAIRN_TEST_POSTGRES?schema=*" || status=1
done
CAIRN_INDEX=postgres tests/clients/run.sh tests/clients/*/test_{device_login,fetch,claims,proof,telemetry,key_epochs,file_list,usage}.py \
  tests/clients/hub/test_hub_access.py tests/clients/hub/test_hub_accounts.py tests/clients/hub/test_hub_buckets.py tests/clients/hub/test_hub_copies.py tests/clients/hub/test_hub_events.py tests/clients/hub/test_hub_lfs.py tests/clients/hub/test_hub_pulls.py tests/clients/hub/test_hub_repos.py tests/clients/hub/test_hub_strangers.py tests/clients/hub/test_hub_stranger_files.py \
  tests/clients/engines/test_postgres_plans.py || status=1
exit $status
