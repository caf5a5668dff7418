"""Checked tables, groups and paths from files; and writing that never leaves half a file.

Nothing in a file is executed. Every refusal is a ValueError of one sentence that names the column
or the row. Rows are counted from 1, without the header.
"""

from __future__ import annotations

from nvsd.files.groups import read_groups
from nvsd.files.paths import read_path, write_dataset
from nvsd.files.tables import (
    Table,
    input_table,
    read_table,
    refuse_absent,
    refuse_unknown,
    training_table,
)
from nvsd.files.writing import check_output, replacing, write_text

__all__ = [
    "Table",
    "check_output",
    "input_table",
    "read_groups",
    "read_path",
    "read_table",
    "refuse_absent",
    "refuse_unknown",
    "replacing",
    "training_table",
    "write_dataset",
    "write_text",
]
