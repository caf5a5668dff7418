"""The selection engine: reweighted ANOVA kernel ridge, and the race that tunes it.

`features` makes one small feature matrix per input, `kernel` the ANOVA kernel of them, `reweight`
fits and weighs in rounds, `scan` looks for main effects and pairs, `race` lets configurations
compete on rows that their weights never saw, `ranking` ranks all inputs, `sets` fits the first few
of them, `judging` repeats all of it in folds, `forms` finds the form of the last fit, with a kernel
of the library, and `refits` makes it, of many rows by sums over them.
"""
