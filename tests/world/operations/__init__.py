"""Operations: what clients, users and operators do. Each is a function with @operation() in any file of this folder."""
