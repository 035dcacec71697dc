from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from srm.domains.minigrid.encoding import MINIGRID_CELLS
from srm.rl.nn import kernels
from srm.rl.nn.grid_conv import CellConvolutions, LinearElu, Window, blank_frame, windows


def random_frames(count: int, width: int = 7, height: int = 7) -> np.ndarray:
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, size, (count, width, height)) for size in (11, 6, 3)]
    return np.concatenate(
        [MINIGRID_CELLS.encode(np.stack(parts, axis=-1).astype(np.uint8)), blank_frame(width * height)[None]]
    )


def by_torch(net: CellConvolutions, codes: np.ndarray, rows: np.ndarray, width: int, height: int) -> Tensor:
    """The slow truth: frames stacked as channels, padded as TensorFlow's 'SAME', through `conv2d`."""
    channels = net.features.shape[1]
    seen = net.features[torch.from_numpy(codes[rows].astype(np.int64))]  # [N, L, cells, channels]
    x = seen.view(len(rows), net.lags, width, height, channels).permute(0, 1, 4, 2, 3).flatten(1, 2)
    first = net.first.view(channels, net.lags, 9, 32).permute(3, 1, 0, 2).reshape(32, -1, 3, 3)
    weights = [first, *(weight.view(3, 3, 32, 32).permute(3, 2, 0, 1) for weight in net.later)]
    for weight, bias in zip(weights, net.biases, strict=True):
        pads = []
        for size in (x.shape[3], x.shape[2]):
            pad = max((-(-size // 2) - 1) * 2 + 3 - size, 0)
            pads += [pad // 2, pad - pad // 2]
        x = functional.elu(functional.conv2d(functional.pad(x, pads), weight, bias, stride=2))
    return x.permute(0, 2, 3, 1).flatten(1)


def test_the_windows_of_four_cells_by_four_reach_two_or_three_cells_each_way() -> None:
    found, size = windows(4, 4)
    assert size == (2, 2)
    assert found[0] == Window(taps=tuple(range(9)), cells=(0, 1, 2, 4, 5, 6, 8, 9, 10))
    assert found[1] == Window(taps=(0, 1, 3, 4, 6, 7), cells=(2, 3, 6, 7, 10, 11))
    assert found[3] == Window(taps=(0, 1, 3, 4), cells=(10, 11, 14, 15))


def test_the_first_window_of_seven_by_seven_is_padded_on_both_sides() -> None:
    found, size = windows(7, 7)
    assert size == (4, 4)
    assert found[0] == Window(taps=(4, 5, 7, 8), cells=(0, 1, 7, 8))
    assert found[5] == Window(taps=tuple(range(9)), cells=(8, 9, 10, 15, 16, 17, 22, 23, 24))


@pytest.mark.parametrize("encoding", ["one_hot", "ids"])
@pytest.mark.parametrize(("width", "height", "lags"), [(7, 7, 4), (7, 7, 1), (7, 7, 6), (5, 8, 2)])
def test_look_up_convolutions_equal_torch_convolutions(encoding: str, width: int, height: int, lags: int) -> None:
    net = CellConvolutions(MINIGRID_CELLS, width, height, lags, encoding, scale=0.1)  # type: ignore[arg-type]
    net.initialise(torch.Generator().manual_seed(0))
    torch.nn.init.normal_(net.biases)
    codes = random_frames(40, width, height)
    rows = np.random.default_rng(1).integers(0, 41, (16, lags)).astype(np.uint32)
    ours, theirs = net(codes, rows), by_torch(net, codes, rows, width, height)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    direction = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1))
    for mine, its in zip(
        torch.autograd.grad(ours, list(net.parameters()), direction),
        torch.autograd.grad(theirs, list(net.parameters()), direction),
        strict=True,
    ):
        torch.testing.assert_close(mine, its, rtol=1e-3, atol=1e-4)


def test_a_frame_before_the_episode_adds_nothing() -> None:
    net = CellConvolutions(MINIGRID_CELLS, 7, 7, 2, "one_hot", later=0)
    net.initialise(torch.Generator().manual_seed(0))
    codes = random_frames(1)
    both = net(codes, np.array([[1, 1]], np.uint32))
    assert torch.equal(both, torch.zeros_like(both))


def test_gradients_of_the_caller_are_left_alone() -> None:
    layer = LinearElu(4, 4)
    direction = torch.ones(3, 4)
    layer(torch.randn(3, 4)).backward(direction)
    assert torch.equal(direction, torch.ones(3, 4))


def test_linear_elu_equals_torch() -> None:
    layer, x = LinearElu(5, 3), torch.randn(7, 5, requires_grad=True)
    ours = layer(x)
    theirs = functional.elu(functional.linear(x, layer.weight, layer.bias))
    torch.testing.assert_close(ours, theirs)
    for mine, its in zip(
        torch.autograd.grad(ours.sum(), [x, *layer.parameters()]),
        torch.autograd.grad(theirs.sum(), [x, *layer.parameters()]),
        strict=True,
    ):
        torch.testing.assert_close(mine, its)


def test_elu_is_exact_to_float_precision_wherever_it_bends() -> None:
    x = np.concatenate([np.linspace(-100, 5, 20_001), [0.0, -0.0, -1e-8, 1e-8]]).astype(np.float32)
    y = x.copy()
    kernels.elu(y)
    np.testing.assert_allclose(y, np.where(x > 0, x, np.expm1(x.astype(np.float64))), atol=2e-7)


def test_fixed_weights_say_the_same_and_are_forgotten_after() -> None:
    net = CellConvolutions(MINIGRID_CELLS, 7, 7, 1, "one_hot")
    net.initialise(torch.Generator().manual_seed(0))
    codes, rows = random_frames(4), np.arange(4, dtype=np.uint32)[:, None]
    before = net(codes, rows).detach()
    with net.fixed():
        assert torch.equal(net(codes, rows), before)
    with torch.no_grad():
        net.first += 1
        net.later[0] += 1
    assert not torch.allclose(net(codes, rows), before)
