"""rearrange() with splits and joins, beside einops."""
import random

import numpy as np
import pytest

import cornerturn as ct

einops = pytest.importorskip("einops")

X = np.arange(2 * 12 * 5, dtype=np.int32).reshape(2, 12, 5)
NAMES = ["a", "b1", "h_w", "C", "é", "名", "x", "y"]


def random_case(rng):
    """Return a pattern, the shape that it takes, and sizes."""
    names = rng.sample(NAMES, rng.randint(1, 6))
    sizes = {name: rng.choice([1, 1, 2, 3, 4]) for name in names}
    open_axes = rng.choice([None, None, 0, 1, 3])

    def side(joins_open):
        tokens, groups = list(names), []
        rng.shuffle(tokens)
        while tokens:
            count = rng.choice([1, 1, 1, 2, 3])
            groups.append(tokens[:count])
            tokens = tokens[count:]
        for _ in range(rng.choice([0, 0, 1, 2])):
            groups.insert(rng.randint(0, len(groups)), [])
        if open_axes is not None:
            if joins_open and groups and rng.random() < 0.3:
                rng.choice(groups).append("...")
            else:
                groups.insert(rng.randint(0, len(groups)), ["..."])
        return groups

    def text(groups):
        def word(group):
            if not group:
                return rng.choice(["1", "()", "( )", "(1)"])
            inside = [*group, "1"] if rng.random() < 0.1 else group
            return inside[0] if len(inside) == 1 and rng.random() < 0.9 else f"({' '.join(inside)})"
        return " ".join(f"({' '.join(g)})" if "..." in g and len(g) > 1 else "..." if g == ["..."] else word(g) for g in groups)

    left, right = side(False), side(True)
    shape, given = [], {}
    for group in left:
        if group == ["..."]:
            shape += [rng.choice([1, 2, 3]) for _ in range(open_axes)]
            continue
        shape.append(int(np.prod([sizes[name] for name in group], dtype=int)))
        unknown = rng.choice([*group, None]) if group else None
        given |= {name: sizes[name] for name in group if name != unknown and (len(group) > 1 or rng.random() < 0.3)}
    return f"{text(left)} -> {text(right)}", shape, given


def test_random_patterns_are_those_of_einops():
    rng = random.Random(1)
    for _ in range(1500):
        pattern, shape, sizes = random_case(rng)
        x = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
        if rng.random() < 0.5:
            x = np.stack([x, x], -1)[..., 0]
        wanted = einops.rearrange(x, pattern, **sizes)
        y = ct.rearrange(x, pattern, **sizes)
        assert y.shape == wanted.shape and y.flags.c_contiguous and np.array_equal(y, wanted), (pattern, shape, sizes)
        assert not np.shares_memory(x, y)
        out = np.zeros((*wanted.shape, 2), np.int32)[..., 0]
        assert ct.rearrange(x, pattern, out=out, **sizes) is out
        assert np.array_equal(out, wanted), (pattern, shape, sizes)


def test_einops_and_cornerturn_refuse_the_same_patterns():
    rng = random.Random(2)
    taken = 0
    for _ in range(4000):
        pattern = "".join(rng.choice(["a", "b", "h", " ", " ", "(", ")", "...", "1", "_", "é", "2"])
                          for _ in range(rng.randint(1, 7)))
        pattern = f"{pattern} -> {pattern if rng.random() < 0.5 else ' '.join(reversed(pattern.split()))}"
        x = np.zeros((2, 3)[:rng.randint(1, 2)])
        sizes = rng.choice([{}, {"h": 1}, {"h": 2}])
        try:
            wanted = einops.rearrange(x, pattern, **sizes).shape
        except Exception:  # any: EinopsError, and others that leave it by accident
            wanted = None
        try:
            found = ct.rearrange(x, pattern, **sizes).shape
        except (TypeError, ValueError) as sentence:
            assert "anted" in str(sentence) or "pattern is" in str(sentence)
            found = None
        assert found == wanted, pattern
        taken += found is not None
    assert taken > 100


