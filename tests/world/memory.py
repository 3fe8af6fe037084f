"""What the world knows of the store from its answers. Rules judge only by this and by the contract."""

import contextlib
import hashlib
import threading

NOTHING = None  # the value of a thing that does not exist


class Register:
    """One thing that may be written, and the values that it may have now. Only one operation at a time writes to it.

    values: one value if the last write was answered, else also the former ones. late: a request without an answer may still be under way in the daemon, so
    reading the older value does not prove that it stays."""

    def __init__(self, value=NOTHING):
        self.values, self.late = [value], False
        self.n_written = 0  # the number of writes, including those that may not have happened

    def certain(self):
        return len(self.values) == 1

    def value(self):
        """The value, if it is certain."""
        return self.values[0]

    def wrote(self, value, answered):
        """Notes a write. answered: True, it is done; False: it was refused; None: nobody knows."""
        self.n_written += 1
        if answered:
            self.values, self.late = [value], False
        elif answered is None:
            self.values = [*self.values, *([value] if value not in self.values else [])]

    def saw(self, value):
        """Notes that a reader saw this value. @return whether that is possible"""
        if value not in self.values:
            return False
        if not self.late or value == self.values[-1]:
            self.values, self.late = [value], False
        return True


class Memory:
    """Registers by key. A key is a tuple of texts, of which the first names the kind."""

    def __init__(self):
        self.registers, self.things, self.lock, self.taken = {}, {}, threading.Lock(), set()

    def of(self, key):
        with self.lock:
            return self.registers.setdefault(key, Register())

    def keep(self, key, thing):
        """Stores an object that belongs to the key: a file, a name."""
        with self.lock:
            self.things[key] = thing

    def thing(self, key):
        return self.things[key]

    def keys(self, kind, check=lambda register: True):
        with self.lock:
            return sorted(key for key, register in self.registers.items() if key[0] == kind and check(register))

    def there(self, kind):
        """Returns the keys of things that certainly exist."""
        return self.keys(kind, lambda r: r.certain() and r.value() is not NOTHING)

    @contextlib.contextmanager
    def writing(self, *keys):
        """Reserves these keys for one writer. Yields False if another writer has one of them, or if an unanswered request may still change one."""
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

    @contextlib.contextmanager
    def changing(self, key):
        """Reserves a key for one writer. Yields its register, or None if the key is not free or if its value is not certain."""
        with self.writing(key) as free:
            register = self.of(key)
            yield register if free and register.certain() else None

    def is_taken(self, key):
        with self.lock:
            return key in self.taken

    def mark(self, key):
        """Returns a mark for is_same(), to be made before a read."""
        with self.lock:
            return None if key in self.taken else self.registers.get(key, Register()).n_written

    def is_same(self, key, mark):
        """Has nobody written to the key since the mark was made?"""
        return mark is not None and self.mark(key) == mark

    def saw_since(self, key, mark, value):
        """Notes that a reader saw this value, if nobody has written to the key since the mark. @return whether the value is possible"""
        with self.lock:
            register = self.registers.get(key, Register())
            changed = mark is None or key in self.taken or register.n_written != mark
            return changed or register.saw(value)

    def settle(self):
        """Notes that nothing is under way any more. Call this when the daemon has ended."""
        with self.lock:
            for register in self.registers.values():
                register.late = False


def pick(source, keys):
    """Picks one of the keys, or None if there is none. Removing other keys does not change the choice, so a shortened plan does the same."""
    salt = source.getrandbits(64)
    return min(keys, key=lambda key: hashlib.sha256(f"{salt} {key}".encode()).digest(), default=None)
