"""A generator of hostile arrays: every door times every function. Any result or exception will do, but no crash.

Each attribute and method answers rightly, with nonsense, with an exception, or changes the arrays of the call first.
`./dev asan_python` runs the page under the sanitizers.
"""
import itertools
import random

import numpy as np
import pytest
from hostile_test import Capsules

import cornerturn as ct

ROUNDS = 40
NONSENSE = (None, -1, 0, 1, 2**31, 10**30, 1.5, "", "a", "\ud800", b"x", (), (3,), (0, -1), ("a", 2), {}, {"shape": 3}, [], object(),
            float("nan"), True, type, lambda *_, **__: 3, (4096, (3, 4), (16, 4), 4, False), np.float32(2), np.zeros(()))


class Wild:
    """The choices of one call: a seed makes them again."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.arrays = []

    def change(self):
        for x in self.arrays:
            action = self.random.randrange(8)
            try:
                if action == 0 and np.ndarray.flags.__get__(x).writeable:  # NumPy resizes a read-only array of objects, but does not fill it
                    x.resize((self.random.randrange(40), 20), refcheck=False)
                elif action == 1:
                    x.shape = (x.size,)
                elif action == 2:
                    x.dtype = self.random.choice(["u1", "f2", "V2", "c8"])
                elif action == 3:
                    x.flags.writeable = False
                elif action == 4:
                    x.__setstate__((1, (2, 2), *self.random.choice([(np.dtype("f4"), False, bytes(16)),
                                                                    (np.dtype("u1"), True, bytes(4)),
                                                                    (np.dtype("O"), False, [1, "a", None, 2.0])])))
            except Exception:  # noqa: BLE001, S110  NumPy refuses some of them
                pass

    def answer(self, right):
        """Return what an attribute or a method answers this time."""
        chance = self.random.random()
        if chance < 0.08:
            raise self.random.choice([ValueError, TypeError, AttributeError, MemoryError, KeyError, RuntimeError])("\x1b\ud800")
        if chance < 0.2:
            self.change()
        return self.random.choice(NONSENSE) if chance > 0.9 else right()

    def capsule(self, data):
        """A capsule whose memory is there, and whose other fields are anything."""
        how = {"shape": [self.random.randrange(6) for _ in range(self.random.randrange(5))]}
        if self.random.random() < 0.5:
            how["strides"] = [self.random.randrange(7) for _ in how["shape"]]
        for field, values in {"code": range(20), "bits": (0, 1, 4, 8, 16, 32, 64, 255), "lanes": (0, 1, 2, 16), "flags": range(8),
                              "major": (0, 1, 2, 99), "device": range(16), "name": (b"used_dltensor", b"used_dltensor_versioned", b"\xff", b"", b"\x1b")}.items():
            if self.random.random() < 0.15:
                how[field] = self.random.choice(list(values))
        if self.random.random() < 0.05:
            how["ndim"] = self.random.choice([-1, 65, 2**31 - 1])
        return Capsules(data, how.pop("shape"), is_versioned=self.random.random() < 0.5, **how)


def foreign(wild, array):
    """An array of an unknown framework."""
    array = array.copy()  # its memory stays: a capsule does not see what NumPy does to its array
    data, kept = np.zeros(1 << 16, "u1"), []

    def capsule():
        kept.append(wild.capsule(data))
        return kept[-1].__dlpack__() if wild.random.random() < 0.5 else array.__dlpack__()

    class Foreign:
        ndim = property(lambda self: wild.answer(lambda: array.ndim))
        shape = property(lambda self: wild.answer(lambda: array.shape))
        dtype = property(lambda self: wild.answer(lambda: array.dtype))
        device = property(lambda self: wild.answer(lambda: "cpu"))
        __class__ = property(lambda self: wild.random.choice([Foreign, np.ndarray, int]))

        def __dlpack_device__(self):
            return wild.answer(lambda: (1, 0))

        def __dlpack__(self, **_):
            return wild.answer(capsule)

        def __array_namespace__(self):
            return wild.answer(lambda: Namespace)

    class Namespace:
        @staticmethod
        def empty(shape, **_):
            return wild.answer(lambda: foreign(wild, np.empty(shape, "f4")))

    return Foreign()


def on_cuda(wild, array):
    """Memory that claims to be on a GPU."""
    if next(one for one in ct.backends() if one["name"] == "cuda")["present"]:
        return foreign(wild, array)  # a GPU would read it

    class OnCuda:
        shape = property(lambda self: wild.answer(lambda: array.shape))

        @property
        def __cuda_array_interface__(self):
            fields = {"shape": lambda: array.shape, "typestr": lambda: array.dtype.str, "data": lambda: (array.ctypes.data, False),
                      "strides": lambda: array.strides, "version": lambda: 3, "descr": lambda: array.dtype.descr,
                      "stream": lambda: None, "mask": lambda: None}
            return wild.answer(lambda: {name: wild.answer(right) for name, right in fields.items() if wild.random.random() < 0.95})

    return OnCuda()


def derived(wild, array):
    """A class that replaces the attributes of ndarray."""

    class Derived(np.ndarray):
        shape = property(lambda self: wild.answer(lambda: array.shape))
        strides = property(lambda self: wild.answer(lambda: array.strides))
        dtype = property(lambda self: wild.answer(lambda: array.dtype))
        flags = property(lambda self: wild.answer(lambda: array.flags))

        def __getattr__(self, name):
            return wild.answer(lambda: (_ for _ in ()).throw(AttributeError(name)))

        def __array_finalize__(self, other):
            if getattr(wild, "is_armed", False):
                wild.change()

        def reshape(self, *_):
            return wild.answer(lambda: array)

    made = np.ndarray.__new__(Derived, array.shape, array.dtype)
    np.ndarray.__setitem__(made, ..., 1)
    wild.arrays.append(made)
    return made


def plain(wild, array):
    return array


DOORS = {"numpy": plain, "derived": derived, "foreign": foreign, "cuda": on_cuda}


def axes_of(wild):
    class Index:
        def __index__(self):
            return wild.answer(lambda: 0)

    def iterator():
        wild.change()
        yield wild.answer(lambda: 1)
        yield wild.answer(lambda: 0)

    return wild.random.choice([(1, 0), [1, Index()], iterator(), "a b -> b a", None, np.array([1, 0]), {1, 0}, "\ud800"])


def options(wild, door, y):
    """Keywords of one call."""
    made = {}
    for name, values in {"threads": (0, 1, -1, 2**70, "x", None), "stream": (None, None, 0, "x", object())}.items():
        if wild.random.random() < 0.1:
            made[name] = wild.random.choice(values)
    if wild.random.random() < 0.5:
        made["out"] = y
    if wild.random.random() < 0.3:
        for name, values in {"alpha": (2, 1j, "x", float("nan")), "beta": (0, 3, None), "second": (door(wild, np.ones((30, 20), "f4")), 3),
                             "dtype": ("f2", "u1", np.float64, object(), "x"), "scale": (2.0, None, np.ones(3)), "conj": (True, 3),
                             "saturate": (False, "x")}.items():
            if wild.random.random() < 0.3:
                made[name] = wild.random.choice(values)
    return made


def planned(x, axes, more):
    plan = ct.plan(x, axes, **{name: more[name] for name in ("out", "threads") if name in more})
    return plan(x, **{name: more[name] for name in ("out", "stream") if name in more})


def batched(x, axes, more):
    made = ct.batch([np.ones((3, 4), "f4"), x], axes, **{"out": [np.ones((4, 3), "f4"), more["out"]]} if "out" in more else {})
    made()
    return made()


FUNCTIONS = {
    "matrix_transpose": lambda x, axes, more: ct.matrix_transpose(x, **more),
    "permute_dims": lambda x, axes, more: ct.permute_dims(x, axes, **more),
    "rearrange": lambda x, axes, more: ct.rearrange(x, axes if isinstance(axes, str) else "a b -> b a", **more),
    "transpose_inplace_": lambda x, axes, more: ct.transpose_inplace_(x), "plan": planned, "batch": batched,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("doors", list(itertools.product(DOORS, DOORS)), ids="-".join)
def test_no_crash(doors, function):
    for seed in range(ROUNDS):
        wild = Wild(f"{doors} {function} {seed}")
        arrays = np.ones((20, 30), "f4"), np.ones((30, 20), "f4")
        x, y = (DOORS[door](wild, array) for door, array in zip(doors, arrays, strict=True))
        wild.arrays += arrays
        wild.is_armed = True
        try:
            FUNCTIONS[function](x, axes_of(wild), options(wild, DOORS[doors[1]], y))
        except Exception as found:  # noqa: BLE001
            assert "std::" not in str(found) and "has a defect" not in str(found), f"seed {seed}: {found!r}"
            str(found).encode("utf-8", "backslashreplace")
