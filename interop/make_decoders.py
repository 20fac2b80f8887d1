#!/usr/bin/env python3
"""Language models with random weights, in the folders that the exporter of Transformers writes.

    make_decoders.py OUT [ARCHITECTURE...] [--cache dynamic]... [--new-tokens 256]

OUT/NAME-CACHE/ has prefill.pt2, decode.pt2 (or model.pt2), export.json, config.json, generation_config.json, and
tokens.json: prompts, and the tokens that model.generate gives greedily. check_decoders.py compares pt2 with it.
"""

import sys

from decoder_folders import make_folders, spread_weights

import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache, GenerationConfig
from transformers.exporters import DynamoConfig, DynamoExporter
from transformers.integrations.executorch import (TorchExportableModuleForDecoderOnlyLM,
                                                   TorchExportableModuleWithStaticCache, convert_and_export_with_cache)

SIZES = dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4)
GROUPED = dict(SIZES, intermediate_size=128, num_key_value_heads=2)
# model_type, and the settings that differ from its defaults.
ARCHITECTURES = {
    "llama": ("llama", GROUPED),
    "qwen2": ("qwen2", GROUPED),
    "qwen3": ("qwen3", dict(GROUPED, head_dim=16)),
    "qwen3_moe": ("qwen3_moe", dict(GROUPED, head_dim=16, num_experts=4, num_experts_per_tok=2,
                                    moe_intermediate_size=32)),
    "mixtral": ("mixtral", dict(GROUPED, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "gemma": ("gemma", dict(GROUPED, head_dim=16, tie_word_embeddings=False)),
    "gemma2": ("gemma2", dict(GROUPED, head_dim=16, sliding_window=4096, tie_word_embeddings=False)),
    "gemma3": ("gemma3_text", dict(GROUPED, head_dim=16, sliding_window=4096, tie_word_embeddings=False)),
    "gemma3_window": ("gemma3_text", dict(GROUPED, head_dim=16, sliding_window=16, tie_word_embeddings=False)),
    "mistral": ("mistral", dict(GROUPED, sliding_window=None)),
    "mistral_window": ("mistral", dict(GROUPED, sliding_window=16)),
    "phi": ("phi", dict(SIZES, intermediate_size=128)),
    "phi3": ("phi3", dict(GROUPED, pad_token_id=0)),
    "gpt2": ("gpt2", dict(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=512)),
    "gpt_neox": ("gpt_neox", dict(SIZES, intermediate_size=128)),
    "gptj": ("gptj", dict(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=512, rotary_dim=8)),
    "opt": ("opt", dict(SIZES, ffn_dim=128, word_embed_proj_dim=64, max_position_embeddings=512)),
    "falcon": ("falcon", dict(SIZES, new_decoder_architecture=False, multi_query=True)),
    "bloom": ("bloom", dict(vocab_size=128, hidden_size=64, n_layer=2, n_head=4, tie_word_embeddings=False)),
    "olmo": ("olmo", GROUPED),
    "olmo2": ("olmo2", GROUPED),
    "stablelm": ("stablelm", GROUPED),
    "granite": ("granite", GROUPED),
    "smollm3": ("smollm3", dict(GROUPED, pad_token_id=0)),
    "mamba": ("mamba", dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, state_size=8)),
    "mamba2": ("mamba2", dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, state_size=8, num_heads=8, head_dim=16,
                              n_groups=2, chunk_size=16)),
    "recurrent_gemma": ("recurrent_gemma", dict(GROUPED, num_hidden_layers=3, lru_width=64, attention_window_size=16,
                                                tie_word_embeddings=False)),
    "gpt_neo": ("gpt_neo", dict(vocab_size=128, hidden_size=64, num_layers=2, num_heads=4, window_size=16,
                                attention_types=[[["global", "local"], 1]], max_position_embeddings=512)),
    "gpt_bigcode": ("gpt_bigcode", dict(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=512)),
    "codegen": ("codegen", dict(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=512, rotary_dim=8)),
    "mpt": ("mpt", dict(vocab_size=128, d_model=64, n_layers=2, n_heads=4, max_seq_len=512, tie_word_embeddings=False)),
    "falcon_new": ("falcon", dict(SIZES, new_decoder_architecture=True, num_kv_heads=2)),
    "starcoder2": ("starcoder2", dict(GROUPED, sliding_window=None)),
    "starcoder2_window": ("starcoder2", dict(GROUPED, sliding_window=16)),
    "cohere": ("cohere", dict(GROUPED, logit_scale=1.0)),
    "cohere2": ("cohere2", dict(GROUPED, num_hidden_layers=4, sliding_window=16, logit_scale=1.0)),
    "gemma2_window": ("gemma2", dict(GROUPED, head_dim=16, sliding_window=16, tie_word_embeddings=False)),
    "gpt_oss": ("gpt_oss", dict(GROUPED, head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=16)),
    "qwen2_window": ("qwen2", dict(GROUPED, use_sliding_window=True, sliding_window=16, max_window_layers=1)),
    "qwen2_moe": ("qwen2_moe", dict(GROUPED, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                                    shared_expert_intermediate_size=32)),
    "phi3_window": ("phi3", dict(GROUPED, pad_token_id=0, sliding_window=16)),
    "mixtral_window": ("mixtral", dict(GROUPED, num_local_experts=4, num_experts_per_tok=2, sliding_window=16)),
    "olmo3": ("olmo3", dict(GROUPED, num_hidden_layers=4, sliding_window=16)),
    "olmoe": ("olmoe", dict(GROUPED, num_experts=4, num_experts_per_tok=2)),
    "granitemoe": ("granitemoe", dict(GROUPED, num_local_experts=4, num_experts_per_tok=2)),
    "exaone4": ("exaone4", dict(GROUPED, num_hidden_layers=4, sliding_window=16, sliding_window_pattern=2)),
    "glm4": ("glm4", dict(GROUPED, head_dim=16, pad_token_id=0)),
    "nemotron": ("nemotron", GROUPED),
    "helium": ("helium", dict(GROUPED, head_dim=16)),
    "ernie4_5": ("ernie4_5", dict(GROUPED, head_dim=16)),
    "persimmon": ("persimmon", dict(SIZES, intermediate_size=128)),
    "qwen3_next": ("qwen3_next", dict(GROUPED, num_hidden_layers=4, head_dim=16, num_experts=4, num_experts_per_tok=2,
                                      moe_intermediate_size=32, shared_expert_intermediate_size=32,
                                      linear_key_head_dim=16, linear_value_head_dim=16, linear_num_key_heads=2,
                                      linear_num_value_heads=4)),
    "lfm2": ("lfm2", dict(GROUPED, num_hidden_layers=4, layer_types=["conv", "full_attention"] * 2)),
    "jamba": ("jamba", dict(GROUPED, num_experts=4, num_experts_per_tok=2, attn_layer_period=2, attn_layer_offset=1,
                            use_mamba_kernels=False, mamba_d_state=8)),
    "bamba": ("bamba", dict(GROUPED, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8,
                            mamba_n_groups=1, mamba_chunk_size=16)),
    "apertus": ("apertus", GROUPED),
    "arcee": ("arcee", GROUPED),
    "seed_oss": ("seed_oss", dict(GROUPED, head_dim=16)),
    "hunyuan": ("hunyuan_v1_dense", dict(GROUPED, head_dim=16)),
    "deepseek_v3": ("deepseek_v3", dict(SIZES, intermediate_size=128, moe_intermediate_size=32, num_key_value_heads=4,
                                        n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, q_lora_rank=24,
                                        kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16,
                                        first_k_dense_replace=1)),
    "nanochat": ("nanochat", GROUPED),
    "glm": ("glm", dict(GROUPED, head_dim=16, pad_token_id=0)),
    "biogpt": ("biogpt", dict(SIZES, intermediate_size=128, max_position_embeddings=512, tie_word_embeddings=False)),
    "xglm": ("xglm", dict(vocab_size=128, d_model=64, ffn_dim=128, num_layers=2, attention_heads=4)),
    "diffllama": ("diffllama", GROUPED),
    "falcon_h1": ("falcon_h1", dict(GROUPED, mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8,
                                    mamba_n_groups=1, mamba_chunk_size=16)),
    "dots1": ("dots1", dict(GROUPED, head_dim=16, moe_intermediate_size=32, n_routed_experts=4, num_experts_per_tok=2,
                            n_group=1, topk_group=1, first_k_dense_replace=1)),
}
# For tests/data: as small as possible.
TINY = dict(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4,
            num_key_value_heads=2, head_dim=4)
