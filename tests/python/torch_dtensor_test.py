"""DTensor: the sharded axes are permuted, nothing is exchanged, and the numbers are PyTorch's."""
import os

import pytest

import cornerturn as ct

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.tensor")
if not torch.distributed.is_gloo_available():
    pytest.skip("this PyTorch has no gloo", allow_module_level=True)


def work(rank, port, failures):
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor, init_device_mesh
    from torch.distributed.tensor.debug import CommDebugMode
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2")
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(3)
    whole = torch.randn(4, 6, 2)
    try:
        for placement in (Shard(0), Shard(1), Shard(2), Replicate()):
            x = distribute_tensor(whole, mesh, [placement])
            for axes in ((1, 0, 2), (2, 1, 0), (2, 0, 1), (0, 1, 2), (-1, 0, 1)):
                with CommDebugMode() as exchanged:
                    y = ct.permute_dims(x, axes)
                assert exchanged.get_total_counts() == 0, (placement, axes)
                assert y.placements == x.permute(axes).placements, (placement, axes, y.placements)
                assert torch.equal(y.full_tensor(), whole.permute(axes))
        x = distribute_tensor(whole, mesh, [Shard(0)]).requires_grad_()
        ct.permute_dims(x, (1, 0, 2)).square().sum().backward()
        assert torch.allclose(x.grad.full_tensor(), 2 * whole)
        x = x.detach()
        for call in (lambda: ct.plan(whole, (1, 0, 2))(x), lambda: ct.permute_dims(x, (1, 0, 2), alpha=2.0),
                     lambda: ct.batch([x], (1, 0, 2))(), lambda: ct.transpose_inplace_(x)):
            with pytest.raises((ValueError, RuntimeError, TypeError), match="DTensor"):
                call()
        assert Partial is not None
    except BaseException as found:  # noqa: BLE001  the parent shows it
        failures.put(f"{rank}: {type(found).__name__}: {found}"[:2000])
        raise
    finally:
        torch.distributed.destroy_process_group()


def test_sharded_axes_are_permuted(tmp_path):
    import socket

    import torch.multiprocessing as processes
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    failures = processes.get_context("spawn").SimpleQueue()
    started = processes.spawn(work, (port, failures), 2, join=False)
    try:
        while not started.join(60):
            pass
    except Exception:
        assert failures.empty(), failures.get()
        raise
