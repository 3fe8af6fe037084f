"""What must hold whenever the store is at rest. One function each: @rule in any file of this folder. What holds of every answer is in stage.py."""