ARCHITECTURES["tiny"] = ("llama", TINY)
# The first prompt fills one sliding window and not another; another layer has no window.
ARCHITECTURES["tiny_window"] = ("mistral", dict(TINY, sliding_window=6))
ARCHITECTURES["tiny_mixed"] = ("qwen2", dict(TINY, num_hidden_layers=2, use_sliding_window=True, sliding_window=12,
                                             max_window_layers=1))
# A guard that a longer prompt violates although its size is in the recorded range.
ARCHITECTURES["tiny_chunks"] = ("bamba", dict(vocab_size=32, hidden_size=8, intermediate_size=8, num_hidden_layers=2,
                                              num_attention_heads=2, num_key_value_heads=1, attn_layer_indices=[1],
                                              mamba_n_heads=2, mamba_d_head=8, mamba_d_state=4, mamba_n_groups=1,
                                              mamba_chunk_size=16))
# Positions that are learned, and counted from the first token that the program is given.
ARCHITECTURES["tiny_learned"] = ("gpt2", dict(vocab_size=32, n_embd=16, n_inner=24, n_layer=1, n_head=2, n_positions=64))
CACHES = {
    "dynamic": "DynamicCache, which grows",
    "static": "StaticCache",
    "multi": "DynamicCache, several tokens at once in decode.pt2, too",
    "whole": "no cache: model.pt2",
    "whole_batch": "no cache and no positions, several texts at once: model.pt2 without a manifest",
    "shared_batch": "as whole_batch, with one row of positions for all texts",
    "buffers": "StaticCache in the module's buffers, one token at a time: model.pt2 without a manifest",
    "bounded": "StaticCache in the module's buffers, at most 8 tokens at a time: model.pt2 without a manifest",
    "batch": "DynamicCache, several texts at once, shorter ones with padding on the left",
    "batch_static": "StaticCache, several texts at once",
    "counted": "as bounded, with the first position as a number, start_pos",
    "named": "as past, without a mask and with results in a dict, the cache under another name",
    "flat": "prefill.pt2 and decode.pt2 without a manifest, each tensor of the cache an argument with its own name",
    "past": "torch.export of the model itself with past_key_values: model.pt2 without a manifest",
}
# Programs are exported with the first prompt; they must take the others as well.
PROMPTS = [[5, 17, 99, 3, 42, 7, 64, 11], [9], list(range(3, 24))]


