"""From a table to the inputs that matter: what ``make demo`` runs.

First the main job: a table with numbers, two categories and columns of noise, the inputs that the
target depends on, how sure that is, and how it depends on them. Then a certified regularisation
path with groups. Prints both and writes its files into the current folder.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import nvsd
from nvsd.datasets import make_e3
from nvsd.kernels import Gaussian
from nvsd.penalties import GroupLasso
from nvsd.plots import plot_effects, plot_importance, plot_path

TRUTH = ["light", "water", "temperature", "soil"]


def greenhouse(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Twelve things that a greenhouse writes down, and the growth of each plant."""
    rng = np.random.default_rng(seed)
    temperature = rng.normal(21, 4, n)
    plants = pd.DataFrame(
        {
            "light": rng.gamma(4, 60, n),
            "water": rng.uniform(0, 10, n),
            "temperature": temperature,
            "humidity": 60 - 1.5 * (temperature - 21) + rng.normal(0, 8, n),
            "soil": rng.choice(["clay", "loam", "sand"], n),
            "co2": rng.normal(420, 30, n),
            "wind": rng.exponential(3, n),
            "nitrogen": rng.lognormal(1, 0.6, n),
            "row": rng.integers(1, 13, n),
            "gardener": rng.choice(["Ada", "Ben", "Cleo", "Dan"], n),
            "watered at": rng.uniform(5, 20, n),
            "noise": rng.normal(size=n),
        }
    )
    saturated = 8 * plants["light"] / (plants["light"] + 150)
    thirst = plants["water"] * (0.35 - 0.007 * (temperature - 22) ** 2)
    soil = plants["soil"].map({"clay": 0.0, "loam": 1.2, "sand": -0.6})
    growth = saturated + thirst + soil + rng.normal(0, 0.4, n)
    return plants, growth.rename("growth")


def main() -> None:
    print(heading("Which inputs matter, and how sure is it?"))
    selection = select()
    print(heading("A certified path, with groups of inputs"))
    path()
    print(heading("Files"))
    print("selection.png, selection.html   the selection as a picture and as a page")
    print("selection.nc                    the same, for nvsd.load_selection")
    print("path.nc, path.png               the path: .venv/bin/nvsd show path.nc")
    wrong = set(selection.selected) ^ set(TRUTH)
    print(f"\nThe right answers were {', '.join(TRUTH)}: {'missed' if wrong else 'found'}.")


def select() -> nvsd.Selection:
    """Select, say how sure it is, predict, draw and save."""
    plants, growth = greenhouse(250, seed=0)
    print(f"{len(plants)} plants, {plants.shape[1]} columns, two of them categories.")
    print(f"Growth was made from {', '.join(TRUTH)}; nvsd does not know that.")
    print("\n    selection = nvsd.select(plants, growth, p_values=True)\n")
    selection = nvsd.select(plants, growth, p_values=True, progress=True)
    print(selection.summary())

    pair = selection.interactions().iloc[0]
    together = f"What {' and '.join(pair['pair'])} do together is {pair['share']:.0%} of what is"
    print(f"\n{together} explained.")
    new_plants, new_growth = greenhouse(1000, seed=1)
    error = np.mean((selection.predict(new_plants) - new_growth) ** 2)
    print(f"Of the growth of 1000 new plants it explains {1 - error / new_growth.var():.0%}.")

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    plot_importance(selection, ax=axes[0])
    plot_effects(selection, ax=axes[1])
    figure.savefig("selection.png", dpi=110)
    plt.close(figure)
    selection.report("selection.html")
    selection.save("selection.nc")
    return selection


def path() -> None:
    """Eighteen inputs: three measurements each of six hidden quantities, which are the groups."""
    train, fresh = make_e3(110, seed=0), make_e3(500, seed=1)
    X, X_fresh = (pd.DataFrame(each.X, columns=each.names) for each in (train, fresh))
    print(f"{len(train.y)} samples, {len(train.names)} inputs in {len(set(train.groups))} groups.")
    print("The target was made from the groups g1 and g3.\n")
    found = nvsd.nvsd_path(
        X, train.y,
        kernel=Gaussian(width=1.5), penalty=GroupLasso(train.groups),
        n_taus=50, tau_ratio=1e-2, tol=1e-8, progress=True,
    )  # fmt: skip
    gap = float((found.gap / found.attrs["scale"]).max())
    print(f"{found.sizes['tau']} values of tau solved. As the duality gap proves, none is further")
    print(f"than {gap:.0e} (relative) from its minimum.")

    # At each tau, refit on the inputs that are on, and let fresh samples decide between them.
    refits = found.nvsd.debias(X, train.y, validation=(X_fresh, fresh.y))
    errors = ((refits.nvsd.predict(X_fresh) - fresh.y) ** 2).mean("sample")
    best = found.isel(tau=int(np.argmin(errors.values)))
    groups = list(dict.fromkeys(best.group.values[best.support.values]))
    explained = 1 - float(errors.min()) / fresh.y.var()
    print(f"Fresh samples choose tau = {float(best.tau):.3g}, where {' and '.join(groups)} are on.")
    print(f"A refit on these groups explains {explained:.0%} of the fresh samples.")

    found.to_netcdf("path.nc", engine="h5netcdf")
    plot_path(found, chosen=float(best.tau)).figure.savefig("path.png", dpi=110)


def heading(text: str) -> str:
    """A line that stands out."""
    return f"\n{text}\n{'=' * len(text)}"


if __name__ == "__main__":
    main()
