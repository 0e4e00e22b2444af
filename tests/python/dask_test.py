"""cornerturn.dask and cornerturn.xarray: lazy arrays, with Dask's schedulers and a cluster of processes."""
import subprocess
import sys

import numpy as np
import pytest
from conftest import same_bits, unique

da = pytest.importorskip("dask.array")
import cornerturn.dask as ct_dask  # noqa: E402


def wanted(x, axes):
    return np.ascontiguousarray(np.transpose(x, axes))


@pytest.mark.parametrize("dtype", ["u1", "?", ">f4", "c16", "S7", "M8[s]", [("a", "<i4"), ("b", "u1")]], ids=str)
def test_elements(dtype):
    x = unique((7, 8, 9), dtype) if np.dtype(dtype).names is None else unique((7, 8, 9), "V5").view(dtype)
    y = ct_dask.permute_dims(da.from_array(x, chunks=(3, 8, 4)), (2, 0, 1))
    assert y.dtype == x.dtype and y.chunks == ((4, 4, 1), (3, 3, 1), (8,))
    assert same_bits(y.compute(scheduler="threads"), wanted(x, (2, 0, 1)))


@pytest.mark.parametrize("chunks,found", [
    (None, ((4, 4, 1), (3, 3, 1), (8,))),
    (5, ((5, 4), (5, 2), (5, 3))),
    (-1, ((9,), (7,), (8,))),
    ((2, -1, None), ((2, 2, 2, 2, 1), (7,), (8,))),
    (((2, 7), (7,), (1, 7)), ((2, 7), (7,), (1, 7))),
    ({-3: 9, 2: 4}, ((9,), (3, 3, 1), (4, 4))),
    ("1KiB", ((9,), (7,), (8,))),
])
def test_chunks_are_those_of_the_result(chunks, found):
    x = unique((7, 8, 9), "i2")
    y = ct_dask.permute_dims(da.from_array(x, chunks=(3, 8, 4)), (2, 0, 1), chunks)
    assert y.chunks == found and same_bits(y.compute(), wanted(x, (2, 0, 1)))


class Noted:
    """An array that notes its reads, also of its copies."""
    shape, dtype, ndim, reads = (60, 40), np.dtype("f4"), 2, []

    def __getitem__(self, place):
        Noted.reads.append(place)
        return unique(self.shape, self.dtype)[place]


def test_it_stays_lazy_and_each_block_is_contiguous():
    x = da.from_array(Noted(), chunks=(20, 40), meta=np.empty((0, 0), "f4"))
    y = ct_dask.permute_dims(x, chunks=(10, -1))
    assert ct_dask.permute_dims(x, chunks=(10, -1)).name == y.name and "cornerturn-permute_dims" in y.name
    assert not Noted.reads

    def contiguous(z):
        return z.map_blocks(lambda block: np.array([[block.flags.c_contiguous]]), chunks=(1, 1)).compute(scheduler="threads")

    assert contiguous(y).all() and contiguous(y).shape == (4, 1) and Noted.reads
    assert not contiguous(x.T).any()
    assert same_bits((y + 1)[3:5].compute(), wanted(unique((60, 40), "f4"), None)[3:5] + 1)


def test_other_shapes():
    x = da.from_array(np.float64(3))
    assert ct_dask.permute_dims(x).compute() == 3
    x = da.from_array(unique((5,), "f4"), chunks=2)
    assert ct_dask.permute_dims(x, chunks=3).chunks == ((3, 2),)
    empty = da.zeros((0, 4), chunks=2)
    assert ct_dask.permute_dims(empty).compute().shape == (4, 0)
    unknown = da.from_array(unique((9, 4), "f4"), chunks=(3, 2))
    unknown = unknown[unknown[:, 0] > -np.inf]  # blocks of a size that Dask does not know yet
    assert same_bits(ct_dask.permute_dims(unknown).compute(), wanted(unknown.compute(), None))


def refusals():
    x = da.zeros((4, 6), chunks=2)
    yield np.zeros((4, 6)), {}, TypeError, "x is a numpy.ndarray. Wanted: an array of Dask"
    yield x, {"axes": (0, 0)}, ValueError, r"axes is \(0, 0\), wanted a permutation of the 2 axes of x, 0 to 1"
    yield x, {"axes": "yx"}, TypeError, "axes is 'yx'. Wanted: a sequence of integers"
    yield x, {"chunks": (2,)}, ValueError, r"chunks is \(2,\), wanted 2 entries, one for each axis of the result"
    yield x, {"chunks": {2: 1}}, ValueError, "chunks has axis 2, wanted axes from 0 to 1 of the result"
    yield da.from_array(np.array([["a", {}]], object), chunks=1), {}, TypeError, "x has dtype object. Wanted: elements of a fixed size"
    yield da.ma.masked_array(x, x > 1), {}, TypeError, "x has blocks of numpy.ma.MaskedArray. Wanted: blocks of NumPy or CuPy"


@pytest.mark.parametrize("x,options,kind,sentence", list(refusals()))
def test_refusals(x, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        ct_dask.permute_dims(x, **options)


def test_imports():
    """The package imports Dask and xarray for their modules only."""
    code = "import sys, cornerturn.files; print([one for one in ('dask', 'xarray') if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_cluster_of_processes(tmp_path):
    """The workers exchange blocks by Dask's p2p, and each permutes its own. One of them writes no block twice."""
    distributed = pytest.importorskip("distributed")
    x = unique((120, 90, 50), "i4")
    np.save(tmp_path / "x.npy", x)
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None,
                                  local_directory=str(tmp_path)) as cluster, distributed.Client(cluster) as client:
        lazy = da.from_array(np.load(tmp_path / "x.npy", mmap_mode="r"), chunks=(10, 90, 50))
        y = ct_dask.permute_dims(lazy, (2, 1, 0), chunks=(10, 30, -1))
        assert any("p2p" in name for name in y.__dask_graph__().layers)
        processes = y.map_blocks(lambda block: np.full((1, 1, 1), __import__("os").getpid()), chunks=(1, 1, 1))
        made, processes = client.gather(client.compute([y, processes]))
    assert same_bits(made, wanted(x, (2, 1, 0)))
    assert len(set(processes.ravel())) > 1 and __import__("os").getpid() not in processes
