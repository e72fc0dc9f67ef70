"""Two small models that install as packages, asked about their positions.

`make models` builds their environment and runs every experiment. The pure parts (decoder, turns,
faults, tables, scores, compare) need only torch, so the site's own tests run them without a model.
"""
