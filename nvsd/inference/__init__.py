"""Tests of whether y depends on an input given the others.

- `conditional` models an input given the others;
- `copies` draws new values of the input from that model;
- `hypotheses` measures how much the errors on held-out rows rise if a copy replaces the input;
- `multiplicity` turns p-values into q-values;
- `together` finds inputs that are near copies of each other.

The constants of these modules, and those of `nvsd.selection.significance`, were tuned on the
designs of docs/scripts/significance_tuning.py. The designs that docs/significance.md reports on are
others.
"""
