"""pyfolds, the program from which the FOLD format comes. Its package imports torch, which the containers do not use. An empty module in place of torch
saves two gigabytes; no code of the containers is replaced."""

import importlib.metadata
import importlib.util
import sys
import types
from pathlib import Path


def empty_module(name):
    class Empty(types.ModuleType):
        def __getattr__(self, attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return type(attribute, (), {})

    sys.modules[name] = Empty(name)


def load():
    assert importlib.metadata.version("pyfolds") == "1.0.2"
    for name in ("torch", "numpy"):
        if importlib.util.find_spec(name) is None:
            empty_module(name)
    # The packages' own __init__ would load the neural networks.
    root = Path(importlib.util.find_spec("pyfolds").origin).parent
    for name, path in (("pyfolds", root), ("pyfolds.serialization", root / "serialization")):
        package = types.ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
    # For signatures only. Its search for this library fails on versions newer than itself.
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "cryptography"}
    sys.modules["cryptography"] = None
    try:
        import pyfolds.serialization.ecc as ecc
        import pyfolds.serialization.foldio as foldio
    finally:
        del sys.modules["cryptography"]
        sys.modules.update(hidden)
    return foldio, ecc


foldio, ecc = load()
