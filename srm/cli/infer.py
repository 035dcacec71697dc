"""`srm infer`: what demonstrations say of a machine's holes, in seconds. Nothing is trained."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from srm.runs.folder import LEARNT, refuse_taken
from srm.runs.origin import envs_line, stepped_by
from srm.runs.posterior import Inference, free_folder, infer_holes, read_inputs, write_inference

PATIENCE = 2.0  # seconds until a reader wants to know that something is going on


@dataclass(frozen=True)
class Infer:
    """infer what each part of a task is worth from a few demonstrations, with intervals, and without training anything"""

    inference: Annotated[Inference, tyro.conf.arg(name="")] = field(default_factory=Inference)
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """where the results are written; runs/TASK-MACHINE-infer-seedN unless given, with a number if that is taken"""

    def run(self) -> int:
        from srm.infer.posterior.store import summary_of
        from srm.report.known import posterior_text
        from srm.report.run.inference import write_posterior_report

        start, settings = time.monotonic(), self.inference
        inputs = read_inputs(settings)
        folder = self.out or free_folder(settings, inputs)
        refuse_taken(folder, resumable=False)
        with _patience(f"inferring {len(inputs.machine.holes)} holes of machine {inputs.machine.name} ..."):
            posterior = infer_holes(settings, inputs)
        print(envs_line(inputs.task.env_id, stepped_by(inputs.task)), file=sys.stderr)
        write_inference(folder, settings, inputs, posterior)
        page = write_posterior_report(folder)
        print("\n".join(posterior_text(summary_of(posterior), inputs.demonstrations.env_id)))
        print(f"\n{time.monotonic() - start:.1f} s\nmachine  {folder / LEARNT}\npage     {page}")
        return 0


@contextmanager
def _patience(text: str) -> Iterator[None]:
    """Prints a line where a task takes long."""
    timer = threading.Timer(PATIENCE, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
