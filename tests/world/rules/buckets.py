"""A bucket is as its last answered change left it, when its tenant reads it."""

from ..operations.buckets import bucket_of, tree_of_bucket
from ..parts import require, rule


@rule
def a_bucket_is_what_was_last_answered(world):
    for key in world.memory.keys("bucket", lambda r: r.values != [None]):
        tenant = next(t for t in world.tenants if bucket_of(t).repo == key[1])
        found, register = tree_of_bucket(world, bucket_of(tenant)), world.memory.of(key)
        require(register.saw(found), "a_bucket_is_what_was_last_answered", lambda key=key, found=found, register=register: f"{key} is {found}, and was told to be one of {register.values}")
