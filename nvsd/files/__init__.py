"""Checked tables, groups and paths from files; and writing that never leaves half a file.

Nothing in a file is executed. Every refusal is a ValueError of one sentence that names the column
or the row. Rows are counted from 1, without the header.
"""

from __future__ import annotations

from nvsd.files.groups import read_groups
from nvsd.files.paths import holds_selection, read_path, read_selection, write_dataset
from nvsd.files.tables import (
    Table,
    input_table,
    read_table,
    refuse_absent,
    refuse_unknown,
    training_table,
)
from nvsd.files.writing import (
    check_output,
    in_this_process,
    write_bytes,
    write_figure,
    write_text,
)

__all__ = [
    "Table",
    "check_output",
    "holds_selection",
    "in_this_process",
    "input_table",
    "read_groups",
    "read_path",
    "read_selection",
    "read_table",
    "refuse_absent",
    "refuse_unknown",
    "training_table",
    "write_bytes",
    "write_dataset",
    "write_figure",
    "write_text",
]
