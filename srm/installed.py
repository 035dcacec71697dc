"""What installed packages add: tasks and vocabularies, as entry points of the group `srm.tasks`.

    [project.entry-points."srm.tasks"]
    lander = "lander_words:TASK"        # an srm.Task or an srm.Vocabulary, of the same name

Names are read from the packages' metadata; code is imported only when somebody names what it adds, and a file may name it too. The
current folder is no installed package, whatever lies in it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Any

from srm.errors import TaskError

GROUP = "srm.tasks"


@dataclass(frozen=True)
class Addition:
    """What a package adds under a name."""

    name: str
    package: str  # its distribution, with the version
    entry: EntryPoint

    def load(self) -> Any:
        """The object itself: its code is imported."""
        try:
            return self.entry.load()
        except Exception as error:  # whatever the package does when it is imported
            raise TaskError(
                f"{self.name}: {self.entry.value} of the package {self.package} cannot be loaded: "
                f"{type(error).__name__}: {error}; mend or uninstall it"
            ) from error


def additions() -> dict[str, Addition]:
    """By name; of several packages that add the same name the first one of the path counts, as for imports."""
    here = Path.cwd()
    known: dict[str, Addition] = {}
    path = [entry for entry in sys.path if entry and Path(entry).resolve() != here]
    for distribution in distributions(path=path):
        for entry in distribution.entry_points.select(group=GROUP):
            package = f"{distribution.metadata['Name']} {distribution.version}"
            known.setdefault(entry.name, Addition(entry.name, package, entry))
    return dict(sorted(known.items()))
