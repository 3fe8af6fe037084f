"""A disabled account does nothing: neither its key nor a token of it is good. An enabled one goes on."""

from ..operations.accounts import DISABLED, GOOD, RULE, good_tokens, is_as_told, uses
from ..parts import require, rule


@rule
def a_disabled_account_does_nothing(world):
    for key in world.memory.keys("account", lambda r: r.values != [None]):
        guest, register = world.memory.thing(key), world.memory.of(key)
        if register.certain():
            is_as_told(world, guest, register.value())
        told = GOOD if uses(world, guest) else DISABLED
        require(register.saw(told), RULE, f"{key} is {told}, and was told to be one of {register.values}")
        for token in good_tokens(world, guest)[-1:]:
            is_as_told(world, guest, told, token)
