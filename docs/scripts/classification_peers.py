"""The methods of `nvsd.benchmark` that `docs/classification.md` sets beside `nvsd.select`.

A peer takes X and labels 0, 1, … and gives what it has of three things: a ranking of all inputs, a
selected set, and probabilities.
"""

from __future__ import annotations

from peers import Peer, peer

from nvsd.benchmark.methods.base import up_to

# In the order of the tables.
PEERS: dict[str, Peer] = {
    "ours": peer("ours", True)._replace(about="`nvsd.select(X, labels)`"),
    "rf": peer("rf", True),
    "boruta": peer("boruta", True, up_to(130_000)),
    "lgbm": peer("lgbm", True),
    "hsic": peer("hsic", True),
    "xrfm": peer("xrfm", True),
    "lassonet": peer("lassonet", True, up_to(32_000)),
}
