"""What the user gave: checked once, with names, as rows that are read a block at a time."""
