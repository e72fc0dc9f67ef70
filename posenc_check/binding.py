# SPDX-License-Identifier: MIT
"""Which of a contract's values a callable takes, and in which order.

Said by the reader in words ("x, positions", "q, k, batch_cos, batch_sin", "x, input_pos=positions",
"x, dim=2"), or guessed from the names of the parameters.
"""

import ast
import inspect
from collections.abc import Callable, Collection, Mapping

from posenc_check.subject import Unusable

# What people call the same thing. A name that is itself a word needs no entry.
NAMES = {
    "x": "t tensor input inputs hidden hidden_states emb embeddings token_embeddings xs",
    "q": "query queries xq q_embed",
    "k": "key keys xk",
    "v": "value values xv",
    "positions": "position pos input_pos pos_ids offsets p position_ids",
    "batch_positions": "position_ids",
    "start": "offset start_pos start_position position_offset seq_offset past_length",
    "length": "sz seq_len seqlen seq_length n_positions num_positions max_seq_len max_len "
    "max_length max_position_embeddings n_ctx context_length block_size n_position "
    "num_embeddings",
    "q_len": "query_len query_length tgt_len n_queries qlen",
    "k_len": "key_len key_length kv_len kv_length src_len n_keys klen",
    "n_heads": "num_heads heads n_head num_attention_heads nheads n",
    "head_dim": "dim d_head dim_head rotary_dim head_size d",
    "d_model": "dim d dim_model embed_dim embedding_dim hidden_size n_embd size d_hid emb_dim "
    "embedding_size hidden_dim dim_in d_embed channels n_channels dim2 in_features",
    "base": "theta rope_theta rope_base rotary_base",
    "rotary_dim": "rot_dim n_rotated rotary_ndims",
    "inv_freq": "inv_freqs inverse_frequencies",
    "pair_complex": "freqs_cis freqs_complex cis",
    "reach": "k max_relative_position clip max_distance clipping_distance",
    "slopes": "alibi_slopes head_slopes",
    "bidirectional": "is_bidirectional bidir",
    "causal": "is_causal",
    "pad": "key_padding_mask",
    "q_positions": "q_pos query_positions",
    "k_positions": "k_pos key_positions",
    "gap": "relative_position rel rel_pos relative_positions distance gaps",
    "num_buckets": "n_buckets buckets",
    "max_distance": "max_dist",
    "max_len": "max_seq_len max_length max_position_embeddings n_positions length block_size n_ctx "
    "num_positions num_embeddings num_patches n_position",
    "dropout": "p drop dropout_rate dropout_p dropout_prob drop_rate p_drop",
    "trained_length": "original_max original_max_len original_max_seq_len original_length "
    "original_max_position_embeddings old_context_len",
    "block": "rope_scaling rope_parameters scaling config",
    "key_keep": "mask key_mask attention_mask keep",
    "mask": "attention_mask padding_mask attn_mask keep",
    "lengths": "doc_lens document_lengths seqlens lens doc_lengths document_lens seq_lens "
    "lengths_of_documents",
    "lengths_list": "lengths_of docs",
    "cumulative": "cu_seqlens cu_seq_lens cu_doc_lens cu_lens",
    "document_ids": "doc_ids document_id doc_id segment_ids seq_ids sequence_ids",
    "height": "h rows n_rows",
    "width": "w cols columns n_columns",
    "table": "pos_embed weight embeddings pos_emb position_embedding position_embeddings pe "
    "pos_embedding posemb weights",
    "batch_table": "pos_embed pos_embeds position_embeddings",
    "n_rows": "dim1 out_features",
    "weight": "w matrix tensor w_q wq proj",
    "old_size": "old old_hw old_shape old_grid source_size src_size from_size",
    "new_size": "new new_hw new_shape new_grid target_size tgt_size to_size size",
    "new_height": "new_h h_new height h",
    "new_width": "new_w w_new width w",
    "old_height": "old_h h_old",
    "old_width": "old_w w_old",
}
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Binding:
    """The arguments of one callable: a list of (keyword or None, word) or (keyword, literal)."""

    def __init__(
        self, target: Callable, call: str | None, words: Collection[str], default: str,
        option: str = "call",
    ):
        self.target, self.words, self.option = target, words, option
        self.guessed = call is None
        self.parts = self._parse(call) if call is not None else self._guess(default)

    def __str__(self) -> str:
        shown = [f"{key}={word!s}" if key else word for key, word, _ in self.parts]
        return f"{name_of(self.target)}({', '.join(shown)})"

    def takes(self, *words: str) -> bool:
        """Whether any of these words is among the arguments."""
        return any(word in words for _, word, literal in self.parts if not literal)

    def default_of(self, word: str) -> float | None:
        """The number that a parameter has of its own, if that word is passed to it."""
        if not self.takes(word):
            return None
        for parameter in inspect.signature(self.target).parameters.values():
            named = parameter.name == word or parameter.name in NAMES.get(word, "").split()
            if named and isinstance(parameter.default, (int, float)):
                return parameter.default
        return None

    def arguments(self, values: Mapping) -> tuple[list, dict]:
        args, kwargs = [], {}
        for key, word, literal in self.parts:
            value = ast.literal_eval(word) if literal else values[word]
            if key is None:
                args.append(value)
            else:
                kwargs[key] = value
        return args, kwargs

    def _parse(self, call: str) -> list[tuple[str | None, str, bool]]:
        parts = []
        for part in filter(None, (piece.strip() for piece in call.split(","))):
            key, equals, word = (piece.strip() for piece in part.rpartition("="))
            literal = word not in self.words
            if literal and (not equals or not _is_literal(word)):
                known = ", ".join(sorted(self.words))
                raise Unusable(f"{self.option}: {word!r} is no word of this contract ({known})")
            parts.append((key or None, word, literal))
        return parts

    def _guess(self, default: str) -> list[tuple[str | None, str, bool]]:
        try:
            parameters = list(inspect.signature(self.target).parameters.values())
        except (TypeError, ValueError):
            return self._parse(default)
        named = [p for p in parameters if p.kind not in VARIABLE]
        if not named:
            return self._parse(default)
        parts, skipped = [], False
        for parameter in named:
            word = self._word(parameter.name, {word for _, word, _ in parts})
            if isinstance(parameter.default, int) and parameter.default < 0:
                word = None  # the number of an axis
            if word is None:
                if parameter.default is inspect.Parameter.empty:
                    raise Unusable(self._unknown(parameter.name))
                skipped = True
                continue
            keyword = skipped or parameter.kind is KEYWORD_ONLY
            parts.append((parameter.name if keyword else None, word, False))
        return self._batched(self._sliced(parts), {p.name for p in named})

    def _word(self, name: str, taken: set[str]) -> str | None:
        lower = name.lower()
        if lower in self.words and lower not in taken:
            return lower
        for word in self.words:
            if word not in taken and lower in NAMES.get(word, "").split():
                return word
        return None

    def _sliced(self, parts):
        """Where tables of cosines come ready for the rows, no start is to be added."""
        if not {"cos", "pair_cos"} & {word for _, word, _ in parts}:
            return parts
        return [(key, word, literal) for key, word, literal in parts if word != "start"]

    def _batched(self, parts, names):
        """`unsqueeze_dim` makes room for the heads: such code takes cos and sin of (B, T, D)."""
        if "unsqueeze_dim" not in names or "batch_cos" not in self.words:
            return parts
        batched = {"cos": "batch_cos", "sin": "batch_sin"}
        return [(key, batched.get(word, word), literal) for key, word, literal in parts]

    def _unknown(self, name: str) -> str:
        known = ", ".join(sorted(self.words))
        return (
            f"cannot tell what {name_of(self.target)} takes as {name}; say all of its arguments "
            f"in order with {self.option} (--{self.option}), in these words, or as name=5: {known}"
        )


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def name_of(target) -> str:
    return getattr(target, "__name__", None) or type(target).__name__
