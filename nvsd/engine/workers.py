"""How many folds are done at once: threads, each with one BLAS thread.

The matrices of a fold are small, so that two folds on two cores beat two BLAS threads on one fold.
"""

from __future__ import annotations

from joblib import effective_n_jobs
from threadpoolctl import threadpool_info


def jobs_at_once(n_jobs: int | None) -> int | None:
    """As many as asked for; by default as BLAS may have threads.

    That is what the environment, or a limit around the call, allows. None means what a
    `joblib.parallel_config` around the call says.
    """
    if n_jobs is not None or effective_n_jobs(None) > 1:
        return n_jobs
    return max([1, *(int(pool["num_threads"]) for pool in threadpool_info())])
