// libpt2 for Node: an N-API addon over the C interface. `new Model(file, {program, limits, engine,
// threads})` has `inputs`, `outputs`, `run([value…], {timeout})`, `stateNames`, `state(name)` and
// `setState(name, tensor)`. A tensor is {data, sizes, dtype} with a typed array; the other values
// are numbers, BigInts, booleans, strings and null. `new Decoder(path, {limits, engine, threads,
// cacheLength})` has `give({name: tensor}, {timeout})` and `generate([[id…]…], {maxNewTokens,
// temperature, topK, topP, seed, stopIds, onToken, timeout})`. A timeout is in milliseconds; a call
// that takes longer throws. A file is its path, or a Uint8Array of its bytes. Both classes have
// `close()`, which frees their memory at once: the garbage collector, which does not know how much
// it is, frees it late. One thread may use an object. Workers create models of their own; the
// mapped weights are in memory once.
#include "values.h"

// What an object of JavaScript wraps. All are NULL once it is closed; getters of the caller, which
// run while arguments are read, may close it, too.
typedef struct {
  pt2_model* model;
  pt2_session* session;
} Handles;

typedef struct {
  pt2_decoder* decoder;
  bool is_generating;
} DecoderHandle;

// Marks the objects of each class. Node checks the receiver of a method, but not that of a getter.
static const napi_type_tag kModel = {0x2b0f5c1e7d9a4368, 0x9c41d27be05f8a13};
static const napi_type_tag kDecoder = {0x7e13a9d4c26b5f80, 0xb58e61f0374dc92a};

static void close_handles(Handles* handles) {
  pt2_session_free(handles->session);
  pt2_model_free(handles->model);
  handles->session = NULL;
  handles->model = NULL;
}

static void free_handles(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  close_handles(data);
  free(data);
}

// Reads the timeout of a call. Returns the message of a refusal, or NULL.
static const char* read_timeout(napi_env env, napi_value from, pt2_call_options* out) {
  napi_value value;
  double milliseconds = 0, nanoseconds;
  if (!property(env, from, "timeout", &value)) return NULL;
  if (napi_get_value_double(env, value, &milliseconds) != napi_ok || !(milliseconds >= 0))
    return "expected a number of milliseconds, 0 or more, as timeout";
  nanoseconds = milliseconds * 1e6;
  // The library takes 0 for no deadline.
  out->timeout_ns = nanoseconds < 1 ? 1 : nanoseconds < 9e18 ? (int64_t)nanoseconds : INT64_MAX;
  return NULL;
}

// Returns a copy of the elements of a Uint8Array, which the caller frees; NULL for other objects.
static char* read_bytes(napi_env env, napi_value from, size_t* length) {
  napi_typedarray_type type = napi_int8_array;
  void* data = NULL;
  char* out;
  if (napi_get_typedarray_info(env, from, &type, length, &data, NULL, NULL) != napi_ok ||
      type != napi_uint8_array || (out = malloc(*length + 1)) == NULL)
    return NULL;
  if (*length > 0) memcpy(out, data, *length);
  return out;
}

// Returns the path or, if `is_file` is not NULL, the bytes of a file that are the first argument of
// a constructor. The caller frees them. Gives the second argument. NULL with a pending exception if
// the first is neither.
static char* read_path(napi_env env, napi_callback_info info, napi_value* self, size_t* length,
                       napi_value* options, bool* is_file) {
  size_t count = 2;
  napi_value arguments[2], target = NULL;
  char* path = NULL;
  // Without `new` the receiver is not an object of the class.
  if (napi_get_new_target(env, info, &target) != napi_ok || target == NULL) {
    refuse(env, "expected new before the class");
    return NULL;
  }
  if (napi_get_cb_info(env, info, &count, arguments, self, NULL) == napi_ok && count > 0)
    path = read_string(env, arguments[0], length);
  *options = arguments[1]; /* undefined if there is none */
  if (path == NULL && is_file != NULL && count > 0) {
    path = read_bytes(env, arguments[0], length);
    *is_file = path != NULL;
  }
  if (path == NULL)
    refuse(env, is_file == NULL ? "expected the path of a file or folder"
                                : "expected the path of a file, or a Uint8Array of its bytes");
  return path;
}

