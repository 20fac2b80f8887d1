// libpt2 for Node: an N-API addon over the C interface. `new Model(path)` has `inputs` and
// `run([tensor…])`; a tensor is {data, sizes} with a typed array. `new Decoder(path)` has
// `give({name: tensor})` and `generate([[id…]…], {maxNewTokens, temperature, topK, topP, seed,
// stopIds, onToken})`. For one thread; workers make models of their own, whose weights are mapped
// once.
#include <node_api.h>
#include <pt2/c/pt2.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxTensors = 64, kMaxDims = 64, kMaxPath = 4096, kMaxName = 256 };

typedef struct {
  pt2_model* model;
  pt2_session* session;
} Handles;

// What each type of typed array is, and back.
typedef struct {
  napi_typedarray_type type;
  pt2_dtype dtype;
} ElementType;
static const ElementType kTypes[] = {
    {napi_float32_array, {2, 32}}, {napi_float64_array, {2, 64}}, {napi_int8_array, {0, 8}},
    {napi_int16_array, {0, 16}},   {napi_int32_array, {0, 32}},   {napi_bigint64_array, {0, 64}},
    {napi_uint8_array, {1, 8}},    {napi_uint8_array, {6, 8}},
};
static const size_t kTypeCount = sizeof kTypes / sizeof kTypes[0];

// Throws an Error with `code` and `place`; takes the error.
static napi_value throw_error(napi_env env, pt2_error* error) {
  napi_value text, code, place, exception;
  napi_create_string_utf8(env, pt2_error_text(error, NULL), NAPI_AUTO_LENGTH, &text);
  napi_create_string_utf8(env, pt2_error_name(error), NAPI_AUTO_LENGTH, &code);
  napi_create_string_utf8(env, pt2_error_place(error, NULL), NAPI_AUTO_LENGTH, &place);
  pt2_error_free(error);
  napi_create_error(env, code, text, &exception);
  napi_set_named_property(env, exception, "place", place);
  napi_throw(env, exception);
  return NULL;
}

static napi_value refuse(napi_env env, const char* message) {
  napi_throw_type_error(env, "argument", message);
  return NULL;
}

static void free_handles(napi_env env, void* data, void* hint) {
  Handles* handles = data;
  (void)env, (void)hint;
  pt2_session_free(handles->session);
  pt2_model_free(handles->model);
  free(handles);
}

// The only argument, a path: its length, or -1 and an exception.
static int64_t read_path(napi_env env, napi_callback_info info, napi_value* self, char* path) {
  size_t length = 0, count = 1;
  napi_value argument;
  if (napi_get_cb_info(env, info, &count, &argument, self, NULL) != napi_ok || count != 1 ||
      napi_get_value_string_utf8(env, argument, path, kMaxPath, &length) != napi_ok) {
    refuse(env, "expected the path of a file");
    return -1;
  }
  return (int64_t)length;
}

static napi_value construct(napi_env env, napi_callback_info info) {
  char path[kMaxPath];
  napi_value self;
  Handles* handles;
  pt2_error* error;
  const int64_t length = read_path(env, info, &self, path);
  if (length < 0) return NULL;
  handles = calloc(1, sizeof *handles);
  if (handles == NULL) return refuse(env, "out of memory");
  error = pt2_model_load(path, (size_t)length, NULL, &handles->model);
  if (error == NULL) error = pt2_session_create(handles->model, NULL, &handles->session);
  if (error != NULL || napi_wrap(env, self, handles, free_handles, NULL, NULL) != napi_ok) {
    free_handles(env, handles, NULL);
    return error != NULL ? throw_error(env, error) : NULL;
  }
  return self;
}

// What a Model or a Decoder wraps, and the arguments.
static void* wrapped(napi_env env, napi_callback_info info, size_t* count, napi_value* arguments) {
  napi_value self;
  void* data = NULL;
  if (napi_get_cb_info(env, info, count, arguments, &self, NULL) != napi_ok) return NULL;
  return napi_unwrap(env, self, &data) == napi_ok ? data : NULL;
}

static napi_value sizes_array(napi_env env, const int64_t* sizes, int32_t dims) {
  napi_value out, number;
  int32_t i;
  napi_create_array_with_length(env, (size_t)dims, &out);
  for (i = 0; i < dims; ++i) {
    napi_create_int64(env, sizes[i], &number);
    napi_set_element(env, out, (uint32_t)i, number);
  }
  return out;
}

