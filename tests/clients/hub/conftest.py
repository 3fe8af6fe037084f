"""Fixtures for the tests of the hub."""

import pytest


@pytest.fixture
def rules(tmp_path):
    """rules(text, name=token, ...) writes the file of the rules, and files of tokens beside it."""
    folder = tmp_path / "rules"
    folder.mkdir()

    def write(text, mode=0o600, **tokens):
        for name, token in tokens.items():
            (folder / name).write_text(token)
            (folder / name).chmod(mode)
        (folder / "rules").write_text(text)
        return folder / "rules"

    return write
