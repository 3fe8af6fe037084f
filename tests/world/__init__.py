"""A world made from a seed: what clients, users and operators do, what goes wrong meanwhile, and the rules that must hold nevertheless. README.md says how
to add to it."""