// [{name, type, sizes}]; a size of -1 depends on the inputs.
static napi_value inputs(napi_env env, napi_callback_info info) {
  size_t count = 0, i;
  Handles* handles = wrapped(env, info, &count, NULL);
  napi_value out, each, value;
  if (handles == NULL) return refuse(env, "expected a Model");
  count = pt2_model_input_count(handles->model);
  napi_create_array_with_length(env, count, &out);
  for (i = 0; i < count; ++i) {
    pt2_place place = PT2_INIT(pt2_place);
    pt2_error* error = pt2_model_get_input(handles->model, i, &place);
    if (error != NULL) return throw_error(env, error);
    napi_create_object(env, &each);
    napi_create_string_utf8(env, place.name, NAPI_AUTO_LENGTH, &value);
    napi_set_named_property(env, each, "name", value);
    napi_create_string_utf8(env, place.type, NAPI_AUTO_LENGTH, &value);
    napi_set_named_property(env, each, "type", value);
    napi_set_named_property(env, each, "sizes", sizes_array(env, place.sizes, place.dims));
    napi_set_element(env, out, (uint32_t)i, each);
  }
  return out;
}

// The error that a {data, sizes} is refused with; NULL where it became a value. Results may be
// views of inputs, so that the elements are copied.
static const char* read_tensor(napi_env env, napi_value from, pt2_value** out, pt2_error** error) {
  int64_t sizes[kMaxDims], elements = 1;
  uint32_t dims = 0, i;
  size_t length = 0, known;
  napi_typedarray_type type;
  napi_value data, list, number;
  pt2_tensor_view view = {0};
  if (napi_get_named_property(env, from, "data", &data) != napi_ok ||
      napi_get_named_property(env, from, "sizes", &list) != napi_ok ||
      napi_get_typedarray_info(env, data, &type, &length, &view.data, NULL, NULL) != napi_ok ||
      napi_get_array_length(env, list, &dims) != napi_ok || dims > kMaxDims)
    return "expected {data, sizes} with a typed array";
  for (i = 0; i < dims; ++i) {
    if (napi_get_element(env, list, i, &number) != napi_ok ||
        napi_get_value_int64(env, number, &sizes[i]) != napi_ok || sizes[i] < 0 ||
        (sizes[i] > 0 && elements > INT64_MAX / sizes[i]))
      return "expected sizes that are numbers";
    elements *= sizes[i];
  }
  if (elements != (int64_t)length) return "the array has not as many elements as the sizes say";
  for (known = 0; known < kTypeCount && kTypes[known].type != type; ++known) {
  }
  if (known == kTypeCount) return "tensors have no elements of this type";
  view.sizes = sizes;
  view.dims = (int32_t)dims;
  view.dtype = kTypes[known].dtype;
  *error = pt2_value_copy(&view, out);
  return NULL;
}

// A row-major copy as {data, sizes}; null for what is no tensor of a known type.
static napi_value write_tensor(napi_env env, const pt2_value* value) {
  pt2_tensor_view view;
  pt2_value* rows = NULL;
  napi_value out, buffer, data;
  void* memory = NULL;
  size_t elements = 1, known;
  int32_t i;
  pt2_error* error = pt2_value_get_tensor(value, &view);
  if (error == NULL) error = pt2_value_copy(&view, &rows);
  if (error == NULL) error = pt2_value_get_tensor(rows, &view);
  for (known = 0; error == NULL && known < kTypeCount; ++known)
    if (kTypes[known].dtype.code == view.dtype.code && kTypes[known].dtype.bits == view.dtype.bits)
      break;
  if (error != NULL || known == kTypeCount) {
    pt2_error_free(error);
    pt2_value_free(rows);
    napi_get_null(env, &out);
    return out;
  }
  for (i = 0; i < view.dims; ++i) elements *= (size_t)view.sizes[i];
  napi_create_arraybuffer(env, elements * view.dtype.bits / 8, &memory, &buffer);
  if (elements > 0 && memory != NULL) memcpy(memory, view.data, elements * view.dtype.bits / 8);
  napi_create_typedarray(env, kTypes[known].type, elements, buffer, 0, &data);
  napi_create_object(env, &out);
  napi_set_named_property(env, out, "data", data);
  napi_set_named_property(env, out, "sizes", sizes_array(env, view.sizes, view.dims));
  pt2_value_free(rows);
  return out;
}

static napi_value give_results(napi_env env, pt2_value** results, size_t count) {
  napi_value out;
  size_t i;
  napi_create_array_with_length(env, count, &out);
  for (i = 0; i < count; ++i)
    napi_set_element(env, out, (uint32_t)i, write_tensor(env, results[i]));
  return out;
}

