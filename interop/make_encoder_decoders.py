#!/usr/bin/env python3
"""Encoder-decoder models with random weights, in the folders that the exporters of Transformers write.

    make_encoder_decoders.py OUT [ARCHITECTURE...] [--cache dynamic]... [--new-tokens 256]

OUT/NAME-CACHE/ has encoder.pt2 and its decoder: prefill.pt2 and decode.pt2, decoder.pt2 or model.pt2. It also has
tokens.json: the encoder's inputs, prompts, and the tokens that model.generate gives greedily. check_decoders.py compares
pt2 with it.
"""

import sys

from decoder_folders import make_folders, spread_weights

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq, GenerationConfig
from transformers.exporters import DynamoConfig, DynamoExporter
from transformers.integrations.executorch import Seq2SeqLMExportableModule

SIZES = dict(vocab_size=128, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
             decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128)
TEXT = dict(SIZES, max_position_embeddings=512)
T5 = dict(vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
# model_type, and the settings that differ from its defaults.
ARCHITECTURES = {
    "t5": ("t5", T5),
    "mt5": ("mt5", T5),
    "umt5": ("umt5", T5),
    "bart": ("bart", TEXT),
    "mbart": ("mbart", TEXT),
    "marian": ("marian", dict(TEXT, decoder_vocab_size=128)),
    "pegasus": ("pegasus", TEXT),
    "blenderbot": ("blenderbot", TEXT),
    "m2m_100": ("m2m_100", TEXT),
    "whisper": ("whisper", dict(SIZES, max_source_positions=50, max_target_positions=448, num_mel_bins=8)),
    "longt5": ("longt5", dict(T5, local_radius=4)),
    "plbart": ("plbart", TEXT),
    "mvp": ("mvp", TEXT),
    "blenderbot_small": ("blenderbot-small", TEXT),
    "pegasus_x": ("pegasus_x", dict(TEXT, block_size=16, num_global_tokens=4)),
    # For tests/data: as small as possible.
    "tiny": ("t5", dict(vocab_size=32, d_model=16, d_kv=4, d_ff=24, num_layers=1, num_heads=4)),
}
CACHES = {
    "dynamic": "EncoderDecoderCache of two DynamicCaches; exported with a prompt of several tokens",
    "static": "its first cache a StaticCache",
    "batch": "as dynamic, several texts at once, shorter ones with padding on the right",
    "module": "Seq2SeqLMExportableModule: StaticCache in the module's buffers, one token at a time",
    "whole": "no cache: one program of encoder and decoder",
}
START = 3
# The encoder's inputs and the beginning of the text; programs are exported with the first ones.
READ = [[5, 17, 99, 3, 42, 7, 64, 11], [9, 30, 8], list(range(3, 24))]
PROMPTS = [[START, 9, 77, 5], [START], [START, 12]]


def make_model(architecture, seed):
    model_type, sizes = ARCHITECTURES[architecture]
    torch.manual_seed(seed)
    tokens = dict(decoder_start_token_id=START, pad_token_id=0, eos_token_id=None, bos_token_id=None,
                  forced_eos_token_id=None, forced_bos_token_id=None, suppress_tokens=None, begin_suppress_tokens=None)
    # If the output layer shared the input's embedding table, the most likely token after any token would be itself.
    config = AutoConfig.for_model(model_type, **sizes, **tokens, tie_word_embeddings=False)
    kind = AutoModelForSpeechSeq2Seq if model_type == "whisper" else AutoModelForSeq2SeqLM
    model = kind.from_config(config).eval()
    spread_weights(model, 8)
    model.generation_config = GenerationConfig(decoder_start_token_id=START, pad_token_id=0)
    return model


def encoder_inputs(model, read):
    """Returns the encoder's inputs: tokens, or sound made from them."""
    if model.main_input_name == "input_features":
        torch.manual_seed(sum(read))
        return {"input_features": torch.randn(1, model.config.num_mel_bins, 2 * model.config.max_source_positions)}
    ids = torch.tensor([read]) % model.config.vocab_size
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def pad(reads):
    """Returns the encoder's inputs for texts of different lengths."""
    longest = max(map(len, reads))
    ids = torch.tensor([read + [0] * (longest - len(read)) for read in reads])
    return {"input_ids": ids,
            "attention_mask": torch.tensor([[1] * len(read) + [0] * (longest - len(read)) for read in reads])}


def batch_of(model):
    return pad([[token % model.config.vocab_size for token in read] for read in READ[:2]])


def export(model, cache, new_tokens, folder):
    inputs = batch_of(model) if cache == "batch" else encoder_inputs(model, READ[0])
    if cache == "module":
        export_module(model, inputs, new_tokens, folder)
    else:
        export_folder(model, cache, inputs, PROMPTS[0], new_tokens).save_pretrained(folder)


def export_folder(model, cache, inputs, prompt, new_tokens):
    exporter, config = DynamoExporter(), DynamoConfig(dynamic=True)
    encoder = exporter.export(model.get_encoder(), inputs, config).components["model"]
    sequences = next(iter(inputs.values())).shape[0]
    ids = torch.tensor([prompt] * sequences) % model.config.vocab_size
    generation = GenerationConfig(max_new_tokens=new_tokens, do_sample=False, decoder_start_token_id=START)
    if cache == "whole":
        out = exporter.export(model, dict(inputs, decoder_input_ids=ids, use_cache=False), config)
        out.generation_config = generation
        return out
    if cache == "static":
        generation.cache_implementation = "static"
        generation.max_cache_len = max(map(len, PROMPTS)) + new_tokens
    out = exporter.export_for_generation(model, dict(inputs, decoder_input_ids=ids), config,
                                         generation_config=generation)
    out.components["encoder"] = encoder
    return out


def export_module(model, inputs, new_tokens, folder):
    module = Seq2SeqLMExportableModule(model, max_hidden_seq_length=64,
                                       max_cache_length=max(map(len, PROMPTS)) + new_tokens)
    module.export(encoder_input_ids=inputs["input_ids"])
    torch.export.save(module.exported_encoder, folder / "encoder.pt2")
    torch.export.save(module.exported_decoder, folder / "decoder.pt2")


def reference(model, inputs, prompt, new_tokens):
    ids = torch.tensor([prompt]) % model.config.vocab_size
    with torch.no_grad():
        tokens = model.generate(**inputs, decoder_input_ids=ids, max_new_tokens=new_tokens, do_sample=False)
    # Whisper's generate() omits the prompt from its result.
    return tokens[0, -new_tokens:].tolist()


def make_calls(model, cache, new_tokens):
    """Returns calls: the encoder's inputs, prompts, and the tokens that follow them."""
    calls = []
    if cache == "batch":
        inputs = batch_of(model)
        with torch.no_grad():
            tokens = model.generate(**inputs, max_new_tokens=new_tokens, do_sample=False)
        return [{"inputs": {name: tensor.tolist() for name, tensor in inputs.items()},
                 "prompts": [[START]] * len(tokens), "tokens": tokens[:, 1:].tolist()}]
    for read, prompt in zip(READ, PROMPTS):
        # The mask of a prefill.pt2 with a static cache must have its size at export.
        inputs = encoder_inputs(model, (read * 3)[: len(READ[0])] if cache == "static" else read)
        calls.append({"inputs": {name: tensor.tolist() for name, tensor in inputs.items()
                                 if cache != "module" or name != "attention_mask"},
                      "prompt": [token % model.config.vocab_size for token in prompt],
                      "tokens": reference(model, inputs, prompt, new_tokens)})
    return calls


if __name__ == "__main__":
    sys.exit(make_folders(__doc__, ARCHITECTURES, CACHES, make_model, make_calls, export))
