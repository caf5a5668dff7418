"""The selection engine: reweighted ANOVA kernel ridge, and the race that tunes it.

- `features` makes one small feature matrix for each input;
- `kernel` computes the ANOVA kernel of these features;
- `reweight` fits, and computes new weights from the fit, in rounds;
- `scan` looks for main effects, pairs and triples;
- `pursuit` adds inputs one by one, by what the fit before leaves unexplained;
- `race` compares configurations on rows that were not used to find their weights;
- `ranking` ranks all inputs;
- `sets` fits the first few inputs of a ranking;
- `many` lets rankings and fits learn from more rows;
- `judging` repeats all of this in every fold, and `judged` chooses a size;
- `forms` chooses a kernel of the library for the last fit;
- `refits` makes the last fit; if there are many rows, by sums over them.

The constants of these modules, and those of `nvsd.selection.engine`, were tuned on the problems and
seeds that docs/scripts/selection_problems.py calls TUNING; those of the modules `loss_*` on the
same of docs/scripts/classification_problems.py. Both files say which other problems led to a
change, and which are reported on. Limits of time and memory (rows, sections, blocks) were set by
the time they take. The pursuit was tuned on other problems: new ones that are sparse, gated,
stepped or limited by a minimum, and new seeds of those where inputs were lost before, namely
yamada1, yamada2, ringxorsum, f_ar95, f_weaklin, limiting, nested, regimes and inhibitor. So the
last four of these are no longer unseen.
"""
