// The native half of pt2.Model and pt2.Decoder.
#include <jni.h>
#include <pt2/c/pt2.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxDims = 64 };

// The kinds of values that are not tensors, as in pt2.Values. The kind of a tensor is its dtype:
// DLPack's code times 256, plus the bits.
enum { kInteger = -1, kReal = -2, kTruth = -3, kText = -4, kNothing = -5 };

typedef struct {
  pt2_model* model;
  pt2_session* session;
} Handles;

// Makes a Java string from UTF-8. NewStringUTF would expect modified UTF-8, which encodes
// characters beyond 16 bits differently.
static jstring string_of(JNIEnv* env, const char* text) {
  const jsize length = (jsize)strlen(text);
  jclass type = (*env)->FindClass(env, "java/lang/String");
  jmethodID make = (*env)->GetMethodID(env, type, "<init>", "([BLjava/lang/String;)V");
  jbyteArray bytes = (*env)->NewByteArray(env, length);
  jstring encoding = bytes == NULL ? NULL : (*env)->NewStringUTF(env, "UTF-8");
  jstring out = NULL;
  if (encoding != NULL) {
    (*env)->SetByteArrayRegion(env, bytes, 0, length, (const jbyte*)text);
    out = (*env)->NewObject(env, type, make, bytes, encoding);
  }
  (*env)->DeleteLocalRef(env, encoding);
  (*env)->DeleteLocalRef(env, bytes);
  (*env)->DeleteLocalRef(env, type);
  return out;
}

// Puts the element into the array, unless making it threw, and gives up its local reference: the
// virtual machine promises room for sixteen of them, fewer than a model may have inputs.
static void set_element(JNIEnv* env, jobjectArray array, size_t index, jobject element) {
  if (!(*env)->ExceptionCheck(env))
    (*env)->SetObjectArrayElement(env, array, (jsize)index, element);
  (*env)->DeleteLocalRef(env, element);
}

// Throws the error as a Pt2Exception and frees it.
static void throw_error(JNIEnv* env, pt2_error* error) {
  jclass type = NULL;
  jmethodID make = NULL;
  jstring text = NULL, name = NULL, place = NULL;
  jobject exception = NULL;
  // Where memory ran out, the virtual machine has thrown its own error, here or before.
  if (!(*env)->ExceptionCheck(env)) type = (*env)->FindClass(env, "pt2/Pt2Exception");
  if (type != NULL)
    make = (*env)->GetMethodID(env, type, "<init>",
                               "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;)V");
  if (make != NULL) text = string_of(env, pt2_error_text(error, NULL));
  if (text != NULL) name = string_of(env, pt2_error_name(error));
  if (name != NULL) place = string_of(env, pt2_error_place(error, NULL));
  if (place != NULL) exception = (*env)->NewObject(env, type, make, text, name, place);
  if (exception != NULL) (*env)->Throw(env, exception);
  pt2_error_free(error);
}

static void free_handles(Handles* handles) {
  if (handles == NULL) return;
  pt2_session_free(handles->session);
  pt2_model_free(handles->model);
  free(handles);
}

static pt2_error* out_of_memory(void) {
  return pt2_error_create(PT2_NO_MEMORY, "out of memory", 13);
}

// Returns a copy of the bytes, which the caller frees; NULL if memory is short.
static char* copy_bytes(JNIEnv* env, jbyteArray from, size_t* length) {
  char* out;
  *length = (size_t)(*env)->GetArrayLength(env, from);
  out = malloc(*length + 1);
  if (out != NULL) (*env)->GetByteArrayRegion(env, from, 0, (jsize)*length, (jbyte*)out);
  return out;
}

