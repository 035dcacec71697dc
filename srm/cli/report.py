"""`srm report`: the page of a run, or of several beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from srm.errors import RunError
from srm.report.run.learning import write_report
from srm.runs.folder import CONFIG, read_config
from srm.settings import NUMBER

if TYPE_CHECKING:
    from srm.report.compare.collect import MeasuredRun


@dataclass(frozen=True)
class WriteReport:
    """write the page of a learning run or of an inference into its folder, or a page that compares runs; both open from disk, without a network"""

    folders: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUNS")]
    """one run of `srm learn` or `srm infer`; or several runs of `srm learn` or `srm train`, or folders that hold them"""
    out: Annotated[Path | None, arg(aliases=["-o"], metavar="DIR")] = None
    """where the comparison is written; `report` in the folder that holds them all unless given"""
    csv: bool = False
    """write curves.csv and final.csv as well"""
    reach: float = 0.8
    """the return whose frames to reach are printed"""
    keep: Annotated[Path | None, arg(metavar="DIR")] = None
    """copy the small files of the runs to this folder, as CURVE/seedS with shortened logs, to publish them"""

    def __post_init__(self) -> None:
        NUMBER.refuse_outside(self, "--", "reach")

    def run(self) -> int:
        if not self.folders:
            raise RunError("name the runs to report on, or a folder that holds them: srm report RUNS...")
        compares = self.out is not None or self.csv
        if len(self.folders) == 1 and not compares and self.keep is None and _kind(self.folders[0]) == "learn":
            print(write_report(self.folders[0]))
            return 0
        if len(self.folders) == 1 and not compares and self.keep is None and _kind(self.folders[0]) == "infer":
            from srm.report.run.inference import write_posterior_report

            print(write_posterior_report(self.folders[0]))
            return 0
        if self.keep is None:
            from srm.report.compare.collect import find_runs

            self._compare(self.folders, find_runs(self.folders))
            return 0
        from srm.report.compare.keep import keep

        kept = keep(self.folders, self.keep)
        print(self.keep)
        if compares:
            self._compare((self.keep,), kept)
        return 0

    def _compare(self, folders: tuple[Path, ...], runs: list[MeasuredRun]) -> None:
        from srm.report.compare.collect import common_folder
        from srm.report.compare.measure import compare
        from srm.report.compare.page import write_comparison

        out = self.out or common_folder(folders) / "report"
        print(write_comparison(compare(runs, self.reach), out, self.csv))


def _kind(folder: Path) -> str | None:
    """The verb that made a folder."""
    return read_config(folder).get("kind") if (folder / CONFIG).exists() else None
