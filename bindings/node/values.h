// Values of JavaScript and of libpt2, and how one becomes the other.
#ifndef PT2_NODE_VALUES_H
#define PT2_NODE_VALUES_H

#include <math.h>
#include <node_api.h>
#include <pt2/c/pt2.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxDims = 64 };

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

static int is_something(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  return napi_typeof(env, value, &type) == napi_ok && type != napi_undefined && type != napi_null;
}

// Reads a property. True if the object has it and it is neither undefined nor null. Options that
// are left out are undefined, and have no properties.
static int property(napi_env env, napi_value object, const char* name, napi_value* out) {
  return is_something(env, object) && napi_get_named_property(env, object, name, out) == napi_ok &&
         is_something(env, *out);
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

#endif  // PT2_NODE_VALUES_H
