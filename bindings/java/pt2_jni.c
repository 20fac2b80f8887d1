// The native half of pt2.Model and pt2.Decoder.
#include <jni.h>
#include <pt2/c/pt2.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxTensors = 64, kMaxDims = 64 };

typedef struct {
  pt2_model* model;
  pt2_session* session;
} Handles;

typedef struct {
  char kind;
  pt2_dtype dtype;
} ElementType;
static const ElementType kTypes[] = {
    {'F', {2, 32}}, {'D', {2, 64}}, {'J', {0, 64}}, {'I', {0, 32}},
    {'S', {0, 16}}, {'B', {0, 8}},  {'B', {1, 8}},  {'B', {6, 8}},
};
static const size_t kTypeCount = sizeof kTypes / sizeof kTypes[0];

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

JNIEXPORT jlong JNICALL Java_pt2_Model_load(JNIEnv* env, jclass type, jbyteArray path) {
  const jsize length = (*env)->GetArrayLength(env, path);
  jbyte* text = (*env)->GetByteArrayElements(env, path, NULL);
  Handles* handles = calloc(1, sizeof *handles);
  pt2_error* error = text == NULL || handles == NULL ? out_of_memory() : NULL;
  (void)type;
  if (error == NULL)
    error = pt2_model_load((const char*)text, (size_t)length, NULL, &handles->model);
  if (error == NULL) error = pt2_session_create(handles->model, NULL, &handles->session);
  if (text != NULL) (*env)->ReleaseByteArrayElements(env, path, text, JNI_ABORT);
  if (error == NULL) return (jlong)(intptr_t)handles;
  free_handles(handles);
  throw_error(env, error);
  return 0;
}

JNIEXPORT void JNICALL Java_pt2_Model_free(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  free_handles((Handles*)(intptr_t)handle);
}

JNIEXPORT jobjectArray JNICALL Java_pt2_Model_inputs(JNIEnv* env, jclass type, jlong handle) {
  const Handles* handles = (const Handles*)(intptr_t)handle;
  const size_t count = pt2_model_input_count(handles->model);
  jclass text = (*env)->FindClass(env, "java/lang/String");
  jobjectArray out = (*env)->NewObjectArray(env, (jsize)count, text, NULL);
  size_t i;
  (void)type;
  for (i = 0; i < count && out != NULL; ++i) {
    pt2_place place = PT2_INIT(pt2_place);
    pt2_error* error = pt2_model_get_input(handles->model, i, &place);
    if (error != NULL) return throw_error(env, error), NULL;
    set_element(env, out, i, string_of(env, place.name));
    if ((*env)->ExceptionCheck(env)) return NULL;
  }
  return out;
}

// Copies the array into a new value: results may be views of inputs, so they must not share it.
static pt2_error* read_tensor(JNIEnv* env, jarray data, jlongArray sizes, char kind,
                              pt2_value** out) {
  jlong numbers[kMaxDims];
  int64_t plain[kMaxDims], count = 1;
  const jsize dims = (*env)->GetArrayLength(env, sizes);
  pt2_tensor_view view = {0};
  pt2_error* error;
  size_t known = 0;
  jsize i;
  if (dims > kMaxDims) return pt2_error_create(PT2_ARGUMENT, "too many dims", 13);
  (*env)->GetLongArrayRegion(env, sizes, 0, dims, numbers);
  // Another thread may have changed the sizes since Tensor compared them with the array.
  for (i = 0; i < dims; ++i) {
    plain[i] = numbers[i];
    if (count < 0 || plain[i] < 0 || (plain[i] > 0 && count > INT64_MAX / plain[i]))
      count = -1;
    else
      count *= plain[i];
  }
  if (count != (*env)->GetArrayLength(env, data))
    return pt2_error_create(PT2_ARGUMENT, "the array has not as many elements as the sizes say",
                            51);
  while (known + 1 < kTypeCount && kTypes[known].kind != kind) ++known;
  view.sizes = plain;
  view.dims = dims;
  view.dtype = kTypes[known].dtype;
  view.data = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
  if (view.data == NULL && count > 0) return out_of_memory();
  error = pt2_value_copy(&view, out);
  (*env)->ReleasePrimitiveArrayCritical(env, data, view.data, JNI_ABORT);
  return error;
}

