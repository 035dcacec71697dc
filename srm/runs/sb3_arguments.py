"""What the constructor of a learner of Stable-Baselines3 may be given: numbers and switches by name.

The config of a run holds them, and may be somebody else's. Whatever else the constructor takes stays out: `tensorboard_log` names a folder to write to,
`verbose` prints, and where it expects a class or a function it would call what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from srm.errors import SettingError, near, one_line
from srm.settings import ABOVE_ZERO, ONE_OR_MORE, SHARE, ZERO_OR_MORE, Range

_ANY = Range("a number", lambda x: -inf < x < inf)
_COUNT = Range("a whole number from 1 to 1,000,000", lambda x: 1 <= x <= 1_000_000)
_BUFFER = Range("a whole number from 1 to 10,000,000", lambda x: 1 <= x <= 10_000_000)
_WIDTH = Range("a whole number from 1 to 16,384", lambda x: 1 <= x <= 16_384)
_FEW = Range("a whole number from 1 to 20", lambda x: 1 <= x <= 20)
_FEW_OR_NONE = Range("a whole number from 0 to 20", lambda x: 0 <= x <= 20)
_OR_EVER = Range("a whole number that is 1 or more, or -1", lambda x: x == -1 or x >= 1)
WHOLE: Mapping[str, Range] = {
    "n_steps": _COUNT,
    "batch_size": _COUNT,
    "n_epochs": _COUNT,
    "buffer_size": _BUFFER,
    "learning_starts": ZERO_OR_MORE,
    "train_freq": _COUNT,
    "gradient_steps": _OR_EVER,
    "target_update_interval": ONE_OR_MORE,
    "policy_delay": ONE_OR_MORE,
    "sde_sample_freq": _OR_EVER,
    "top_quantiles_to_drop_per_net": _FEW_OR_NONE,
    # Of the network
    "n_quantiles": _WIDTH,
    "n_critics": _FEW,
    "lstm_hidden_size": _WIDTH,
    "n_lstm_layers": _FEW,
}
NUMBERS: Mapping[str, Range] = {
    "learning_rate": ABOVE_ZERO,
    "gamma": SHARE,
    "gae_lambda": SHARE,
    "tau": SHARE,
    "clip_range": ABOVE_ZERO,
    "clip_range_vf": ABOVE_ZERO,
    "ent_coef": _ANY,
    "vf_coef": ZERO_OR_MORE,
    "max_grad_norm": ABOVE_ZERO,
    "target_kl": ABOVE_ZERO,
    "rms_prop_eps": ABOVE_ZERO,
    "exploration_fraction": SHARE,
    "exploration_initial_eps": SHARE,
    "exploration_final_eps": SHARE,
    "target_entropy": _ANY,
    "target_policy_noise": ZERO_OR_MORE,
    "target_noise_clip": ZERO_OR_MORE,
    "log_std_init": _ANY,
    "clip_mean": ABOVE_ZERO,
}
SWITCHES = (
    *("normalize_advantage", "use_rms_prop", "use_sde", "use_sde_at_warmup"),
    *("ortho_init", "full_std", "use_expln", "squash_output", "share_features_extractor"),
    *("shared_lstm", "enable_critic_lstm"),
)
WORDS = {"policy": ("MlpPolicy", "MlpLstmPolicy"), "ent_coef": ("auto",), "target_entropy": ("auto",)}
MAY_BE_NULL = ("clip_range_vf", "target_kl", "max_grad_norm")
OF_NETWORK = (
    *("net_arch", "n_quantiles", "n_critics", "lstm_hidden_size", "n_lstm_layers", "log_std_init", "clip_mean"),
    *("ortho_init", "full_std", "use_expln", "squash_output", "share_features_extractor"),
    *("shared_lstm", "enable_critic_lstm"),
)
_LISTS = {"net_arch": ("pi", "vf", "qf")}  # layers for all, or by what the network is of


def refuse_other_arguments(arguments: Mapping[str, Any], place: str = "") -> None:
    """Refuses a name that is not known above, and a value of another kind. `place`: within `policy_kwargs`."""
    own = {*WHOLE, *NUMBERS, *SWITCHES, *WORDS}
    known = {*OF_NETWORK} if place else (own - {*OF_NETWORK}) | {"policy_kwargs"}
    for name, value in arguments.items():
        flag = f"--sb3.arguments: {place}{one_line(name)}"
        if name not in known:
            raise SettingError(
                f"{flag} cannot be given{near(name, known) or '; there are ' + ', '.join(sorted(known))}"
            )
        expected = _expected(name, value)
        if expected is not None:
            raise SettingError(f"{flag} is {one_line(value)}: give {expected}")
        if name == "policy_kwargs":
            refuse_other_arguments(value, "policy_kwargs.")


def _expected(name: str, value: Any) -> str | None:
    """What a value should have been; None where it fits."""
    if name == "policy_kwargs":
        return None if isinstance(value, dict) else "names and values of the network"
    if name in _LISTS:
        parts = list(value.values()) if isinstance(value, dict) and {*value} <= {*_LISTS[name]} else [value]
        fits = all(isinstance(part, list) and len(part) <= 20 and all(map(_is_width, part)) for part in parts)
        return None if fits else '[64, 64], or {"pi": [64], "vf": [64]}, of widths from 1 to 16,384'
    if name in SWITCHES:
        return None if isinstance(value, bool) else "true or false"
    if value in WORDS.get(name, ()) or (value is None and name in MAY_BE_NULL):
        return None
    limits = WHOLE.get(name) or NUMBERS.get(name)
    kind = int if name in WHOLE else (int, float)
    if limits is not None and isinstance(value, kind) and not isinstance(value, bool) and limits.holds(value):
        return None
    words = " or ".join(f'"{word}"' for word in WORDS.get(name, ()))
    return " or ".join(filter(None, [limits.meaning if limits else None, words]))


def _is_width(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _WIDTH.holds(value)
