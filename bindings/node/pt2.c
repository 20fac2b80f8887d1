// libpt2 for Node: an N-API addon over the C interface. `new Model(path, {program, limits, engine,
// threads})` has `inputs`, `outputs`, `run([value…])`, `stateNames`, `state(name)` and
// `setState(name, tensor)`. A tensor is {data, sizes, dtype} with a
// typed array; the other values are numbers, BigInts, booleans, strings and null. `new
// Decoder(path)` has `give({name: tensor})` and `generate([[id…]…], {maxNewTokens, temperature,
// topK, topP, seed, stopIds, onToken})`. One thread may use an object. Workers create models of
// their own; the mapped weights are in memory once.
#include <math.h>
#include <node_api.h>
#include <pt2/c/pt2.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxDims = 64 };

typedef struct {
  pt2_model* model;
  pt2_session* session;
} Handles;

// The typed array that holds each dtype; both directions use this table. A tensor without a dtype
// has that of the first row with its array.
typedef struct {
  const char* name; /* PyTorch's */
  pt2_dtype dtype;
  napi_typedarray_type type;
  size_t parts; /* elements of the array for one of the tensor: real and imaginary part */
} ElementType;
static const ElementType kTypes[] = {
    {"float32", {2, 32}, napi_float32_array, 1},
    {"float64", {2, 64}, napi_float64_array, 1},
    {"int8", {0, 8}, napi_int8_array, 1},
    {"int16", {0, 16}, napi_int16_array, 1},
    {"int32", {0, 32}, napi_int32_array, 1},
    {"int64", {0, 64}, napi_bigint64_array, 1},
    {"uint8", {1, 8}, napi_uint8_array, 1},
    {"uint8", {1, 8}, napi_uint8_clamped_array, 1},
    {"uint16", {1, 16}, napi_uint16_array, 1},
    {"uint32", {1, 32}, napi_uint32_array, 1},
    {"uint64", {1, 64}, napi_biguint64_array, 1},
    {"bool", {6, 8}, napi_uint8_array, 1},
    {"float16", {2, 16}, napi_uint16_array, 1},
    {"bfloat16", {4, 16}, napi_uint16_array, 1},
    {"float8_e4m3fn", {10, 8}, napi_uint8_array, 1},
    {"float8_e4m3fnuz", {11, 8}, napi_uint8_array, 1},
    {"float8_e5m2", {12, 8}, napi_uint8_array, 1},
    {"float8_e5m2fnuz", {13, 8}, napi_uint8_array, 1},
    {"float8_e8m0fnu", {14, 8}, napi_uint8_array, 1},
    {"complex32", {5, 32}, napi_uint16_array, 2},
    {"complex64", {5, 64}, napi_float32_array, 2},
    {"complex128", {5, 128}, napi_float64_array, 2},
};
static const size_t kTypeCount = sizeof kTypes / sizeof kTypes[0];

// Returns the row of a dtype; NULL if there is none.
static const ElementType* type_of(pt2_dtype dtype) {
  size_t i;
  for (i = 0; i < kTypeCount; ++i)
    if (kTypes[i].dtype.code == dtype.code && kTypes[i].dtype.bits == dtype.bits) return &kTypes[i];
  return NULL;
}

// Marks the objects of each class. Node checks the receiver of a method, but not that of a getter.
static const napi_type_tag kModel = {0x2b0f5c1e7d9a4368, 0x9c41d27be05f8a13};
static const napi_type_tag kDecoder = {0x7e13a9d4c26b5f80, 0xb58e61f0374dc92a};

// Throws an Error with `code` and `place`, and frees `error`.
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

// Returns the characters of a string, which the caller frees; NULL if `from` is not a string.
static char* read_string(napi_env env, napi_value from, size_t* length) {
  char* out = NULL;
  if (napi_get_value_string_utf8(env, from, NULL, 0, length) != napi_ok) return NULL;
  out = malloc(*length + 1);
  if (out != NULL) napi_get_value_string_utf8(env, from, out, *length + 1, length);
  return out;
}

