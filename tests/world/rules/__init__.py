"""Rules that must hold whenever the store is at rest. Each is a function with @rule in any file of this folder. What must hold for every answer is in
stage.py."""
