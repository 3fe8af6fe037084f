"""A world made of a seed: what clients, users and operators do, what goes wrong meanwhile, and what must hold all the same. README.md says how to add to it."""