def make_model(architecture, seed):
    model_type, sizes = ARCHITECTURES[architecture]
    torch.manual_seed(seed)
    config = AutoConfig.for_model(model_type, **sizes)
    config.eos_token_id = None
    config.bos_token_id = None
    model = AutoModelForCausalLM.from_config(config).eval()
    spread_weights(model, 40 if architecture.startswith("tiny") else 8)
    model.generation_config.eos_token_id = None
    return model


class FromPosition(torch.nn.Module):
    """Takes the position of the first token as a number."""

    def __init__(self, model):
        super().__init__()
        self.module = TorchExportableModuleWithStaticCache(model)

    def forward(self, tokens, start_pos: int):
        positions = torch.arange(start_pos, start_pos + tokens.shape[1])
        return self.module(input_ids=tokens, cache_position=positions)


def export_buffers(model, cache, length, folder):
    """Exports as the recipes for ExecuTorch in transformers.integrations.executorch do."""
    model.generation_config = GenerationConfig(use_cache=True, cache_implementation="static", max_length=length,
                                               cache_config={"batch_size": 1, "max_cache_len": length, "device": "cpu"})
    count = torch.export.Dim("count", max=8)
    if cache == "buffers":
        program = convert_and_export_with_cache(model, strict=False)
    elif cache == "counted":
        program = torch.export.export(FromPosition(model), (torch.zeros(1, 3, dtype=torch.int64), 5),
                                      dynamic_shapes=({1: count}, torch.export.Dim.DYNAMIC), strict=False)
    else:
        program = TorchExportableModuleForDecoderOnlyLM(model).export(
            input_ids=torch.zeros(1, 3, dtype=torch.int64), cache_position=torch.arange(3),
            dynamic_shapes={"input_ids": {1: count}, "cache_position": {0: count}}, strict=False)
    torch.export.save(program, folder / "model.pt2")