JNIEXPORT jlong JNICALL Java_pt2_Model_load(JNIEnv* env, jclass type, jbyteArray given,
                                            jboolean is_file, jbyteArray program, jbyteArray limits,
                                            jint engine, jint threads) {
  pt2_load_options load = PT2_INIT(pt2_load_options);
  pt2_session_options session = PT2_INIT(pt2_session_options);
  size_t length = 0;
  char* bytes = copy_bytes(env, given, &length);
  char* name = copy_bytes(env, program, &load.program_length);
  char* numbers = copy_bytes(env, limits, &load.limits_length);
  Handles* handles = calloc(1, sizeof *handles);
  pt2_error* error =
      bytes == NULL || name == NULL || numbers == NULL || handles == NULL ? out_of_memory() : NULL;
  (void)type;
  load.program = name;
  load.limits = numbers;
  load.engine = engine;
  session.threads = (uint32_t)threads;
  if (error == NULL && is_file)
    error = pt2_model_load_memory(bytes, length, "bytes", 5, free, bytes, &load, &handles->model);
  else if (error == NULL)
    error = pt2_model_load(bytes, length, &load, &handles->model);
  // A model made from the bytes frees them.
  if (error != NULL || !is_file) free(bytes);
  if (error == NULL) error = pt2_session_create(handles->model, &session, &handles->session);
  free(name);
  free(numbers);
  if (error == NULL) return (jlong)(intptr_t)handles;
  free_handles(handles);
  throw_error(env, error);
  return 0;
}

JNIEXPORT void JNICALL Java_pt2_Model_free(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  free_handles((Handles*)(intptr_t)handle);
}

static jlongArray longs_of(JNIEnv* env, const int64_t* numbers, int32_t count) {
  jlongArray out = (*env)->NewLongArray(env, count);
  int32_t i;
  for (i = 0; out != NULL && i < count; ++i) {
    const jlong number = numbers[i];
    (*env)->SetLongArrayRegion(env, out, i, 1, &number);
  }
  return out;
}

static jobject place_of(JNIEnv* env, jclass type, jmethodID make, const pt2_place* place) {
  jstring name = string_of(env, place->name);
  jstring text = name == NULL ? NULL : string_of(env, place->type);
  jlongArray arrays[3] = {NULL, NULL, NULL};
  const int64_t* numbers[3];
  jobject out = NULL;
  int i;
  numbers[0] = place->sizes;
  numbers[1] = place->minimum;
  numbers[2] = place->maximum;
  for (i = 0; i < 3 && place->is_tensor && !(*env)->ExceptionCheck(env); ++i)
    arrays[i] = longs_of(env, numbers[i], place->dims);
  if (!(*env)->ExceptionCheck(env))
    out = (*env)->NewObject(env, type, make, name, text,
                            (jint)(256 * place->dtype.code + place->dtype.bits), arrays[0],
                            arrays[1], arrays[2], (jboolean)(place->is_optional != 0));
  for (i = 0; i < 3; ++i) (*env)->DeleteLocalRef(env, arrays[i]);
  (*env)->DeleteLocalRef(env, name);
  (*env)->DeleteLocalRef(env, text);
  return out;
}

JNIEXPORT jobjectArray JNICALL Java_pt2_Model_places(JNIEnv* env, jclass type, jlong handle,
                                                     jboolean are_inputs) {
  const pt2_model* model = ((const Handles*)(intptr_t)handle)->model;
  const size_t count = are_inputs ? pt2_model_input_count(model) : pt2_model_output_count(model);
  jclass places = (*env)->FindClass(env, "pt2/Place");
  jmethodID make =
      (*env)->GetMethodID(env, places, "<init>", "(Ljava/lang/String;Ljava/lang/String;I[J[J[JZ)V");
  jobjectArray out = make == NULL ? NULL : (*env)->NewObjectArray(env, (jsize)count, places, NULL);
  size_t i;
  (void)type;
  for (i = 0; i < count && out != NULL && !(*env)->ExceptionCheck(env); ++i) {
    pt2_place place = PT2_INIT(pt2_place);
    pt2_error* error =
        are_inputs ? pt2_model_get_input(model, i, &place) : pt2_model_get_output(model, i, &place);
    if (error != NULL) return throw_error(env, error), NULL;
    set_element(env, out, i, place_of(env, places, make, &place));
  }
  return out;
}

// Copies the array into a new value: results may be views of inputs, so they must not share it.
// pt2.Tensor has compared sizes and array.
static pt2_error* read_tensor(JNIEnv* env, jarray data, jlongArray sizes, jint kind,
                              pt2_value** out) {
  int64_t plain[kMaxDims];
  const jsize dims = (*env)->GetArrayLength(env, sizes);
  pt2_tensor_view view = {0};
  pt2_error* error;
  jsize i;
  if (dims > kMaxDims) return pt2_error_create(PT2_ARGUMENT, "too many dims", 13);
  for (i = 0; i < dims; ++i) {
    jlong number = 0;
    (*env)->GetLongArrayRegion(env, sizes, i, 1, &number);
    plain[i] = number;
  }
  view.sizes = plain;
  view.dims = dims;
  view.dtype.code = (uint8_t)(kind / 256);
  view.dtype.bits = (uint8_t)(kind % 256);
  view.data = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
  if (view.data == NULL) return out_of_memory();
  error = pt2_value_copy(&view, out);
  (*env)->ReleasePrimitiveArrayCritical(env, data, view.data, JNI_ABORT);
  return error;
}

