"""Objects that change during a call, deceive or raise: each ends in the right result or in one sentence."""
import ctypes
import itertools
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import same_bits, unique

import cornerturn as ct

SENTENCES = (ValueError, TypeError)


def in_a_process(text, *, seconds=120):
    """Run Python code in a process of its own: a crash there is a failure here."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0 and done.stderr == "", f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


# ---- objects that change in the middle of a call ----

def resized(x):
    x.resize((20, 20), refcheck=False)


def reshaped(x):
    x.shape = (x.size,)


def retyped(x):
    x.dtype = "f2"


def locked(x):
    x.flags.writeable = False


def emptied(x):
    x.__setstate__((1, (0, 0), np.dtype("f4"), False, b""))


def of_objects(x):
    x.__setstate__((1, (1, 1), np.dtype("O"), False, [3]))


CHANGES = [resized, reshaped, retyped, emptied, of_objects]


class Axis:
    """An integer that runs code when it is asked for its value."""

    def __init__(self, value, code):
        self.value, self.code = value, code

    def __index__(self):
        self.code()
        return self.value


def axes_that_run(code):
    def generator():
        code()
        yield 1
        yield 0

    class Sequence:
        def __len__(self):
            return 2

        def __getitem__(self, k):
            code()
            return (1, 0)[k]

    return {"generator": generator(), "index": (1, Axis(0, code)), "list": [1, Axis(0, code)], "sequence": Sequence()}


@pytest.mark.parametrize("how", ["generator", "index", "list", "sequence"])
@pytest.mark.parametrize("change", CHANGES)
def test_x_changes_while_the_axes_are_read(change, how):
    x = np.ones((300, 400), "f4")
    try:
        y = ct.permute_dims(x, axes_that_run(lambda: change(x))[how])
    except SENTENCES:
        return
    assert same_bits(y, np.ascontiguousarray(x.T))


@pytest.mark.parametrize("how", ["generator", "index", "list", "sequence"])
@pytest.mark.parametrize("change", [*CHANGES, locked])
def test_out_changes_while_the_axes_are_read(change, how):
    x, out = np.ones((300, 400), "f4"), np.zeros((400, 300), "f4")
    try:
        ct.permute_dims(x, axes_that_run(lambda: change(out))[how], out=out)
    except SENTENCES:
        return
    assert same_bits(out, np.ascontiguousarray(x.T))


def filled(kind, shape, value):
    """An array of a class that owns its memory, so that it can be resized."""
    made = np.ndarray.__new__(kind, shape, "f4")
    made[...] = value
    return made


@pytest.mark.parametrize("change", CHANGES)
def test_attributes_change_arrays(change):
    """NumPy's own attributes are not asked; a class may be asked whether it has a mask."""
    victims = []

    class Changing(np.ndarray):
        def __getattr__(self, name):
            while victims:
                change(victims.pop())
            raise AttributeError(name)

    for call in (lambda x, y: ct.matrix_transpose(x, out=y), lambda x, y: ct.matrix_transpose(x), lambda x, y: ct.plan(x, out=y),
                 lambda x, y: ct.batch([x], out=[y])(), lambda x, y: ct.matrix_transpose(x, out=y, alpha=2),
                 lambda x, y: ct.transpose_inplace_(x)):
        for victim in (0, 1):
            arrays = filled(Changing, (300, 400), 1), filled(Changing, (400, 300), 0)
            victims[:] = [arrays[victim]]
            try:
                call(*arrays)
            except SENTENCES:
                continue


def test_a_class_replaces_reshape():
    whole = np.arange(12.0).reshape(3, 4)
    wanted = np.ascontiguousarray(whole.T)

    class Reshaping(np.ndarray):
        def reshape(self, *_):
            raise AssertionError("reshape of the class")

    y = ct.transpose_inplace_(whole.view(Reshaping))
    assert np.array_equal(y, wanted) and np.shares_memory(y, whole)


@pytest.mark.parametrize("change", CHANGES)
def test_a_class_changes_x_when_a_view_is_made(change):
    class Finalizing(np.ndarray):
        armed = False

        def __array_finalize__(self, other):
            if Finalizing.armed:
                Finalizing.armed = False
                change(other)

    x = filled(Finalizing, (300, 400), 1)
    Finalizing.armed = True
    try:
        ct.transpose_inplace_(x)
    except SENTENCES:
        return
    assert change is retyped  # has equal bytes


