"""Two ways to cut a sequence for four ranks, and the causal work of each rank."""

from lab.splits import contiguous_rows, zigzag_rows
from tools.figures.svg import C1, C2, C3, C4, INK, MUTED, SMALL, Drawing

RANKS, CHUNKS, LENGTH = 4, 8, 16
SPLITS = {"contiguous": contiguous_rows, "zigzag": zigzag_rows}
COLOURS = (C1, C2, C3, C4)
LEFT, STEP = 12, 44.5


def data() -> dict:
    """By split: the rank of each chunk, and the number of key-query pairs of each rank."""
    found = {}
    for name, rows_of in SPLITS.items():
        rows = [rows_of(rank, RANKS, LENGTH) for rank in range(RANKS)]
        owner = {row: rank for rank, held in enumerate(rows) for row in held.tolist()}
        found[name] = {
            "chunks": [owner[chunk * LENGTH // CHUNKS] for chunk in range(CHUNKS)],
            # The query in row t sees t + 1 keys.
            "work": [int((held + 1).sum()) for held in rows],
        }
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=420)
    most = max(n for split in d.values() for n in split["work"])
    for top, (name, split) in zip((12, 222), d.items(), strict=True):
        picture.text(4, top, f"{name}: rank of each chunk", weight="bold")
        for chunk, rank in enumerate(split["chunks"]):
            x = LEFT + STEP * chunk
            picture.rect(x, top + 16, STEP - 3, 30, fill=COLOURS[rank], fill_opacity=0.3,
                         stroke=COLOURS[rank])
            picture.text(x + (STEP - 3) / 2, top + 31, str(rank), anchor="middle",
                         data_chunk=f"{name}/{chunk}")
        picture.text(4, top + 64, "key-query pairs of each rank", fill=MUTED, size=SMALL)
        for rank, work in enumerate(split["work"]):
            y = top + 78 + 26 * rank
            picture.text(LEFT, y + 9, f"rank {rank}", size=SMALL)
            picture.rect(70, y, 240 * work / most, 18, fill=COLOURS[rank], fill_opacity=0.5,
                         data_work=f"{name}/{rank}")
            picture.text(70 + 240 * work / most + 8, y + 9, str(work), fill=INK)
    words = " ".join(
        f"{name.capitalize()}: chunks belong to ranks {' '.join(map(str, split['chunks']))}, and "
        f"the ranks have {', '.join(map(str, split['work']))} key-query pairs."
        for name, split in d.items()
    )
    return picture.finish(
        f"{LENGTH} positions in {CHUNKS} chunks, split over {RANKS} ranks in two ways, under a "
        f"causal mask. {words}"
    )
