"""Is our decoder the model that the file holds? Compared with transformers in two ways.

"same weights": LlamaForCausalLM with the weights that we read checks the forward pass.
"its own loading": transformers reads the GGUF file itself, which checks the order of q and k too.
Its tokens of the same file are compared with ours as well.
"""

import torch
from torch import Tensor

from lab.models import smollm2, turns
from lab.models.decoder import Decoder, hidden_states, logits
from lab.models.files import DECODER, model_file
from lab.models.texts import text

TEXTS, LENGTH, CHARACTERS = ("Britannica", "Hamlet"), 256, 20_000
SETTING = {"length": LENGTH, "characters": CHARACTERS}
NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def units() -> list[dict]:
    kinds = [("same weights", "float32"), ("same weights", "float64")]
    kinds += [("its own loading", "float32")]
    found = [{"text": t, "weights": w, "dtype": d} for w, d in kinds for t in TEXTS]
    return found + [{"text": t, "tokens": "its own"} for t in TEXTS]


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """GGUF's names -> those of transformers' Llama."""
    found = {
        "model.embed_tokens.weight": weights["token_embd.weight"],
        "model.norm.weight": weights["output_norm.weight"],
        "lm_head.weight": weights["token_embd.weight"],
    }
    for name, weight in weights.items():
        if name.startswith("blk."):
            _, layer, part, _ = name.split(".")
            found[f"model.layers.{layer}.{NAMES[part]}.weight"] = weight
    return found


def llama(model: Decoder):
    """transformers' model with our weights; a missing or surplus one is an error."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(model.weights["token_embd.weight"]),
        hidden_size=model.weights["token_embd.weight"].shape[1],
        intermediate_size=len(model.weights["blk.0.ffn_gate.weight"]),
        num_hidden_layers=model.n_layers,
        num_attention_heads=model.n_heads,
        num_key_value_heads=model.n_kv_heads,
        head_dim=model.head_dim,
        rms_norm_eps=model.eps,
        max_position_embeddings=smollm2.TRAINED_LENGTH,
        rope_parameters={"rope_type": "default", "rope_theta": smollm2.BASE},
        tie_word_embeddings=True,
    )
    found = LlamaForCausalLM(config).to(model.weights["token_embd.weight"].dtype).eval()
    found.load_state_dict(renamed(model.weights), strict=True)
    return found


def loaded_by_transformers():
    from transformers import AutoModelForCausalLM

    file = model_file(DECODER)
    return AutoModelForCausalLM.from_pretrained(
        str(file.parent), gguf_file=file.name, dtype=torch.float32
    ).eval()


def same_tokens(name: str) -> dict:
    from transformers import AutoTokenizer

    file, words = model_file(DECODER), text(name)[:CHARACTERS]
    theirs = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
    ours = smollm2.tokenizer().encode(words).ids
    return {"count": len(ours), "same": theirs(words, add_special_tokens=False).input_ids == ours}


@torch.inference_mode()
def measure(unit: dict) -> dict:
    if "tokens" in unit:
        return same_tokens(unit["text"])
    model = smollm2.decoder().to(getattr(torch, unit["dtype"]))
    tokens = smollm2.tokens(unit["text"], LENGTH)
    turn = turns.plain(smollm2.HEAD_DIM, smollm2.BASE, turns.first(LENGTH))
    ours = logits(model, hidden_states(model, tokens, turn))
    other = llama(model) if unit["weights"] == "same weights" else loaded_by_transformers()
    theirs = other(tokens[None]).logits[0]
    difference = (ours - theirs).abs().max().item()
    return {"largest_logit": ours.abs().max().item(), "difference": float(f"{difference:.3g}")}
