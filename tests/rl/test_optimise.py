"""Gradient steps are those of `torch.optim.Adam`, bit by bit, and go on from a checkpoint as if nothing had happened."""

from __future__ import annotations

import subprocess
import sys

import torch
from torch import Tensor, nn

from srm.rl.optimise import Optimiser

SHAPES = {"wide": (5, 3), "bias": (3,)}
RATE, EPSILON = 1e-3, 1e-5


def weights() -> dict[str, nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return {name: nn.Parameter(torch.randn(shape, generator=generator)) for name, shape in SHAPES.items()}


def gradients(steps: int) -> list[dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [{name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()} for _ in range(steps)]


def descend(optimiser: Optimiser, stepped: dict[str, nn.Parameter], along: list[dict[str, Tensor]]) -> None:
    for gradient in along:
        for name, weight in stepped.items():
            assert weight.grad is not None
            weight.grad.copy_(gradient[name])
        optimiser.step()


def own(stepped: dict[str, nn.Parameter], max_grad_norm: float = 1e9) -> Optimiser:
    return Optimiser(stepped, learning_rate=RATE, epsilon=EPSILON, max_grad_norm=max_grad_norm)


def test_steps_are_those_of_torch():
    ours, theirs = weights(), weights()
    adam = torch.optim.Adam(theirs.values(), lr=RATE, eps=EPSILON, fused=True)
    descend(own(ours), ours, gradients(20))
    for gradient in gradients(20):
        for name, weight in theirs.items():
            weight.grad = gradient[name].clone()
        adam.step()
    for name in SHAPES:
        assert torch.equal(ours[name], theirs[name]), name


def test_a_long_gradient_is_shortened_and_its_length_returned():
    stepped = weights()
    optimiser = own(stepped, max_grad_norm=1.0)
    for weight in stepped.values():
        assert weight.grad is not None
        weight.grad.fill_(2.0)
    assert optimiser.step() == torch.full((18,), 2.0).norm().item()
    first = optimiser.tensors()["bias.exp_avg"]  # a tenth of the gradient
    assert torch.allclose(first, torch.full((3,), 0.1 / 18**0.5))


def test_loaded_memory_goes_on_as_the_saved_one():
    along = gradients(6)
    straight, resumed = weights(), weights()
    descend(own(straight), straight, along)
    before = own(resumed)
    assert before.tensors() == {}  # nothing is remembered before the first step
    descend(before, resumed, along[:3])
    after = own(resumed)
    after.load("adam", {f"adam.{name}": value for name, value in before.tensors().items()})
    descend(after, resumed, along[3:])
    for name in SHAPES:
        assert torch.equal(straight[name], resumed[name]), name


def test_no_compiler_is_imported_for_it():
    program = (
        "import sys, torch; from srm.rl.optimise import Optimiser\n"
        "weight = torch.nn.Parameter(torch.ones(2))\n"
        "Optimiser({'weight': weight}, learning_rate=1.0, epsilon=1e-8, max_grad_norm=1.0).step()\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
