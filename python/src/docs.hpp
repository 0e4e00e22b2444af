// The docstrings, NumPy style. inspect.signature reads their first lines; the tests run their examples.
#pragma once

namespace cornerturn::python {

inline constexpr const char* matrix_transpose_doc =
    R"(matrix_transpose($module, x, /, *, out=None, stream=None, threads=0, dtype=None, alpha=1, beta=None, conj=False, second=None, scale=None, saturate=True)
--

Transpose the last two axes into a new array.

``y[..., j, i] = x[..., i, j]``. ``x.T`` and ``swapaxes`` of NumPy and PyTorch only make a view.
This function copies the data into a packed array.

Parameters
----------
x : array
    A NumPy, PyTorch, CuPy or JAX array, or an object with ``shape`` and ``__array__``,
    ``__cuda_array_interface__`` or ``__dlpack__``. It has two or more axes and any strides.
    Elements may have any type except Python objects. `x` is read directly, without a copy.
out : array, optional
    The array for the result, with the framework and device of `x`, the shape and element type of
    the result and any strides. It may not share memory with `x`. After an exception of a signal
    handler, such as for Ctrl-C, its content is unspecified.
stream : int or stream, optional
    CUDA only: the copy is ordered in this stream only, like a kernel launch.
    Default: the current stream of the framework of `x`.
threads : int, default 0
    CPU only: the maximum number of threads. 0 means one for each core that the process may
    use, or OMP_NUM_THREADS if that is smaller.
dtype : dtype, optional
    Convert the elements to this type: any integer to any integer, float32 to and from float16,
    bfloat16 and float64, or float32, float16 and bfloat16 to float8_e4m3fn and float8_e5m2.
    Default: the type of `x`.
alpha, beta : number, default 1 and 0
    The result is ``alpha * x + beta * second``, for types of floats and complex numbers only.
    Without `second`, beta multiplies the old content of `out`.
conj : bool, default False
    Take the complex conjugate of `x` first.
second : array, optional
    An array with the shape and the element type of the result. `beta` must be given then.
scale : float or array, optional
    Conversions to float8 only: a factor of the result before the conversion. On a GPU it is an
    array of one float32. Default: 1.
saturate : bool, default True
    Numbers that are too large for `dtype` become its largest number. False: infinity, or an
    integer modulo ``2**bits``.

Returns
-------
array
    `out`, or a new packed array of the framework and on the device of `x`. A class derived from
    ``numpy.ndarray`` keeps its unit.

Raises
------
ValueError
    The axes, `out`, `second` or the memory are invalid, or the conversion is not supported. The
    sentence names the value found.
TypeError
    An argument has an unsupported type, elements refer to Python objects, `stream` is given for
    an array in host memory, or arithmetic for an array of JAX.

Notes
-----
PyTorch records gradients of calls without `out` and arithmetic. Code for ``torch.compile`` calls
the functions of `cornerturn.torch`.

Examples
--------
>>> import numpy as np, cornerturn as ct
>>> ct.matrix_transpose(np.array([[1, 2, 3], [4, 5, 6]]))
array([[1, 4],
       [2, 5],
       [3, 6]])
>>> ct.matrix_transpose(np.array([[1.5, 2.5]], dtype=np.float32), alpha=2, dtype=np.float16)
array([[3.],
       [5.]], dtype=float16)
)";

inline constexpr const char* permute_dims_doc =
    R"(permute_dims($module, x, /, axes, *, out=None, stream=None, threads=0, dtype=None, alpha=1, beta=None, conj=False, second=None, scale=None, saturate=True)
--

Permute the axes into a new array.

Axis ``k`` of the result is axis ``axes[k]`` of `x`, as in ``numpy.permute_dims`` and
``torch.permute``. Those functions only make a view; this function copies the data.

Parameters
----------
x : array
    See `matrix_transpose`.
axes : sequence of int
    A permutation of ``0 ... x.ndim - 1``; negative numbers count from the end.
out, stream, threads, dtype, alpha, beta, conj, second, scale, saturate : optional
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

inline constexpr const char* rearrange_doc =
    R"doc(rearrange($module, x, /, pattern, *, out=None, stream=None, threads=0, dtype=None, alpha=1, beta=None, conj=False, second=None, scale=None, saturate=True, **sizes)
--

Permute, split and join the axes by name into a new array.

This function takes the patterns of ``einops.rearrange``. It copies the data, and never returns
a view.

Parameters
----------
x : array
    See `matrix_transpose`.
pattern : str
    The names of the axes of `x`, ``->``, and these names in the order of the result.
    ``...`` on both sides means all axes without a name. ``(h w)`` splits an axis on the left,
    and joins axes on the right. ``1`` or ``()`` is an axis of extent 1.
**sizes : int
    The sizes of axes by name: of all axes in a ``(h w)`` on the left but one. These axes cannot
    have the names of other parameters.
out, stream, threads, dtype, alpha, beta, conj, second, scale, saturate : optional
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
>>> ct.rearrange(images, "n c (h i) (w j) -> n (h w) (i j c)", i=16, j=16).shape
(8, 8, 768)
)doc";

inline constexpr const char* transpose_inplace_doc = R"(transpose_inplace_($module, x, /, *, stream=None, threads=0)
--

Transpose the last two axes in the memory of `x`, without a second array.

Parameters
----------
x : array
    A NumPy, PyTorch or CuPy array of two or more axes. Elements may have any type except Python
    objects. If the last two axes have equal extents, all strides are allowed, but no two elements
    may share memory. If their extents differ, `x` must be C-contiguous.
stream, threads : optional
    See `matrix_transpose`.

Returns
-------
array
    `x` itself if its shape is unchanged. Else a view of its memory with the transposed shape; `x`
    keeps its old shape over this memory.

Raises
------
ValueError
    The shape or the memory of `x` is invalid, or `x` is read-only.
TypeError
    `x` or `stream` has an unsupported type, or elements refer to Python objects. JAX arrays are
    immutable and therefore not supported.
RuntimeError
    `x` is a tensor that records its gradient.

Notes
-----
The call may allocate a workspace, which `docs/python.md` describes: none for large squares, and about a twentieth of a
matrix that is much larger than the caches.

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

inline constexpr const char* plan_doc = R"(The kernel chosen for one permutation of arrays with the layout of `x`.

Several threads may call a plan concurrently. `explain` prints the reasons
for the choice. The functions of this package cache their recent plans, so an explicit plan is
only needed to inspect or to keep it.

Parameters
----------
x : array
    The plan uses its shape, strides, element size and device, but not its content.
axes : sequence of int or str, optional
    See `permute_dims` and `rearrange`; by default the last two axes are swapped.
out : array, optional
    The plan uses its strides; by default the result is a packed array.
threads : int, optional
    Maximum number of CPU threads; by default as in `matrix_transpose`.
kernel : str, optional
    Forces the kernel with this name; for measurements.
measure : bool, default False
    CPU, from 1 MiB on: the first calls, up to 8, run the likely kernels in turn, and later calls
    the fastest one of them. All kernels produce equal bytes. ``CORNERTURN_MEASURE=1`` in the
    environment: True for all plans. The functions have plans, too.

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