def test_a_warning_about_writes_runs_code(monkeypatch):
    """NumPy warns before a write to some views, and a filter of warnings may run anything."""
    import warnings
    x, small = np.ones((4, 3), "f4"), np.zeros((3, 1), "f4")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: resized(x))
        out = np.broadcast_arrays(small, np.zeros((3, 4), "f4"))[0]
        with pytest.raises(SENTENCES):
            ct.matrix_transpose(x, out=out)


@pytest.mark.parametrize("function", ["permute_dims", "plan", "batch"])
def test_axes_without_an_end(function):
    x = np.ones((3, 4), "f4")
    call = {"permute_dims": ct.permute_dims, "plan": ct.plan, "batch": lambda x, axes: ct.batch([x], axes)}[function]
    with pytest.raises(ValueError, match="axes has more than 64 entries"):
        call(x, itertools.repeat(0))


def test_axes_are_read_once():
    xs = [unique((3, 4), "f4"), unique((5, 6), "f4")]
    assert all(same_bits(y, np.ascontiguousarray(x.T)) for x, y in zip(xs, ct.batch(xs, iter((1, 0)))(), strict=True))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError, TypeError("of the iterator")])
def test_errors_of_python_pass(error):
    def axes():
        yield 1
        raise error

    with pytest.raises(error if isinstance(error, type) else TypeError, match=None if isinstance(error, type) else "of the iter"):
        ct.permute_dims(np.ones((3, 4)), axes())


# ---- objects that deceive ----

def test_arrays_that_deceive():
    class Deceiving(np.ndarray):
        shape = property(lambda self: (5000, 5000))
        strides = property(lambda self: (40000, 8))
        ndim = property(lambda self: 2)
        dtype = property(lambda self: np.dtype("f8"))
        itemsize = property(lambda self: 8)
        data = property(lambda self: 0)
        ctypes = property(lambda self: 0)
        __array_interface__ = property(lambda self: {"shape": (5000, 5000), "typestr": "<f8", "data": (4096, False)})

    x = np.arange(12, dtype="f4").reshape(3, 4)
    deceiving = x.view(Deceiving)
    assert same_bits(ct.matrix_transpose(deceiving), np.ascontiguousarray(x.T))
    assert same_bits(ct.plan(deceiving)(deceiving), np.ascontiguousarray(x.T))
    out = np.zeros((4, 3), "f4")
    ct.matrix_transpose(x, out=out.view(Deceiving))
    assert same_bits(out, np.ascontiguousarray(x.T))
    for call in (lambda: ct.matrix_transpose(deceiving, alpha=2), lambda: ct.matrix_transpose(x, alpha=2, out=out.view(Deceiving)),
                 lambda: ct.matrix_transpose(x, beta=1, second=out.view(Deceiving)), lambda: ct.batch([deceiving])()):
        try:
            call()
        except SENTENCES:
            continue


def test_a_class_that_says_it_is_an_array():
    class Says:
        __class__ = np.ndarray
        shape, strides, ndim, dtype, itemsize = (100, 100), (800, 8), 2, np.dtype("f8"), 8
        flags = np.ones(1).flags
        __array_interface__ = {"shape": (100, 100), "typestr": "<f8", "data": (4096, False), "version": 3}  # noqa: RUF012

    says, x = Says(), np.ones((100, 100))
    assert isinstance(says, np.ndarray)
    for call in (lambda: ct.matrix_transpose(says), lambda: ct.matrix_transpose(says, alpha=2),
                 lambda: ct.matrix_transpose(x, out=says), lambda: ct.matrix_transpose(x, alpha=2, out=says),
                 lambda: ct.matrix_transpose(x, beta=1, second=says), lambda: ct.transpose_inplace_(says), lambda: ct.plan(says),
                 lambda: ct.plan(x, out=says), lambda: ct.batch([says]), lambda: ct.batch([x], out=[says])):
        with pytest.raises(TypeError, match="Wanted: "):
            call()


class Axes65:
    ndim = 10**30
    shape = (1, 2)


