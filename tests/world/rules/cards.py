"""A list finds a repository by the tag of its card."""

from ..operations.cards import card_of, tags_found
from ..parts import require, rule


@rule
def a_list_follows_the_card(world):
    for card in map(card_of, world.tenants):
        register = world.memory.of(("card", card.repo))
        if register.values != [None]:
            found = tags_found(world, card, card.key)
            possible = [[value] if value else [] for value in register.values]
            require(found in possible, "a_list_follows_the_card", f"{card.repo} is found by {found}, was told {register.values}")
