"""The PostgreSQL server of the engines' tests (tests/engines/postgresql.sh)."""

import os
import subprocess

import cairn

FOLDER = os.environ.get("CAIRN_TEST_POSTGRES_FOLDER")
SCRIPT = cairn.ROOT / "tests/engines/postgresql.sh"


def engine(*command):
    done = subprocess.run([SCRIPT, command[0], FOLDER, *command[1:]], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def sql(statement):
    return engine("sql", statement).strip()
