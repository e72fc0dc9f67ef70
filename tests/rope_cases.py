"""The family of RoPE for test_export_compile.py: its scaling rules, grids, three axes, xPos."""

import torch

from snippets import llama3_rope, longrope, m_rope, partial_rope, rope_2d, rope_scaling, xpos, yarn
from snippets.rope import rope_inv_freq

SPEEDS = rope_inv_freq(8)


def generic(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def own_positions(t):
    return torch.arange(t) + torch.tensor([[4], [900]])


def own_grids(t):
    return torch.stack((own_positions(t), own_positions(t) % 7), dim=-1)


def own_axes(t):
    return torch.stack((own_positions(t), own_positions(t) % 7, own_positions(t) % 5))


def times(speeds, *arguments, **options):
    """A case that multiplies x by the four speeds of a rule."""

    def function(x):
        result = speeds(*arguments, **options)
        return x * (result[0] if isinstance(result, tuple) else result)

    return function, lambda t: (generic(t, 4),)


ROPE_CASES = {
    "linear": times(rope_scaling.linear, 8, 4.0),
    "ntk_aware": times(rope_scaling.ntk_aware, 8, 4.0),
    "dynamic_ntk": times(rope_scaling.dynamic_ntk, 8, 300, 100),
    "ntk_by_parts": times(yarn.ntk_by_parts, 8, 4.0, 4096),
    "yarn_paper": times(yarn.yarn_paper, 8, 4.0, 4096),
    "yarn": times(yarn.yarn, 8, 4.0, 4096),
    "yarn_mscale": (lambda x: x * yarn.yarn_mscale(4.0), lambda t: (generic(t, 4),)),
    "llama3": times(llama3_rope.llama3, 8),
    "longrope": times(longrope.longrope, 8, 5, 4, [1, 2, 3, 4.0], [5, 6, 7, 8.0], factor=2),
    "partial_inv_freq": times(partial_rope.partial_inv_freq, 16, 0.5),
    "proportional_inv_freq": times(partial_rope.proportional_inv_freq, 8, 0.5),
    "patch_positions": (
        lambda x: x * rope_2d.patch_positions(2, 3), lambda t: (generic(t, 6, 2),)
    ),
    "axial_inv_freq": (lambda x: x * rope_2d.axial_inv_freq(8), lambda t: (generic(t, 4, 2),)),
    "rope_2d half": (
        lambda x, p: rope_2d.apply_rope_2d(x, p, rope_2d.axial_inv_freq(8)),
        lambda t: (generic(2, 3, t, 8), own_grids(t)[0]),
    ),
    "rope_2d interleaved": (
        lambda x, p, w: rope_2d.apply_rope_2d(x, p, w, layout="interleaved"),
        lambda t: (generic(2, 3, t, 8), own_grids(t), generic(3, 4, 2)),
    ),
    "m_rope_axes of blocks": times(m_rope.m_rope_axes, (2, 1, 1)),
    "m_rope_axes in turn": times(m_rope.m_rope_axes, (2, 1, 1), "interleaved"),
    "m_rope_positions": (
        lambda x: x + m_rope.m_rope_positions([1, (1, 2, 2)])[0], lambda t: (generic(t, 3, 5),)
    ),
    "m_rope": (
        lambda x, p: m_rope.apply_m_rope(x, p, SPEEDS, torch.tensor([0, 0, 1, 2])),
        lambda t: (generic(2, 3, t, 8), own_axes(t)[:, 0]),
    ),
    "m_rope of a batch": (
        m_rope.apply_m_rope,
        lambda t: (generic(2, 3, t, 8), own_axes(t), generic(4), torch.tensor([0, 0, 1, 2])),
    ),
    "xpos_scale": times(xpos.xpos_scale, 8),
    "xpos half": (
        lambda x, p: xpos.apply_xpos(x, p, SPEEDS, SPEEDS, keys=False, layout="half"),
        lambda t: (generic(2, 3, t, 8), torch.arange(t) + 4),
    ),
    "xpos interleaved": (
        lambda x, p, w, z: xpos.apply_xpos(x, p, w, z, keys=True, centre=450.0),
        lambda t: (generic(2, 3, t, 8), own_positions(t), generic(4), generic(4).abs()),
    ),
}
