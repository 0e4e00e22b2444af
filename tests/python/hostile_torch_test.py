"""Tensors that change during a call or after a batch was made."""
import gc

import pytest

torch = pytest.importorskip("torch")

import cornerturn as ct  # noqa: E402
import cornerturn.torch  # noqa: E402

SENTENCES = (ValueError, TypeError, RuntimeError)


def emptied(x):
    x.untyped_storage().resize_(0)


def shrunk(x):
    x.untyped_storage().resize_(64)


def replaced(x):
    x.data = torch.ones(3, 4)


def unset(x):
    x.set_()


def moved(x):
    x.set_(torch.full_like(x, 3).untyped_storage(), 0, x.shape, x.stride())


def transposed(x):
    x.t_()


def squeezed(x):
    x.resize_(2, 2)


CHANGES = [emptied, shrunk, replaced, unset, moved, transposed, squeezed]
has_storage_queries = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


def pair():
    return torch.ones(300, 400), torch.zeros(400, 300)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("change", CHANGES)
def test_axes_change_a_tensor(change, which):
    for has_out in (False, True):
        arrays = pair()

        def axes(victim=arrays[which]):
            change(victim)
            yield 1
            yield 0

        try:
            y = ct.permute_dims(arrays[0], axes(), out=arrays[1] if has_out else None)
        except SENTENCES:
            continue
        assert torch.equal(y, arrays[0].t())


@pytest.mark.parametrize("change", [emptied, shrunk])
def test_a_storage_became_smaller(change):
    if not has_storage_queries:
        pytest.skip("this PyTorch does not tell the size of a storage in C")
    for which in (0, 1):
        for call in (lambda x, y: ct.matrix_transpose(x, out=y), lambda x, y: ct.matrix_transpose(x, out=y, alpha=2),
                     lambda x, y: ct.plan(x, out=y)(x, out=y), lambda x, y: cornerturn.torch.matrix_transpose(x, out=y),
                     lambda x, y: torch.ops.cornerturn.permute_dims_out(x, (1, 0), y), lambda x, y: ct.batch([x], out=[y])(),
                     lambda x, y: ct.transpose_inplace_((x, y)[which])):
            arrays = pair()
            change(arrays[which])
            with pytest.raises(SENTENCES, match="storage"):
                call(*arrays)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("change", CHANGES)
def test_a_batch_looks_at_its_tensors_again(change, which):
    arrays = pair()
    batch = ct.batch([torch.ones(2, 3), arrays[0]], out=[torch.zeros(3, 2), arrays[1]])
    batch()
    assert torch.equal(arrays[1], arrays[0].t())
    change(arrays[which])
    with pytest.raises(ValueError, match="^item 1: "):
        batch()


def test_a_batch_holds_the_storage():
    """The memory of a tensor that got another one stays allocated as long as the batch."""
    x = torch.full((300, 400), 7.0)
    batch = ct.batch([x])
    alias = torch.from_dlpack(x)
    address = x.data_ptr()
    x.data = torch.zeros(2, 2)
    del alias
    gc.collect()
    others = [torch.empty(300, 400) for _ in range(8)]
    assert all(one.data_ptr() != address for one in others)
    with pytest.raises(ValueError, match="^item 0: x has other memory"):
        batch()


def test_a_finalizer_frees_the_tensor():
    """Allocations may collect garbage, whose finalizers run code."""
    x = torch.ones(300, 400)

    class Node:
        def __init__(self):
            self.itself = self

        def __del__(self):
            emptied(x)

    limits = gc.get_threshold()
    for _ in range(20):
        x = torch.ones(300, 400)
        gc.collect()
        Node()
        gc.set_threshold(1)
        try:
            y = ct.matrix_transpose(x)
            assert torch.equal(y, torch.ones(400, 300))
        except SENTENCES:
            pass
        finally:
            gc.set_threshold(*limits)


