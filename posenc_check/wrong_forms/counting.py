# SPDX-License-Identifier: MIT
"""Positions of padded rows, packed documents, and grids as people have got them wrong."""

import torch
from torch import Tensor

Forms = list[tuple[str, Tensor]]


def padded(mask: Tensor, right: Tensor) -> Forms:
    """mask (B, S), whole numbers; right (B, S) with the right answer, counted from 0."""
    rows, columns = mask.shape
    count = torch.arange(columns).expand(rows, -1)
    pads = (1 - mask).cumprod(1).sum(1, keepdim=True)  # those on the left
    return [
        ("the columns are counted, pads included", count),
        ("positions start at 1: the 1 is not subtracted behind cumsum", right + 1),
        ("positions are one too small", right - 1),
        (
            "the mask is read the other way round: its 1 means real",
            ((1 - mask).cumsum(1) - 1).clamp(min=0),
        ),
        ("the sum runs down the batch, not along the row", (mask.cumsum(0) - 1).clamp(min=0)),
        ("all rows get the positions of the first one", right[:1].expand(rows, -1)),
        ("all rows get the positions of the last one", right[-1:].expand(rows, -1)),
        (
            "positions are counted back from the end",
            (mask.flip(1).cumsum(1).flip(1) - 1).clamp(min=0),
        ),
        (
            "the number of pads is subtracted from the column: right for pads on the left alone",
            count - (1 - mask).sum(1, keepdim=True),
        ),
        (
            "the number of pads is subtracted from the column: right for pads on the left alone",
            (count - (1 - mask).sum(1, keepdim=True)).clamp(min=0),
        ),
        ("the pads on the left are subtracted twice", count - 2 * pads),
        ("the mask itself comes back", mask),
    ]


def following(mask: Tensor) -> Forms:
    """The position of the token behind a row, (B,)."""
    rows, columns = mask.shape
    count = torch.arange(columns).expand(rows, -1)
    real = mask.sum(1)
    last = (count * mask).max(1).values
    return [
        ("the columns are counted, pads included", torch.full((rows,), columns)),
        ("it is the position of the last token, not of the next one", real - 1),
        ("it is one too large", real + 1),
        ("it is the column of the last token", last),
        ("it is the column behind the last token, pads in front included", last + 1),
        ("it is the number of pads", columns - real),
        ("all rows get that of the longest one", real.max().expand(rows)),
        ("all rows get that of the first one", real[:1].expand(rows)),
        ("it is the last column", torch.full((rows,), columns - 1)),
        ("it is always 0", real * 0),
    ]


def packed(lengths: list[int]) -> Forms:
    total = sum(lengths)
    run = torch.arange(total)
    starts = torch.tensor([sum(lengths[:i]) for i in range(len(lengths))])
    document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    right = run - starts[document]
    sizes = torch.tensor(lengths)[document]
    late = torch.cat((run[:1] * 0, right[:-1] + 1))
    return [
        ("positions run on across the borders of documents", run),
        ("each document starts at 1", right + 1),
        ("each document is counted backwards", sizes - 1 - right),
        ("the number of the document is given, not the position in it", document),
        ("all documents are taken to be as long as the first one", run % lengths[0]),
        ("all documents are taken to be as long as the longest one", run % max(lengths)),
        ("the count starts again one token late", late),
        ("the count starts again one token early", torch.cat((right[1:], right[:1] * 0))),
        ("the start of each document is given", starts[document]),
        ("documents after the first start at 1", right + (document > 0)),
        ("the last token of a document is counted with the next one", _early(lengths)),
        ("only the second document starts again", run - starts[document.clamp(max=1)]),
        ("positions are divided by the length of the document", right / sizes),
    ]


def _early(lengths: list[int]) -> Tensor:
    """Borders one token too far in front."""
    ends, count, answer = {sum(lengths[: i + 1]) - 1 for i in range(len(lengths) - 1)}, 0, []
    for token in range(sum(lengths)):
        count = 0 if token in ends else count
        answer.append(count)
        count += 1
    return torch.tensor(answer)


def grid(height: int, width: int) -> Forms:
    """(h * w, 2) each."""
    n = torch.arange(height * width)
    row, column = n // width, n % width
    down = torch.stack((n % height, n // height), dim=1)
    right = torch.stack((row, column), dim=1)
    last = torch.tensor([height - 1, width - 1])
    return [
        ("the pairs are (column, row)", right.flip(1)),
        ("the grid is listed column by column, while patches are flattened row by row", down),
        ("height and width are taken for each other", down.flip(1)),
        (
            "the index is divided by the height, not by the width",
            torch.stack((n // height, n % height), 1),
        ),
        ("rows and columns start at 1", right + 1),
        ("rows are counted from the bottom", torch.stack((height - 1 - row, column), 1)),
        ("columns are counted from the right", torch.stack((row, width - 1 - column), 1)),
        ("the grid is listed from its end", right.flip(0)),
        ("both coordinates are the index of the patch", torch.stack((n, n), 1)),
        ("coordinates are divided by the size of the grid", right / (last + 1)),
        ("coordinates are scaled to reach from 0 to 1", right / last.clamp(min=1)),
        ("coordinates are those of the centres, half a step on", right + 0.5),
        ("every row is row 0", torch.stack((row * 0, column), 1)),
        ("every column is column 0", torch.stack((row, column * 0), 1)),
        ("rows are read in turns, there and back", torch.stack(_snake(row, column, width), 1)),
    ]


def _snake(row: Tensor, column: Tensor, width: int) -> tuple[Tensor, Tensor]:
    return row, torch.where(row % 2 == 1, width - 1 - column, column)
