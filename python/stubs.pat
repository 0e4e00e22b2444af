# nanobind's stub generator cannot infer the types of CPython's built-in functions.
_core\.__prefix__:
    from collections.abc import Sequence

_core.matrix_transpose:
    def matrix_transpose(x: Array, /, *, out: Array | None = None, stream: object = None) -> Array:
        \doc

_core.permute_dims:
    def permute_dims(x: Array, /, axes: Sequence[int], *, out: Array | None = None, stream: object = None) -> Array:
        \doc

_core.rearrange:
    def rearrange(x: Array, /, pattern: str, *, out: Array | None = None, stream: object = None) -> Array:
        \doc

_core.transpose_inplace_:
    def transpose_inplace_(x: Array, /, *, stream: object = None) -> Array:
        \doc
