"""The scenarios of `bench/run`, by name, in the order in which all of them run.

A scenario takes a harness.bench.Bench and yields rows: dictionaries from a column's head to its value (text, number, Spread,
Goal). The runner makes the table of them and, of the columns "rate, of X's" and "speed, of X's", the chart. RESULTS.md has a
place for the table of each: two comments, `<!-- NAME: written by bench/run -->` and `<!-- end -->`.
"""

from scenarios import cores, fair, fetch, fold, growth, hub, many, memory, mirror, packs, pages, plan, push, query, ratios, read, scale, shards, starve, tiledb, tls, verify, xorbs

SCENARIOS = {
    "verify": verify.verify,
    "query": query.query,
    "shards": shards.shards,
    "commit": shards.commit,
    "xorbs": xorbs.xorbs,
    "small_xorbs": xorbs.small_xorbs,
    "fetch": fetch.fetch,
    "download": fetch.download,
    "tls": tls.tls,
    "push": push.push,
    "pull": push.pull,
    "small": fetch.small,
    "read": read.read,
    "plan": plan.plan,
    "fair": fair.fair,
    "starve": starve.starve,
    "hub_rows": hub.hub_rows,
    "hub_heads": hub.hub_heads,
    "hub_small": hub.hub_small,
    "hub_large": hub.hub_large,
    "hub_lfs": hub.hub_lfs,
    "mirror": mirror.mirror,
    "pages": pages.pages,
    "cores": cores.cores,
    "many": many.many,
    "memory": memory.memory,
    "fold": fold.fold,
    "tiledb": tiledb.tiledb,
    "growth": growth.growth,
    "packs": packs.packs,
    "scale": scale.scale,
    "ratios": ratios.ratios,
}
