# SPDX-License-Identifier: MIT
"""transformers: the second speed of sinusoidal tables of width 8.

Expected: 10000 ** (-2 / 8) = 0.1 (Vaswani et al. 2017, section 3.5). Some models follow
tensor2tensor, 10000 ** (-1 / 3); the docstrings of M2M100, SpeechT5, and MusicGen say so.
Run in .venv-peers.
"""

import math

import torch
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding
from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXSinusoidalPositionalEmbedding
from transformers.models.whisper.modeling_whisper import sinusoids

print("called: each table of 2 rows and 8 columns; the speed from the sine of row 1, pair 1")
for name, row in {
    "Marian": MarianSinusoidalPositionalEmbedding(2, 8).create_weight()[1, 1],
    "Whisper": sinusoids(2, 8)[1, 1],
    "M2M100": M2M100SinusoidalPositionalEmbedding.get_embedding(2, 8)[1, 1],
    "MusicGen": MusicgenSinusoidalPositionalEmbedding.get_embedding(2, 8)[1, 5],
    "PEGASUS-X": PegasusXSinusoidalPositionalEmbedding(8)(torch.zeros(1, 2, 8))[0, 1, 1],
}.items():
    print(f"{name}: {math.asin(float(row)):.6f}")