// The greatest integer up to which JavaScript's numbers hold every one.
#define kMostExact 9007199254740991

// Reads an integer that a JavaScript number holds exactly, or a BigInt that fits 64 bits. False for
// anything else.
static int read_integer(napi_env env, napi_value from, int64_t* out) {
  double number = 0;
  bool is_exact = false;
  if (napi_get_value_double(env, from, &number) != napi_ok)
    return napi_get_value_bigint_int64(env, from, out, &is_exact) == napi_ok && is_exact;
  if (!(number >= -kMostExact && number <= kMostExact) || number != (double)(int64_t)number)
    return 0;
  *out = (int64_t)number;
  return 1;
}

// Reads a property. True if the object has it and it is neither undefined nor null.
static int property(napi_env env, napi_value object, const char* name, napi_value* out) {
  napi_valuetype type = napi_undefined;
  return napi_get_named_property(env, object, name, out) == napi_ok &&
         napi_typeof(env, *out, &type) == napi_ok && type != napi_undefined && type != napi_null;
}

// Reads a number. False if the property is not a number. *out is unchanged if there is no property.
static int number_of(napi_env env, napi_value object, const char* name, double* out) {
  napi_value value;
  return !property(env, object, name, &value) || napi_get_value_double(env, value, out) == napi_ok;
}

static int integer_of(napi_env env, napi_value object, const char* name, int64_t* out) {
  napi_value value;
  return !property(env, object, name, &value) || read_integer(env, value, out);
}