// Makes the value of one kind from what pt2.Values holds for it. *out stays NULL for null.
static pt2_error* read_value(JNIEnv* env, jarray data, jlongArray sizes, jint kind,
                             pt2_value** out) {
  jlong integer = 0;
  jdouble real = 0;
  size_t length = 0;
  char* text;
  pt2_error* error;
  switch (kind) {
    case kInteger:
      (*env)->GetLongArrayRegion(env, data, 0, 1, &integer);
      return pt2_value_int(integer, out);
    case kReal:
      (*env)->GetDoubleArrayRegion(env, data, 0, 1, &real);
      return pt2_value_float(real, out);
    case kTruth:
      (*env)->GetLongArrayRegion(env, data, 0, 1, &integer);
      return pt2_value_bool((int32_t)integer, out);
    case kText:
      text = copy_bytes(env, data, &length);
      error = text == NULL ? out_of_memory() : pt2_value_text(text, length, out);
      free(text);
      return error;
    case kNothing:
      return NULL;
    default:
      return read_tensor(env, data, sizes, kind, out);
  }
}

// Copies the values into `out`. After an error, `out` still holds the values made before it; the
// caller frees them.
static pt2_error* read_values(JNIEnv* env, jobjectArray data, jobjectArray sizes, jintArray kinds,
                              pt2_value** out) {
  const jsize count = (*env)->GetArrayLength(env, data);
  pt2_error* error = NULL;
  jsize i;
  for (i = 0; i < count && error == NULL; ++i) {
    jint kind = 0;
    jarray elements = (*env)->GetObjectArrayElement(env, data, i);
    jlongArray dims = (*env)->GetObjectArrayElement(env, sizes, i);
    (*env)->GetIntArrayRegion(env, kinds, i, 1, &kind);
    error = read_value(env, elements, dims, kind, &out[i]);
    (*env)->DeleteLocalRef(env, elements);
    (*env)->DeleteLocalRef(env, dims);
  }
  return error;
}

// Copies the elements of a row-major tensor into a pt2.Tensor that Java made for them.
static void fill(JNIEnv* env, jobject tensor, const pt2_tensor_view* view) {
  jclass type = (*env)->GetObjectClass(env, tensor);
  jfieldID field = (*env)->GetFieldID(env, type, "data", "Ljava/lang/Object;");
  jarray data = (*env)->GetObjectField(env, tensor, field);
  size_t bytes = view->dtype.bits / 8, i;
  int32_t dim;
  char* to;
  for (dim = 0; dim < view->dims; ++dim) bytes *= (size_t)view->sizes[dim];
  to = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
  if (to != NULL) {
    if (bytes > 0) memcpy(to, view->data, bytes);
    // Java's boolean is 0 or 1; a file may hold other bytes.
    for (i = 0; view->dtype.code == 6 && i < bytes; ++i) to[i] = to[i] != 0;
    (*env)->ReleasePrimitiveArrayCritical(env, data, to, 0);
  }
  (*env)->DeleteLocalRef(env, data);
  (*env)->DeleteLocalRef(env, type);
}

// What pt2.Values.result makes a result of.
typedef struct {
  jint kind;
  jlong integer;
  jdouble real;
  pt2_tensor_view view;
  const char* text;
  size_t length;
} Result;

