#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <exception>

#include "calls.h"
#include "models.h"
#include "pt2/decoder.h"

namespace pt2::python {
namespace {

struct PyDecoder {
  explicit PyDecoder(Decoder opened) : decoder(std::move(opened)) {}

  Decoder decoder;
  std::atomic_flag busy{};
};

// Locks the decoder for its lifetime; raises if another call uses it.
class Use {
 public:
  explicit Use(PyDecoder& decoder) : decoder_(decoder) {
    if (decoder.busy.test_and_set())
      raise({ErrorCode::argument, "the decoder is used by another call", ""});
  }
  ~Use() { decoder_.busy.clear(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Decoder* operator->() { return &decoder_.decoder; }

 private:
  PyDecoder& decoder_;
};

std::vector<int64_t> ids_of(nb::handle given) {
  std::vector<int64_t> out;
  for (nb::handle item : given) {
    // Accepts every integer type, including NumPy's and torch's.
    PyObject* number = PyNumber_Index(item.ptr());
    if (number == nullptr) nb::raise_python_error();
    out.push_back(to_int64(nb::steal(number), ("token " + std::to_string(out.size())).c_str()));
  }
  return out;
}

nb::object feed(PyDecoder& self, nb::handle ids, std::optional<double> timeout) {
  const std::vector<int64_t> tokens = ids_of(ids);
  EarlyEnd end(true, timeout);
  Use decoder(self);
  return to_python(call_released(end, [&] { return decoder->feed(tokens, end.options()); }),
                   Flavour::own);
}

// The options of generate(), as Python passes them.
struct Wishes {
  std::optional<int64_t> max_new_tokens;
  std::optional<double> temperature;
  int64_t top_k;
  double top_p;
  uint64_t seed;
  nb::object stop_ids;
  nb::object on_token;
};

// True for False, also for that of NumPy or torch: a comparison with one of their numbers gives it.
bool is_false(nb::handle answer) {
  if (answer.is(nb::handle(Py_False))) return true;
  const nb::object dtype = nb::getattr(answer, "dtype", nb::none());
  if (!nb::cast<std::string>(nb::str(dtype)).ends_with("bool")) return false;
  const int truth = PyObject_IsTrue(answer.ptr());
  if (truth < 0) nb::raise_python_error();
  return truth == 0;
}

// Calls the Python function; returns false if it returns False or raises.
bool goes_on(std::exception_ptr& raised, auto&& call) {
  const nb::gil_scoped_acquire lock;
  try {
    return !is_false(nb::object(call()));
  } catch (nb::python_error&) {
    raised = std::current_exception();
    return false;
  }
}

GenerateOptions generate_options(const Wishes& wishes, bool of_several,
                                 std::exception_ptr& raised) {
  GenerateOptions out{.max_new_tokens = wishes.max_new_tokens};
  if (wishes.temperature)
    out.sampling = Sampling{.temperature = *wishes.temperature,
                            .top_k = wishes.top_k,
                            .top_p = wishes.top_p,
                            .seed = wishes.seed};
  if (!wishes.stop_ids.is_none()) out.stop_ids = ids_of(wishes.stop_ids);
  if (wishes.on_token.is_none()) return out;
  if (of_several)
    out.on_token_of = [&](size_t prompt, int64_t token) {
      return goes_on(raised, [&] { return wishes.on_token(prompt, token); });
    };
  else
    out.on_token = [&](int64_t token) {
      return goes_on(raised, [&] { return wishes.on_token(token); });
    };
  return out;
}

std::vector<Generated> generate(PyDecoder& self, std::span<const std::vector<int64_t>> prompts,
                                bool of_several, const Wishes& wishes,
                                std::optional<double> timeout) {
  EarlyEnd end(true, timeout);
  std::exception_ptr raised;
  GenerateOptions options = generate_options(wishes, of_several, raised);
  options.call = end.options();
  Use decoder(self);
  auto generated = call_released(end, [&] { return decoder->generate(prompts, options); });
  if (raised) std::rethrow_exception(raised);
  return generated;
}

nb::object to_python(const Generated& generated) {
  return nb::module_::import_("pt2._info")
      .attr("Generated")(generated.tokens, std::string(stop_reason_name(generated.reason)));
}

nb::object generate_one(PyDecoder& self, nb::handle prompt, const Wishes& wishes,
                        std::optional<double> timeout) {
  const std::vector<int64_t> ids = ids_of(prompt);
  return to_python(generate(self, std::span(&ids, 1), false, wishes, timeout)[0]);
}

nb::object generate_batch(PyDecoder& self, nb::handle prompts, const Wishes& wishes,
                          std::optional<double> timeout) {
  std::vector<std::vector<int64_t>> ids;
  for (nb::handle prompt : prompts) ids.push_back(ids_of(prompt));
  nb::list out;
  for (const Generated& each : generate(self, ids, true, wishes, timeout))
    out.append(to_python(each));
  return out;
}

void give(PyDecoder& self, const nb::object& inputs, std::optional<double> timeout) {
  NamedTensors tensors;
  auto flavour = Flavour::own;
  for (nb::handle item : inputs.attr("items")()) {
    std::string name = to_text(item[0], "the name of an input");
    Tensor tensor = to_tensor(item[1], flavour, {"input", name});
    tensors.emplace_back(std::move(name), std::move(tensor));
  }
  EarlyEnd end(true, timeout);
  Use decoder(self);
  call_released(end, [&] { return decoder->give(std::move(tensors), end.options()); });
}

void open(PyDecoder* self, const nb::object& path, int64_t cache_length, unsigned threads,
          const std::string& engine, nb::handle limits, nb::handle operators) {
  const std::string text = to_path(path);
  if (cache_length < 1)
    raise({ErrorCode::argument,
           "found a cache_length of " + std::to_string(cache_length) + ", expected 1 or more", ""});
  const DecoderOptions options{.limits = limits_from(limits),
                               .operators = operators_from(operators),
                               .engine = engine_from(engine),
                               .threads = threads,
                               .cache_length = cache_length};
  std::optional<Result<Decoder>> opened;
  {
    const nb::gil_scoped_release release;
    opened.emplace(Decoder::open(text, options));
  }
  new (self) PyDecoder(unwrap(*std::move(opened)));
}

// Defines generate or generate_batch: the parameters after the prompts are the same.
void add_generate(nb::class_<PyDecoder>& type, const char* name, const auto& prompts, auto generate,
                  const char* text) {
  type.def(
      name,
      [generate](PyDecoder& self, nb::handle ids, std::optional<int64_t> max_new_tokens,
                 std::optional<double> temperature, int64_t top_k, double top_p, uint64_t seed,
                 nb::object stop_ids, nb::object on_token, std::optional<double> timeout) {
        const Wishes wishes{max_new_tokens,      temperature,        top_k, top_p, seed,
                            std::move(stop_ids), std::move(on_token)};
        return generate(self, ids, wishes, timeout);
      },
      prompts, nb::kw_only(), nb::arg("max_new_tokens").none() = nb::none(),
      nb::arg("temperature").none() = nb::none(), nb::arg("top_k") = 0, nb::arg("top_p") = 1.0,
      nb::arg("seed") = 0, nb::arg("stop_ids").none() = nb::none(),
      nb::arg("on_token").none() = nb::none(), nb::arg("timeout").none() = nb::none(), text);
}

}  // namespace

void add_decoder_class(nb::module_& module) {
  nb::class_<PyDecoder> type(
      module, "Decoder",
      "Runs a language model token by token. The model is a folder that Transformers' exporter "
      "wrote, or a file with one program that takes token ids and returns logits. Only one thread "
      "at a time may use a decoder.");
  type.def("__init__", &open, nb::arg("path"), nb::kw_only(), nb::arg("cache_length") = 2048,
           nb::arg("threads") = 0, nb::arg("engine") = "planned",
           nb::arg("limits").none() = nb::none(), nb::arg("operators").none() = nb::none())
      .def("feed", &feed, nb::arg("ids"), nb::kw_only(), nb::arg("timeout").none() = nb::none(),
           "Appends these tokens to the tokens of earlier calls. Returns the logits of the last "
           "token: float32, one for each token of the vocabulary.")
      .def("give", &give, nb::arg("inputs"), nb::kw_only(), nb::arg("timeout").none() = nb::none(),
           "Sets the inputs other than tokens, by the names in `given_names`: the inputs of the "
           "encoder, such as {\"input_ids\": array}, or the output of an encoder if the folder has "
           "no encoder. The decoder shares the memory of such an output. Forgets all tokens.")
      .def(
          "reset", [](PyDecoder& self) { Use(self)->reset(); },
          "Forgets all tokens. Keeps the inputs that give() set.")
      .def_prop_ro(
          "given_names", [](PyDecoder& self) { return Use(self)->given_names(); },
          "The names of the inputs other than tokens, masks and positions.")
      .def_prop_ro(
          "position", [](PyDecoder& self) { return Use(self)->position(); },
          "The number of tokens that were fed.")
      .def_prop_ro(
          "capacity", [](PyDecoder& self) { return Use(self)->capacity(); },
          "The largest number of tokens; None if the program sets no limit.");
  add_generate(type, "generate", nb::arg("prompt") = nb::make_tuple(), &generate_one,
               "Forgets all tokens, feeds the prompt, then generates and feeds new tokens. "
               "generation_config.json decides arguments that are not given; an empty prompt "
               "becomes its decoder_start_token_id. `top_k`, `top_p` and `seed` count only "
               "together with `temperature`; temperature 0 takes the most likely token. `on_token` "
               "is called with each new token; generation stops if it returns False.");
  add_generate(type, "generate_batch", nb::arg("prompts"), &generate_batch,
               "Does the same as generate() for several prompts. They are computed together as far "
               "as the program takes more than one sequence. `on_token` is called with the index "
               "of the prompt and the token.");
}

}  // namespace pt2::python
