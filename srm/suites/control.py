"""Suites of the control tasks: does a machine that is inferred from somebody's demonstrations bring a policy up to do the task in the same way?"""

from __future__ import annotations

from srm.suites.suite import suite

LANDER = (
    "--ppo.discount 0.999 --ppo.gae-lambda 0.98 --frames 1000000"  # with a discount of 0.99 landing is out of sight
)
STYLES = {"gentle": "lunarlander", "frugal": "lunarlander_frugal"}


def _styles() -> dict[str, str]:
    """Two styles x what pays; `srm eval RUN --demos DEMOS` compares what comes out with the demonstrator."""
    curves = {"task": f"train lunarlander {LANDER}"}
    for style, demos in STYLES.items():
        for way in ("posterior", "signs", "regression"):
            curves[f"{style}-{way}"] = f"learn lunarlander --demos {demos} --infer {way} {LANDER}"
        curves[f"{style}-gail"] = f"train lunarlander --reward gail --demos {demos} {LANDER}"
        curves[f"{style}-bc"] = f"train lunarlander --learner bc --demos {demos}"
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
        _styles(),
        seeds=5,
        first_seed=100,
    ),
    suite(
        "control-truth",
        "Are the values that a policy was trained on found again in ten of its landings?",
        _truth(),
        seeds=1,
        first_seed=100,
    ),
)