static jarray new_array(JNIEnv* env, char kind, jsize length) {
  switch (kind) {
    case 'F':
      return (*env)->NewFloatArray(env, length);
    case 'D':
      return (*env)->NewDoubleArray(env, length);
    case 'J':
      return (*env)->NewLongArray(env, length);
    case 'I':
      return (*env)->NewIntArray(env, length);
    case 'S':
      return (*env)->NewShortArray(env, length);
    default:
      return (*env)->NewByteArray(env, length);
  }
}

static jobject tensor_of(JNIEnv* env, char kind, const pt2_tensor_view* view) {
  jclass type = (*env)->FindClass(env, "pt2/Tensor");
  jmethodID make = (*env)->GetMethodID(env, type, "<init>", "(Ljava/lang/Object;[J)V");
  jlongArray sizes = (*env)->NewLongArray(env, view->dims);
  jarray data;
  jobject out;
  size_t count = 1, i;
  int32_t dim;
  if (sizes == NULL) return NULL;
  for (dim = 0; dim < view->dims; ++dim) {
    const jlong size = view->sizes[dim];
    (*env)->SetLongArrayRegion(env, sizes, dim, 1, &size);
    count *= (size_t)size;
  }
  data = count > INT32_MAX ? NULL : new_array(env, kind, (jsize)count);
  if (data == NULL) return NULL;
  if (count > 0) {
    char* to = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
    for (i = 0; to != NULL && i < count * view->dtype.bits / 8; ++i)
      to[i] = ((const char*)view->data)[i];
    (*env)->ReleasePrimitiveArrayCritical(env, data, to, 0);
  }
  out = (*env)->NewObject(env, type, make, data, sizes);
  (*env)->DeleteLocalRef(env, data);
  (*env)->DeleteLocalRef(env, sizes);
  (*env)->DeleteLocalRef(env, type);
  return out;
}

// Returns a row-major copy of a tensor. NULL if the value is not a tensor of a known type, or has
// more elements than a Java array can hold.
static jobject write_tensor(JNIEnv* env, const pt2_value* value) {
  pt2_tensor_view view;
  pt2_value* rows = NULL;
  jobject out = NULL;
  size_t known = 0;
  pt2_error* error = pt2_value_get_tensor(value, &view);
  if (error == NULL) error = pt2_value_copy(&view, &rows);
  if (error == NULL) error = pt2_value_get_tensor(rows, &view);
  while (
      error == NULL && known < kTypeCount &&
      (kTypes[known].dtype.code != view.dtype.code || kTypes[known].dtype.bits != view.dtype.bits))
    ++known;
  if (error == NULL && known < kTypeCount) out = tensor_of(env, kTypes[known].kind, &view);
  pt2_error_free(error);
  pt2_value_free(rows);
  return out;
}

// Copies the tensors into `out`. After an error, `out` still holds the values made before it; the
// caller frees them.
static pt2_error* read_tensors(JNIEnv* env, jobjectArray data, jobjectArray sizes, jcharArray kinds,
                               pt2_value** out) {
  const jsize count = (*env)->GetArrayLength(env, data);
  pt2_error* error = NULL;
  jarray elements;
  jlongArray dims;
  jsize i;
  if (count > kMaxTensors) return pt2_error_create(PT2_UNSUPPORTED, "too many tensors", 16);
  for (i = 0; i < count && error == NULL; ++i) {
    jchar kind = 0;
    (*env)->GetCharArrayRegion(env, kinds, i, 1, &kind);
    elements = (*env)->GetObjectArrayElement(env, data, i);
    dims = (*env)->GetObjectArrayElement(env, sizes, i);
    error = read_tensor(env, elements, dims, (char)kind, &out[i]);
    (*env)->DeleteLocalRef(env, elements);
    (*env)->DeleteLocalRef(env, dims);
  }
  return error;
}

