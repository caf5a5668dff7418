"""The user's data: checked once, named, and read as rows, one block at a time."""
