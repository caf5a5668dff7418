"""The effects of the true inputs of `nvsd.benchmark.unseen`; none may be below .01.

python docs/scripts/unseen_problems.py    # total Sobol index of every true input
"""

from __future__ import annotations

from nvsd.benchmark.effects import SMALLEST_EFFECT, total_effects
from nvsd.benchmark.unseen import KINDS


def main() -> None:
    """Print the effects, and end with an error if one is too small."""
    weakest = {}
    for name, kind in KINDS.items():
        effects = total_effects(name)
        weakest[name] = effects.min()
        numbers = ", ".join(f"{effect:.3f}" for effect in effects)
        print(f"{name:10} n = {kind.n:5} d = {kind.d:5}  {numbers}")
    least = min(weakest, key=lambda name: weakest[name])
    print(f"{len(KINDS)} kinds; the smallest effect is {weakest[least]:.3f}, in {least}")
    if weakest[least] < SMALLEST_EFFECT:
        raise SystemExit(f"an effect is below {SMALLEST_EFFECT}.")


if __name__ == "__main__":
    main()
