"""A gate lets in the users whom its owner let in, and its lists say so."""

from ..operations.access import STATES, access_key, gate_of, reads
from ..parts import require, rule


@rule
def a_gate_lets_in_who_may(world):
    for gate in map(gate_of, world.tenants):
        if world.memory.of(("gate", gate.repo)).values != [True]:
            continue
        listed = {}
        for state in STATES:
            reply = world.ask("GET", gate.hub(f"user-access-request/{state}"), gate.key)
            require(reply.status == 200, "a_gate_lets_in_who_may", lambda reply=reply: f"{reply} {reply.body!r}")
            for request in reply.json():
                name = request["user"]["user"]
                require(name not in listed, "a_gate_lets_in_who_may", f"{gate.repo}: {name} is {listed.get(name)} and {state}")
                listed[name] = state
        for user in world.tenants:
            if user.name != gate.name:
                key, found = access_key(gate, user), listed.get(user.name)
                register = world.memory.of(key)
                require(register.saw(found), "a_gate_lets_in_who_may", lambda key=key, found=found, register=register: f"{key} is {found}, was told {register.values}")
                may = reads(world, gate, user)
                require(may == (found == "accepted"), "a_gate_lets_in_who_may", f"{key} is {found}, and reads: {may}")
