"""A world made from a seed: the actions of clients, users and operators, faults meanwhile, and the rules that must hold nevertheless. README.md says how
to add to it."""
