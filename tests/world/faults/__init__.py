"""Faults: what goes wrong. Each is a class with @fault() in any file of this folder."""
