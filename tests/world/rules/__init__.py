"""Rules that must hold whenever the store is at rest. Each is a function with @rule in any file of this folder. Rules for every answer are in
stage.py."""