def test_numbers_beyond_an_int():
    for call in (lambda: ct.matrix_transpose(Axes65()), lambda: ct.matrix_transpose(Axes65(), alpha=2)):
        with pytest.raises(ValueError, match="axes, wanted 64 or fewer"):
            call()
    x = np.ones((3, 4))
    for number in (2**31 - 1, 2**31, -2**31, 2**63, -2**63 - 1, 10**30):
        with pytest.raises(ValueError, match=rf"axes\[1\] is {number}, wanted -2 to 1"):
            ct.permute_dims(x, (0, number))
    with pytest.raises(ValueError, match=r"axes\[1\] is int, wanted"):  # Python refuses to print it
        ct.permute_dims(x, (0, 10**5000))


class Surrogate:
    """Text that has no UTF-8."""

    def __index__(self):
        return 99

    def __str__(self):
        return "\ud800"


Strange = type("\x1b]0;x\a", (), {"__module__": "\ud800", "__repr__": lambda self: "\x1b[2J\n\ud800" + 999 * "x"})


@pytest.mark.parametrize("call,sentence", [
    (lambda x: ct.permute_dims(x, (Surrogate(), 0)), r"axes\[0\] is 99, wanted -2 to 1"),
    (lambda x: ct.permute_dims(x, (Strange(), 0)), r"axes\[0\] is a \\ud800"),
    (lambda x: ct.matrix_transpose(x, **{"\ud800": 1}), r"has no keyword argument '\\ud800'"),
    (lambda x: ct.matrix_transpose(x, **{"\x1b[2J": 1}), r"has no keyword argument '\\x1b\[2J'"),
    (lambda x: ct.matrix_transpose(Strange()), r"x is a \\ud800.\\x1b\]0;x\\x07\. Wanted"),
    (lambda x: ct.matrix_transpose(Strange(), alpha=2), r"x is a \\ud800.\\x1b\]0;x\\x07\. Wanted"),
    (lambda x: ct.matrix_transpose(x, alpha=Strange()), r"alpha is a \\ud800.\\x1b\]0;x\\x07\. Wanted"),
    (lambda x: ct.matrix_transpose(x, beta=1, second=Strange()), r"second is a \\ud800.\\x1b\]0;x\\x07, but"),
    (lambda x: ct.matrix_transpose(x, dtype=Strange()), r"dtype is \\x1b\[2J\\x0a\\ud800x*\.\.\.\. Wanted"),
    (lambda x: ct.matrix_transpose(x, dtype="\x1b[2J"), r"dtype is '\\x1b\[2J'\. Wanted"),
    (lambda x: ct.batch([Strange()]), r"x is a \\ud800.\\x1b\]0;x\\x07\. Wanted"),
    (lambda x: ct.batch(Strange()), r"xs is a \\ud800.\\x1b\]0;x\\x07\. Wanted"),
    (lambda x: ct.rearrange(x, "a\0 b -> b a\0"), r"in which 'a\\x00' is not the name of an axis"),
    (lambda x: ct.rearrange(x, "\ud800 -> \ud800"), r"pattern is '\\ud800 -> \\ud800', which has lone surrogates"),
    (lambda x: ct.rearrange(x, "a b -> b \x1b[2J\u202e"), r"'\\x1b\[2J\\u202e'"),
    (lambda x: ct.rearrange(x, "a " * 10**6 + "-> a"), "with 'a' twice on one side"),
    (lambda x: ct.plan(x, kernel="\ud800"), r"kernel is '\\ud800'"),
    (lambda x: ct.plan(x, kernel="cpu_copy\0x"), r"kernel is 'cpu_copy\\x00x', which has a NUL"),
])
def test_text_is_escaped(call, sentence):
    with pytest.raises(SENTENCES, match=sentence) as found:
        call(np.ones((3, 4)))
    assert len(str(found.value)) < 2000 and str(found.value).isprintable()


@pytest.mark.parametrize("dtype", ["V0", [], "S0", "U0"])
def test_elements_of_no_byte(dtype):
    x = np.zeros((3, 4), "V8").view([("a", np.dtype(dtype)), ("b", "V8")])["a"] if dtype in ("S0", "U0") else np.zeros((3, 4), dtype)
    assert ct.matrix_transpose(x).shape == (4, 3)
    plan = ct.plan(x)
    assert plan.bytes_moved == 0 and plan(x).shape == (4, 3)
    assert ct.batch([x])()[0].shape == (4, 3)
    assert ct.transpose_inplace_(x.copy()).shape == (4, 3)


