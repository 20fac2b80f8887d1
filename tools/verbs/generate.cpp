#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <limits>

#include "base/printable.h"
#include "pt2/decoder.h"
#include "pt2/tensor_file.h"
#include "tools/execution.h"
#include "tools/json_members.h"
#include "tools/plugins.h"
#include "tools/source.h"
#include "tools/values/inputs.h"
#include "tools/values/literals.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct GenerateArguments {
  std::string path;
  std::vector<std::string> ids;
  std::vector<std::string> inputs;
  std::optional<int64_t> max_new;
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  std::optional<std::string> stop;
  uint64_t seed = 0;
  bool greedy = false;
  DecoderOptions decoder;
  std::vector<std::string> libraries;
  bool time = false;
  bool json = false;
};

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// The time of each step's last token. A step yields one token for each prompt that has not ended.
class TokenTimes {
 public:
  void loaded() { loaded_ = Clock::now(); }
  void token(size_t prompt) {
    const Clock::time_point now = Clock::now();
    if (steps_.empty() || prompt <= last_prompt_)
      steps_.push_back(now);
    else
      steps_.back() = now;
    last_prompt_ = prompt;
    ++tokens_;
    if (steps_.size() == 1) first_tokens_ = tokens_;
  }

  double load() const { return seconds_between(start_, loaded_); }
  double first_token() const {
    return steps_.empty() ? 0 : seconds_between(loaded_, steps_.front());
  }
  std::vector<double> later_steps() const {
    std::vector<double> out;
    for (size_t i = 1; i < steps_.size(); ++i)
      out.push_back(seconds_between(steps_[i - 1], steps_[i]));
    return out;
  }
  std::string text() const {
    std::string out =
        fmt::format("loaded in {:.3g} s, first token after {:.3g} s", load(), first_token());
    std::vector<double> steps = later_steps();
    if (steps.empty()) return out;
    const double total = seconds_between(steps_.front(), steps_.back());
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    return out + fmt::format(", then {:.3g} tokens a second (median of a step {:.3g} ms)",
                             static_cast<double>(tokens_ - first_tokens_) / total, *middle * 1e3);
  }

 private:
  Clock::time_point start_ = Clock::now(), loaded_ = start_;
  std::vector<Clock::time_point> steps_;
  size_t last_prompt_ = 0, tokens_ = 0, first_tokens_ = 0;
};

// Parses "1,2,3", also with blanks in between.
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
  // Options for sampling imply that the most likely token is not wanted.
  if (out.temperature == 0 && (options.top_k || options.top_p)) out.temperature = 1;
  if (options.temperature) out.temperature = *options.temperature;
  if (options.top_k) out.top_k = *options.top_k;
  if (options.top_p) out.top_p = *options.top_p;
  out.seed = options.seed;
  return out;
}

// Reads NAME=FILE, NAME=[[1, 2]], or a file of named tensors.
Result<NamedTensors> read_given(const GenerateArguments& options) {
  NamedTensors out;
  std::vector<std::string> files{options.path};
  for (const std::string& argument : options.inputs) {
    const size_t sign = argument.find('=');
    const std::string name = argument.substr(0, sign == argument.npos ? 0 : sign);
    const std::string value = sign == argument.npos ? argument : argument.substr(sign + 1);
    if (value.starts_with('[') && !name.empty()) {
      Result<Tensor> tensor = parse_tensor(Dtype::int64, value);
      if (!tensor) tensor = parse_tensor(Dtype::float32, value);
      if (!tensor)
        return Error{ErrorCode::argument,
                     fmt::format("found '{}', which {}, expected numbers: [[1, 2], [3, 4]]",
                                 printable(value), tensor.error().message),
                     fmt::format("input '{}'", printable(name))};
      out.emplace_back(name, *std::move(tensor));
      continue;
    }
    files.push_back(value);
    PT2_TRY_VOID(check_one_standard_input(files));
    PT2_TRY(NamedTensors tensors, read_tensor_file(input_path(value), options.decoder.limits));
    if (name.empty()) {
      std::ranges::move(tensors, std::back_inserter(out));
    } else {
      PT2_TRY(Tensor tensor, tensor_for(name, value, std::move(tensors)));
      out.emplace_back(name, std::move(tensor));
    }
  }
  return out;
}

// Returns how many sequences the given inputs have: the first dimension of tensors with several.
size_t sequences_of(const NamedTensors& given) {
  const auto found =
      std::ranges::find_if(given, [](const auto& each) { return each.second.dim() > 1; });
  return found == given.end() || found->second.numel() == 0
             ? 1
             : static_cast<size_t>(found->second.size(0));
}

void write_sequence(JsonWriter& json, std::span<const int64_t> prompt, const Generated& generated) {
  write_integers(json, "prompt", prompt);
  write_integers(json, "tokens", generated.tokens);
  write_text(json, "stopped_by", stop_reason_name(generated.reason));
}

using Prompts = std::vector<std::vector<int64_t>>;