JNIEXPORT jobjectArray JNICALL Java_pt2_Model_run(JNIEnv* env, jclass type, jlong handle,
                                                  jobjectArray data, jobjectArray sizes,
                                                  jcharArray kinds) {
  const Handles* handles = (const Handles*)(intptr_t)handle;
  const size_t count = (size_t)(*env)->GetArrayLength(env, data);
  const size_t outputs = pt2_model_output_count(handles->model);
  pt2_value *given[kMaxTensors] = {NULL}, *results[kMaxTensors] = {NULL};
  jobjectArray out = NULL;
  pt2_error* error = NULL;
  size_t i;
  (void)type;
  if (outputs > kMaxTensors) error = pt2_error_create(PT2_UNSUPPORTED, "too many tensors", 16);
  if (error == NULL) error = read_tensors(env, data, sizes, kinds, given);
  if (error == NULL)
    error = pt2_session_run(handles->session, (const pt2_value* const*)given, count, NULL, results,
                            outputs);
  if (error == NULL)
    out = (*env)->NewObjectArray(env, (jsize)outputs, (*env)->FindClass(env, "pt2/Tensor"), NULL);
  for (i = 0; out != NULL && i < outputs && !(*env)->ExceptionCheck(env); ++i)
    set_element(env, out, i, write_tensor(env, results[i]));
  for (i = 0; i < kMaxTensors; ++i) {
    pt2_value_free(given[i]);
    pt2_value_free(results[i]);
  }
  if (error != NULL) throw_error(env, error);
  return out;
}

JNIEXPORT jlong JNICALL Java_pt2_Decoder_open(JNIEnv* env, jclass type, jbyteArray path) {
  const jsize length = (*env)->GetArrayLength(env, path);
  jbyte* text = (*env)->GetByteArrayElements(env, path, NULL);
  pt2_decoder* decoder = NULL;
  pt2_error* error = text == NULL
                         ? out_of_memory()
                         : pt2_decoder_open((const char*)text, (size_t)length, NULL, &decoder);
  (void)type;
  if (text != NULL) (*env)->ReleaseByteArrayElements(env, path, text, JNI_ABORT);
  if (error != NULL) throw_error(env, error);
  return (jlong)(intptr_t)decoder;
}

JNIEXPORT void JNICALL Java_pt2_Decoder_free(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  pt2_decoder_free((pt2_decoder*)(intptr_t)handle);
}

JNIEXPORT void JNICALL Java_pt2_Decoder_give(JNIEnv* env, jclass type, jlong handle,
                                             jobjectArray names, jobjectArray data,
                                             jobjectArray sizes, jcharArray kinds) {
  pt2_value* values[kMaxTensors] = {NULL};
  pt2_named_value given[kMaxTensors];
  const jsize count = (*env)->GetArrayLength(env, names);
  pt2_error* error = read_tensors(env, data, sizes, kinds, values);
  jsize read = 0, i;
  (void)type;
  for (; read < count && error == NULL; ++read) {
    jbyteArray name = (*env)->GetObjectArrayElement(env, names, read);
    given[read].name = (const char*)(*env)->GetByteArrayElements(env, name, NULL);
    given[read].name_length = (size_t)(*env)->GetArrayLength(env, name);
    given[read].value = values[read];
    if (given[read].name == NULL) error = out_of_memory();
    (*env)->DeleteLocalRef(env, name);
  }
  if (error == NULL)
    error = pt2_decoder_give((pt2_decoder*)(intptr_t)handle, given, (size_t)count, NULL);
  for (i = 0; i < read; ++i) {
    jbyteArray name = (*env)->GetObjectArrayElement(env, names, i);
    if (given[i].name != NULL)
      (*env)->ReleaseByteArrayElements(env, name, (jbyte*)given[i].name, JNI_ABORT);
    (*env)->DeleteLocalRef(env, name);
  }
  for (i = 0; i < kMaxTensors; ++i) pt2_value_free(values[i]);
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
JNIEXPORT jobjectArray JNICALL Java_pt2_Decoder_generate(
    JNIEnv* env, jclass type, jlong handle, jlongArray ids, jintArray lengths, jlong max_new_tokens,
    jdoubleArray sampling, jlong top_k, jlong seed, jlongArray stop_ids, jobject told) {
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
                                       counts, (size_t)prompts, &options, NULL, tokens, NULL);
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