// Reads a result. `*rows` receives a row-major copy of a tensor.
static pt2_error* read_result(const pt2_value* value, Result* out, pt2_value** rows) {
  pt2_error* error;
  int32_t truth = 0;
  int64_t integer = 0;
  switch (pt2_value_kind(value)) {
    case PT2_VALUE_TENSOR:
      error = pt2_value_get_tensor(value, &out->view);
      if (error == NULL) error = pt2_value_copy(&out->view, rows);
      if (error == NULL) error = pt2_value_get_tensor(*rows, &out->view);
      out->kind = 256 * out->view.dtype.code + out->view.dtype.bits;
      return error;
    case PT2_VALUE_INT:
      out->kind = kInteger;
      error = pt2_value_get_int(value, &integer);
      out->integer = integer;
      return error;
    case PT2_VALUE_FLOAT:
      out->kind = kReal;
      return pt2_value_get_float(value, &out->real);
    case PT2_VALUE_BOOL:
      out->kind = kTruth;
      error = pt2_value_get_bool(value, &truth);
      out->integer = truth;
      return error;
    case PT2_VALUE_TEXT:
      out->kind = kText;
      return pt2_value_get_text(value, &out->text, &out->length);
    default:
      out->kind = kNothing;
      return NULL;
  }
}

// Returns a result as a Java object; null stands for None and for kinds that Java has no value for.
static jobject write_value(JNIEnv* env, const pt2_value* value) {
  Result from = {0};
  pt2_value* rows = NULL;
  jclass type = NULL;
  jmethodID make = NULL;
  jlongArray sizes = NULL;
  jbyteArray text = NULL;
  jobject out = NULL;
  pt2_error* error = read_result(value, &from, &rows);
  if (error == NULL) sizes = longs_of(env, from.view.sizes, from.view.dims);
  if (sizes != NULL) text = (*env)->NewByteArray(env, (jsize)from.length);
  if (text != NULL) {
    if (from.length > 0)
      (*env)->SetByteArrayRegion(env, text, 0, (jsize)from.length, (const jbyte*)from.text);
    type = (*env)->FindClass(env, "pt2/Values");
  }
  if (type != NULL)
    make = (*env)->GetStaticMethodID(env, type, "result", "(I[JJD[B)Ljava/lang/Object;");
  if (make != NULL)
    out = (*env)->CallStaticObjectMethod(env, type, make, from.kind, sizes, from.integer, from.real,
                                         text);
  if (out != NULL && rows != NULL && !(*env)->ExceptionCheck(env)) fill(env, out, &from.view);
  (*env)->DeleteLocalRef(env, sizes);
  (*env)->DeleteLocalRef(env, text);
  (*env)->DeleteLocalRef(env, type);
  pt2_value_free(rows);
  if (error != NULL) throw_error(env, error);
  return out;
}

JNIEXPORT jobjectArray JNICALL Java_pt2_Model_run(JNIEnv* env, jclass type, jlong handle,
                                                  jobjectArray data, jobjectArray sizes,
                                                  jintArray kinds, jlong timeout) {
  pt2_call_options call = PT2_INIT(pt2_call_options);
  const Handles* handles = (const Handles*)(intptr_t)handle;
  const size_t count = (size_t)(*env)->GetArrayLength(env, data);
  const size_t outputs = pt2_model_output_count(handles->model);
  // The inputs, then the results.
  pt2_value** values = calloc(count + outputs + 1, sizeof *values);
  jobjectArray out = NULL;
  pt2_error* error = values == NULL ? out_of_memory() : NULL;
  size_t i;
  (void)type;
  call.timeout_ns = timeout;
  if (error == NULL) error = read_values(env, data, sizes, kinds, values);
  if (error == NULL)
    error = pt2_session_run(handles->session, (const pt2_value* const*)values, count, &call,
                            values + count, outputs);
  if (error == NULL)
    out = (*env)->NewObjectArray(env, (jsize)outputs, (*env)->FindClass(env, "java/lang/Object"),
                                 NULL);
  for (i = 0; out != NULL && i < outputs && !(*env)->ExceptionCheck(env); ++i)
    set_element(env, out, i, write_value(env, values[count + i]));
  for (i = 0; values != NULL && i < count + outputs; ++i) pt2_value_free(values[i]);
  free(values);
  if (error != NULL) throw_error(env, error);
  return out;
}

JNIEXPORT jobjectArray JNICALL Java_pt2_Model_stateNames(JNIEnv* env, jclass type, jlong handle) {
  const pt2_model* model = ((const Handles*)(intptr_t)handle)->model;
  const size_t count = pt2_model_state_count(model);
  jclass text = (*env)->FindClass(env, "java/lang/String");
  jobjectArray out = (*env)->NewObjectArray(env, (jsize)count, text, NULL);
  size_t i;
  (void)type;
  for (i = 0; i < count && out != NULL && !(*env)->ExceptionCheck(env); ++i)
    set_element(env, out, i, string_of(env, pt2_model_state_name(model, i, NULL)));
  return out;
}

