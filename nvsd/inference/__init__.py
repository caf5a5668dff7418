"""How sure is it? Tests whether y depends on an input given the others.

`conditional` models an input given the others, `copies` draws it anew from that model, `hypotheses`
measures how much the errors on held-out rows rise when a copy takes its place, `multiplicity`
turns p-values into q-values, and `together` finds inputs that are near copies of each other.
"""
