"""One run on two cores: a second process plays half of the worlds and takes the same gradient steps.

Both begin with the same weights, and every gradient is averaged over the two before an optimiser takes its step, so the weights stay
the same, bit for bit. Each normalises the advantages of its own half. They wait for each other without spinning: where the
second core is busy with something else, a run is as fast as on one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as distributed
from torch import Tensor


@contextmanager
def together(meeting: Path, rank: int, count: int = 2) -> Iterator[None]:
    """As process `rank` of `count`. They find each other through a file that does not exist before."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # no other machine is to hear of it
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)
    try:
        yield
    finally:
        distributed.destroy_process_group()


def average(gradients: Sequence[Tensor]) -> None:
    """Over all processes, in place; nothing where there is one alone."""
    if not distributed.is_initialized():
        return
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for gradient, part in zip(gradients, flat.split([gradient.numel() for gradient in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def total(count: int) -> int:
    """Over all processes."""
    if not distributed.is_initialized():
        return count
    sums = torch.tensor(count)
    distributed.all_reduce(sums)
    return int(sums)
