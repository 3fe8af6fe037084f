"""What the world was told by the store. The oracle knows this and the contract, nothing else."""

import contextlib
import hashlib
import threading

NOTHING = None  # the value of what is not there


class Register:
    """One thing that may be written, and what it may be now. Only one operation at a time writes to it.

    values: one, when the last write was answered; the value before, too, when it was not. late: a request without an answer may still be under way
    in the daemon, so the older value is no proof that it stays.
    """

    def __init__(self, value=NOTHING):
        self.values, self.late = [value], False
        self.n_written = 0  # how often it was written, or may have been

    def certain(self):
        return len(self.values) == 1

    def value(self):
        """Only when it is certain."""
        return self.values[0]

    def wrote(self, value, answered):
        """answered: True, it is so; False: it was refused; None: nobody knows."""
        self.n_written += 1
        if answered:
            self.values, self.late = [value], False
        elif answered is None:
            self.values = [*self.values, *([value] if value not in self.values else [])]

    def saw(self, value):
        """A reader was told this. @return whether it may be so"""
        if value not in self.values:
            return False
        if not self.late or value == self.values[-1]:
            self.values, self.late = [value], False
        return True


class Memory:
    """Registers by key. A key is a tuple of texts: its first word says of what kind."""

    def __init__(self):
        self.registers, self.things, self.lock, self.taken = {}, {}, threading.Lock(), set()

    def of(self, key):
        with self.lock:
            return self.registers.setdefault(key, Register())

    def keep(self, key, thing):
        """A thing that belongs to the key: a file, a name."""
        with self.lock:
            self.things[key] = thing

    def thing(self, key):
        return self.things[key]

    def keys(self, kind, check=lambda register: True):
        with self.lock:
            return sorted(key for key, register in self.registers.items() if key[0] == kind and check(register))

    def there(self, kind):
        """Keys of what is certainly there."""
        return self.keys(kind, lambda r: r.certain() and r.value() is not NOTHING)

    @contextlib.contextmanager
    def writing(self, *keys):
        """Takes these keys for one writer. Gives False when another has one of them, or when an unanswered request may still change it."""
        with self.lock:
            free = not any(key in self.taken or (key in self.registers and self.registers[key].late) for key in keys)
            if free:
                self.taken.update(keys)
        try:
            yield free
        finally:
            if free:
                with self.lock:
                    self.taken.difference_update(keys)

    def is_taken(self, key):
        with self.lock:
            return key in self.taken

    def mark(self, key):
        """For is_same(), before a reader asks."""
        with self.lock:
            return None if key in self.taken else self.registers[key].n_written

    def is_same(self, key, mark):
        """Has nobody written to the key since the mark was made?"""
        return mark is not None and self.mark(key) == mark

    def settle(self):
        """The daemon has ended, so nothing is under way any more."""
        with self.lock:
            for register in self.registers.values():
                register.late = False


def pick(source, keys):
    """One of the keys; the same one when others are not there, so that a shorter plan does alike. None: there is none."""
    salt = source.getrandbits(64)
    return min(keys, key=lambda key: hashlib.sha256(f"{salt} {key}".encode()).digest(), default=None)
