"""Datasets of runs of many tasks: the paper's experiments and the benchmark."""

from __future__ import annotations

from nvsd.results.variables import Schema, Variable

__all__ = ["BENCHMARK", "FIGURE", "REPLICATION"]

_TASK = ("method", "n", "replication")
REPLICATION = Schema(
    "results of an experiment of the paper",
    {
        "rmse": Variable(_TASK, "root mean squared error on the test data"),
        "validation_mse": Variable(_TASK, "mean squared error on the validation data"),
        "seconds": Variable(_TASK, "processor time of the fit"),
        "converged": Variable(_TASK, "part of the grid on which the solver met its tolerance"),
        "support": Variable((*_TASK, "feature"), "whether the input was selected"),
    },
)

FIGURE = Schema(
    "predictions on the test data",
    {
        "prediction": Variable(
            ("experiment", "method", "sample"), "predictions for the test data", "y"
        ),
        "y": Variable(("sample",), "target of the test data", "y"),
        "X": Variable(("sample", "input"), "the inputs that are drawn", "x"),
    },
)

_RUN = ("method", "cell", "replication")
BENCHMARK = Schema(
    "results of a suite of the benchmark",
    {
        "share": Variable(_RUN, "share of the k true inputs among the first k"),
        "average_precision": Variable(_RUN, "area under the ranking's precision-recall curve"),
        "exact": Variable(_RUN, "1 if the set is the true one, otherwise 0"),
        "distance": Variable(_RUN, "Tanimoto distance of the set from the true one"),
        "fdp": Variable(_RUN, "share of false inputs in the set"),
        "power": Variable(_RUN, "share of the true inputs that are in the set"),
        "size": Variable(_RUN, "number of inputs in the set"),
        "r2": Variable(_RUN, "R2 of the method's own predictions on the test rows"),
        "log_loss": Variable(_RUN, "log-loss of the method's own probabilities"),
        "auc": Variable(_RUN, "AUC of the method's own probabilities"),
        "refit_r2": Variable(_RUN, "R2 of a forest on the set, the same for all methods"),
        "refit_log_loss": Variable(_RUN, "log-loss of a forest on the set"),
        "refit_auc": Variable(_RUN, "AUC of a forest on the set"),
        "seconds": Variable(_RUN, "processor time of the fit", "s"),
        "memory": Variable(_RUN, "peak of memory during the fit above the use before", "MiB"),
        "failed": Variable(_RUN, "whether the fit ended with an error"),
    },
    {
        "method": "method",
        "settings": "fingerprint of the settings",
        "versions": "versions of the packages that the method needs",
        "machine": "processor",
        "made": "days of the runs",
        "commit": "commits of the library",
        "cell": "problem with its numbers of rows and inputs",
        "problem": "problem",
        "n": "number of training rows",
        "d": "number of inputs",
    },
)
