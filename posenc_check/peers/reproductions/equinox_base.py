# SPDX-License-Identifier: MIT
"""equinox: do two rotary modules of one width keep their own bases?

Expected: theta=500000 turns by other angles than theta=10000 (Su et al. 2021, equation 15).
Run in .venv-peers-jax.
"""

import equinox
import jax.numpy as jnp

x = jnp.ones((4, 16))
first = equinox.nn.RotaryPositionalEmbedding(16, theta=10_000.0)(x)
second = equinox.nn.RotaryPositionalEmbedding(16, theta=500_000.0)(x)
speed = 500_000.0 ** (-2 / 16)
print("called: RotaryPositionalEmbedding(16, theta=10000)(ones), then theta=500000; row 3, pair 1")
print(f"expected of the second: {float(jnp.cos(3 * speed) - jnp.sin(3 * speed)):.6f}")
print(f"got from the first: {float(first[3, 1]):.6f}, from the second: {float(second[3, 1]):.6f}")
