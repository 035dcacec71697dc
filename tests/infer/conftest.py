"""One thread, as in every run: the other process of `Beside` has one too, and sums of floats depend on how they are split."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