JNIEXPORT jobject JNICALL Java_pt2_Model_state(JNIEnv* env, jclass type, jlong handle,
                                               jbyteArray name) {
  const Handles* handles = (const Handles*)(intptr_t)handle;
  size_t length = 0;
  char* text = copy_bytes(env, name, &length);
  pt2_value* value = NULL;
  jobject out = NULL;
  pt2_error* error = text == NULL ? out_of_memory()
                                  : pt2_session_get_state(handles->session, text, length, &value);
  (void)type;
  free(text);
  if (error != NULL) throw_error(env, error);
  if (value != NULL) out = write_value(env, value);
  pt2_value_free(value);
  return out;
}

JNIEXPORT void JNICALL Java_pt2_Model_setState(JNIEnv* env, jclass type, jlong handle,
                                               jbyteArray name, jobject data, jlongArray sizes,
                                               jint kind) {
  const Handles* handles = (const Handles*)(intptr_t)handle;
  size_t length = 0;
  char* text = copy_bytes(env, name, &length);
  pt2_value* value = NULL;
  pt2_tensor_view view;
  pt2_error* error = text == NULL ? out_of_memory() : read_tensor(env, data, sizes, kind, &value);
  (void)type;
  if (error == NULL) error = pt2_value_get_tensor(value, &view);
  if (error == NULL) error = pt2_session_set_state(handles->session, text, length, &view);
  pt2_value_free(value);
  free(text);
  if (error != NULL) throw_error(env, error);
}

JNIEXPORT jlong JNICALL Java_pt2_Decoder_open(JNIEnv* env, jclass type, jbyteArray path,
                                              jbyteArray limits, jint engine, jint threads,
                                              jlong cache_length) {
  pt2_decoder_options options = PT2_INIT(pt2_decoder_options);
  size_t length = 0;
  char* text = copy_bytes(env, path, &length);
  char* numbers = copy_bytes(env, limits, &options.limits_length);
  pt2_decoder* decoder = NULL;
  pt2_error* error = text == NULL || numbers == NULL ? out_of_memory() : NULL;
  (void)type;
  options.limits = numbers;
  options.engine = engine;
  options.threads = (uint32_t)threads;
  options.cache_length = cache_length;
  if (error == NULL) error = pt2_decoder_open(text, length, &options, &decoder);
  free(text);
  free(numbers);
  if (error != NULL) throw_error(env, error);
  return (jlong)(intptr_t)decoder;
}

JNIEXPORT void JNICALL Java_pt2_Decoder_free(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  pt2_decoder_free((pt2_decoder*)(intptr_t)handle);
}

JNIEXPORT void JNICALL Java_pt2_Decoder_give(JNIEnv* env, jclass type, jlong handle,
                                             jobjectArray names, jobjectArray data,
                                             jobjectArray sizes, jintArray kinds, jlong timeout) {
  pt2_call_options call = PT2_INIT(pt2_call_options);
  const jsize count = (*env)->GetArrayLength(env, names);
  pt2_value** values = calloc((size_t)count + 1, sizeof *values);
  pt2_named_value* given = calloc((size_t)count + 1, sizeof *given);
  pt2_error* error = values == NULL || given == NULL ? out_of_memory() : NULL;
  jsize i;
  (void)type;
  call.timeout_ns = timeout;
  if (error == NULL) error = read_values(env, data, sizes, kinds, values);
  for (i = 0; i < count && error == NULL; ++i) {
    jbyteArray name = (*env)->GetObjectArrayElement(env, names, i);
    given[i].name = copy_bytes(env, name, &given[i].name_length);
    given[i].value = values[i];
    if (given[i].name == NULL) error = out_of_memory();
    (*env)->DeleteLocalRef(env, name);
  }
  if (error == NULL)
    error = pt2_decoder_give((pt2_decoder*)(intptr_t)handle, given, (size_t)count, &call);
  for (i = 0; i < count; ++i) {
    if (given != NULL) free((char*)given[i].name);
    if (values != NULL) pt2_value_free(values[i]);
  }
  free(values);
  free(given);
  if (error != NULL) throw_error(env, error);
}