static napi_value run(napi_env env, napi_callback_info info) {
  pt2_value *given[kMaxTensors] = {NULL}, *results[kMaxTensors] = {NULL};
  size_t count = 1, outputs, i;
  uint32_t length = 0, read = 0;
  napi_value list, item, out = NULL;
  const char* refusal = NULL;
  pt2_error* error = NULL;
  Handles* handles = wrapped(env, info, &count, &list);
  if (handles == NULL || count != 1 || napi_get_array_length(env, list, &length) != napi_ok)
    return refuse(env, "expected an array of tensors");
  outputs = pt2_model_output_count(handles->model);
  if (length > kMaxTensors || outputs > kMaxTensors) return refuse(env, "too many tensors");
  for (; read < length && refusal == NULL && error == NULL; ++read) {
    napi_get_element(env, list, read, &item);
    refusal = read_tensor(env, item, &given[read], &error);
  }
  if (refusal == NULL && error == NULL)
    error = pt2_session_run(handles->session, (const pt2_value* const*)given, length, NULL, results,
                            outputs);
  if (refusal == NULL && error == NULL) out = give_results(env, results, outputs);
  for (i = 0; i < kMaxTensors; ++i) {
    pt2_value_free(given[i]);
    pt2_value_free(results[i]);
  }
  if (error != NULL) return throw_error(env, error);
  return refusal != NULL ? refuse(env, refusal) : out;
}

static void free_decoder(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  pt2_decoder_free(data);
}

static napi_value construct_decoder(napi_env env, napi_callback_info info) {
  char path[kMaxPath];
  napi_value self;
  pt2_decoder* decoder = NULL;
  pt2_error* error;
  const int64_t length = read_path(env, info, &self, path);
  if (length < 0) return NULL;
  error = pt2_decoder_open(path, (size_t)length, NULL, &decoder);
  if (error != NULL) return throw_error(env, error);
  if (napi_wrap(env, self, decoder, free_decoder, NULL, NULL) != napi_ok) {
    pt2_decoder_free(decoder);
    return NULL;
  }
  return self;
}

static napi_value give(napi_env env, napi_callback_info info) {
  char names[kMaxTensors][kMaxName];
  pt2_named_value given[kMaxTensors] = {{NULL, 0, NULL}};
  size_t count = 1;
  uint32_t length = 0, i;
  napi_valuetype type = napi_undefined;
  napi_value inputs, keys, key, tensor, out = NULL;
  const char* refusal = NULL;
  pt2_error* error = NULL;
  pt2_decoder* decoder = wrapped(env, info, &count, &inputs);
  if (decoder == NULL || count != 1 || napi_typeof(env, inputs, &type) != napi_ok ||
      type != napi_object || napi_get_property_names(env, inputs, &keys) != napi_ok ||
      napi_get_array_length(env, keys, &length) != napi_ok || length > kMaxTensors)
    return refuse(env, "expected {name: tensor}");
  for (i = 0; i < length && refusal == NULL && error == NULL; ++i) {
    pt2_value* value = NULL;
    napi_get_element(env, keys, i, &key);
    napi_get_property(env, inputs, key, &tensor);
    napi_get_value_string_utf8(env, key, names[i], kMaxName, &given[i].name_length);
    refusal = read_tensor(env, tensor, &value, &error);
    given[i].name = names[i];
    given[i].value = value;
  }
  if (refusal == NULL && error == NULL) error = pt2_decoder_give(decoder, given, length, NULL);
  for (i = 0; i < length; ++i) pt2_value_free((pt2_value*)given[i].value);
  if (error != NULL) return throw_error(env, error);
  if (refusal != NULL) return refuse(env, refusal);
  napi_get_undefined(env, &out);
  return out;
}

typedef struct {
  int64_t* ids;
  size_t count;
} Ids;

// Behind those that are there; false, and memory as it was, where `from` is no array of numbers.
static int append_ids(napi_env env, napi_value from, Ids* ids) {
  uint32_t length = 0, i;
  int64_t* more;
  napi_value number;
  if (napi_get_array_length(env, from, &length) != napi_ok) return 0;
  more = realloc(ids->ids, (ids->count + length + 1) * sizeof *more);
  if (more == NULL) return 0;
  ids->ids = more;
  for (i = 0; i < length; ++i)
    if (napi_get_element(env, from, i, &number) != napi_ok ||
        napi_get_value_int64(env, number, &more[ids->count + i]) != napi_ok)
      return 0;
  ids->count += length;
  return 1;
}

// True where the object has it.
static int property(napi_env env, napi_value object, const char* name, napi_value* out) {
  napi_valuetype type = napi_undefined;
  return napi_get_named_property(env, object, name, out) == napi_ok &&
         napi_typeof(env, *out, &type) == napi_ok && type != napi_undefined && type != napi_null;
}

