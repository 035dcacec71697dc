"""`srm report`: the page of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from srm.report.learning import write_report


@dataclass(frozen=True)
class Report:
    """write the page of a learning run into its folder; it opens from disk, without a network"""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(name="run")]
    """folder of a run of `srm learn`, finished or under way"""

    def run(self) -> int:
        print(write_report(self.folder))
        return 0