@pytest.mark.parametrize("call,kind,sentence", [
    (lambda: ct.rearrange(X, "b (h w) c -> b c h w"), ValueError,
     r"and the sizes of 'h' and 'w' are unknown. Wanted: all sizes of '\(h w\)' but one, such as w=2"),
    (lambda: ct.rearrange(X, "b (h scale) c -> b c h scale", scale=3), ValueError,
     "Wanted: another name for 'scale', because scale= is another parameter"),
    (lambda: ct.rearrange(X, "b (h w) c -> b c h w", h=5), ValueError,
     "axis 1 of x has extent 12 where the pattern has 'h=5 w'. Wanted: a multiple of 5"),
    (lambda: ct.rearrange(X, "b (h w) c -> b c h w", h=3, w=3), ValueError,
     "axis 1 of x has extent 12 where the pattern has 'h=3 w=3'. Wanted: 9"),
    (lambda: ct.rearrange(X, "b (h w) c -> b c h w", h=0), ValueError, "'h=0 w'. Wanted: sizes above 0, or all sizes"),
    (lambda: ct.rearrange(X, "b (h w) c -> b c h w", h=-3), ValueError, "h is -3, wanted 0 or more"),
    (lambda: ct.rearrange(X, "b (h w) c -> b c h w", h=3.0), TypeError, "h is a float. Wanted: an integer"),
    (lambda: ct.rearrange(X, "b h c -> b c h", h=3), ValueError, "axis 1 of x has extent 12 where the pattern has 'h=3'"),
    (lambda: ct.rearrange(X, "b h c -> b c h", thread=3), TypeError,
     "rearrange has no keyword argument 'thread', and pattern 'b h c -> b c h' has no axis of this name"),
    (lambda: ct.rearrange(X, "b 1 c -> b c"), ValueError, "axis 1 of x has extent 12 where the pattern has '1'. Wanted: 1"),
    (lambda: ct.rearrange(X, "b () c -> b c"), ValueError, "axis 1 of x has extent 12 where the pattern has '1'. Wanted: 1"),
    (lambda: ct.rearrange(X, "b 2 c -> b c"), ValueError, "in which '2' is not the name of an axis"),
    (lambda: ct.rearrange(X, "b _h c -> b _h c"), ValueError, "in which '_h' is not the name of an axis"),
    (lambda: ct.rearrange(X, "b h_ c -> b h_ c"), ValueError, "in which 'h_' is not the name of an axis"),
    (lambda: ct.rearrange(X, "b ((h w) c) -> b h w c"), ValueError, "with parentheses inside of parentheses"),
    (lambda: ct.rearrange(X, "b h) c -> b h c"), ValueError, r"with a '\)' without its '\('"),
    (lambda: ct.rearrange(X, "b (h c -> b h c"), ValueError, r"with a '\(' without its '\)'"),
    (lambda: ct.rearrange(X, "b (...) -> b ..."), ValueError, "with '...' inside of parentheses on the left"),
    (lambda: ct.rearrange(X, "(b h) c -> b h c", b=2), ValueError, "which is for 2 axes, but x has 3 axes"),
    (lambda: ct.rearrange(X, "b h c -> b (h c)", out=np.zeros((2, 5, 12), np.int32)), ValueError,
     r"out has shape \(2, 5, 12\), wanted \(2, 60\)"),
    (lambda: ct.rearrange(X, "b h c -> b (h c)", out=[1]), TypeError, "out is a list, but x is a numpy.ndarray"),
    (lambda: ct.rearrange(X, "b h c -> b (h c)", stream=1), TypeError, "stream is given, but x is a numpy.ndarray"),
    (lambda: ct.rearrange(X.astype(float), "b h c -> b (h c)", beta=1, second=np.zeros((2, 61))), ValueError,
     r"second has shape \(2, 61\), wanted \(2, 60\)"),
    (lambda: ct.rearrange([1], "a -> (a)"), TypeError, "x is a list. Wanted: an array of NumPy"),
    (lambda: ct.rearrange(np.ma.zeros((2, 3)), "a b -> (b a)"), TypeError, "x is a masked array, whose mask would be lost"),
    (lambda: ct.plan(X, "b h c -> b (h c)"), ValueError,
     "which splits or joins axes. Wanted: names and '...' only, or the function rearrange"),
    (lambda: ct.batch([X], "b h c -> b (h c)"), ValueError, "item 0: pattern is .* which splits or joins axes"),
    (lambda: ct.rearrange(X, f"({' '.join(f'a{k}' for k in range(63))}) ... -> ... ({' '.join(f'a{k}' for k in range(63))})",
                          a0=2), ValueError, "which makes more than 64 parts of axes|are unknown"),
])
def test_refuses_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


def test_arithmetic_and_classes():
    x = X.astype(np.float32)
    second = np.full((2, 60), 100, np.float32)
    wanted = 2 * einops.rearrange(x, "b (h w) c -> b (c w h)", h=3) + second
    assert np.array_equal(ct.rearrange(x, "b (h w) c -> b (c w h)", h=3, alpha=2, beta=1, second=second), wanted)
    matrix = np.asmatrix(x[0])
    assert np.array_equal(ct.rearrange(matrix, "(h w) c -> h c w", w=4), einops.rearrange(x[0], "(h w) c -> h c w", w=4))
    assert ct.rearrange(x[:, :1], "b (h w) c -> b w h c", h=True).shape == (2, 1, 1, 5)
    assert ct.rearrange(x, "b (h w) c -> b w h c", h=np.int64(3), threads=1).shape == (2, 4, 3, 5)
    assert ct.rearrange(np.zeros((0, 6)), "n (a b) -> a (n b)", a=2).shape == (2, 0)


class Metres(np.ndarray):
    """An array whose numbers have a unit."""

    def __array_finalize__(self, source):
        self.unit = getattr(source, "unit", "m")


def test_units_are_kept_or_refused():
    x = np.arange(6.0).reshape(2, 3).view(Metres)
    x.unit = "km"
    for pattern in ("a b -> b a", "a b -> (b a)", "a b -> b 1 a", "(a 1) b -> b a"):
        made, wanted = ct.rearrange(x, pattern), einops.rearrange(x, pattern)
        assert type(made) is Metres and made.unit == "km" and np.array_equal(made, wanted)
    plain = np.arange(6.0).reshape(2, 3)
    for call in (lambda: ct.rearrange(x, "a b -> (b a)", alpha=2), lambda: ct.rearrange(x, "a b -> (b a)", out=np.zeros(6)),
                 lambda: ct.rearrange(plain, "a b -> (b a)", out=np.zeros(6).view(Metres)),
                 lambda: ct.rearrange(plain, "a b -> (b a)", beta=1, second=np.zeros(6).view(Metres))):
        with pytest.raises(TypeError, match="whose class gives a meaning to its numbers"):
            call()
