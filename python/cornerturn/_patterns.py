"""Patterns that split or join axes: ``x`` is a view with the parts of its axes, and the packed result is a view of its parts.

`torch.compile` traces this module, so sizes may be symbols.
"""
from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._core import _kind
from ._frameworks import _has_meaning, _is, from_array

# A size of an axis with one of these names cannot be given.
_PARAMETERS = ("pattern", "out", "stream", "threads", "dtype", "alpha", "beta", "conj", "second", "scale", "saturate")

_Parts = tuple[tuple[tuple[str, ...], ...], tuple[int, ...], tuple[int, ...]]


def rearrange(x: Any, pattern: str, sizes: Mapping[str, Any], *, out: Any = None, second: Any = None, **how: Any) -> Any:
    """`cornerturn.rearrange`; `how` are the other arguments of `permute_dims`."""
    shape = getattr(x, "shape", None)
    if not isinstance(shape, (tuple, list)) or isinstance(x, type):
        return _core.permute_dims(x, (), out=out, **how)  # refuses it
    x = from_array(x)
    found = _core._parts_of_pattern(pattern, len(shape))
    parts, axes, joined = extents(found, shape, pattern, sizes)
    permuted = tuple(parts[k] for k in axes)
    if second is not None:
        how["second"] = with_parts(second, "second", joined, permuted)
    made = _core.permute_dims(_view(x, parts), axes, out=with_parts(out, "out", joined, permuted), **how)
    return _view(made, joined) if out is None else out


def extents(found: _Parts, shape: Sequence[int], pattern: str,
            sizes: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the shape of `x` with the parts of its axes, the permutation of the parts, and the shape of the result."""
    names, axes, joins = found
    known = {name: _size(name, value, names, pattern) for name, value in sizes.items()}
    parts: list[int] = []
    for axis, (group, extent) in enumerate(zip(names, shape, strict=True)):
        if len(group) == 1 and group[0] not in known:
            parts.append(extent)
        else:
            parts += _split(axis, group, extent, known, pattern)
    joined = []
    at = 0
    for count in joins:
        product = 1
        for k in axes[at:at + count]:
            product *= parts[k]
        joined.append(product)
        at += count
    return tuple(parts), axes, tuple(joined)


def _size(name: str, value: Any, names: tuple[tuple[str, ...], ...], pattern: str) -> Any:
    if not any(name in group for group in names):
        raise TypeError(f"rearrange has no keyword argument '{_shown(name)}', and pattern '{_shown(pattern)}' has no axis of "
                        "this name. Wanted: a parameter of rearrange, or the size of an axis in the pattern")
    if not hasattr(type(value), "__index__"):
        raise TypeError(f"{name} is a {_kind(value)}. Wanted: an integer, the size of this axis of the pattern")
    size = value if isinstance(value, int) and not isinstance(value, bool) else int(operator.index(value))
    if size < 0:
        raise ValueError(f"{name} is {size}, wanted 0 or more: the size of this axis of the pattern")
    return size


def _split(axis: int, group: tuple[str, ...], extent: int, known: Mapping[str, Any], pattern: str) -> list[int]:
    product = 1
    unknown = []
    for name in group:
        if name in known:
            product *= known[name]
        else:
            unknown.append(name)
    if len(unknown) > 1:
        names = " and ".join(f"'{name}'" for name in unknown)
        for name in unknown:
            if name in _PARAMETERS:
                raise ValueError(f"pattern is '{_shown(pattern)}', and the sizes of {names} are unknown. Wanted: another name "
                                 f"for '{name}', because {name}= is another parameter")
        raise ValueError(f"pattern is '{_shown(pattern)}', and the sizes of {names} are unknown. Wanted: all sizes of "
                         f"'({' '.join(group)})' but one, such as {unknown[-1]}=2")
    if unknown and product != 0 and extent % product == 0:
        return [known[name] if name in known else extent // product for name in group]
    if not unknown and product == extent:
        return [known[name] for name in group]
    here = " ".join(f"{name}={known[name]}" if name in known else name for name in group) or "1"
    wanted = "1" if not group else f"a multiple of {product}" if unknown else f"{product}"
    if unknown and product == 0:
        wanted = "sizes above 0, or all sizes"
    raise ValueError(f"pattern is '{_shown(pattern)}', and axis {axis} of x has extent {extent} where the pattern has "
                     f"'{here}'. Wanted: {wanted}")


def _shown(text: str) -> str:
    """Return the text escaped and cut, as `_core._shown` does, which a compiler that traces this module cannot read."""
    return ascii(text)[1:-1] if len(text) <= 200 else ascii(text[:200])[1:-1] + "..."


def with_parts(array: Any, name: str, joined: Sequence[int], parts: Sequence[int]) -> Any:
    """Return a view of `out` or `second` with the parts of its axes."""
    shape = getattr(array, "shape", None)
    if not isinstance(shape, (tuple, list)) or isinstance(array, type):
        return array  # permute_dims refuses it
    if tuple(shape) != tuple(joined):
        raise ValueError(f"{name} has shape {tuple(shape)}, wanted {tuple(joined)}")
    return _view(array, tuple(parts))


def _view(x: Any, shape: tuple[int, ...]) -> Any:
    """Return a view with another shape. All arrays have one, because each axis is split or packed axes are joined."""
    if _is(x, "numpy", "ndarray"):
        import numpy
        # permute_dims keeps or refuses a class with a unit, and refuses a masked array. A numpy.matrix has two axes only.
        if type(x) is not numpy.ndarray and not hasattr(x, "filled") and not _has_meaning(x):
            x = numpy.ndarray.view(x, numpy.ndarray)
        return numpy.ndarray.reshape(x, shape)
    if hasattr(x, "reshape"):
        return x.reshape(shape)
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().reshape(x, shape, copy=False)
    raise TypeError(f"x is a {_kind(x)}, which has no reshape. Wanted: a pattern that only permutes axes")