@pytest.mark.parametrize("stride", [2**62, -2**63, -2**62, 2**63 - 1])
def test_enormous_strides(stride):
    """An axis of extent 1 has no stride."""
    x = np.lib.stride_tricks.as_strided(np.ones((1, 4), "f4"), (1, 4), (stride, 4))
    assert same_bits(ct.matrix_transpose(x), np.ones((4, 1), "f4"))
    assert same_bits(ct.matrix_transpose(x, alpha=2), np.full((4, 1), 2, "f4"))
    assert same_bits(ct.batch([x])()[0], np.ones((4, 1), "f4"))
    far = np.lib.stride_tricks.as_strided(np.ones((2, 4), "f4"), (2, 4), (stride, 4))  # outside of all memory
    for call in (ct.plan, lambda x: ct.plan(x, out=np.zeros((4, 2), "f4"))):
        try:
            call(far)
        except ValueError:
            continue


# ---- capsules of DLPack, made by hand ----

class Tensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64))


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor))


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Capsules:
    """An array of bytes that says anything about itself in a capsule, old or versioned."""

    def __init__(self, data, shape, *, code=2, bits=32, lanes=1, strides=None, is_versioned=False, ndim=None, flags=0,
                 major=1, device=1, name=None, no_shape=False):
        self.data, self.shape, self.ndim = data, shape, len(shape)
        array = ctypes.c_int64 * max(len(shape), 1)
        self.extents, self.strides = array(*shape), array(*strides) if strides else None
        tensor = Tensor(None if data is None else data.ctypes.data, device, 0, len(shape) if ndim is None else ndim, code, bits, lanes)
        if not no_shape:
            tensor.shape = self.extents
        if self.strides is not None:
            tensor.strides = self.strides
        self.held = Versioned(major, 0, None, None, flags, tensor) if is_versioned else Managed(tensor, None, None)
        self.name = name or (b"dltensor_versioned" if is_versioned else b"dltensor")

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        return new_capsule(ctypes.addressof(self.held), self.name, None)


@pytest.mark.parametrize("is_versioned", [False, True])
def test_capsules_made_by_hand(is_versioned):
    x, out = unique((4, 6), "f4"), np.zeros((6, 4), "f4")
    ct.matrix_transpose(Capsules(x, (4, 6), is_versioned=is_versioned), out=Capsules(out, (6, 4), is_versioned=is_versioned))
    assert same_bits(out, np.ascontiguousarray(x.T))
    ct.plan(Capsules(x, (4, 6)))(Capsules(x[::-1].copy(), (4, 6), strides=(6, 1)), out=Capsules(out, (6, 4)))
    assert same_bits(out, np.ascontiguousarray(x[::-1].T))


@pytest.mark.parametrize("is_versioned", [False, True])
@pytest.mark.parametrize("code,bits,lanes", [(0, 4, 1), (1, 4, 1), (0, 1, 1), (0, 2, 1), (0, 12, 1), (6, 1, 1), (17, 4, 1),
                                             (17, 4, 2), (15, 6, 1), (2, 32, 2), (2, 32, 4), (0, 4, 2), (2, 8, 0), (2, 0, 1),
                                             (3, 64, 1), (99, 3, 1)])
def test_elements_that_cannot_be_moved(code, bits, lanes, is_versioned):
    """A byte of them holds several elements, or an element holds several values or a reference."""
    data, guarded = np.zeros(4096, "u1"), np.full(4096, 0xA5, "u1")
    how = {"code": code, "bits": bits, "lanes": lanes, "is_versioned": is_versioned}
    x, out = Capsules(data, (4, 6), **how), Capsules(guarded, (6, 4), **how)
    for call in (lambda: ct.permute_dims(x, (1, 0), out=out), lambda: ct.plan(x), lambda: ct.plan(x, out=out)):
        with pytest.raises(TypeError, match="x has dtype .*Wanted: "):
            call()
    with pytest.raises(TypeError, match="out has dtype .*Wanted: "):
        ct.permute_dims(Capsules(data, (4, 6), code=0, bits=8), (1, 0), out=out)
    assert (guarded == 0xA5).all()