@pytest.mark.parametrize("name", ["float4_e2m1fn_x2", "bits1x8", "bits2x4", "bits4x2"])
def test_elements_of_less_than_a_byte(name):
    if not hasattr(torch, name):
        pytest.skip(f"this PyTorch has no {name}")
    whole = torch.zeros(4, 6, dtype=torch.uint8)
    x, out = whole.view(getattr(torch, name)), torch.zeros(6, 4, dtype=torch.uint8).view(getattr(torch, name))
    for call in (lambda: ct.matrix_transpose(x), lambda: ct.matrix_transpose(x, out=out), lambda: ct.plan(x),
                 lambda: ct.batch([x]), lambda: ct.batch([x], out=[out]), lambda: ct.transpose_inplace_(x),
                 lambda: cornerturn.torch.matrix_transpose(x), lambda: ct.matrix_transpose(whole, out=out)):
        with pytest.raises(SENTENCES, match="[Ww]anted"):
            call()


@pytest.mark.parametrize("name", ["int4", "uint1", "uint7"])
def test_elements_that_have_a_byte_each(name):
    if not hasattr(torch, name):
        pytest.skip(f"this PyTorch has no {name}")
    whole = torch.arange(24, dtype=torch.uint8).reshape(4, 6)
    y = ct.matrix_transpose(whole.view(getattr(torch, name)))
    assert torch.equal(y.view(torch.uint8), whole.t())
    out = torch.zeros(6, 4, dtype=torch.uint8)
    for x, to in ((whole, out.view(getattr(torch, name))), (whole.view(getattr(torch, name)), out)):
        with pytest.raises(ValueError, match="out has dtype .*, but x has .*Wanted: equal dtypes"):
            ct.matrix_transpose(x, out=to)


def test_an_axis_of_extent_1_has_no_stride():
    x = torch.ones(4).as_strided((1, 4), (2**62, 1))
    assert torch.equal(ct.matrix_transpose(x), torch.ones(4, 1))
    assert torch.equal(ct.matrix_transpose(x, alpha=2), torch.full((4, 1), 2.0))
    assert torch.equal(ct.batch([x])()[0], torch.ones(4, 1))
    assert torch.equal(ct.plan(x)(x), torch.ones(4, 1))


def test_a_class_deceives():
    class Deceiving(torch.Tensor):
        shape = property(lambda self: (5000, 5000))
        dtype = property(lambda self: torch.float64)

        def stride(self, *_):
            return 40000, 8

        def data_ptr(self):
            return 4096

        def element_size(self):
            return 8

    x = torch.arange(12.0).reshape(3, 4)
    deceiving, out = x.as_subclass(Deceiving), torch.zeros(4, 3)
    for call in (lambda: ct.matrix_transpose(deceiving), lambda: ct.matrix_transpose(x, out=out.as_subclass(Deceiving)),
                 lambda: ct.matrix_transpose(deceiving, alpha=2), lambda: ct.plan(deceiving), lambda: ct.batch([deceiving])(),
                 lambda: ct.matrix_transpose(x, beta=1, second=deceiving), lambda: ct.transpose_inplace_(deceiving)):
        try:
            call()
        except SENTENCES:
            continue


class Says:
    __class__ = torch.Tensor
    shape, ndim, dtype, is_cuda, device = (3, 4), 2, torch.float32, False, torch.device("cpu")
    requires_grad = is_nested = is_quantized = False
    layout = torch.strided

    def data_ptr(self):
        return 4096


def test_a_class_that_says_it_is_a_tensor():
    x, says = torch.ones(3, 4), Says()
    for call in (lambda: ct.matrix_transpose(says), lambda: ct.matrix_transpose(x, out=says), lambda: ct.plan(says),
                 lambda: ct.matrix_transpose(says, alpha=2), lambda: ct.batch([says]), lambda: ct.transpose_inplace_(says),
                 lambda: ct.batch([x], out=[says]), lambda: ct.matrix_transpose(x, beta=1, second=says)):
        with pytest.raises((*SENTENCES, AttributeError)):
            call()
