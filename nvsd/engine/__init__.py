"""The selection engine: reweighted ANOVA kernel ridge, and the race that tunes it.

`features` makes one small feature matrix per input, `kernel` the ANOVA kernel of them, `reweight`
fits and weighs in rounds, `scan` looks for main effects, pairs and triples, `race` lets
configurations compete on rows that their weights never saw, `ranking` ranks all inputs, `sets` fits
the first few of them, `many` learns from more rows, and `judging` repeats all of it in folds. For
the last fit, `forms` finds a kernel of the library, and `refits` fits it, by sums over many rows.
"""
