"""The layers of the library: what may import what, checked against the code and drawn from it.

    python docs/scripts/architecture.py       # writes docs/images/architecture.png

A room is a folder of nvsd, or a module that lies flat in it. A module may import from its own room
and from rooms of earlier layers; rooms of one layer do not know each other. Imports inside
functions count like all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "architecture.png"

# From the ground up, with what the layer is for.
LAYERS: list[tuple[str, tuple[str, ...]]] = [
    ("ground", ("tolerances", "machine", "progress", "descriptions")),
    ("ground", ("linalg",)),
    ("what the user gave", ("data",)),
    ("the terms of the problem", ("kernels", "penalties", "losses", "datasets")),
    ("what the solver sees", ("representations",)),
    ("minimisers", ("solvers", "ridge")),
    ("factorised once", ("prepared", "engine")),
    ("the points of a path", ("solved",)),
    ("Datasets", ("results",)),
    ("the path", ("path", "files")),
    ("how sure", ("inference",)),
    ("pages and pictures", ("report", "plots")),
    ("which inputs", ("selection",)),
    ("what users hold", ("accessor", "estimators")),
    ("the paper again", ("experiments",)),
    ("beside other methods", ("benchmark",)),
    ("the command line", ("cli",)),
    ("all of it", ("__init__", "__main__")),
]
LEVEL = {room: level for level, (_, rooms) in enumerate(LAYERS) for room in rooms}


def modules() -> dict[str, Path]:
    """All modules of the library by their full names."""
    found = {}
    for path in sorted((ROOT / "nvsd").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)] = path
    return found


def room_of(module: str) -> str:
    """The folder, or flat module, that a module lives in."""
    return module.split(".")[1]


def imports() -> Iterator[tuple[str, str]]:
    """Pairs of modules: who imports, and what."""
    known = modules()
    for module, path in known.items():
        for node in ast.walk(ast.parse(path.read_text())):
            for name in _named(node):
                target = name
                while target and target not in known:
                    target = target.rpartition(".")[0]
                if target.startswith("nvsd.") and target != module:
                    yield module, target


def _named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def violations() -> list[str]:
    """Every import that goes against the layers, and every room that has none."""
    missing = sorted({room_of(module) for module in modules()} - set(LEVEL))
    found = [f"nvsd/{room} is in no layer" for room in missing]
    for source, target in imports():
        a, b = room_of(source), room_of(target)
        if a != b and a in LEVEL and b in LEVEL and LEVEL[b] >= LEVEL[a]:
            found.append(f"{source} imports {target}")
    return found


def cycles() -> list[list[str]]:
    """Modules that import each other in a ring, however long."""
    after: dict[str, set[str]] = {module: set() for module in modules()}
    for source, target in imports():
        # A folder's __init__ gathers its modules; they do not need it.
        if not source.startswith(f"{target}."):
            after[source].add(target)
    found, state = [], dict.fromkeys(after, 0)

    def visit(module: str, trail: list[str]) -> None:
        state[module] = 1
        for target in sorted(after[module]):
            if state[target] == 1:
                found.append([*trail[trail.index(target) :], target])
            elif state[target] == 0:
                visit(target, [*trail, target])
        state[module] = 2

    for module in after:
        if state[module] == 0:
            visit(module, [module])
    return found


def room_edges() -> set[tuple[str, str]]:
    """Which room imports which, without what follows from the others."""
    edges = {(room_of(a), room_of(b)) for a, b in imports() if room_of(a) != room_of(b)}
    reach: dict[str, set[str]] = {}
    for room in sorted(LEVEL, key=LEVEL.__getitem__):
        below = {b for a, b in edges if a == room}
        reach[room] = below.union(*(reach[b] for b in below if b in reach))
    return {
        (a, b) for a, b in edges if not any(b in reach[c] for x, c in edges if x == a and c != b)
    }


def draw(path: Path) -> None:
    """One row of boxes for each layer, arrows from who imports to what is imported."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyBboxPatch

    shown = [(label, rooms) for label, rooms in LAYERS if "__init__" not in rooms]
    figure, ax = plt.subplots(figsize=(9.5, 0.82 * len(shown)), layout="constrained")
    width, height, places = 1.55, 0.5, {}
    for level, (label, rooms) in enumerate(shown):
        for i, room in enumerate(rooms):
            x = (i - (len(rooms) - 1) / 2) * (width + 0.35)
            places[room] = (x, level)
            box = FancyBboxPatch(
                (x - width / 2, level - height / 2), width, height,
                boxstyle="round,pad=0.02,rounding_size=0.08", fc="#eef3f8", ec="#33658a", zorder=3,
            )  # fmt: skip
            ax.add_patch(box)
            folder = (ROOT / "nvsd" / room).is_dir()
            ax.text(
                x, level, f"{room}/" if folder else room.strip("_"), ha="center", va="center",
                fontsize=10, zorder=4, weight="bold" if folder else "normal", color="#1b2a38",
            )  # fmt: skip
        ax.text(-5.6, level, label, ha="left", va="center", fontsize=9, color="#5b6770")
    for a, b in sorted(room_edges()):
        # All rooms may use the ground; arrows to it would hide the others.
        if a in places and b in places and LEVEL[b] > 1:
            (x1, y1), (x2, y2) = places[a], places[b]
            far = abs(y1 - y2) > 1
            ax.annotate(
                "", (x2, y2 + height / 2), (x1, y1 - height / 2), zorder=2,
                arrowprops={
                    "arrowstyle": "-|>", "color": "#8aa1b4", "lw": 1.0, "shrinkA": 0, "shrinkB": 0,
                    "connectionstyle": f"arc3,rad={0.18 if far and x1 >= x2 else -0.18 * far}",
                },
            )  # fmt: skip
    ax.set_xlim(-5.8, 4.2)
    ax.set_ylim(-0.6, len(shown) - 0.4)
    ax.set_axis_off()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Check, then draw."""
    wrong = violations() + [" -> ".join(ring) for ring in cycles()]
    if wrong:
        raise SystemExit("\n".join(wrong))
    draw(PICTURE)
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
