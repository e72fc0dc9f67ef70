# SPDX-License-Identifier: MIT
"""Ask transformers' own code about relative positions and keep the answers.

    python -m posenc_check.peers.transformers_relative [--record]

Without --record an answer that differs from the kept one is an error. Transformer-XL itself
has left the library: XLNet attends by the same four terms, and Parakeet shifts as it did.
"""

import sys

import torch
import transformers
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.deberta import modeling_deberta as first
from transformers.models.deberta_v2 import modeling_deberta_v2 as second
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon_alibi
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.parakeet.modeling_parakeet import ParakeetEncoderAttention
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention
from transformers.utils import logging as transformers_logging

from posenc_check.peers import relative_grid as grid
from posenc_check.peers.results_file import finish

NAME = "transformers_relative"
HIDDEN = grid.HEADS * grid.WIDTH


def digits(values: torch.Tensor) -> list[float]:
    """Nine digits, all that a float32 has, in one flat list."""
    return [float(f"{value:.9g}") for value in values.flatten().tolist()]


def t5():
    for rule in grid.t5_rules():
        answer = T5Attention._relative_position_bucket(torch.tensor(grid.GAPS), **rule)
        yield {"kind": "t5_bucket", **rule, "starts": grid.starts(answer.tolist(), -grid.REACH)}


def alibi():
    for n_heads in range(1, 65):
        here = torch.ones(1, 2, dtype=torch.int64)  # positions 0 and 1: the slope itself at 1
        bloom = build_alibi_tensor(here, n_heads, torch.float32)[:, 0, 1]
        falcon = falcon_alibi(here, n_heads, torch.float32)[:, 0, 1]
        mpt = -build_mpt_alibi_tensor(n_heads, 2)[:, 0, 0]  # positions -1 and 0
        for model, slopes in (("Bloom", bloom), ("Falcon", falcon), ("Mpt", mpt)):
            rule = {"model": model, "n_heads": n_heads}
            yield {"kind": "alibi_slopes", **rule, "slopes": digits(slopes)}


def deberta_buckets():
    for num_buckets, max_distance in grid.DEBERTA:
        rule = {"num_buckets": num_buckets, "max_distance": max_distance}
        answer = second.make_log_bucket_position(torch.tensor(grid.GAPS), num_buckets, max_distance)
        answer = answer.long()
        yield {
            "kind": "deberta_log_lag",
            **rule,
            "odd": bool((answer == -answer.flip(0)).all()),
            "starts": grid.starts(answer[grid.REACH :].tolist()),
        }
        long, short = torch.zeros(1, grid.KEYS * 40, 1), torch.zeros(1, grid.QUERIES * 40, 1)
        matrix = second.build_relative_position(short, long, num_buckets, max_distance)[0]
        yield {
            "kind": "deberta_relative_position",
            **rule,
            "first_row": grid.starts(matrix[0].tolist()),
            "last_column": grid.starts(matrix[:, -1].tolist()),
        }


def shifts():
    for n_queries, n_lags, n_keys in grid.SHIFTS:
        sizes = {"n_queries": n_queries, "n_lags": n_lags, "n_keys": n_keys}
        x = grid.numbered(n_queries, n_lags)
        answer = ParakeetEncoderAttention._rel_shift(None, x)[0, 0, :, :n_keys]
        yield {"kind": "relative_shift", "model": "Parakeet", **sizes, "rows": answer.tolist()}
        # XLNet has one lag more in front, and uses it for the step to the next row.
        x = torch.nn.functional.pad(x, (1, 0))
        answer = XLNetRelativeAttention.rel_shift_bnij(x, n_keys)[0, 0]
        yield {"kind": "relative_shift", "model": "XLNet", **sizes, "rows": answer.tolist()}


def deberta_scores():
    """The two terms with positions of a layer, q and k given, scaled by 1 / sqrt(3 D)."""
    q = grid.wave(1, grid.HEADS, grid.KEYS, grid.WIDTH, seed=1)
    k = grid.wave(1, grid.HEADS, grid.KEYS, grid.WIDTH, seed=2)
    keys = {"hidden_size": HIDDEN, "num_attention_heads": grid.HEADS, "relative_attention": True}
    keys |= {"pos_att_type": ["c2p", "p2c"]}
    for reach, max_distance in ((3, None), (4, 9)):
        table = grid.wave(2 * reach, HIDDEN, seed=3)
        if max_distance is None:
            config = transformers.DebertaConfig(max_relative_positions=reach, **keys)
            layer = first.DisentangledSelfAttention(config).double().eval()
            projections = layer.pos_proj, layer.pos_q_proj
        else:
            more = {"position_buckets": reach, "max_relative_positions": max_distance}
            config = transformers.DebertaV2Config(share_att_key=False, **more, **keys)
            layer = second.DisentangledSelfAttention(config).double().eval()
            projections = layer.pos_key_proj, layer.pos_query_proj
        for seed, projection in enumerate(projections, start=4):
            projection.weight.data.copy_(grid.wave(HIDDEN, HIDDEN, seed=seed))
            if projection.bias is not None:
                projection.bias.data.zero_()
        if max_distance is None:
            lag = torch.arange(grid.KEYS)[:, None] - torch.arange(grid.KEYS)
            scaled = q / (3 * grid.WIDTH) ** 0.5
            scores = layer.disentangled_att_bias(scaled, k, lag[None], table, 3)
        else:
            lag = second.build_relative_position(q, k, reach, max_distance)
            scores = layer.disentangled_attention_bias(q[0], k[0], lag, table, 3)
        rule = {"reach": reach, "max_distance": max_distance}
        yield {"kind": "deberta_scores", **rule, "scores": digits(scores)}


def xlnet_attention():
    """All of XLNet's attention but the projections, keys ahead of the query included."""
    shape = {"d_model": HIDDEN, "n_head": grid.HEADS, "d_inner": HIDDEN, "dropout": 0.0}
    layer = XLNetRelativeAttention(transformers.XLNetConfig(**shape)).double().eval()
    layer.r_w_bias.data.copy_(grid.wave(grid.HEADS, grid.WIDTH, seed=4))
    layer.r_r_bias.data.copy_(grid.wave(grid.HEADS, grid.WIDTH, seed=5))
    lags = torch.arange(grid.KEYS, -grid.QUERIES, -1.0, dtype=torch.float64)
    inv_freq = 10_000.0 ** (-torch.arange(0, HIDDEN, 2).double() / HIDDEN)
    table = XLNetModel.positional_embedding(lags, inv_freq)[:, 0]
    r = (table @ grid.wave(HIDDEN, HIDDEN, seed=6).T).view(-1, 1, grid.HEADS, grid.WIDTH)
    q = grid.wave(1, grid.HEADS, grid.QUERIES, grid.WIDTH, seed=1)
    k, v = (grid.wave(1, grid.HEADS, grid.KEYS, grid.WIDTH, seed=seed) for seed in (2, 3))
    heads = [x.permute(2, 0, 1, 3) for x in (q, k, v)]
    with torch.no_grad():
        output = layer.rel_attn_core(*heads, r).permute(1, 2, 0, 3)
    yield {"kind": "xlnet_attention", "output": digits(output)}


def main(arguments: list[str]) -> int:
    transformers_logging.disable_default_handler()
    torch.set_num_threads(1)
    versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    parts = (t5, alibi, deberta_buckets, shifts, deberta_scores, xlnet_attention)
    return finish(NAME, [record for part in parts for record in part()], versions, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
