# SPDX-License-Identifier: MIT
"""Where our reader and transformers 5.24.0 part on purpose, and why.

A name is a case of the grid. "refused here": the reader raises where transformers computes.
"refused there": the other way round. "speeds": both compute, and differ.
"""

HERE, THERE, SPEEDS = "refused here", "refused there", "speeds"

DIFFERENCES = {
    # Two readings of what the config says.
    "odd nested truncate False": (
        SPEEDS,
        "transformers looks for truncate beside the layer types, not in the part that has it",
    ),
    "odd nested without layer_types": (
        SPEEDS,
        "a class that declares no layer_types takes nested parts as nothing and turns plain pairs",
    ),
    "odd partial default in Llama": (
        SPEEDS,
        "the Llama class does not read partial_rotary_factor for plain rope; other classes do",
    ),
    "odd old name su": (
        THERE,
        "Phi3Config looks for the trained length before it renames su to longrope",
    ),
    # The key has no effect there, with a warning or without.
    "odd key attn_factor": (HERE, "a key that no rule knows would be passed over"),
    "odd key factor for default": (HERE, "a factor without a rule would be passed over"),
    "odd one mscale": (HERE, "one mscale without the other would be passed over"),
    "odd mscale of 0": (HERE, "a 0 is read as left out, and the other mscale is passed over"),
    "odd beta_slow of 0": (HERE, "a 0 is read as left out and becomes 1"),
    "odd attention_factor and mscale": (HERE, "two answers to one question; mscale would lose"),
    # Two places, two values.
    "odd two bases": (HERE, "the base in the block would win without a word"),
    "odd two rules": (HERE, "rope_type would win over type without a word"),
    "odd two blocks": (HERE, "rope_scaling would win over rope_parameters without a word"),
    "odd two trained lengths": (
        HERE,
        "the length outside would replace the one in the block, once the speeds are computed",
    ),
    "odd dynamic with two lengths": (
        HERE,
        "the rule measures by max_position_embeddings; the other length would be passed over",
    ),
    # A value is made up for what is missing.
    "odd no base": (HERE, "each class fills in a base of its own, 10000 in most"),
    "odd no trained length": (HERE, "max_position_embeddings would stand in for it"),
    "odd yarn without factor": (HERE, "the ratio of the two lengths would stand in for it"),
    "odd proportional without share": (HERE, "all pairs would turn, which is plain rope"),
    # A value with which the rule is no longer the rule.
    "odd factor below 1": (HERE, "pairs would turn faster than trained; only warned about"),
    "odd factor true": (HERE, "true would count as 1"),
    "odd attention_factor 0": (HERE, "every score would be 0"),
    "odd betas swapped": (HERE, "the ramp runs backwards; only warned about"),
    "odd betas equal": (HERE, "the ramp has no width"),
    "odd ramp backwards": (HERE, "no pair makes beta_slow turns, and all would be kept"),
    "odd llama3 edges swapped": (HERE, "the bands overlap; only warned about"),
    "odd long_factor with one number": (HERE, "one number would be spread over all pairs"),
    "odd partial above 1": (HERE, "more coordinates would turn than a head has"),
    "odd width 25": (HERE, "half a pair would be rounded up to a whole one"),
}
