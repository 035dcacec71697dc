"""Suites of the control tasks: does a machine that is inferred from somebody's demonstrations bring a policy up to do the task in the same way?"""

from __future__ import annotations

from srm.suites.comparisons import FRESH
from srm.suites.suite import suite

LANDER = (
    "--ppo.discount 0.999 --ppo.gae-lambda 0.98 --frames 1000000"  # with a discount of 0.99 landing is out of sight
)
FAST = "--envs envpool --frames 1000000"  # highway-env itself plays some fifty steps a second


def _styles(task: str, demonstrations: dict[str, str], flags: str) -> dict[str, str]:
    """Two styles x what pays; `srm eval RUN --demos DEMOS` compares what comes out with the demonstrator."""
    curves = {"task": f"train {task} {flags}"}
    for style, demos in demonstrations.items():
        for way in ("posterior", "signs", "regression"):
            curves[f"{style}-{way}"] = f"learn {task} --demos {demos} --infer {way} {flags}"
        curves[f"{style}-gail"] = f"train {task} --reward gail --demos {demos} {flags}"
        curves[f"{style}-bc"] = f"train {task} --learner bc --demos {demos}"
    return curves


def _truth() -> dict[str, str]:
    """Policies for values that are known: `python -m benchmarks.styles truth RUN...` infers them back from ten episodes of each."""
    return {
        f"draw{draw}": f"train lunarlander --reward lunarlander --holes uniform --draw {draw} {LANDER}"
        for draw in range(5)
    }


CONTROL = (
    suite(
        "control-lunarlander",
        "Does a policy land in the style of whoever demonstrated, gentle or frugal?",
        _styles("lunarlander", {"gentle": "lunarlander", "frugal": "lunarlander_frugal"}, LANDER),
        seeds=5,
        first_seed=FRESH,
    ),
    suite(
        "control-hopper",
        "Does a policy hop in the style of whoever demonstrated, frugal or fast?",
        _styles("hopper", {"frugal": "hopper", "fast": "hopper_fast"}, "--frames 1000000"),
        seeds=5,
        first_seed=FRESH,
    ),
    suite(
        "control-highway",
        "Does a policy drive in the style of whoever demonstrated, cautious or brisk?",
        _styles("highway", {"cautious": "highway", "brisk": "highway_brisk"}, FAST),
        seeds=5,
        first_seed=FRESH,
    ),
    suite(
        "control-truth",
        "Are the values that a policy was trained on found again in ten of its landings?",
        _truth(),
        seeds=1,
        first_seed=FRESH,
    ),
)
