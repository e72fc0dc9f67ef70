"""Each position method of the lab once more, from the papers' oracles: one layer by hand.

A formula gives the embeddings and the attention of a layer; nothing of snippets/ or of the model
is used, only its weights.
"""

import torch

from posenc_check import oracles, rope_variants, scaling, score_biases



def turned(turn):
    """Attention of queries and keys that were turned."""

    def attend(method, layer, q, k, v, positions):
        q, k = turn(q, positions, False), turn(k, positions, True)
        return oracles.attention(q, k, v, mask=seen(q, positions))

    return attend


def biased(bias):
    """Attention with a bias of (H, T, T), a function of the method's weights."""

    def attend(method, layer, q, k, v, positions):
        added = bias(method, q.shape[1], positions).expand(q.shape[0], -1, -1, -1)
        return oracles.attention(q, k, v, bias=added, mask=seen(q, positions))

    return attend


def seen(q, positions):
    rows = [[j <= i for j in positions] for i in positions]
    return torch.tensor(rows).expand(*q.shape[:2], -1, -1)


def plain(method, layer, q, k, v, positions):
    return oracles.attention(q, k, v, mask=seen(q, positions))


def rope(x, positions, keys):
    return oracles.rope(x, positions, scaling.plain(x.shape[-1]), "half")


def interpolated(x, positions, keys):
    return oracles.rope(x, positions, scaling.linear(x.shape[-1], 4.0), "half")


def ntk(x, positions, keys):
    return oracles.rope(x, positions, scaling.ntk_aware(x.shape[-1], 4.0), "half")


def yarn(x, positions, keys):
    speeds = scaling.yarn(x.shape[-1], 4.0, 64, beta_fast=8.0)
    return scaling.yarn_mscale(4.0) * oracles.rope(x, positions, speeds, "half")


def xpos(x, positions, keys):
    pairs, width = range(x.shape[-1] // 2), x.shape[-1]
    scale = [(2 * pair / width + 0.4) / 1.4 for pair in pairs]
    return rope_variants.xpos(
        x, torch.tensor(positions), scaling.plain(width), scale, keys, "interleaved",
        scale_base=32.0,
    )  # fmt: skip


def alibi(method, n_heads, positions):
    return oracles.alibi_bias(positions, positions, oracles.alibi_slopes(n_heads))


def t5(method, n_heads, positions):
    weight = method.bias.weight
    bucket = [[oracles.t5_bucket(j - i, False, 16, 64) for j in positions] for i in positions]
    return torch.stack([weight[row] for row in torch.tensor(bucket)]).permute(2, 0, 1)


def kerple(method, n_heads, positions):
    r1, r2 = (
        [torch.log1p(torch.exp(raw)).item() for raw in numbers.double()]
        for numbers in (method.bias.raw_r1, method.bias.raw_r2)
    )
    return score_biases.kerple(positions, positions, r1, r2, "log")


def fire(method, n_heads, positions):
    bias = method.bias
    layers = [(bias.network[i].weight.tolist(), bias.network[i].bias.tolist()) for i in (0, 2)]
    threshold = 32.0 * bias.multiple.item()
    return score_biases.fire(positions, positions, bias.c.item(), threshold, *layers)


def shaw(method, layer, q, k, v, positions):
    tables = method.key_tables[layer], method.value_tables[layer]
    return oracles.shaw(q, k, v, positions, positions, *tables, mask=seen(q, positions)[0, 0])


def sinusoidal(method, positions, d_model):
    return oracles.sinusoid_table(positions, d_model)


def learned(method, positions, d_model):
    return torch.stack([method.table.weight[position] for position in positions])


ROPE = turned(rope)
# training -> (what is added to the embeddings, attention)
FORMULAS = {
    "none": (None, plain),
    "sinusoidal": (sinusoidal, plain),
    "learned": (learned, plain),
    "shaw": (None, shaw),
    "t5": (None, biased(t5)),
    "alibi": (None, biased(alibi)),
    "kerple": (None, biased(kerple)),
    "fire": (None, biased(fire)),
    "xpos": (None, turned(xpos)),
    "rope": (None, ROPE),
    "sinusoidal_randomized": (sinusoidal, plain),
    "rope_randomized": (None, ROPE),
    "rope_tuned": (None, ROPE),
    "pi_tuned": (None, turned(interpolated)),
    "ntk_tuned": (None, turned(ntk)),
    "yarn_tuned": (None, turned(yarn)),
    "drope": (None, plain),
    "none_longer": (None, plain),
}


def normed(x, norm):
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    return centred / spread * norm.weight + norm.bias


def model(found, formula, tokens, positions):
    """Logits of a SmallModel's weights, layer after layer as lab/model.py describes them."""
    added, attend = formula
    x = found.embedding.weight[tokens]  # (B, T, d_model)
    if added:
        x = x + added(found.method, positions, x.shape[-1])
    for number, layer in enumerate(found.layers):
        qkv = normed(x, layer.norm_1) @ layer.qkv.weight.T
        q, k, v = (
            part.unflatten(-1, (layer.n_heads, -1)).transpose(1, 2) for part in qkv.chunk(3, -1)
        )
        y = attend(found.method, number, q, k, v, positions)
        x = x + y.transpose(1, 2).flatten(2) @ layer.out.weight.T
        first, _, second = layer.network
        hidden = normed(x, layer.norm_2) @ first.weight.T + first.bias
        gelu = hidden * 0.5 * (1 + torch.erf(hidden / 2**0.5))
        x = x + gelu @ second.weight.T + second.bias
    return normed(x, found.norm) @ found.head.weight.T + found.head.bias
