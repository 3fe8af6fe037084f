"""Registers of operations, faults and rules. Each is one function or class, with its decorator."""

import importlib
import pkgutil
import threading

OPERATIONS, FAULTS = {}, {}  # name: (function or class, weight, needs)
RULES, RULES_OF_THE_END = {}, {}  # name: function


class Broken(Exception):
    """A rule does not hold. rule: its name; two failures with the same name count as the same."""

    def __init__(self, rule, what):
        super().__init__(f"{rule}: {what}")
        self.rule = rule


class Abandoned(Exception):
    """The operation cannot go on, and rightly so: its token expired when the clock jumped."""


def require(holds, rule, what):
    """Raises Broken unless the condition holds. what: text, or a function that makes it."""
    if not holds:
        raise Broken(rule, what() if callable(what) else what)


def run_at_once(functions, failures=()):
    """Runs functions without arguments, each on a thread, and waits for all of them. Raises the first of failures, a list to which the functions add
    errors."""
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def begin_thread(work, failures):
    """Begins a thread that does this work, and adds what it meets to failures. @return it"""

    def attempt():
        try:
            work()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    return thread


def operation(weight=1, needs=()):
    """Registers an operation: a function of the world and the step's random source. needs: parts of the store without which it cannot run."""

    def keep(function):
        OPERATIONS[function.__name__] = (function, weight, frozenset(needs))
        return function

    return keep


def fault(weight=1, needs=()):
    """Registers a fault: a class that is made with the world and the step's random source. Its begin(), meanwhile() and end() are called before, during and
    after the operations of a round."""

    def keep(kind):
        name = kind.__name__[0].lower() + "".join("_" + c.lower() if c.isupper() else c for c in kind.__name__[1:])
        FAULTS[name] = (kind, weight, frozenset(needs))
        return kind

    return keep


def rule(function):
    """Registers a rule: a function of the world at rest, which raises Broken."""
    RULES[function.__name__] = function
    return function


def rule_of_the_end(function):
    """Registers a rule for the store after its daemon has ended: a function of the world, which raises Broken."""
    RULES_OF_THE_END[function.__name__] = function
    return function


def load():
    for folder in ("operations", "faults", "rules"):
        package = importlib.import_module(f"world.{folder}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"world.{folder}.{module.name}")


def themes(listed):
    """Returns lists of operations, one for each file. listed: the names of the operations"""
    found = {}
    for name in listed:
        found.setdefault(OPERATIONS[name][0].__module__, []).append(name)
    return list(found.values())


def weights(listed, has):
    """Returns {name: weight} of those that a store with these parts can run."""
    return {name: weight for name, (_, weight, needs) in listed.items() if needs <= has}