// Reads the options of a model. The caller frees `program` and `limits`. Returns the message of a
// refusal, or NULL.
static const char* read_load_options(napi_env env, napi_value from, pt2_load_options* load,
                                     pt2_session_options* session) {
  napi_valuetype type = napi_undefined;
  napi_value item;
  int64_t threads = 0;
  size_t length = 0;
  char* engine;
  napi_typeof(env, from, &type);
  if (type == napi_undefined || type == napi_null) return NULL;
  if (type != napi_object) return "expected an object as options";
  if (property(env, from, "program", &item) &&
      (load->program = read_string(env, item, &load->program_length)) == NULL)
    return "expected a string as program";
  if (property(env, from, "limits", &item) &&
      (load->limits = read_string(env, item, &load->limits_length)) == NULL)
    return "expected a string as limits";
  if (!integer_of(env, from, "threads", &threads) || threads < 0 || threads > UINT32_MAX)
    return "expected a whole number as threads";
  session->threads = (uint32_t)threads;
  if (!property(env, from, "engine", &item)) return NULL;
  engine = read_string(env, item, &length);
  if (engine != NULL && strcmp(engine, "reference") == 0)
    load->engine = PT2_ENGINE_REFERENCE;
  else if (engine == NULL || strcmp(engine, "planned") != 0)
    length = 0;
  free(engine);
  return length == 0 ? "expected planned or reference as engine" : NULL;
}

static napi_value construct(napi_env env, napi_callback_info info) {
  size_t length = 0;
  napi_value self, options;
  pt2_error* error = NULL;
  Handles* handles = NULL;
  pt2_load_options load = PT2_INIT(pt2_load_options);
  pt2_session_options session = PT2_INIT(pt2_session_options);
  bool is_file = false;
  char* path = read_path(env, info, &self, &length, &options, &is_file);
  const char* refusal;
  if (path == NULL) return NULL;
  refusal = read_load_options(env, options, &load, &session);
  if (refusal == NULL && (handles = calloc(1, sizeof *handles)) == NULL) refusal = "out of memory";
  if (refusal == NULL && is_file)
    error = pt2_model_load_memory(path, length, "bytes", 5, free, path, &load, &handles->model);
  else if (refusal == NULL)
    error = pt2_model_load(path, length, &load, &handles->model);
  // A model made from the bytes frees them.
  if (refusal != NULL || error != NULL || !is_file) free(path);
  free((char*)load.program);
  free((char*)load.limits);
  if (refusal != NULL) return refuse(env, refusal);
  if (error == NULL) error = pt2_session_create(handles->model, &session, &handles->session);
  if (error != NULL || napi_type_tag_object(env, self, &kModel) != napi_ok ||
      napi_wrap(env, self, handles, free_handles, NULL, NULL) != napi_ok) {
    free_handles(env, handles, NULL);
    return error != NULL ? throw_error(env, error) : NULL;
  }
  return self;
}

// Returns the pointer that an object of the class wraps, and reads the arguments. NULL if the
// receiver is not of the class.
static void* wrapped(napi_env env, napi_callback_info info, const napi_type_tag* class,
                     size_t* count, napi_value* arguments) {
  napi_value self;
  void* data = NULL;
  bool is_of_class = false;
  if (napi_get_cb_info(env, info, count, arguments, &self, NULL) != napi_ok ||
      napi_check_object_type_tag(env, self, class, &is_of_class) != napi_ok || !is_of_class)
    return NULL;
  return napi_unwrap(env, self, &data) == napi_ok ? data : NULL;
}

static const char kClosedModel[] = "the model is closed";
static const char kClosedDecoder[] = "the decoder is closed";