static double number_or(napi_env env, napi_value object, const char* name, double otherwise) {
  napi_value value;
  double out = otherwise;
  if (property(env, object, name, &value)) napi_get_value_double(env, value, &out);
  return out;
}

typedef struct {
  napi_env env;
  napi_value call;
} Told;

// Ends where the function says false, or throws.
static int32_t tell(size_t prompt, int64_t token, void* user) {
  const Told* told = user;
  napi_value arguments[2], self, answer;
  bool goes_on = true;
  napi_get_undefined(told->env, &self);
  napi_create_int64(told->env, (int64_t)prompt, &arguments[0]);
  napi_create_int64(told->env, token, &arguments[1]);
  if (napi_call_function(told->env, self, told->call, 2, arguments, &answer) != napi_ok) return 1;
  return napi_get_value_bool(told->env, answer, &goes_on) == napi_ok && !goes_on;
}

static napi_value texts_of(napi_env env, pt2_value** tokens, size_t count) {
  napi_value out;
  size_t i;
  napi_create_array_with_length(env, count, &out);
  for (i = 0; i < count; ++i) {
    pt2_tensor_view view;
    pt2_error* error = pt2_value_get_tensor(tokens[i], &view);
    if (error != NULL) return throw_error(env, error);
    napi_set_element(env, out, (uint32_t)i, sizes_array(env, view.data, (int32_t)view.sizes[0]));
  }
  return out;
}

static napi_value generate(napi_env env, napi_callback_info info) {
  pt2_value* tokens[kMaxTensors] = {NULL};
  size_t counts[kMaxTensors], given = 2, i;
  uint32_t prompts = 0, read = 0;
  napi_value arguments[2], item, out = NULL;
  Ids ids = {NULL, 0}, stop = {NULL, 0};
  Told told = {env, NULL};
  pt2_generate_options options = PT2_INIT(pt2_generate_options);
  pt2_error* error = NULL;
  pt2_decoder* decoder = wrapped(env, info, &given, arguments);
  int right = decoder != NULL && given > 0 &&
              napi_get_array_length(env, arguments[0], &prompts) == napi_ok &&
              prompts <= kMaxTensors;
  for (; right && read < prompts; ++read) {
    const size_t before = ids.count;
    right =
        napi_get_element(env, arguments[0], read, &item) == napi_ok && append_ids(env, item, &ids);
    counts[read] = ids.count - before;
  }
  if (right && given > 1) {
    options.max_new_tokens = (int64_t)number_or(env, arguments[1], "maxNewTokens", 0);
    options.has_sampling = property(env, arguments[1], "temperature", &item);
    options.temperature = number_or(env, arguments[1], "temperature", 0);
    options.top_k = (int64_t)number_or(env, arguments[1], "topK", 0);
    options.top_p = number_or(env, arguments[1], "topP", 1);
    options.seed = (uint64_t)number_or(env, arguments[1], "seed", 0);
    if (property(env, arguments[1], "stopIds", &item)) right = append_ids(env, item, &stop);
    if (property(env, arguments[1], "onToken", &told.call)) options.token_of = tell;
  }
  options.stop_ids = stop.ids;
  options.stop_count = stop.count;
  options.user = &told;
  if (right)
    error =
        pt2_decoder_generate_batch(decoder, ids.ids, counts, prompts, &options, NULL, tokens, NULL);
  if (right && error == NULL) out = texts_of(env, tokens, prompts);
  for (i = 0; i < kMaxTensors; ++i) pt2_value_free(tokens[i]);
  free(ids.ids);
  free(stop.ids);
  if (!right) return refuse(env, "expected an array of prompts, which are arrays of token ids");
  return error != NULL ? throw_error(env, error) : out;
}

static void add_class(napi_env env, napi_value exports, const char* name, napi_callback construct,
                      size_t count, const napi_property_descriptor* members) {
  napi_value type;
  napi_define_class(env, name, NAPI_AUTO_LENGTH, construct, NULL, count, members, &type);
  napi_set_named_property(env, exports, name, type);
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor of_models[] = {
      {"inputs", NULL, NULL, inputs, NULL, NULL, napi_enumerable, NULL},
      {"run", NULL, run, NULL, NULL, NULL, napi_default, NULL},
  };
  const napi_property_descriptor of_decoders[] = {
      {"give", NULL, give, NULL, NULL, NULL, napi_default, NULL},
      {"generate", NULL, generate, NULL, NULL, NULL, napi_default, NULL},
  };
  add_class(env, exports, "Model", construct, 2, of_models);
  add_class(env, exports, "Decoder", construct_decoder, 2, of_decoders);
  return exports;
}