@pytest.mark.parametrize("how,sentence", [
    ({"ndim": -1}, "x has -1 axes, wanted 64 or fewer"), ({"ndim": 2**31 - 1}, "x has 2147483647 axes, wanted 64 or fewer"),
    ({"ndim": 65}, "x has 65 axes"), ({"no_shape": True}, "the DLPack capsule of x has no shape"),
    ({"device": 7}, "x is on a device of DLPack type 7"), ({"device": 99}, "x is on a device of DLPack type 99"),
    ({"major": 2, "is_versioned": True}, "the DLPack capsule of x has version 2, wanted 1"),
    ({"name": b"\x1b[2J"}, r"__dlpack__ of x returned the capsule '\\x1b\[2J'. Wanted: a capsule of a tensor"),
    ({"name": b"used_dltensor"}, "__dlpack__ of x returned a capsule that was used before"),
    ({"strides": (2**62, 1)}, "stride of 2\\^63 bytes or more"), ({"strides": (-2**61, 1)}, "stride of 2\\^63 bytes or more"),
    ({"ndim": 1}, "but x has 1 axis"), ({"data": None}, "x has elements, but no memory"),
    ({"shape": (-4, 6)}, "x has extent -4, wanted 0 or more"), ({"shape": (2**62, 2**62)}, "x has 2\\^63 bytes or more"),
])
def test_capsules_that_are_refused(how, sentence):
    how = {"data": np.zeros((4, 6), "f4"), "shape": (4, 6), **how}
    with pytest.raises(SENTENCES, match=sentence):
        if how["shape"] == (4, 6):
            ct.permute_dims(Capsules(**how), (1, 0), out=Capsules(np.zeros((6, 4), "f4"), (6, 4)))
        ct.plan(Capsules(**how))


def test_a_read_only_out():
    x, out = unique((4, 6), "f4"), np.zeros((6, 4), "f4")
    with pytest.raises(ValueError, match="^out is read-only$"):
        ct.matrix_transpose(Capsules(x, (4, 6)), out=Capsules(out, (6, 4), is_versioned=True, flags=1))
    ct.matrix_transpose(Capsules(x, (4, 6), is_versioned=True, flags=1), out=Capsules(out, (6, 4)))
    assert same_bits(out, np.ascontiguousarray(x.T))


@pytest.mark.parametrize("found", [(12345, (4, 6), (24, 4), 4, False), {"shape": (4, 6)}, None, 3, np.zeros((4, 6)), "capsule"],
                         ids=lambda value: type(value).__name__)
def test_only_capsules_come_from_dlpack(found):
    class Returns:
        ndim, shape = 2, (4, 6)

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            return found

    with pytest.raises(TypeError, match="returned a .*Wanted: a capsule of a tensor"):
        ct.matrix_transpose(Returns(), out=np.zeros((6, 4)))
    with pytest.raises(TypeError, match="returned a .*Wanted: a capsule of a tensor"):
        ct.plan(Returns())


def test_a_capsule_is_used_once():
    x = np.ones((4, 6), "f4")

    class Same:
        ndim, shape, capsule = 2, (4, 6), x.__dlpack__()

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            return self.capsule

    out = np.zeros((6, 4), "f4")
    ct.matrix_transpose(Same(), out=out)
    with pytest.raises(TypeError, match="returned a capsule that was used before. Wanted: a new one"):
        ct.matrix_transpose(Same(), out=out)


def test_capsules_do_not_leak():
    x, out = np.ones((30, 40), "f4"), np.zeros((40, 30), "f4")

    class Foreign:
        def __init__(self, array):
            self.array, self.shape, self.ndim = array, array.shape, array.ndim

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

    before = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(5):
        ct.matrix_transpose(Foreign(x), out=Foreign(out))
        with pytest.raises(ValueError):
            ct.matrix_transpose(Foreign(x), out=Foreign(x))
    assert (sys.getrefcount(x), sys.getrefcount(out)) == before


# ---- array interfaces ----

class OnCuda:
    def __init__(self, typestr="<f4", shape=(3, 4), data=(4096, False), **more):
        self.shape = shape if isinstance(shape, tuple) else (3, 4)
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": data, "version": 3, **more}


