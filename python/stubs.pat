# nanobind's stub generator cannot infer the types of CPython's built-in functions.
_core\.__prefix__:
    from collections.abc import Sequence
    from typing import Any, Protocol, TypeVar

_core.Array:
    class _HasShape(Protocol):
        @property
        def shape(self) -> Any: ...

    Array = TypeVar("Array", bound=_HasShape)

_core.matrix_transpose:
    def matrix_transpose(x: Array, /, *, out: Array | None = None, stream: object = None, threads: int = 0, dtype: object = None, alpha: complex = 1, beta: complex | None = None, conj: bool = False, second: object = None, scale: object = None, saturate: bool = True) -> Array:
        \doc

_core.permute_dims:
    def permute_dims(x: Array, /, axes: Sequence[int], *, out: Array | None = None, stream: object = None, threads: int = 0, dtype: object = None, alpha: complex = 1, beta: complex | None = None, conj: bool = False, second: object = None, scale: object = None, saturate: bool = True) -> Array:
        \doc

_core.rearrange:
    def rearrange(x: Array, /, pattern: str, *, out: Array | None = None, stream: object = None, threads: int = 0, dtype: object = None, alpha: complex = 1, beta: complex | None = None, conj: bool = False, second: object = None, scale: object = None, saturate: bool = True, **sizes: int) -> Array:
        \doc

_core.transpose_inplace_:
    def transpose_inplace_(x: Array, /, *, stream: object = None, threads: int = 0) -> Array:
        \doc
