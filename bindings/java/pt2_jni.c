// The native half of pt2.Model.
#include <jni.h>
#include <pt2/c/pt2.h>
#include <stdlib.h>

enum { kMaxTensors = 64, kMaxDims = 64 };

typedef struct {
  pt2_model *model;
  pt2_session *session;
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

// Takes the error.
static void throw_error(JNIEnv *env, pt2_error *error) {
  jclass type = (*env)->FindClass(env, "pt2/Pt2Exception");
  jmethodID make = (*env)->GetMethodID(
      env, type, "<init>", "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;)V");
  jobject exception =
      (*env)->NewObject(env, type, make, (*env)->NewStringUTF(env, pt2_error_text(error, NULL)),
                        (*env)->NewStringUTF(env, pt2_error_name(error)),
                        (*env)->NewStringUTF(env, pt2_error_place(error, NULL)));
  pt2_error_free(error);
  if (exception != NULL) (*env)->Throw(env, exception);
}

static void free_handles(Handles *handles) {
  if (handles == NULL) return;
  pt2_session_free(handles->session);
  pt2_model_free(handles->model);
  free(handles);
}

JNIEXPORT jlong JNICALL Java_pt2_Model_load(JNIEnv *env, jclass type, jbyteArray path) {
  const jsize length = (*env)->GetArrayLength(env, path);
  jbyte *text = (*env)->GetByteArrayElements(env, path, NULL);
  Handles *handles = calloc(1, sizeof *handles);
  pt2_error *error = NULL;
  (void)type;
  if (text == NULL || handles == NULL)
    error = pt2_error_create(PT2_NO_MEMORY, "out of memory", 13);
  if (error == NULL)
    error = pt2_model_load((const char *)text, (size_t)length, NULL, &handles->model);
  if (error == NULL) error = pt2_session_create(handles->model, NULL, &handles->session);
  if (text != NULL) (*env)->ReleaseByteArrayElements(env, path, text, JNI_ABORT);
  if (error == NULL) return (jlong)(intptr_t)handles;
  free_handles(handles);
  throw_error(env, error);
  return 0;
}

JNIEXPORT void JNICALL Java_pt2_Model_free(JNIEnv *env, jclass type, jlong handle) {
  (void)env, (void)type;
  free_handles((Handles *)(intptr_t)handle);
}

JNIEXPORT jobjectArray JNICALL Java_pt2_Model_inputs(JNIEnv *env, jclass type, jlong handle) {
  const Handles *handles = (const Handles *)(intptr_t)handle;
  const size_t count = pt2_model_input_count(handles->model);
  jclass text = (*env)->FindClass(env, "java/lang/String");
  jobjectArray out = (*env)->NewObjectArray(env, (jsize)count, text, NULL);
  size_t i;
  (void)type;
  for (i = 0; i < count && out != NULL; ++i) {
    pt2_place place = PT2_INIT(pt2_place);
    pt2_error *error = pt2_model_get_input(handles->model, i, &place);
    if (error != NULL) return throw_error(env, error), NULL;
    (*env)->SetObjectArrayElement(env, out, (jsize)i, (*env)->NewStringUTF(env, place.name));
  }
  return out;
}

// A copy of the array, as results may be views of inputs.
static pt2_error *read_tensor(JNIEnv *env, jarray data, jlongArray sizes, char kind,
                              pt2_value **out) {
  jlong numbers[kMaxDims];
  int64_t plain[kMaxDims];
  const jsize dims = (*env)->GetArrayLength(env, sizes);
  pt2_tensor_view view = {0};
  pt2_error *error;
  size_t known = 0;
  jsize i;
  if (dims > kMaxDims) return pt2_error_create(PT2_ARGUMENT, "too many dims", 13);
  (*env)->GetLongArrayRegion(env, sizes, 0, dims, numbers);
  for (i = 0; i < dims; ++i) plain[i] = numbers[i];
  while (known + 1 < kTypeCount && kTypes[known].kind != kind) ++known;
  view.sizes = plain;
  view.dims = dims;
  view.dtype = kTypes[known].dtype;
  view.data = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
  error = pt2_value_copy(&view, out);
  (*env)->ReleasePrimitiveArrayCritical(env, data, view.data, JNI_ABORT);
  return error;
}

static jarray new_array(JNIEnv *env, char kind, jsize length) {
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

static jobject tensor_of(JNIEnv *env, char kind, const pt2_tensor_view *view) {
  jclass type = (*env)->FindClass(env, "pt2/Tensor");
  jmethodID make = (*env)->GetMethodID(env, type, "<init>", "(Ljava/lang/Object;[J)V");
  jlongArray sizes = (*env)->NewLongArray(env, view->dims);
  jarray data;
  size_t count = 1, i;
  int32_t dim;
  for (dim = 0; dim < view->dims; ++dim) {
    const jlong size = view->sizes[dim];
    (*env)->SetLongArrayRegion(env, sizes, dim, 1, &size);
    count *= (size_t)size;
  }
  data = new_array(env, kind, (jsize)count);
  if (data == NULL) return NULL;
  if (count > 0) {
    char *to = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
    for (i = 0; to != NULL && i < count * view->dtype.bits / 8; ++i)
      to[i] = ((const char *)view->data)[i];
    (*env)->ReleasePrimitiveArrayCritical(env, data, to, 0);
  }
  return (*env)->NewObject(env, type, make, data, sizes);
}

// A row-major copy; null for what is no tensor of a known type.
static jobject write_tensor(JNIEnv *env, const pt2_value *value) {
  pt2_tensor_view view;
  pt2_value *rows = NULL;
  jobject out = NULL;
  size_t known = 0;
  pt2_error *error = pt2_value_get_tensor(value, &view);
  if (error == NULL) error = pt2_value_copy(&view, &rows);
  if (error == NULL) error = pt2_value_get_tensor(rows, &view);
  while (error == NULL && known < kTypeCount &&
         (kTypes[known].dtype.code != view.dtype.code || kTypes[known].dtype.bits != view.dtype.bits))
    ++known;
  if (error == NULL && known < kTypeCount) out = tensor_of(env, kTypes[known].kind, &view);
  pt2_error_free(error);
  pt2_value_free(rows);
  return out;
}

JNIEXPORT jobjectArray JNICALL Java_pt2_Model_run(JNIEnv *env, jclass type, jlong handle,
                                                  jobjectArray data, jobjectArray sizes,
                                                  jcharArray kinds) {
  const Handles *handles = (const Handles *)(intptr_t)handle;
  const size_t count = (size_t)(*env)->GetArrayLength(env, data);
  const size_t outputs = pt2_model_output_count(handles->model);
  pt2_value *given[kMaxTensors] = {NULL}, *results[kMaxTensors] = {NULL};
  jobjectArray out = NULL;
  pt2_error *error = NULL;
  size_t i;
  (void)type;
  if (count > kMaxTensors || outputs > kMaxTensors)
    error = pt2_error_create(PT2_UNSUPPORTED, "too many tensors", 16);
  for (i = 0; i < count && error == NULL; ++i) {
    jchar kind = 0;
    (*env)->GetCharArrayRegion(env, kinds, (jsize)i, 1, &kind);
    error = read_tensor(env, (*env)->GetObjectArrayElement(env, data, (jsize)i),
                        (*env)->GetObjectArrayElement(env, sizes, (jsize)i), (char)kind, &given[i]);
  }
  if (error == NULL)
    error = pt2_session_run(handles->session, (const pt2_value *const *)given, count, NULL, results,
                            outputs);
  if (error == NULL)
    out = (*env)->NewObjectArray(env, (jsize)outputs, (*env)->FindClass(env, "pt2/Tensor"), NULL);
  for (i = 0; out != NULL && i < outputs; ++i)
    (*env)->SetObjectArrayElement(env, out, (jsize)i, write_tensor(env, results[i]));
  for (i = 0; i < kMaxTensors; ++i) {
    pt2_value_free(given[i]);
    pt2_value_free(results[i]);
  }
  if (error != NULL) throw_error(env, error);
  return out;
}