@pytest.mark.parametrize("x,out,kind,sentence", [
    ({}, {"data": (8192, True)}, ValueError, "^out is read-only$"),
    ({}, {"typestr": "<i4"}, ValueError, "out and x have different element types, int32 and float32. Wanted: equal types"),
    ({}, {"typestr": "|V4"}, ValueError, "different element types, V4 and float32"),
    ({}, {"typestr": ">f4"}, ValueError, "different element types, >f4 and float32"),
    ({"typestr": "<M8[ns]"}, {"typestr": "<M8[s]"}, ValueError, r"types, M8\[s\] and M8\[ns\]"),
    ({"typestr": "|V8", "descr": [("a", "<f8")]}, {"typestr": "|V8", "descr": [("a", "<i8")]}, ValueError, "different element types"),
    ({"typestr": "<M8[\x1b]"}, {}, TypeError, r"x has typestr '<M8\[\\x1b\]'. Wanted: a type of NumPy"),
    ({"typestr": "<f4[ns]"}, {}, TypeError, "x has typestr"), ({"typestr": "<f3"}, {}, TypeError, "x has typestr"),
    ({"typestr": "<f-4"}, {}, TypeError, "x has typestr"), ({"typestr": "f4"}, {}, TypeError, "x has typestr"),
    ({"typestr": ""}, {}, TypeError, "x has typestr"), ({"typestr": "<f4\0"}, {}, TypeError, r"x has typestr '<f4\\x00'"),
    ({"typestr": "<f99999999999999999999"}, {}, TypeError, "x has typestr"), ({"typestr": 3}, {}, TypeError, "typestr of x is a int"),
    ({"typestr": "\ud800"}, {}, ValueError, r"typestr is '\\ud800', which has lone surrogates"),
    ({"typestr": "|O8"}, {}, TypeError, "x has dtype O8, whose elements refer to Python objects"),
    ({"typestr": "|V8", "descr": [("a", "|O8")]}, {}, TypeError, "whose elements refer to Python objects"),
    ({"typestr": "<t4"}, {}, TypeError, "x has dtype bit field of 4 bits, whose elements have 4 bits"),
    ({"shape": (3, -4)}, {}, ValueError, "x has extent -4"), ({"shape": (3, 2**64)}, {}, ValueError, "x has an extent of 2\\^63 or more"),
    ({"shape": "ab"}, {}, TypeError, "shape of x is a str"), ({"shape": (3, 4.0)}, {}, TypeError, r"shape\[1\] of x is a float"),
    ({"strides": (16,)}, {}, ValueError, "x has 1 strides and 2 axes"), ({"strides": (16, 2**70)}, {}, ValueError, "x has a stride of"),
    ({"data": 4096}, {}, TypeError, "data of x is a int"), ({"data": (-1, False)}, {}, ValueError, "the address of x is -1"),
    ({"data": (2**64, False)}, {}, ValueError, "the address of x is 18446744073709551616"),
    ({"data": (None, False)}, {}, TypeError, "the address of x is a NoneType|the address of x"),
    ({"mask": 1}, {}, TypeError, "x is an array with a mask, which would be lost"), ({"typestr": None}, {}, ValueError, "has no typestr"),
])
def test_cuda_array_interface(x, out, kind, sentence):
    with pytest.raises(kind, match=sentence):
        ct.permute_dims(OnCuda(**x), (0, 1), out=OnCuda(**out))


def test_interfaces_that_are_no_dict():
    for found in (3, "a", [("shape", (3, 4))]):
        x = OnCuda()
        x.__cuda_array_interface__ = found
        with pytest.raises(TypeError, match="Wanted: a dict"):
            ct.permute_dims(x, (0, 1), out=OnCuda())


class Stream:
    def __init__(self, found):
        self.found = found

    def __cuda_stream__(self):
        return self.found


@pytest.mark.parametrize("stream", [-1, 2**64, 10**30, Stream(3), Stream(()), Stream((0, -1)), Stream((0, "x")), Stream(None)])
def test_streams_that_are_refused(stream):
    with pytest.raises(SENTENCES, match="stream is .*[Ww]anted"):
        ct._core._stream_handle(stream)


# ---- batches ----

def test_a_batch_looks_at_its_arrays_again():
    def made():
        x, out = unique((30, 40), "f4").copy(), np.zeros((40, 30), "f4")
        return x, out, ct.batch([unique((3, 4), "f4"), x], out=[np.zeros((4, 3), "f4"), out])

    x, out, batch = made()
    batch()
    locked(out)
    with pytest.raises(ValueError, match="^item 1: out is read-only$"):
        batch()
    out.flags.writeable = True
    assert same_bits(batch()[1], np.ascontiguousarray(x.T))
    for change in CHANGES:
        for which in (0, 1):
            arrays = made()
            change(arrays[which])
            with pytest.raises(SENTENCES, match="^item 1: "):
                arrays[2]()


