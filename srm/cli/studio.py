"""`srm studio`: a page in the browser where a person plays, compares, edits and watches."""

from __future__ import annotations

import socket
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from srm.errors import SettingError
from srm.extras import require
from srm.machine.language.parse import library, library_text
from srm.machine.language.source import read_source

if TYPE_CHECKING:
    from srm.studio.studio import Studio


@dataclass(frozen=True)
class OpenStudio:
    """open a page in the browser where you play, compare, edit and watch; Ctrl-C ends it"""

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")] = "doorkey"
    """the task to play; one of your own is named PACKAGE.MODULE:NAME, and its code runs"""
    machine: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """the machine that pays, a file or a name of the library; the task's first unless given"""
    port: int = 0
    """of the page's address; any that is free unless given"""
    policy: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """a run whose policy plays too; you take over at any step"""
    demos: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """demonstrations to show and to compare with; those that ship with the task unless given"""
    others: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """episodes that are no demonstrations, such as `srm eval --replays FILE` writes, to compare with"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """where episodes that you play are kept, to be added to; TASK-played.npz unless given"""
    infer: bool = True
    """give holes without a value the one that the demonstrations suggest, some seconds after the start"""
    browser: bool = True
    """open the page at once"""

    def run(self) -> int:
        require("studio", "`srm studio`")
        from srm.studio.app import serve
        from srm.studio.security import new_token

        if not 0 <= self.port < 65536:
            raise SettingError(f"--port {self.port}: expected 0 to 65535")
        studio = self.make()
        try:
            listening = socket.create_server(("127.0.0.1", self.port))
        except OSError as error:
            raise SettingError(f"--port {self.port}: {error.strerror}; choose another, or leave it out") from None
        token = new_token()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/#token={token}"
        print(f"the studio of {studio.task.env_id}: {address}\nCtrl-C ends it", flush=True)
        if self.browser:
            webbrowser.open(address)
        serve(studio, token, listening)
        print("\n".join(studio.saved()), file=sys.stderr)
        return 0

    def make(self) -> Studio:
        """The studio that the flags ask for, in the current folder."""
        from srm.domains import demonstrations as demos
        from srm.domains.tasks import find_task
        from srm.studio.bench import BLANK
        from srm.studio.compare import ComparePart
        from srm.studio.edit import Edit
        from srm.studio.episodes import EpisodeLibrary, given_demonstrations
        from srm.studio.play import policy_of
        from srm.studio.store import EpisodeStore
        from srm.studio.studio import Studio
        from srm.studio.watch import Watch

        task = find_task(self.task)
        others = None if self.others is None else demos.load(self.others, task)
        policy = None if self.policy is None else policy_of(task, self.task, self.policy)
        store = EpisodeStore(task, Path.cwd() / (self.out or f"{task.name}-played.npz"))
        episodes = EpisodeLibrary(task, store, given_demonstrations(task, self.demos), others, policy)
        name = self.machine or (task.machines[0] if task.machines else None)
        text = BLANK.format(words=task.vocabulary.name) if name is None else _text(name)
        studio = Studio(task, self.task, Path.cwd(), text, episodes, self.infer)
        Watch(studio, ComparePart(studio, Edit(studio, self.demos)))
        return studio


def _text(name: str) -> str:
    """The text of a machine, as it stands in its file."""
    if name in library() and not Path(name).exists():
        return library_text(name)
    return read_source(name).text