// As wrapped, for a method that only an open model has. NULL with a pending exception, which says
// `refusal` if the receiver is no model.
static Handles* open_model(napi_env env, napi_callback_info info, size_t* count,
                           napi_value* arguments, const char* refusal) {
  Handles* handles = wrapped(env, info, &kModel, count, arguments);
  if (handles != NULL && handles->model != NULL) return handles;
  refuse(env, handles == NULL ? refusal : kClosedModel);
  return NULL;
}

static void set_bool(napi_env env, napi_value object, const char* name, int32_t truth) {
  napi_value value;
  napi_get_boolean(env, truth != 0, &value);
  napi_set_named_property(env, object, name, value);
}

// Returns {name, type, isOptional}, and for tensors also {dtype, sizes, minimum, maximum}.
static napi_value place_object(napi_env env, const pt2_place* place) {
  const ElementType* type = type_of(place->dtype);
  napi_value out;
  napi_create_object(env, &out);
  set_text(env, out, "name", place->name);
  set_text(env, out, "type", place->type);
  set_bool(env, out, "isOptional", place->is_optional);
  if (!place->is_tensor) return out;
  if (type != NULL) set_text(env, out, "dtype", type->name);
  napi_set_named_property(env, out, "sizes", sizes_array(env, place->sizes, place->dims));
  napi_set_named_property(env, out, "minimum", sizes_array(env, place->minimum, place->dims));
  napi_set_named_property(env, out, "maximum", sizes_array(env, place->maximum, place->dims));
  return out;
}

typedef pt2_error* (*GetPlace)(const pt2_model* model, size_t index, pt2_place* out);

static const char kNoModel[] = "expected a Model";

static napi_value places(napi_env env, napi_callback_info info,
                         size_t (*count_of)(const pt2_model*), GetPlace get) {
  size_t count = 0, i;
  Handles* handles = open_model(env, info, &count, NULL, kNoModel);
  napi_value out;
  if (handles == NULL) return NULL;
  count = count_of(handles->model);
  napi_create_array_with_length(env, count, &out);
  for (i = 0; i < count; ++i) {
    pt2_place place = PT2_INIT(pt2_place);
    pt2_error* error = get(handles->model, i, &place);
    if (error != NULL) return throw_error(env, error);
    napi_set_element(env, out, (uint32_t)i, place_object(env, &place));
  }
  return out;
}

// Return an array of places. A size of -1 depends on the inputs; Infinity means no bound.
static napi_value inputs(napi_env env, napi_callback_info info) {
  return places(env, info, pt2_model_input_count, pt2_model_get_input);
}
static napi_value outputs(napi_env env, napi_callback_info info) {
  return places(env, info, pt2_model_output_count, pt2_model_get_output);
}

static const char kValues[] = "expected an array of tensors and other values";

static napi_value give_results(napi_env env, pt2_value** results, size_t count) {
  napi_value out, each;
  size_t i;
  napi_create_array_with_length(env, count, &out);
  for (i = 0; i < count; ++i) {
    if ((each = write_value(env, results[i])) == NULL) return NULL;
    napi_set_element(env, out, (uint32_t)i, each);
  }
  return out;
}

// Reads the arguments of `run` as values. Returns the message of a refusal, or NULL. A getter of
// the caller may close the model, whose types are gone then.
static const char* read_values(napi_env env, const Handles* handles, napi_value list, size_t count,
                               pt2_value** out, pt2_error** error) {
  const char* refusal = NULL;
  napi_value item;
  size_t i;
  for (i = 0; i < count && refusal == NULL && *error == NULL; ++i) {
    pt2_place place = PT2_INIT(pt2_place);
    if (napi_get_element(env, list, (uint32_t)i, &item) != napi_ok) return kValues;
    // A place that is missing has no type: the call refuses too many values, and a closed model.
    pt2_error_free(pt2_model_get_input(handles->model, i, &place));
    refusal = read_value(env, item, place.type == NULL ? "" : place.type, &out[i], error);
  }
  return refusal;
}

