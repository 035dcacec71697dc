"""A process that answers what takes long, so that the studio never waits for it: a newer question takes the place of an older one.

Questions and answers are lines of JSON. A question that was overtaken is let finish if it is nearly done; one that runs on is ended with
its process, since proofs cannot be interrupted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from srm.errors import SrmError
from srm.files import parse_json

GRACE = 1.0  # seconds that an overtaken question may have run; to start anew takes about as long
LONGEST = 300.0  # seconds of any


class Child:
    """Starts when it is first asked."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._state, self._pipe = threading.Lock(), threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closed = False
        self._newest: dict[str, object] = {}  # by kind: the question that counts
        self._running: tuple[str, float] | None = None  # of which kind the one being answered is, and since when

    def ask(self, kind: str, question: Mapping[str, Any], *ends: str) -> dict[str, Any] | None:
        """The answer; None if another of its kind has come since, or one that `ends` its kind."""
        ticket = object()
        with self._state:
            overtaken = (kind, *ends)
            self._newest |= dict.fromkeys(overtaken, ticket)
            if self._running is not None:
                running, since = self._running
                if running in overtaken and time.monotonic() - since > GRACE:
                    self._end()
        with self._pipe:
            with self._state:
                if self._newest[kind] is not ticket or self._closed:
                    return None
                process = self._alive()
                self._running = (kind, time.monotonic())
            limit = threading.Timer(LONGEST, process.kill)
            limit.start()
            try:
                answer = _exchange(process, question)
            finally:
                limit.cancel()
                with self._state:
                    self._running = None
                    if process.poll() is not None:
                        _release(process)
        if self._newest[kind] is not ticket or self._closed:
            return None
        if answer is None:
            raise SrmError(f"no answer within {LONGEST:.0f} s; ask of a smaller machine")
        if "error" in answer:
            raise SrmError(answer["error"])
        return answer

    def close(self) -> None:
        with self._state:
            self._closed = True
            self._end()

    def _alive(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-P", "-m", "srm.studio.worker", self._task]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C reaches the studio alone, which ends the other
            )
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._running is None:  # else whoever waits for its answer does it
                _release(self._process)
            self._process = None


def _release(process: subprocess.Popen[str]) -> None:
    """The pipes of a process that has ended; what it was asked and never read is dropped."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _exchange(process: subprocess.Popen[str], question: Mapping[str, Any]) -> dict[str, Any] | None:
    """None if the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except (OSError, ValueError):
        return None
    answer: dict[str, Any] | None = parse_json(line) if line else None
    return answer
