// The docstrings, NumPy style. Their first lines are what inspect.signature reads; their examples are run by the tests.
#pragma once

namespace cornerturn::python {

inline constexpr const char* matrix_transpose_doc = R"(matrix_transpose($module, x, /, *, out=None, stream=None)
--

Transpose the last two axes, and really move the data.

``y[..., j, i] = x[..., i, j]``. ``x.T`` and ``swapaxes`` of NumPy and PyTorch only make a view;
this makes an array whose rows lie in memory one after the other.

Parameters
----------
x : array
    A NumPy, PyTorch, CuPy or JAX array, or an object with ``shape`` and
    ``__cuda_array_interface__`` or ``__dlpack__``; of two or more axes, any strides and any
    element type whose elements are their bytes. It is never copied first.
out : array, optional
    Where the result goes: of the same framework, device, element type, of the shape of the
    result and of any strides. It may not share memory with `x`.
stream : int or stream, optional
    CUDA only: the move is ordered in this stream and in no other, as a kernel that you launch.
    By default the current stream of the framework of `x`.

Returns
-------
array
    `out`, or a new packed array of the framework and on the device of `x`.

Raises
------
ValueError
    The axes, `out` or the memory are not as wanted; the sentence says what was found.
TypeError
    `x`, `out` or `stream` is of another kind, or elements refer to Python objects.

Examples
--------
>>> import numpy as np, cornerturn as ct
>>> ct.matrix_transpose(np.array([[1, 2, 3], [4, 5, 6]]))
array([[1, 4],
       [2, 5],
       [3, 6]])
)";

inline constexpr const char* permute_dims_doc = R"(permute_dims($module, x, /, axes, *, out=None, stream=None)
--

Permute the axes, and really move the data.

Axis ``k`` of the result is axis ``axes[k]`` of `x`, as in ``numpy.permute_dims`` and
``torch.permute``, which only make a view.

Parameters
----------
x : array
    See `matrix_transpose`.
axes : sequence of int
    A permutation of ``0 ... x.ndim - 1``; negative numbers count from the end.
out, stream : optional
    See `matrix_transpose`.

Returns
-------
array
    `out`, or a new packed array of the framework and on the device of `x`.

Examples
--------
>>> import numpy as np, cornerturn as ct
>>> images = np.zeros((8, 3, 32, 64), dtype=np.uint8)
>>> ct.permute_dims(images, (0, 2, 3, 1)).shape
(8, 32, 64, 3)
)";

inline constexpr const char* rearrange_doc = R"(rearrange($module, x, /, pattern, *, out=None, stream=None)
--

Permute the axes by their names, and really move the data.

The patterns are those of einops that do nothing but permute: axes keep their length.

Parameters
----------
x : array
    See `matrix_transpose`.
pattern : str
    The names of the axes of `x`, ``->``, and the same names in the order of the result.
    ``...`` on both sides stands for all axes that are not named.
out, stream : optional
    See `matrix_transpose`.

Returns
-------
array
    `out`, or a new packed array of the framework and on the device of `x`.

Examples
--------
>>> import numpy as np, cornerturn as ct
>>> images = np.zeros((8, 3, 32, 64), dtype=np.uint8)
>>> ct.rearrange(images, "n c h w -> n h w c").shape
(8, 32, 64, 3)
>>> ct.rearrange(images, "... h w -> ... w h").shape
(8, 3, 64, 32)
)";

inline constexpr const char* transpose_inplace_doc = R"(transpose_inplace_($module, x, /, *, stream=None)
--

Transpose the last two axes in the memory of `x`: no second array is made.

Parameters
----------
x : array
    A NumPy, PyTorch or CuPy array of two or more axes and any element type whose elements are
    their bytes. Where the last two axes have one extent, the strides are any, but no two elements
    may share memory. Where they have not, `x` is C-contiguous.
stream : int or stream, optional
    See `matrix_transpose`.

Returns
-------
array
    `x` itself where its shape stays. Else a view of its memory that has the other shape; `x` sees
    the same memory in its old shape.

Raises
------
ValueError
    The shape or the memory of `x` is not as wanted, or `x` is read-only.
TypeError
    `x` or `stream` is of another kind, or elements refer to Python objects. JAX's arrays never change.
RuntimeError
    `x` is a tensor that records its gradient.

Notes
-----
Squares want no further memory, rectangles for the time of the call about a twentieth of theirs.

Examples
--------
>>> import numpy as np, cornerturn as ct
>>> x = np.array([[1, 2, 3], [4, 5, 6]])
>>> y = ct.transpose_inplace_(x)
>>> y
array([[1, 4],
       [2, 5],
       [3, 6]])
>>> np.shares_memory(x, y)
True
)";

inline constexpr const char* plan_doc = R"(What is chosen for one permutation of arrays laid out as `x`.

A plan never changes and may be called by several threads at once. It also says why it moves the
data as it does. The functions of this package keep the plans that they used last, so that a plan
is for those who want to look at it, or to hold it.

Parameters
----------
x : array
    Its shape, strides, element size and device count, its contents do not.
axes : sequence of int, optional
    See `permute_dims`; by default the last two axes change places.
out : array, optional
    Its strides are planned for; by default those of a packed array.
threads : int, optional
    At most this many of the CPU; by default all of this process.
kernel : str, optional
    The name of a kernel that is to be used; for measurements.

Examples
--------
>>> import numpy as np, cornerturn as ct
>>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
>>> p = ct.plan(x, (1, 0))
>>> p(x)
array([[0., 3.],
       [1., 4.],
       [2., 5.]], dtype=float32)
>>> p.bytes_moved
48
)";

}  // namespace cornerturn::python
