"""A regularisation path on a seeded example: what ``make demo`` runs.

Eighteen inputs are three measurements each of six hidden quantities, and the three form a group.
The target depends, in a curved way, on the first and the third quantity only. Which groups are
found? Prints a table and writes path.nc and path.png into the current folder.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import xarray as xr

import nvsd
from nvsd.datasets import Sample, make_e3
from nvsd.kernels import Gaussian
from nvsd.penalties import GroupLasso
from nvsd.plots import plot_path


def as_frame(sample: Sample) -> pd.DataFrame:
    """The inputs with their names."""
    return pd.DataFrame(sample.X, columns=sample.names)


def main() -> None:
    train, held_out = make_e3(110, seed=0), make_e3(500, seed=1)
    print(f"{len(train.y)} samples, {len(train.names)} inputs in {len(set(train.groups))} groups.")
    print("The target was made from the groups g1 and g3; the method does not know that.\n")

    # One function for each weight tau of the penalty, from strong to weak.
    path = nvsd.nvsd_path(
        as_frame(train), train.y,
        kernel=Gaussian(width=1.5), penalty=GroupLasso(train.groups),
        n_taus=50, tau_ratio=1e-2, tol=1e-8, progress=True,
    )  # fmt: skip

    # At each tau, refit on the inputs that are on, and let fresh samples decide between them.
    refits = path.nvsd.debias(as_frame(train), train.y, validation=(as_frame(held_out), held_out.y))
    errors = ((refits.nvsd.predict(as_frame(held_out)) - held_out.y) ** 2).mean("sample")
    best = int(np.argmin(errors.values))
    chosen, refit = path.isel(tau=best), refits.isel(tau=best)

    gap = float((path.gap / path.attrs["scale"]).max())
    print(f"\n{path.sizes['tau']} values of tau solved; none is further than {gap:.0e} (relative)")
    print("from its minimum, as the duality gap proves.")
    explained = 1 - float(errors[best]) / held_out.y.var()
    print(
        f"Chosen on {len(held_out.y)} fresh samples: tau = {float(chosen.tau):.3g}. A refit on the"
    )
    print(
        f"{int(chosen.n_selected)} inputs that are on explains {explained:.0%} of their variance.\n"
    )
    print(table(refit.assign(derivative_norm=refit.nvsd.derivative_norm(as_frame(held_out)))))
    truth = sorted(name for name, used in zip(train.names, train.support, strict=True) if used)
    found = sorted(chosen.feature.values[chosen.support.values])
    print(f"\nThe right answer was {', '.join(truth)}: {'found' if found == truth else 'missed'}.")

    path.to_netcdf("path.nc", engine="h5netcdf")
    plot_path(path, chosen=float(chosen.tau)).figure.savefig("path.png", dpi=110)
    print("\nWrote path.nc (look inside with: .venv/bin/nvsd show path.nc) and path.png.")


def table(refit: xr.Dataset) -> str:
    """Group by group, how strongly the refit depends on the inputs."""
    frame = refit[["derivative_norm", "support"]].to_dataframe()
    rows = frame.groupby("group", sort=False).agg(
        inputs=("derivative_norm", lambda norms: " ".join(norms.index)),
        derivative_norm=("derivative_norm", lambda norms: float(np.sqrt((norms**2).sum()))),
        selected=("support", "all"),
    )
    rows["selected"] = rows["selected"].map({True: "yes", False: "-"})
    return rows.to_string(float_format="%.3f")


if __name__ == "__main__":
    main()
