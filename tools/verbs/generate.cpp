#include <fmt/format.h>

#include <charconv>

#include "pt2/decoder.h"
#include "tools/execution.h"
#include "tools/json_members.h"
#include "tools/plugins.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct GenerateArguments {
  std::string path;
  std::string ids;
  std::optional<int64_t> max_new;
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  std::optional<std::string> stop;
  uint64_t seed = 0;
  bool greedy = false;
  DecoderOptions decoder;
  std::vector<std::string> libraries;
  bool json = false;
};

// "1,2,3", also with blanks between.
Result<std::vector<int64_t>> parse_ids(std::string_view text, std::string_view option) {
  std::vector<int64_t> out;
  while (!text.empty()) {
    if (const size_t digit = text.find_first_not_of(" ,\n\t"); digit == text.npos) break;
    text.remove_prefix(text.find_first_not_of(" ,\n\t"));
    int64_t id = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), id);
    const auto length = static_cast<size_t>(parsed.ptr - text.data());
    if (parsed.ec != std::errc() ||
        (length < text.size() && std::string_view(" ,\n\t").find(text[length]) == text.npos))
      return Error{ErrorCode::argument,
                   fmt::format("found '{}', expected token ids with commas between: 1,2,3", text),
                   std::string(option)};
    out.push_back(id);
    text.remove_prefix(length);
  }
  return out;
}

Sampling sampling_of(const GenerateArguments& options, const GenerationSettings& settings) {
  Sampling out = options.greedy ? Sampling{} : settings.sampling;
  // Whoever says how to draw does not want the most likely token.
  if (out.temperature == 0 && (options.top_k || options.top_p)) out.temperature = 1;
  if (options.temperature) out.temperature = *options.temperature;
  if (options.top_k) out.top_k = *options.top_k;
  if (options.top_p) out.top_p = *options.top_p;
  out.seed = options.seed;
  return out;
}

std::string answer_json(const GenerateArguments& options, std::span<const int64_t> prompt,
                        const Generated& generated, const Decoder& decoder) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", options.path);
    write_integers(json, "prompt", prompt);
    write_integers(json, "tokens", generated.tokens);
    write_text(json, "stopped_by", stop_reason_name(generated.reason));
    write_integer(json, "shared_weight_bytes", decoder.shared_bytes());
  });
}

Result<int> generate(const GenerateArguments& options, Environment& environment) {
  PT2_TRY(const std::vector<int64_t> prompt, parse_ids(options.ids, "--ids"));
  GenerateOptions call{.max_new_tokens = options.max_new};
  if (options.stop) {
    PT2_TRY(call.stop_ids, parse_ids(*options.stop, "--stop"));
  }
  DecoderOptions decoder_options = options.decoder;
  PT2_TRY(decoder_options.operators, load_operators(options.libraries));
  PT2_TRY(Decoder decoder, Decoder::open(input_path(options.path), decoder_options));
  for (const std::string& name : decoder.settings().ignored)
    print_warning(
        environment,
        fmt::format("generation_config.json: '{}' is ignored: it is not supported", name));
  call.sampling = sampling_of(options, decoder.settings());
  bool is_first = true;
  if (!options.json)
    call.on_token = [&](int64_t token) {
      print(environment.out, fmt::format("{}{}", is_first ? "" : ",", token));
      std::fflush(environment.out);
      is_first = false;
      return true;
    };
  const Result<Generated> generated = decoder.generate(prompt, call);
  if (!options.json && !is_first) print(environment.out, "\n");
  if (!generated) return generated.error();
  if (options.json) print(environment.out, answer_json(options, prompt, *generated, decoder));
  if (generated->reason == StopReason::cache_full)
    print_warning(environment,
                  "the cache of the program is full: it holds no more tokens than these");
  return kOk;
}

}  // namespace

Action setup_generate(CommandLine& line) {
  auto options = std::make_shared<GenerateArguments>();
  line.add_option("PATH", options->path, "a folder of Transformers' exporter, or a .pt2 file")
      .required();
  line.add_option("--ids", options->ids, "token ids of the prompt: 1,2,3")
      .type_name("LIST")
      .required();
  line.add_option("--max-new", options->max_new,
                  "generate at most N tokens; without it, what\ngeneration_config.json says, or 64")
      .type_name("N");
  line.add_option("--stop", options->stop,
                  "stop at one of these token ids; without it, at those of\n"
                  "generation_config.json")
      .type_name("LIST");
  line.add_flag("--greedy", options->greedy, "take the most likely token each time");
  line.add_option("--temperature", options->temperature,
                  "draw tokens at random, logits divided by X; 0 is --greedy")
      .type_name("X");
  line.add_option("--top-k", options->top_k, "draw from the K most likely tokens only")
      .type_name("K");
  line.add_option("--top-p", options->top_p,
                  "draw from the fewest tokens whose probabilities add up to P")
      .type_name("P");
  line.add_option("--seed", options->seed, "seed of the draws").type_name("N");
  line.add_option("--cache-length", options->decoder.cache_length,
                  "tokens that caches of fixed sizes hold, where the program\nleaves it open")
      .type_name("N");
  add_engine_options(line, options->decoder.engine, options->decoder.threads);
  add_ops_option(line, options->libraries);
  add_limit_option(line, options->decoder.limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return generate(*options, environment); };
}

}  // namespace pt2::tools