static napi_value run(napi_env env, napi_callback_info info) {
  pt2_value** values;
  size_t count = 2, outputs, i;
  uint32_t length = 0;
  napi_value arguments[2], list, out = NULL;
  const char* refusal;
  bool is_thrown = false;
  pt2_error* error = NULL;
  pt2_call_options call = PT2_INIT(pt2_call_options);
  Handles* handles = open_model(env, info, &count, arguments, kValues);
  if (handles == NULL) return NULL;
  list = arguments[0];
  if (count == 0 || napi_get_array_length(env, list, &length) != napi_ok)
    return refuse(env, kValues);
  outputs = pt2_model_output_count(handles->model);
  // The inputs, then the results.
  values = calloc(length + outputs + 1, sizeof *values);
  if (values == NULL) return refuse(env, "out of memory");
  refusal = read_values(env, handles, list, length, values, &error);
  if (refusal == NULL && error == NULL && count > 1)
    refusal = read_timeout(env, arguments[1], &call);
  // The caller's getters ran above and may have thrown.
  napi_is_exception_pending(env, &is_thrown);
  if (refusal == NULL && !is_thrown && error == NULL)
    error = pt2_session_run(handles->session, (const pt2_value* const*)values, length, &call,
                            values + length, outputs);
  if (refusal == NULL && !is_thrown && error == NULL)
    out = give_results(env, values + length, outputs);
  for (i = 0; i < length + outputs; ++i) pt2_value_free(values[i]);
  free(values);
  if (error != NULL) return throw_error(env, error);
  return refusal != NULL ? refuse(env, refusal) : out;
}

static napi_value state_names(napi_env env, napi_callback_info info) {
  size_t count = 0, i;
  Handles* handles = open_model(env, info, &count, NULL, kNoModel);
  napi_value out, name;
  if (handles == NULL) return NULL;
  count = pt2_model_state_count(handles->model);
  napi_create_array_with_length(env, count, &out);
  for (i = 0; i < count; ++i) {
    napi_create_string_utf8(env, pt2_model_state_name(handles->model, i, NULL), NAPI_AUTO_LENGTH,
                            &name);
    napi_set_element(env, out, (uint32_t)i, name);
  }
  return out;
}

// state(name) returns a copy of a parameter, buffer or constant.
static napi_value state(napi_env env, napi_callback_info info) {
  size_t count = 1, length = 0;
  napi_value argument, out = NULL;
  pt2_value* value = NULL;
  pt2_error* error;
  Handles* handles = open_model(env, info, &count, &argument, "expected a name");
  char* name;
  if (handles == NULL) return NULL;
  name = count != 1 ? NULL : read_string(env, argument, &length);
  if (name == NULL) return refuse(env, "expected a name");
  error = pt2_session_get_state(handles->session, name, length, &value);
  free(name);
  if (error != NULL) return throw_error(env, error);
  out = write_tensor(env, value);
  pt2_value_free(value);
  return out;
}

static const char kNameAndTensor[] = "expected a name and a tensor";

// setState(name, tensor) changes one for later calls.
static napi_value set_state(napi_env env, napi_callback_info info) {
  size_t count = 2, length = 0;
  napi_value arguments[2], out = NULL;
  pt2_value* value = NULL;
  pt2_tensor_view view;
  pt2_error* error = NULL;
  const char* refusal;
  Handles* handles = open_model(env, info, &count, arguments, kNameAndTensor);
  char* name;
  if (handles == NULL) return NULL;
  name = count != 2 ? NULL : read_string(env, arguments[0], &length);
  if (name == NULL) return refuse(env, kNameAndTensor);
  refusal = read_tensor(env, arguments[1], &value, &error);
  if (refusal == NULL && error == NULL) error = pt2_value_get_tensor(value, &view);
  if (refusal == NULL && error == NULL)
    error = pt2_session_set_state(handles->session, name, length, &view);
  pt2_value_free(value);
  free(name);
  if (error != NULL) return throw_error(env, error);
  if (refusal != NULL) return refuse(env, refusal);
  napi_get_undefined(env, &out);
  return out;
}