// Returns the path that is the first argument of a constructor, which the caller frees, and gives
// the second. NULL with a pending exception if there is no path.
static char* read_path(napi_env env, napi_callback_info info, napi_value* self, size_t* length,
                       napi_value* options) {
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
  if (path == NULL) refuse(env, "expected the path of a file");
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
  char* path = read_path(env, info, &self, &length, &options);
  const char* refusal;
  if (path == NULL) return NULL;
  refusal = read_load_options(env, options, &load, &session);
  if (refusal == NULL && (handles = calloc(1, sizeof *handles)) == NULL) refusal = "out of memory";
  if (refusal == NULL) error = pt2_model_load(path, length, &load, &handles->model);
  free(path);
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

static napi_value sizes_array(napi_env env, const int64_t* sizes, int32_t dims) {
  napi_value out, number;
  int32_t i;
  napi_create_array_with_length(env, (size_t)dims, &out);
  for (i = 0; i < dims; ++i) {
    if (sizes[i] == INT64_MAX)
      napi_create_double(env, HUGE_VAL, &number); /* no bound */
    else
      napi_create_int64(env, sizes[i], &number);
    napi_set_element(env, out, (uint32_t)i, number);
  }
  return out;
}

static void set_text(napi_env env, napi_value object, const char* name, const char* text) {
  napi_value value;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  napi_set_named_property(env, object, name, value);
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

static napi_value places(napi_env env, napi_callback_info info,
                         size_t (*count_of)(const pt2_model*), GetPlace get) {
  size_t count = 0, i;
  Handles* handles = wrapped(env, info, &kModel, &count, NULL);
  napi_value out;
  if (handles == NULL) return refuse(env, "expected a Model");
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

// Returns the row for a dtype's name and an array; without a name, that of the array alone. A
// Uint8Array can hold the bytes of any dtype. NULL if the two do not match.
static const ElementType* find_type(const char* name, napi_typedarray_type array) {
  size_t i;
  for (i = 0; i < kTypeCount; ++i)
    if (name == NULL ? kTypes[i].type == array
                     : strcmp(kTypes[i].name, name) == 0 &&
                           (kTypes[i].type == array || array == napi_uint8_array))
      return &kTypes[i];
  return NULL;
}

static const char kValues[] = "expected an array of tensors and other values";
static const char kTensor[] = "expected {data, sizes} with a typed array";

// Copies a {data, sizes, dtype} into a new value: results may be views of inputs, so they must not
// share its elements. Returns the message of a refusal, or NULL; a failed copy sets *error.
static const char* read_tensor(napi_env env, napi_value from, pt2_value** out, pt2_error** error) {
  int64_t sizes[kMaxDims], elements = 1;
  uint32_t dims = 0, i;
  size_t length = 0, per_element;
  char* name = NULL;
  const ElementType* known;
  napi_typedarray_type type;
  napi_value data, list, item;
  pt2_tensor_view view = {0};
  if (napi_get_named_property(env, from, "data", &data) != napi_ok ||
      napi_get_named_property(env, from, "sizes", &list) != napi_ok ||
      napi_get_array_length(env, list, &dims) != napi_ok || dims > kMaxDims)
    return kTensor;
  for (i = 0; i < dims; ++i) {
    if (napi_get_element(env, list, i, &item) != napi_ok || !read_integer(env, item, &sizes[i]) ||
        sizes[i] < 0 || (sizes[i] > 0 && elements > INT64_MAX / 16 / sizes[i]))
      return "expected sizes that are whole numbers";
    elements *= sizes[i];
  }
  if (property(env, from, "dtype", &item) && (name = read_string(env, item, &length)) == NULL)
    return "expected the name of a dtype";
  // The array is read last: getters of the caller, which ran above, may detach its buffer.
  if (napi_get_typedarray_info(env, data, &type, &length, &view.data, NULL, NULL) != napi_ok) {
    free(name);
    return kTensor;
  }
  known = find_type(name, type);
  free(name);
  if (known == NULL) return "expected a dtype of PyTorch, and an array that holds it";
  per_element = known->type == type ? known->parts : known->dtype.bits / 8;
  if ((size_t)elements * per_element != length)
    return "the array has not as many elements as the sizes say";
  view.sizes = sizes;
  view.dims = (int32_t)dims;
  view.dtype = known->dtype;
  *error = pt2_value_copy(&view, out);
  return NULL;
}

// Reads the value of an input. A number becomes what the input takes, `type`.
static const char* read_value(napi_env env, napi_value from, const char* type, pt2_value** out,
                              pt2_error** error) {
  napi_valuetype kind = napi_undefined;
  double number = 0;
  int64_t integer = 0;
  bool truth = false;
  size_t length = 0;
  char* text;
  napi_typeof(env, from, &kind);
  switch (kind) {
    case napi_number:
    case napi_bigint:
      if (kind == napi_bigint || strncmp(type, "float", 5) != 0) {
        if (!read_integer(env, from, &integer)) return "expected a whole number";
        *error = pt2_value_int(integer, out);
      } else {
        napi_get_value_double(env, from, &number);
        *error = pt2_value_float(number, out);
      }
      return NULL;
    case napi_boolean:
      napi_get_value_bool(env, from, &truth);
      *error = pt2_value_bool(truth, out);
      return NULL;
    case napi_string:
      text = read_string(env, from, &length);
      if (text == NULL) return "out of memory";
      *error = pt2_value_text(text, length, out);
      free(text);
      return NULL;
    case napi_null:
      *error = pt2_value_none(out);
      return NULL;
    case napi_undefined:
      return NULL; /* an optional input keeps its value */
    default:
      return read_tensor(env, from, out, error);
  }
}

// Returns a row-major copy of a tensor as {data, sizes, dtype}. NULL with a pending exception if it
// cannot.
static napi_value write_tensor(napi_env env, const pt2_value* value) {
  pt2_tensor_view view;
  const ElementType* known = NULL;
  pt2_value* rows = NULL;
  napi_value out = NULL, buffer, data;
  void* memory = NULL;
  size_t elements = 1;
  int32_t i;
  pt2_error* error = pt2_value_get_tensor(value, &view);
  if (error == NULL) error = pt2_value_copy(&view, &rows);
  if (error == NULL) error = pt2_value_get_tensor(rows, &view);
  if (error == NULL && (known = type_of(view.dtype)) == NULL)
    error = pt2_error_create(PT2_UNSUPPORTED, "found a result of another dtype", 31);
  for (i = 0; error == NULL && i < view.dims; ++i) elements *= (size_t)view.sizes[i];
  if (error == NULL &&
      (napi_create_arraybuffer(env, elements * view.dtype.bits / 8, &memory, &buffer) != napi_ok ||
       napi_create_typedarray(env, known->type, elements * known->parts, buffer, 0, &data) !=
           napi_ok))
    error = pt2_error_create(PT2_NO_MEMORY, "found no memory for a result", 28);
  if (error == NULL) {
    if (elements > 0) memcpy(memory, view.data, elements * view.dtype.bits / 8);
    napi_create_object(env, &out);
    napi_set_named_property(env, out, "data", data);
    napi_set_named_property(env, out, "sizes", sizes_array(env, view.sizes, view.dims));
    set_text(env, out, "dtype", known->name);
  }
  pt2_value_free(rows);
  return error != NULL ? throw_error(env, error) : out;
}

// Returns a result. null stands for None and for the kinds that JavaScript has no value for.
static napi_value write_value(napi_env env, const pt2_value* value) {
  napi_value out = NULL;
  int64_t integer = 0;
  double number = 0;
  int32_t truth = 0;
  const char* text = NULL;
  size_t length = 0;
  switch (pt2_value_kind(value)) {
    case PT2_VALUE_TENSOR:
      return write_tensor(env, value);
    case PT2_VALUE_INT:
      pt2_error_free(pt2_value_get_int(value, &integer));
      if (integer > kMostExact || integer < -kMostExact)
        napi_create_bigint_int64(env, integer, &out);
      else
        napi_create_int64(env, integer, &out);
      return out;
    case PT2_VALUE_FLOAT:
      pt2_error_free(pt2_value_get_float(value, &number));
      napi_create_double(env, number, &out);
      return out;
    case PT2_VALUE_BOOL:
      pt2_error_free(pt2_value_get_bool(value, &truth));
      napi_get_boolean(env, truth != 0, &out);
      return out;
    case PT2_VALUE_TEXT:
      pt2_error_free(pt2_value_get_text(value, &text, &length));
      napi_create_string_utf8(env, text, length, &out);
      return out;
    default:
      napi_get_null(env, &out);
      return out;
  }
}

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

// Reads the arguments of `run` as values. Returns the message of a refusal, or NULL.
static const char* read_values(napi_env env, const pt2_model* model, napi_value list, size_t count,
                               pt2_value** out, pt2_error** error) {
  const char* refusal = NULL;
  napi_value item;
  size_t i;
  for (i = 0; i < count && refusal == NULL && *error == NULL; ++i) {
    pt2_place place = PT2_INIT(pt2_place);
    pt2_error_free(pt2_model_get_input(model, i, &place)); /* the call refuses too many values */
    refusal = napi_get_element(env, list, (uint32_t)i, &item) != napi_ok
                  ? kValues
                  : read_value(env, item, place.type == NULL ? "" : place.type, &out[i], error);
  }
  return refusal;
}

static napi_value run(napi_env env, napi_callback_info info) {
  pt2_value** values;
  size_t count = 1, outputs, i;
  uint32_t length = 0;
  napi_value list, out = NULL;
  const char* refusal;
  bool is_thrown = false;
  pt2_error* error = NULL;
  Handles* handles = wrapped(env, info, &kModel, &count, &list);
  if (handles == NULL || count != 1 || napi_get_array_length(env, list, &length) != napi_ok)
    return refuse(env, kValues);
  outputs = pt2_model_output_count(handles->model);
  // The inputs, then the results.
  values = calloc(length + outputs + 1, sizeof *values);
  if (values == NULL) return refuse(env, "out of memory");
  refusal = read_values(env, handles->model, list, length, values, &error);
  // The caller's getters ran above and may have thrown.
  napi_is_exception_pending(env, &is_thrown);
  if (refusal == NULL && !is_thrown && error == NULL)
    error = pt2_session_run(handles->session, (const pt2_value* const*)values, length, NULL,
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
  Handles* handles = wrapped(env, info, &kModel, &count, NULL);
  napi_value out, name;
  if (handles == NULL) return refuse(env, "expected a Model");
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
  Handles* handles = wrapped(env, info, &kModel, &count, &argument);
  char* name = handles == NULL || count != 1 ? NULL : read_string(env, argument, &length);
  if (name == NULL) return refuse(env, "expected a name");
  error = pt2_session_get_state(handles->session, name, length, &value);
  free(name);
  if (error != NULL) return throw_error(env, error);
  out = write_tensor(env, value);
  pt2_value_free(value);
  return out;
}

// setState(name, tensor) changes one for later calls.
static napi_value set_state(napi_env env, napi_callback_info info) {
  size_t count = 2, length = 0;
  napi_value arguments[2], out = NULL;
  pt2_value* value = NULL;
  pt2_tensor_view view;
  pt2_error* error = NULL;
  const char* refusal;
  Handles* handles = wrapped(env, info, &kModel, &count, arguments);
  char* name = handles == NULL || count != 2 ? NULL : read_string(env, arguments[0], &length);
  if (name == NULL) return refuse(env, "expected a name and a tensor");
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

static void free_decoder(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  pt2_decoder_free(data);
}

static napi_value construct_decoder(napi_env env, napi_callback_info info) {
  size_t length = 0;
  napi_value self, options;
  pt2_decoder* decoder = NULL;
  pt2_error* error;
  char* path = read_path(env, info, &self, &length, &options);
  if (path == NULL) return NULL;
  error = pt2_decoder_open(path, length, NULL, &decoder);
  free(path);
  if (error != NULL) return throw_error(env, error);
  if (napi_type_tag_object(env, self, &kDecoder) != napi_ok ||
      napi_wrap(env, self, decoder, free_decoder, NULL, NULL) != napi_ok) {
    pt2_decoder_free(decoder);
    return NULL;
  }
  return self;
}

static napi_value give(napi_env env, napi_callback_info info) {
  pt2_named_value* given;
  size_t count = 1;
  uint32_t length = 0, i;
  napi_valuetype type = napi_undefined;
  napi_value inputs, keys, key, tensor, out = NULL;
  const char* refusal = NULL;
  pt2_error* error = NULL;
  pt2_decoder* decoder = wrapped(env, info, &kDecoder, &count, &inputs);
  if (decoder == NULL || count != 1 || napi_typeof(env, inputs, &type) != napi_ok ||
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
  if (refusal == NULL && error == NULL) error = pt2_decoder_give(decoder, given, length, NULL);
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
  pt2_error* error = NULL;
  pt2_decoder* decoder = wrapped(env, info, &kDecoder, &given, arguments);
  const char* refusal = NULL;
  bool is_thrown = false, is_nothing = false;
  if (decoder == NULL || given == 0 ||
      napi_get_array_length(env, arguments[0], &prompts) != napi_ok)
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
  // The caller's getters ran above and may have thrown.
  napi_is_exception_pending(env, &is_thrown);
  options.stop_ids = stop.ids;
  options.stop_count = stop.count;
  options.user = &told;
  if (refusal == NULL && !is_thrown && !is_nothing)
    error =
        pt2_decoder_generate_batch(decoder, ids.ids, counts, prompts, &options, NULL, tokens, NULL);
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
  };
  const napi_property_descriptor of_decoders[] = {
      {"give", NULL, give, NULL, NULL, NULL, napi_default, NULL},
      {"generate", NULL, generate, NULL, NULL, NULL, napi_default, NULL},
  };
  add_class(env, exports, "Model", construct, 6, of_models);
  add_class(env, exports, "Decoder", construct_decoder, 2, of_decoders);
  return exports;
}