std::string answer_json(const GenerateArguments& options, const Prompts& prompts,
                        std::span<const Generated> generated, const Decoder& decoder,
                        const TokenTimes& times) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", options.path);
    if (prompts.size() == 1) {
      write_sequence(json, prompts[0], generated[0]);
    } else {
      size_t i = 0;
      write_objects(json, "sequences", generated,
                    [&](const Generated& each) { write_sequence(json, prompts[i++], each); });
    }
    write_integer(json, "shared_weight_bytes", decoder.shared_bytes());
    if (!options.time) return;
    json.key("times");
    json.begin_object();
    json.key("load_seconds");
    json.number(times.load());
    json.key("first_token_seconds");
    json.number(times.first_token());
    json.key("step_seconds");
    json.begin_array();
    for (const double step : times.later_steps()) json.number(step);
    json.end_array();
    json.end_object();
  });
}

std::string line_of(const Generated& generated) {
  return fmt::format("{}\n", fmt::join(generated.tokens, ","));
}

// Returns one prompt for each --ids.
Result<Prompts> read_prompts(const GenerateArguments& options) {
  Prompts out;
  for (const std::string& ids : options.ids) {
    PT2_TRY(std::vector<int64_t> prompt, parse_ids(ids, "--ids"));
    out.push_back(std::move(prompt));
  }
  return out;
}

Result<int> generate(const GenerateArguments& options, Environment& environment) {
  if (options.greedy && (options.temperature || options.top_k || options.top_p))
    return usage_error(
        "--greedy takes the most likely token, and --temperature, --top-k and --top-p draw one: "
        "give one or the other");
  PT2_TRY(Prompts prompts, read_prompts(options));
  GenerateOptions call{.max_new_tokens = options.max_new};
  if (options.stop) {
    call.stop_ids.emplace();
    if (*options.stop != "none") {
      PT2_TRY(call.stop_ids, parse_ids(*options.stop, "--stop"));
    }
  }
  TokenTimes times;
  DecoderOptions decoder_options = options.decoder;
  PT2_TRY(decoder_options.operators, load_operators(options.libraries));
  PT2_TRY(Decoder decoder, Decoder::open(input_path(options.path), decoder_options));
  times.loaded();
  PT2_TRY(NamedTensors given, read_given(options));
  if (prompts.empty()) {
    if (!decoder.settings().start_id)
      return Error{ErrorCode::argument,
                   "--ids is missing, and the folder does not say what texts begin with", ""};
    prompts.assign(sequences_of(given), {*decoder.settings().start_id});
  }
  for (const std::string& name : decoder.settings().ignored)
    print_warning(
        environment,
        fmt::format("generation_config.json: '{}' is ignored: it is not supported", name));
  if (!given.empty()) PT2_TRY_VOID(decoder.give(std::move(given)));
  call.sampling = sampling_of(options, decoder.settings());
  bool is_first = true;
  // With several prompts, tokens of all prompts alternate, so each prompt's line is printed at the
  // end.
  const bool prints_tokens = !options.json && prompts.size() == 1;
  call.on_token_of = [&](size_t prompt, int64_t token) {
    times.token(prompt);
    if (!prints_tokens) return true;
    print(environment.out, fmt::format("{}{}", is_first ? "" : ",", token));
    std::fflush(environment.out);
    is_first = false;
    return true;
  };
  const Result<std::vector<Generated>> generated = decoder.generate(prompts, call);
  if (!is_first) print(environment.out, "\n");
  if (!generated) return generated.error();
  if (options.json)
    print(environment.out, answer_json(options, prompts, *generated, decoder, times));
  else if (prompts.size() > 1)
    for (const Generated& each : *generated) print(environment.out, line_of(each));
  if (options.time && !options.json) print(environment.err, times.text() + "\n");
  if (std::ranges::find(*generated, StopReason::cache_full, &Generated::reason) != generated->end())
    print_warning(environment,
                  "the cache of the program is full: it holds no more tokens than these");
  return kOk;
}

}  // namespace

Action setup_generate(CommandLine& line) {
  auto options = std::make_shared<GenerateArguments>();
  line.add_option("PATH", options->path, "a folder of Transformers' exporter, or a .pt2 file")
      .required();
  line.add_option("--ids", options->ids,
                  "token ids of the prompt: 1,2,3; several --ids are a batch; without\n"
                  "it, the token that texts behind an encoder begin with")
      .type_name("LIST")
      .one_at_a_time();
  line.add_option("-i,--input", options->inputs,
                  "NAME=FILE, NAME=[[1,2],[3,4]], or a FILE of tensors with names: what the\n"
                  "encoder reads, or what else the programs take (.npy, .npz, .safetensors)")
      .type_name("INPUT")
      .one_at_a_time();
  line.add_option("--max-new", options->max_new,
                  "generate at most N tokens; without it, what\ngeneration_config.json says, or 64")
      .type_name("N");
  line.add_option("--stop", options->stop,
                  "stop at one of these token ids, or at none; without it, at those\n"
                  "of generation_config.json")
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
      .type_name("N")
      .range(1, std::numeric_limits<double>::infinity());
  add_engine_options(line, options->decoder.engine, options->decoder.threads);
  add_ops_option(line, options->libraries);
  add_limit_option(line, options->decoder.limits);
  line.add_flag("--time", options->time, "say how long loading and the tokens took");
  add_json_option(line, options->json);
  return [options](Environment& environment) { return generate(*options, environment); };
}

}  // namespace pt2::tools
