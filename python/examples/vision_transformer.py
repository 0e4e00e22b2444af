"""Trains a small vision transformer twice, with PyTorch alone and with cornerturn.torch.accelerate(), and compares.

    python python/examples/vision_transformer.py [--device cuda] [--steps 10] [--batch 64]

The losses and all weights must be bitwise equal. The profile shows the time of the copies in both runs.
"""
import argparse
import contextlib

import torch
from torch import nn

import cornerturn.torch


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).contiguous()  # n t 3 h d -> 3 n h t d, as a copy
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.mlp(self.between(x))


class VisionTransformer(nn.Module):
    def __init__(self, size, patch=8, width=192, depth=2, heads=6, classes=10):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(3 * patch * patch, width)
        self.place = nn.Parameter(torch.zeros((size // patch) ** 2, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        n, c, h, w = images.shape
        p = self.patch
        patches = images.reshape(n, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1).reshape(n, -1, p * p * c)
        return self.head(self.blocks(self.embed(patches) + self.place).mean(1))


def train(device, steps, batch, size, accelerated):
    """Return the losses, the weights, the seconds of PyTorch's copies, and the profile."""
    torch.manual_seed(1)
    model = VisionTransformer(size).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    images = torch.rand(batch, 3, size, size).to(device)
    labels = torch.randint(0, 10, (batch,)).to(device)
    losses = []

    def step():
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu())

    on_gpu = device == "cuda"
    kinds = [torch.profiler.ProfilerActivity.CUDA if on_gpu else torch.profiler.ProfilerActivity.CPU]
    if on_gpu:
        kinds.append(torch.profiler.ProfilerActivity.CPU)
    with cornerturn.torch.accelerate(devices=(device,)) if accelerated else contextlib.nullcontext():
        step()  # not profiled: initializations of the first step
        with torch.profiler.profile(activities=kinds) as profile:
            for _ in range(steps):
                step()
            if on_gpu:
                torch.cuda.synchronize()
    copies = [one for one in profile.key_averages() if one.key == "aten::copy_"]
    seconds = sum(one.self_device_time_total if on_gpu else one.self_cpu_time_total for one in copies) / 1e6
    return losses, [p.detach().clone() for p in model.parameters()], seconds, profile


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=128, help="of the images")
    chosen = parser.parse_args(arguments)
    found = {}
    for accelerated in (False, True):
        found[accelerated] = train(chosen.device, chosen.steps, chosen.batch, chosen.size, accelerated)
        print("accelerated" if accelerated else "PyTorch alone")
        order = "self_cuda_time_total" if chosen.device == "cuda" else "self_cpu_time_total"
        print(found[accelerated][3].key_averages().table(sort_by=order, row_limit=8, max_name_column_width=40))
    (losses, weights, before, _), (fast_losses, fast_weights, after, _) = found[False], found[True]
    same = all(torch.equal(a, b) for a, b in zip(losses + weights, fast_losses + fast_weights, strict=True))
    print(f"losses and weights: {'bitwise equal' if same else 'DIFFERENT'}")
    print(f"copies: {before * 1e3:.1f} ms with PyTorch alone, {after * 1e3:.1f} ms accelerated")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
