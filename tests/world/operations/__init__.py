"""What clients, users and operators do. One function each: @operation() in any file of this folder."""