def test_a_batch_counts_its_references():
    x = unique((30, 40), "f4")
    before = sys.getrefcount(x)
    for _ in range(5):
        ct.batch([x])()
        with pytest.raises(ValueError):
            ct.batch([x], out=[x])
    assert sys.getrefcount(x) == before


# ---- arithmetic ----

def test_second_is_checked_without_its_use():
    x = np.ones((3, 4), "f4")
    with pytest.raises(ValueError, match=r"second has shape \(7, 7, 7\), wanted \(4, 3\)"):
        ct.matrix_transpose(x, second=np.ones((7, 7, 7), "f4"), beta=0)
    with pytest.raises(TypeError, match="second is a str, but x is a numpy.ndarray"):
        ct.matrix_transpose(x, second="nonsense", beta=0)
    assert same_bits(ct.matrix_transpose(x, second=np.ones((4, 3), "f4"), beta=0), np.ones((4, 3), "f4"))


def test_the_second_array_is_blamed():
    x, whole = np.ones((3, 4), "f4"), np.zeros(30, "f4")
    with pytest.raises(ValueError, match="^second and out share memory, wanted separate arrays"):
        ct.matrix_transpose(x, out=whole[:12].reshape(4, 3), beta=1, second=whole[6:18].reshape(4, 3))
    with pytest.raises(ValueError, match="^x and out share memory, wanted separate arrays"):
        ct.matrix_transpose(whole[:12].reshape(3, 4), out=whole[6:18].reshape(4, 3), beta=1, second=np.ones((4, 3), "f4"))


@pytest.mark.parametrize("number", range(6))
def test_second_changes_x(number):
    """All attributes of second are read before the look at x."""
    x = filled(np.ndarray, (300, 400), 1)
    asked = []

    class Changing(np.ndarray):
        def __getattr__(self, name):
            asked.append(name)
            if len(asked) == number + 1:
                emptied(x)
            raise AttributeError(name)

    second = filled(Changing, (400, 300), 1)
    try:
        y = ct.matrix_transpose(x, second=second, beta=1)
    except SENTENCES:
        assert len(asked) > number
        return
    assert len(asked) <= number and np.all(y == 2)


def test_modules_that_are_no_framework():
    """None in sys.modules hides a module. A module that is being imported has no classes yet."""
    in_a_process("""
import sys, types
import numpy as np
import cornerturn as ct

class Exporter:
    shape = (3, 4)

    def __dlpack__(self, **_):
        return x.__dlpack__()

    def __dlpack_device__(self):
        return x.__dlpack_device__()

x = np.arange(12, dtype="f4").reshape(3, 4)
out = np.empty((4, 3), "f4")
for module in (None, 5, types.ModuleType("torch"), types.SimpleNamespace(Tensor=3, ndarray=3, Array=3)):
    for name in ("torch", "cupy", "jax"):
        sys.modules[name] = module
    for y in (ct.matrix_transpose(x), ct.matrix_transpose(Exporter(), out=out), ct.matrix_transpose(x, alpha=1), ct.plan(x)(x),
              ct.plan(Exporter())(x), ct.batch([x])()[0], ct.transpose_inplace_(x.copy())):
        assert np.array_equal(y, x.T)
""")


# ---- plans and batches themselves ----

def test_plans_without_init():
    plan = ct.plan(np.ones((3, 4)))
    for call in (lambda: ct.plan.__call__(3, np.ones((3, 4))), lambda: ct.plan.__call__(ct.plan.__new__(ct.plan), np.ones((3, 4)))):
        with pytest.raises(TypeError, match="a plan is called through a .*Wanted: a plan"):
            call()
    for _ in range(3):
        try:
            plan.__init__(np.ones((30, 40)))
        except TypeError:
            break
    assert plan(np.ones(plan.axes and ((30, 40) if plan.bytes_moved == 19200 else (3, 4)))).ndim == 2


@pytest.mark.parametrize("x", [(0, (3, 4), (16, 4), 4, False), {"shape": (3, 4)}, np.ones((3, 4)).__dlpack__(), 3, None, "x"],
                         ids=lambda value: type(value).__name__)