typedef struct {
  JNIEnv* env;
  jobject told;
  jmethodID call;
} Told;

// Calls the Java callback. Ends generation if the callback returns false or throws.
static int32_t tell(size_t prompt, int64_t token, void* user) {
  const Told* told = user;
  JNIEnv* env = told->env;
  const jboolean goes_on =
      (*env)->CallBooleanMethod(env, told->told, told->call, (jint)prompt, (jlong)token);
  return (*env)->ExceptionCheck(env) || !goes_on;
}

// Returns the elements of an int64 vector.
static jlongArray ids_of(JNIEnv* env, const pt2_value* tokens) {
  pt2_tensor_view view;
  jlongArray out = NULL;
  pt2_error* error = pt2_value_get_tensor(tokens, &view);
  if (error == NULL) out = (*env)->NewLongArray(env, (jsize)view.sizes[0]);
  if (out != NULL) (*env)->SetLongArrayRegion(env, out, 0, (jsize)view.sizes[0], view.data);
  pt2_error_free(error);
  return out;
}

// `sampling` is empty or holds temperature and top_p.
JNIEXPORT jobjectArray JNICALL Java_pt2_Decoder_generate(JNIEnv* env, jclass type, jlong handle,
                                                         jlongArray ids, jintArray lengths,
                                                         jlong max_new_tokens,
                                                         jdoubleArray sampling, jlong top_k,
                                                         jlong seed, jlongArray stop_ids,
                                                         jobject told, jlong timeout) {
  pt2_call_options call = PT2_INIT(pt2_call_options);
  pt2_generate_options options = PT2_INIT(pt2_generate_options);
  const jsize prompts = (*env)->GetArrayLength(env, lengths);
  size_t* counts = calloc((size_t)prompts + 1, sizeof *counts);
  pt2_value** tokens = calloc((size_t)prompts + 1, sizeof *tokens);
  jlong* plain = (*env)->GetLongArrayElements(env, ids, NULL);
  jlong* stop = stop_ids == NULL ? NULL : (*env)->GetLongArrayElements(env, stop_ids, NULL);
  Told user = {env, told, NULL};
  jobjectArray out = NULL;
  pt2_error* error = counts == NULL || tokens == NULL || plain == NULL ? out_of_memory() : NULL;
  jsize i;
  (void)type;
  call.timeout_ns = timeout;
  options.max_new_tokens = max_new_tokens;
  options.has_sampling = (*env)->GetArrayLength(env, sampling) == 2;
  if (options.has_sampling) {
    (*env)->GetDoubleArrayRegion(env, sampling, 0, 1, &options.temperature);
    (*env)->GetDoubleArrayRegion(env, sampling, 1, 1, &options.top_p);
  }
  options.top_k = top_k;
  options.seed = (uint64_t)seed;
  options.stop_ids = (const int64_t*)stop;
  options.stop_count = stop == NULL ? 0 : (size_t)(*env)->GetArrayLength(env, stop_ids);
  options.user = &user;
  if (told != NULL) {
    user.call = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, told), "token", "(IJ)Z");
    options.token_of = tell;
  }
  for (i = 0; i < prompts && error == NULL; ++i) {
    jint length = 0;
    (*env)->GetIntArrayRegion(env, lengths, i, 1, &length);
    counts[i] = (size_t)length;
  }
  if (error == NULL)
    error = pt2_decoder_generate_batch((pt2_decoder*)(intptr_t)handle, (const int64_t*)plain,
                                       counts, (size_t)prompts, &options, &call, tokens, NULL);
  if (plain != NULL) (*env)->ReleaseLongArrayElements(env, ids, plain, JNI_ABORT);
  if (stop != NULL) (*env)->ReleaseLongArrayElements(env, stop_ids, stop, JNI_ABORT);
  if (error == NULL && !(*env)->ExceptionCheck(env))
    out = (*env)->NewObjectArray(env, prompts, (*env)->FindClass(env, "[J"), NULL);
  for (i = 0; out != NULL && i < prompts && !(*env)->ExceptionCheck(env); ++i)
    set_element(env, out, (size_t)i, ids_of(env, tokens[i]));
  for (i = 0; tokens != NULL && i < prompts; ++i) pt2_value_free(tokens[i]);
  free(tokens);
  free(counts);
  if (error != NULL) throw_error(env, error);
  return out;
}