// close() frees the memory. It may be called again.
static napi_value close_model(napi_env env, napi_callback_info info) {
  size_t count = 0;
  Handles* handles = wrapped(env, info, &kModel, &count, NULL);
  napi_value out = NULL;
  if (handles == NULL) return refuse(env, kNoModel);
  close_handles(handles);
  napi_get_undefined(env, &out);
  return out;
}

static void free_decoder(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  pt2_decoder_free(((DecoderHandle*)data)->decoder);
  free(data);
}

static napi_value close_decoder(napi_env env, napi_callback_info info) {
  size_t count = 0;
  DecoderHandle* handle = wrapped(env, info, &kDecoder, &count, NULL);
  napi_value out = NULL;
  if (handle == NULL) return refuse(env, "expected a Decoder");
  if (handle->is_generating) return refuse(env, "the decoder is generating");
  pt2_decoder_free(handle->decoder);
  handle->decoder = NULL;
  napi_get_undefined(env, &out);
  return out;
}

static napi_value construct_decoder(napi_env env, napi_callback_info info) {
  size_t length = 0;
  napi_value self, options;
  DecoderHandle* handle = NULL;
  pt2_error* error = NULL;
  pt2_load_options load = PT2_INIT(pt2_load_options);
  pt2_session_options session = PT2_INIT(pt2_session_options);
  pt2_decoder_options open = PT2_INIT(pt2_decoder_options);
  char* path = read_path(env, info, &self, &length, &options, NULL);
  const char* refusal;
  if (path == NULL) return NULL;
  refusal = read_load_options(env, options, &load, &session);
  if (refusal == NULL && !integer_of(env, options, "cacheLength", &open.cache_length))
    refusal = "expected a whole number as cacheLength";
  open.limits = load.limits;
  open.limits_length = load.limits_length;
  open.engine = load.engine;
  open.threads = session.threads;
  if (refusal == NULL && (handle = calloc(1, sizeof *handle)) == NULL) refusal = "out of memory";
  if (refusal == NULL) error = pt2_decoder_open(path, length, &open, &handle->decoder);
  free(path);
  free((char*)load.program);
  free((char*)load.limits);
  if (refusal != NULL) return refuse(env, refusal);
  if (error != NULL || napi_type_tag_object(env, self, &kDecoder) != napi_ok ||
      napi_wrap(env, self, handle, free_decoder, NULL, NULL) != napi_ok) {
    free_decoder(env, handle, NULL);
    return error != NULL ? throw_error(env, error) : NULL;
  }
  return self;
}

static napi_value give(napi_env env, napi_callback_info info) {
  pt2_named_value* given;
  size_t count = 2;
  uint32_t length = 0, i;
  napi_valuetype type = napi_undefined;
  napi_value arguments[2], inputs, keys, key, tensor, out = NULL;
  const char* refusal = NULL;
  pt2_error* error = NULL;
  pt2_call_options call = PT2_INIT(pt2_call_options);
  DecoderHandle* handle = wrapped(env, info, &kDecoder, &count, arguments);
  inputs = arguments[0];
  if (handle == NULL || count == 0 || napi_typeof(env, inputs, &type) != napi_ok ||
      type != napi_object || napi_get_property_names(env, inputs, &keys) != napi_ok ||
      napi_get_array_length(env, keys, &length) != napi_ok)
    return refuse(env, "expected {name: tensor}");
  given = calloc((size_t)length + 1, sizeof *given);
  if (given == NULL) return refuse(env, "out of memory");
  for (i = 0; i < length && refusal == NULL && error == NULL; ++i) {
    pt2_value* value = NULL;
    if (napi_get_element(env, keys, i, &key) == napi_ok)
      given[i].name = read_string(env, key, &given[i].name_length);
    refusal = given[i].name == NULL || napi_get_property(env, inputs, key, &tensor) != napi_ok
                  ? "expected {name: tensor}"
                  : read_tensor(env, tensor, &value, &error);
    given[i].value = value;
  }
  if (refusal == NULL && error == NULL && count > 1)
    refusal = read_timeout(env, arguments[1], &call);
  if (refusal == NULL && error == NULL && handle->decoder == NULL) refusal = kClosedDecoder;
  if (refusal == NULL && error == NULL)
    error = pt2_decoder_give(handle->decoder, given, length, &call);
  for (i = 0; i < length; ++i) {
    pt2_value_free((pt2_value*)given[i].value);
    free((char*)given[i].name);
  }
  free(given);
  if (error != NULL) return throw_error(env, error);
  if (refusal != NULL) return refuse(env, refusal);
  napi_get_undefined(env, &out);
  return out;
}