def test_only_arrays_are_planned(x):
    for call in (lambda: ct.plan(x), lambda: ct.batch([x]), lambda: ct.matrix_transpose(x), lambda: ct.transpose_inplace_(x),
                 lambda: ct.matrix_transpose(x, alpha=2), lambda: ct.matrix_transpose(np.ones((3, 4)), out=x) if x else ct.plan(x)):
        with pytest.raises(TypeError, match="Wanted: "):
            call()


# ---- the end of the interpreter ----

CALLS = {
    "a copy": "ct.matrix_transpose(x)", "a small copy": "ct.matrix_transpose(x[:3, :3])", "out": "ct.matrix_transpose(x, out=y)",
    "arithmetic": "ct.matrix_transpose(x, alpha=2)", "a plan": "plan(x)", "a batch": "batch()",
    "in place": "ct.transpose_inplace_(y)", "DLPack": "ct.matrix_transpose(Foreign(x), out=Foreign(y))",
    "an iterator": "ct.permute_dims(x, (k for k in (1, 0)))", "an error": "refused()",
}
DAEMONS = """
import threading, time
import numpy as np
import cornerturn as ct

x, y = np.ones((700, 700)), np.ones((700, 700))
plan, batch = ct.plan(x), ct.batch([x] * 3)

class Foreign:
    def __init__(self, array):
        self.array, self.shape, self.ndim = array, array.shape, 2
    def __dlpack_device__(self):
        return 1, 0
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

def refused():
    try:
        ct.matrix_transpose(x, out=x[:3])
    except ValueError:
        pass

def work():
    while True:
        CALL

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""


@pytest.mark.parametrize("call", CALLS)
def test_daemon_threads_at_the_end(call):
    for _ in range(3):
        in_a_process(DAEMONS.replace("CALL", CALLS[call]))


# ---- the command ----

@pytest.fixture
def command():
    if ct._core._run_command(["cornerturn", "--version"]) == -1:
        pytest.skip("this build has no command: CORNERTURN_CLI is OFF")


@pytest.mark.usefixtures("command")
@pytest.mark.parametrize("name", [b"\xff", "\u00e9".encode(), b"a b", b"\xed\xa0\x80"])
def test_names_of_files_are_bytes(name, tmp_path):
    x = unique((3, 4), "f4")
    with open(bytes(tmp_path) + b"/" + name + b".npy", "wb") as file:
        np.save(file, x)
    in_a_process(f"import os, sys\nos.chdir({str(tmp_path)!r})\nfrom cornerturn import _command\n"
                 f"sys.argv[1:] = ['transpose', '--quiet', os.fsdecode({name + b'.npy'!r}), os.fsdecode({name + b'.out'!r})]\n"
                 "sys.exit(_command.main())")
    with open(bytes(tmp_path) + b"/" + name + b".out", "rb") as file:
        assert same_bits(np.load(file), np.ascontiguousarray(x.T))


@pytest.mark.usefixtures("command")
def test_arguments_of_the_command_are_text():
    for argument in (3, None, "a\0b"):
        with pytest.raises(SENTENCES):
            ct._core._run_command(["cornerturn", argument])


# ---- the rules ----

SOURCES = pathlib.Path(__file__).parents[2] / "python" / "src"


def test_no_name_of_a_cpp_exception():
    """A C++ exception that has no sentence for users becomes one in entry.cpp, and only there."""
    thrown = re.compile(r"throw std::|what\(\)")
    for path in SOURCES.glob("*.cpp"):
        for line in path.read_text().splitlines():
            if thrown.search(line) and not re.search(r"(found|of_out)\.what\(\)", line):
                raise AssertionError(f"{path.name}: {line}")
    text = (SOURCES / "entry.cpp").read_text()
    assert "const std::exception&" not in text, "an unknown exception of C++ has no sentence"


def test_python_reads_no_memory_by_attributes():
    """Conversions of nanobind raise std::bad_cast, and its release of the lock ends the process at exit."""
    forbidden = re.compile(r"nb::cast<(?:std::|int|bool)|gil_scoped_release|nb::str\(\w+\)")
    allowed = {"torch.cpp", "jax.cpp"}
    for path in SOURCES.glob("*.cpp"):
        found = [] if path.name in allowed else forbidden.findall(path.read_text())
        assert not found, f"{path.name}: {found}"