class WithPast(torch.nn.Module):
    """Takes and returns keys and values as a flat tuple, like exporters that do not use Transformers' pytree."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, past_key_values):
        pairs = [past_key_values[i:i + 2] for i in range(0, len(past_key_values), 2)]
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=DynamicCache(pairs))
        return out.logits, tuple(each for layer in out.past_key_values.layers for each in (layer.keys, layer.values))


class WithPresent(WithPast):
    """Returns a dict, and calls the new keys and values as exporters to ONNX do."""

    def forward(self, input_ids, past_key_values):
        logits, present = super().forward(input_ids, None, past_key_values)
        return {"logits": logits, "present": present}


def export_past(model, folder, is_named):
    config = model.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    size = config.hidden_size // config.num_attention_heads
    past = tuple(torch.zeros(1, heads, 5, size) for _ in range(2 * config.num_hidden_layers))
    auto = torch.export.Dim.AUTO
    shapes = {"input_ids": {1: auto}, "attention_mask": {1: auto}, "past_key_values": tuple({2: auto} for _ in past)}
    inputs = {"input_ids": torch.tensor([[1, 2, 3]]), "attention_mask": torch.ones(1, 8, dtype=torch.int64),
              "past_key_values": past}
    if is_named:
        del shapes["attention_mask"], inputs["attention_mask"]
    module = (WithPresent if is_named else WithPast)(model)
    torch.export.save(torch.export.export(module, (), inputs, dynamic_shapes=shapes), folder / "model.pt2")


class Prefill(WithPast):
    """Returns the tensors of the cache one after another behind the scores."""

    def forward(self, idx):
        logits, past = super().forward(idx, None, ())
        return logits, *past


class Decode(WithPast):
    """Takes and returns the cache of one layer as arguments of their own."""

    def forward(self, idx, k0, v0):
        logits, past = super().forward(idx, None, (k0, v0))
        return logits, *past


def export_flat(model, folder):
    heads = getattr(model.config, "num_key_value_heads", model.config.num_attention_heads)
    past = torch.zeros(1, heads, 5, model.config.hidden_size // model.config.num_attention_heads)
    auto = torch.export.Dim.AUTO
    prefill = torch.export.export(Prefill(model), (torch.tensor([[1, 2, 3]]),), dynamic_shapes=({1: auto},))
    decode = torch.export.export(Decode(model), (torch.tensor([[1]]), past, past.clone()),
                                 dynamic_shapes=({}, {2: auto}, {2: auto}))
    torch.export.save(prefill, folder / "prefill.pt2")
    torch.export.save(decode, folder / "decode.pt2")


class WithMask(torch.nn.Module):
    """Takes tokens and a mask, and leaves the positions to the model if there are none."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids=None):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                          use_cache=False).logits


def export_whole_batch(model, folder, shares_positions):
    ids, mask = pad(prompts_of(model)[:2])
    auto = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    inputs, shapes = (ids, mask), (auto, auto)
    if shares_positions:
        inputs, shapes = (*inputs, torch.arange(ids.shape[1])[None]), (*shapes, {1: torch.export.Dim.AUTO})
    torch.export.save(torch.export.export(WithMask(model), inputs, dynamic_shapes=shapes), folder / "model.pt2")


def pad(prompts):
    """Returns ids and mask of prompts of different lengths, padded on the left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
    return ids, torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])


def prompts_of(model):
    return [[token % model.config.vocab_size for token in prompt] for prompt in PROMPTS]


def export(model, cache, new_tokens, folder):
    if cache in ("past", "named"):
        export_past(model, folder, cache == "named")
    elif cache in ("whole_batch", "shared_batch"):
        export_whole_batch(model, folder, cache == "shared_batch")
    elif cache == "flat":
        export_flat(model, folder)
    elif cache in ("buffers", "bounded", "counted"):
        export_buffers(model, cache, max(map(len, PROMPTS)) + new_tokens, folder)
    else:
        export_folder(model, cache, new_tokens).save_pretrained(folder)


def export_folder(model, cache, new_tokens):
    ids, mask = pad(prompts_of(model)[: 2 if cache.startswith("batch") else 1])
    inputs = {"input_ids": ids, "attention_mask": mask}
    generation = GenerationConfig(max_new_tokens=new_tokens, do_sample=False, pad_token_id=0)
    exporter = DynamoExporter()
    config = DynamoConfig(dynamic=True)
    if cache == "whole":
        out = exporter.export(model, dict(inputs, use_cache=False), config)
        out.generation_config = generation
        return out
    if cache.endswith("static"):
        generation.cache_implementation = "static"
        generation.max_cache_len = max(map(len, PROMPTS)) + new_tokens
    return exporter.export_for_generation(model, inputs, config, generation_config=generation,
                                          multi_token_decode=cache == "multi")


def reference(model, ids, mask, new_tokens):
    with torch.no_grad():
        tokens = model.generate(ids, attention_mask=mask, max_new_tokens=new_tokens, do_sample=False, pad_token_id=0)
    return tokens[:, ids.shape[1]:].tolist()


def make_calls(model, cache, new_tokens):
    """Returns calls: prompts and the tokens that follow them."""
    prompts = prompts_of(model)
    if "batch" in cache:
        batches = [prompts, prompts[:2], [prompts[2]] * 2]
        return [{"prompts": batch, "tokens": reference(model, *pad(batch), new_tokens)} for batch in batches]
    return [{"prompt": prompt, "tokens": reference(model, *pad([prompt]), new_tokens)[0]} for prompt in prompts]


if __name__ == "__main__":
    sys.exit(make_folders(__doc__, ARCHITECTURES, CACHES, make_model, make_calls, export))