typedef struct {
  int64_t* ids;
  size_t count;
} Ids;

// Appends the integers of the array `from` to `ids`. False, with `ids` unchanged, if `from` is not
// an array of integers.
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
        !read_integer(env, number, &more[ids->count + i]))
      return 0;
  ids->count += length;
  return 1;
}

typedef struct {
  napi_env env;
  napi_value call;
} Told;

// Calls the JavaScript callback. Ends generation if the callback returns false or throws.
static int32_t tell(size_t prompt, int64_t token, void* user) {
  const Told* told = user;
  napi_value arguments[2], self, answer;
  napi_handle_scope scope;
  napi_status called;
  bool goes_on = true;
  napi_open_handle_scope(told->env, &scope);
  napi_get_undefined(told->env, &self);
  napi_create_int64(told->env, (int64_t)prompt, &arguments[0]);
  napi_create_int64(told->env, token, &arguments[1]);
  called = napi_call_function(told->env, self, told->call, 2, arguments, &answer);
  if (called == napi_ok) napi_get_value_bool(told->env, answer, &goes_on);
  napi_close_handle_scope(told->env, scope);
  return called != napi_ok || !goes_on;
}

// Reads the options. Returns the message of a refusal, or NULL. Sets *is_nothing for maxNewTokens
// 0, which the library would take for the default.
static const char* read_options(napi_env env, napi_value from, pt2_generate_options* out, Ids* stop,
                                Told* told, bool* is_nothing) {
  napi_value item;
  napi_valuetype type = napi_undefined;
  int64_t seed = 0;
  bool is_exact = false;
  out->has_sampling = property(env, from, "temperature", &item);
  if (!number_of(env, from, "temperature", &out->temperature) ||
      !number_of(env, from, "topP", &out->top_p))
    return "expected numbers as temperature and topP";
  if (!integer_of(env, from, "maxNewTokens", &out->max_new_tokens) ||
      !integer_of(env, from, "topK", &out->top_k))
    return "expected whole numbers as maxNewTokens and topK";
  *is_nothing = out->max_new_tokens == 0 && property(env, from, "maxNewTokens", &item);
  if (property(env, from, "seed", &item) &&
      (napi_get_value_bigint_uint64(env, item, &out->seed, &is_exact) != napi_ok || !is_exact)) {
    if (!read_integer(env, item, &seed) || seed < 0)
      return "expected a whole number from 0 to 2^64 - 1 as seed";
    out->seed = (uint64_t)seed;
  }
  if (property(env, from, "stopIds", &item) && !append_ids(env, item, stop))
    return "expected an array of token ids as stopIds";
  if (property(env, from, "onToken", &told->call)) {
    if (napi_typeof(env, told->call, &type) != napi_ok || type != napi_function)
      return "expected a function as onToken";
    out->token_of = tell;
  }
  return NULL;
}

// Returns the tokens of each prompt. NULL stands for no tokens.
static napi_value texts_of(napi_env env, pt2_value** tokens, size_t count) {
  napi_value out;
  size_t i;
  napi_create_array_with_length(env, count, &out);
  for (i = 0; i < count; ++i) {
    pt2_tensor_view view = {0};
    pt2_error* error = tokens[i] == NULL ? NULL : pt2_value_get_tensor(tokens[i], &view);
    const int64_t length = view.sizes == NULL ? 0 : view.sizes[0];
    if (error != NULL) return throw_error(env, error);
    napi_set_element(env, out, (uint32_t)i, sizes_array(env, view.data, (int32_t)length));
  }
  return out;
}

