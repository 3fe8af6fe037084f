"""Operations of clients, users and operators. Each is a function with @operation() in any file of this folder."""