static const char kPrompts[] = "expected an array of prompts, which are arrays of token ids";

static napi_value generate(napi_env env, napi_callback_info info) {
  pt2_value** tokens = NULL;
  size_t *counts = NULL, given = 2, i;
  uint32_t prompts = 0, read = 0;
  napi_value arguments[2], item, out = NULL;
  Ids ids = {NULL, 0}, stop = {NULL, 0};
  Told told = {env, NULL};
  pt2_generate_options options = PT2_INIT(pt2_generate_options);
  pt2_call_options call = PT2_INIT(pt2_call_options);
  pt2_error* error = NULL;
  DecoderHandle* handle = wrapped(env, info, &kDecoder, &given, arguments);
  const char* refusal = NULL;
  bool is_thrown = false, is_nothing = false;
  if (handle == NULL || given == 0 || napi_get_array_length(env, arguments[0], &prompts) != napi_ok)
    return refuse(env, kPrompts);
  counts = calloc((size_t)prompts + 1, sizeof *counts);
  tokens = calloc((size_t)prompts + 1, sizeof *tokens);
  if (counts == NULL || tokens == NULL) refusal = "out of memory";
  for (; refusal == NULL && read < prompts; ++read) {
    const size_t before = ids.count;
    if (napi_get_element(env, arguments[0], read, &item) != napi_ok || !append_ids(env, item, &ids))
      refusal = kPrompts;
    counts[read] = ids.count - before;
  }
  if (refusal == NULL && given > 1)
    refusal = read_options(env, arguments[1], &options, &stop, &told, &is_nothing);
  if (refusal == NULL && given > 1) refusal = read_timeout(env, arguments[1], &call);
  if (refusal == NULL && handle->decoder == NULL) refusal = kClosedDecoder;
  // The caller's getters ran above and may have thrown.
  napi_is_exception_pending(env, &is_thrown);
  options.stop_ids = stop.ids;
  options.stop_count = stop.count;
  options.user = &told;
  if (refusal == NULL && !is_thrown && !is_nothing) {
    const bool was_generating = handle->is_generating; /* the library refuses a second call */
    handle->is_generating = true;
    error = pt2_decoder_generate_batch(handle->decoder, ids.ids, counts, prompts, &options, &call,
                                       tokens, NULL);
    handle->is_generating = was_generating;
  }
  if (refusal == NULL && !is_thrown && error == NULL) out = texts_of(env, tokens, prompts);
  for (i = 0; tokens != NULL && i < prompts; ++i) pt2_value_free(tokens[i]);
  free(counts);
  free(tokens);
  free(ids.ids);
  free(stop.ids);
  if (refusal != NULL) return refuse(env, refusal);
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
      {"outputs", NULL, NULL, outputs, NULL, NULL, napi_enumerable, NULL},
      {"stateNames", NULL, NULL, state_names, NULL, NULL, napi_enumerable, NULL},
      {"state", NULL, state, NULL, NULL, NULL, napi_default, NULL},
      {"setState", NULL, set_state, NULL, NULL, NULL, napi_default, NULL},
      {"run", NULL, run, NULL, NULL, NULL, napi_default, NULL},
      {"close", NULL, close_model, NULL, NULL, NULL, napi_default, NULL},
  };
  const napi_property_descriptor of_decoders[] = {
      {"give", NULL, give, NULL, NULL, NULL, napi_default, NULL},
      {"generate", NULL, generate, NULL, NULL, NULL, napi_default, NULL},
      {"close", NULL, close_decoder, NULL, NULL, NULL, napi_default, NULL},
  };
  add_class(env, exports, "Model", construct, 7, of_models);
  add_class(env, exports, "Decoder", construct_decoder, 3, of_decoders);
  return exports;
}
