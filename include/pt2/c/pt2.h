/* The C99 interface of libpt2, for C and for every language that calls C. It loads, checks,
 * converts and runs the `.pt2` files of PyTorch's torch.export.save. There is one header and one
 * library (libpt2.so.1). docs/c.md has the guide; examples/c has complete programs.
 *
 *   pt2_model *model = NULL;
 *   pt2_session *session = NULL;
 *   pt2_error *error = pt2_model_load("m.pt2", 5, NULL, &model);
 *   if (!error) error = pt2_session_create(model, NULL, &session);
 *   if (!error) error = pt2_session_run_views(session, &image, 1, &scores, 1, NULL);
 *   if (error) fprintf(stderr, "%s\n", pt2_error_text(error, NULL));
 *
 * Rules for every function:
 * - Errors: a function that can fail returns a pt2_error*. NULL means success. The caller frees the
 *   error (pt2_error_free). Out parameters come last and are written only on success. No function
 *   throws, aborts or keeps global state: the library needs no initialisation or shutdown call, and
 *   it has no thread-local error.
 * - Ownership: handles are opaque. A handle that a function returns belongs to the caller, who
 *   frees it with the free function of its type; NULL may be freed. A handle keeps alive the
 *   objects that it needs: a model may be freed while its sessions live.
 * - NULL in place of a required handle: error PT2_ARGUMENT. A function that returns no error
 *   returns 0, NULL or an empty text instead.
 * - Texts: input texts are a pointer and a length, in UTF-8, and need no terminating zero. Returned
 *   texts are borrowed: they live as long as the handle that was asked, end with a zero, and have
 *   their length in *length if `length` is not NULL.
 * - Structs: structs of options and of results begin with their own size. PT2_INIT sets the size
 *   and clears the other members, which means the defaults. NULL options mean the defaults. If a
 *   struct is smaller, because the caller was compiled with an older version of this header, the
 *   missing options have their defaults, and missing results are left out. If a struct is larger
 *   than this version knows, its unknown members must be zero. Otherwise the call fails, so that a
 *   newer caller gets an error and not a wrong result.
 * - Enumerations are int32_t with fixed values. Later versions may add functions, values, and
 *   members at the end of structs. They change nothing else.
 * - Threads: each section states the rule for its handle. "Immutable": any number of threads may
 *   use the handle at once. "One at a time": calls on one handle must not overlap, but may come
 *   from any thread. A session detects overlapping calls.
 * - Callbacks receive the `user` pointer that they were registered with. They must return (no
 *   longjmp, no exception), and must not free the handle that calls them. */
#ifndef PT2_C_PT2_H
#define PT2_C_PT2_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define PT2_API
#else
#define PT2_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* pt2_load_options options = PT2_INIT(pt2_load_options); */
#ifdef __cplusplus
#define PT2_INIT(type) pt2_init_struct<type>()
#else
#define PT2_INIT(type) \
  { .size = sizeof(type) }
#endif

/* --- the library --- */

/* Returns the version of the library, "0.1.0". The text is static. */
PT2_API const char* pt2_version(void);
/* Returns 1 if this build has the feature, else 0. Features: "run", "verify", "convert", "dlpack",
 * "custom-operators", "trace", "decoder". Later versions may know more names. */
PT2_API int32_t pt2_has(const char* feature, size_t length);

/* --- errors: immutable --- */

typedef struct pt2_error pt2_error;

enum {
  PT2_OK = 0,          /* no error */
  PT2_IO = 1,          /* the file could not be read or written */
  PT2_CORRUPT = 2,     /* the bytes are damaged or forged */
  PT2_MALFORMED = 3,   /* not the format that it claims to be */
  PT2_INVALID = 4,     /* a rule of the format is broken */
  PT2_UNSUPPORTED = 5, /* valid, but not known to this version */
  PT2_LIMIT = 6,       /* a safety limit was hit */
  PT2_CANCELLED = 7,   /* stopped on request, or its deadline passed */
  PT2_ARGUMENT = 8,    /* the caller passed an argument that is not allowed */
  PT2_NO_MEMORY = 9,   /* an allocation failed */
  PT2_INTERNAL = 10    /* a bug of the library, or of a callback */
};

/* Returns the code of the error, one of the values above. PT2_OK for NULL. */
PT2_API int32_t pt2_error_code(const pt2_error* error);
/* Returns the name of the code, "invalid". The text is static. */
PT2_API const char* pt2_error_name(const pt2_error* error);
/* Returns the description of the failure, without its place. */
PT2_API const char* pt2_error_message(const pt2_error* error, size_t* length);
/* Returns the place of the failure: "model.pt2!models/model.json:.graph_module…", "input 'x'".
 * Empty if the error has no place. */
PT2_API const char* pt2_error_place(const pt2_error* error, size_t* length);
/* Returns "place: message". */
PT2_API const char* pt2_error_text(const pt2_error* error, size_t* length);
/* Makes an error for a callback to return. Never NULL. An unknown code becomes PT2_INTERNAL. */
PT2_API pt2_error* pt2_error_create(int32_t code, const char* message, size_t length);
PT2_API void pt2_error_free(pt2_error* error);

/* --- texts that the library makes: immutable --- */

typedef struct pt2_text pt2_text;
/* Returns the characters, borrowed from `text`. */
PT2_API const char* pt2_text_data(const pt2_text* text, size_t* length);
PT2_API void pt2_text_free(pt2_text* text);

/* --- tensors and other values --- */

/* A dtype as DLPack writes it: type code and bits. {2, 32} is float32. Lanes are always 1. Codes:
 * 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 10 float8_e4m3fn, 11 float8_e4m3fnuz,
 * 12 float8_e5m2, 13 float8_e5m2fnuz, 14 float8_e8m0fnu. */
typedef struct pt2_dtype {
  uint8_t code;
  uint8_t bits;
} pt2_dtype;

/* A tensor in memory that the struct does not own. `strides` count elements and may be 0 but not
 * negative; NULL means row-major. `data` may be NULL if the tensor has no elements. */
typedef struct pt2_tensor_view {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int32_t dims;
  pt2_dtype dtype;
  uint8_t read_only; /* 1: a program that writes to this input writes to a copy */
} pt2_tensor_view;

/* One value. Immutable, except for the elements of a tensor, which all its handles share. */
typedef struct pt2_value pt2_value;

enum {
  PT2_VALUE_NONE = 0,
  PT2_VALUE_TENSOR = 1,
  PT2_VALUE_INT = 2,
  PT2_VALUE_FLOAT = 3,
  PT2_VALUE_BOOL = 4,
  PT2_VALUE_COMPLEX = 5,
  PT2_VALUE_TEXT = 6,
  PT2_VALUE_LIST = 7,
  PT2_VALUE_OTHER = 8 /* a dtype, device or object: pt2_value_type tells which */
};

/* Called when the library does not need borrowed memory any more. May be called on any thread. */
typedef void (*pt2_release)(void* user);

/* Makes a tensor over the caller's memory, without a copy. The library calls `release` once, when
 * the last handle and the last result that use the memory are gone. The memory must stay valid
 * until then. If `release` is NULL, the memory must stay valid until the caller has freed all of
 * them. If the function fails, it does not call `release`. */
PT2_API pt2_error* pt2_value_borrow(const pt2_tensor_view* view, pt2_release release, void* user,
                                    pt2_value** out);
/* Makes a tensor with a row-major copy of the elements. */
PT2_API pt2_error* pt2_value_copy(const pt2_tensor_view* view, pt2_value** out);
/* Makes a tensor over the memory of a DLPack tensor (major version 1, on the CPU), without a copy.
 * On success the library owns `tensor`: it calls the deleter when the last user of the memory is
 * gone, on any thread. */
struct DLManagedTensorVersioned;
PT2_API pt2_error* pt2_value_from_dlpack(struct DLManagedTensorVersioned* tensor, pt2_value** out);
/* Makes a DLPack tensor that shares the memory of `value` and keeps it alive. The caller calls its
 * deleter. Error PT2_ARGUMENT if the value is no tensor. */
PT2_API pt2_error* pt2_value_to_dlpack(const pt2_value* value,
                                       struct DLManagedTensorVersioned** out);
PT2_API pt2_error* pt2_value_none(pt2_value** out);
PT2_API pt2_error* pt2_value_int(int64_t number, pt2_value** out);
PT2_API pt2_error* pt2_value_float(double number, pt2_value** out);
PT2_API pt2_error* pt2_value_bool(int32_t truth, pt2_value** out);
PT2_API pt2_error* pt2_value_complex(double real, double imaginary, pt2_value** out);
PT2_API pt2_error* pt2_value_text(const char* text, size_t length, pt2_value** out);
/* Makes a list of the values of `items`. The caller keeps the handles in `items`. */
PT2_API pt2_error* pt2_value_list(const pt2_value* const* items, size_t count, pt2_value** out);
/* Makes another handle of the same value. */
PT2_API pt2_error* pt2_value_share(const pt2_value* value, pt2_value** out);
PT2_API void pt2_value_free(pt2_value* value);

/* Returns one of PT2_VALUE_…. */
PT2_API int32_t pt2_value_kind(const pt2_value* value);
/* Gives the type as text, "f32[2, 3]" or "int 3". The caller owns the text. */
PT2_API pt2_error* pt2_value_type(const pt2_value* value, pt2_text** out);
/* These functions read a value of one kind. Error PT2_ARGUMENT if the value is of another kind.
 * Pointers in the view and the text are borrowed from `value`. */
PT2_API pt2_error* pt2_value_get_tensor(const pt2_value* value, pt2_tensor_view* out);
PT2_API pt2_error* pt2_value_get_int(const pt2_value* value, int64_t* out);
PT2_API pt2_error* pt2_value_get_float(const pt2_value* value, double* out);
PT2_API pt2_error* pt2_value_get_bool(const pt2_value* value, int32_t* out);
PT2_API pt2_error* pt2_value_get_complex(const pt2_value* value, double* real, double* imaginary);
PT2_API pt2_error* pt2_value_get_text(const pt2_value* value, const char** out, size_t* length);
/* Returns the number of items of a list, 0 for other kinds. */
PT2_API size_t pt2_value_count(const pt2_value* value);
/* Gives a handle of an item of a list. The caller frees it. */
PT2_API pt2_error* pt2_value_get_item(const pt2_value* value, size_t index, pt2_value** out);

/* --- custom operators: one at a time --- */

/* A table of custom operators. Loading a model copies the operators that are registered by then. */
typedef struct pt2_operators pt2_operators;

/* Computes an operator. `arguments` are in the order of the signature, with defaults filled in, and
 * are borrowed for the call. The kernel writes `result_count` handles to `results`; the library
 * then owns them. A returned error ends the run; the library owns it too. The library may call the
 * kernel on any thread, and on several threads at once. */
typedef pt2_error* (*pt2_kernel)(const pt2_value* const* arguments, size_t argument_count,
                                 pt2_value** results, size_t result_count, void* user);

PT2_API pt2_error* pt2_operators_create(pt2_operators** out);
/* Registers an operator. `schema` is the text that torch.library.define takes, "mylib::scale(Tensor
 * x, float f) -> Tensor". If `release` is not NULL, the library calls it with `user` when no model
 * needs the kernel any more, but not if this function fails. Error PT2_ARGUMENT if the text is no
 * signature (the place of the error has the column) or the operator is already registered. */
PT2_API pt2_error* pt2_operators_add(pt2_operators* operators, const char* schema, size_t length,
                                     pt2_kernel kernel, pt2_release release, void* user);
PT2_API void pt2_operators_free(pt2_operators* operators);

/* --- opened files: immutable --- */

typedef struct pt2_package pt2_package;

/* Receives a message for the user: one line without its line break, borrowed for the call. */
typedef void (*pt2_log)(const char* line, size_t length, void* user);

enum { PT2_ENGINE_PLANNED = 0, PT2_ENGINE_REFERENCE = 1 };

typedef struct pt2_load_options {
  size_t size;
  /* The program to load from a file with several. Empty: the only program, or the one called
   * "model". */
  const char* program;
  size_t program_length;
  /* Safety limits that differ from the defaults: "max_work=1000,max_json_depth=64". The names are
   * those of `pt2 --limit`. */
  const char* limits;
  size_t limits_length;
  const pt2_operators* operators; /* NULL: only the operators of this build */
  int32_t engine;                 /* PT2_ENGINE_… */
  pt2_log log;                    /* receives warnings about the file; may be NULL */
  void* user;
} pt2_load_options;

/* Opens a file. Reads its zip directory and its programs. Weights stay in the mapped file. */
PT2_API pt2_error* pt2_package_open(const char* path, size_t path_length,
                                    const pt2_load_options* options, pt2_package** out);
/* As pt2_package_open, for a file in memory. The bytes are borrowed, with `release` as in
 * pt2_value_borrow. Messages call the file `name`. */
PT2_API pt2_error* pt2_package_open_memory(const void* bytes, size_t byte_count, const char* name,
                                           size_t name_length, pt2_release release, void* user,
                                           const pt2_load_options* options, pt2_package** out);
PT2_API void pt2_package_free(pt2_package* package);
PT2_API size_t pt2_package_program_count(const pt2_package* package);
/* Returns the name of a program, NULL if `index` is too large. */
PT2_API const char* pt2_package_program_name(const pt2_package* package, size_t index,
                                             size_t* length);
/* Gives the JSON of a program: byte for byte as in the file, or reformatted with line breaks if
 * `pretty` is not 0. An empty name means the same program as in pt2_load_options. */
PT2_API pt2_error* pt2_package_json(const pt2_package* package, const char* program,
                                    size_t program_length, int32_t pretty, pt2_text** out);
/* Gives the program as readable text, one line for each node (docs/text.md). The text includes
 * stack traces if `metadata` is not 0. */
PT2_API pt2_error* pt2_package_dis(const pt2_package* package, const char* program,
                                   size_t program_length, int32_t metadata, pt2_text** out);
/* Gives the targets of the operators for which neither this build nor `operators` has a kernel, one
 * a line. The text is empty if all can be computed. `operators` may be NULL. */
PT2_API pt2_error* pt2_package_missing_operators(const pt2_package* package, const char* program,
                                                 size_t program_length,
                                                 const pt2_operators* operators, pt2_text** out);

/* --- verification --- */

/* The findings of `pt2 verify`: immutable. */
typedef struct pt2_findings pt2_findings;

/* Receives progress: `done` of `total` bytes are checked. Called on any thread, but never on two at
 * once. */
typedef void (*pt2_progress)(uint64_t done, uint64_t total, void* user);

enum { PT2_LEVEL_CONTAINER = 0, PT2_LEVEL_SCHEMA = 1, PT2_LEVEL_GRAPH = 2, PT2_LEVEL_FULL = 3 };

typedef struct pt2_verify_options {
  size_t size;
  int32_t up_to;      /* 0: all levels; else 1 + the last level (PT2_LEVEL_…) to check */
  uint32_t threads;   /* for the checksums; 0 means 1 */
  const char* limits; /* as in pt2_load_options */
  size_t limits_length;
  pt2_progress progress;
  void* user;
} pt2_verify_options;

enum { PT2_WARNING = 0, PT2_ERROR = 1 };

typedef struct pt2_finding {
  size_t size;
  int32_t severity; /* PT2_WARNING or PT2_ERROR */
  int32_t code;     /* the error code if reading stopped here; else PT2_INVALID */
  const char* rule; /* "V103" */
  const char* name; /* "entry_checksum" */
  const char* place;
  const char* text;
  const char* node; /* the node that the finding is about; empty: none */
} pt2_finding;

/* Checks a file and gives all its faults, however broken the file is. Faults of the file are
 * findings, not errors: the function returns an error only if the call itself fails. */
PT2_API pt2_error* pt2_verify(const char* path, size_t path_length,
                              const pt2_verify_options* options, pt2_findings** out);
/* As pt2_verify, for a file in memory. The bytes must stay valid during the call only. */
PT2_API pt2_error* pt2_verify_memory(const void* bytes, size_t byte_count, const char* name,
                                     size_t name_length, const pt2_verify_options* options,
                                     pt2_findings** out);
PT2_API void pt2_findings_free(pt2_findings* findings);
PT2_API size_t pt2_findings_count(const pt2_findings* findings);
/* Returns 1 if at least one finding is a PT2_ERROR, else 0. */
PT2_API int32_t pt2_findings_has_errors(const pt2_findings* findings);
/* Gives one finding. Its texts live as long as `findings`. */
PT2_API pt2_error* pt2_findings_get(const pt2_findings* findings, size_t index, pt2_finding* out);

/* --- conversion for another release of PyTorch --- */

/* The result of a conversion: immutable. */
typedef struct pt2_conversion pt2_conversion;

/* A feature of the program that the release does not support. */
typedef struct pt2_blocker {
  size_t size;
  const char* kind;          /* "operator_name" */
  const char* loss;          /* the name in `losses` that permits to drop it; empty: none does */
  const char* text;          /* "torch.ops.aten.rms_norm.default is not there before 2.4" */
  const char* place;         /* in the file */
  const char* node;          /* empty: none */
  const char* first_release; /* the first release that supports it; empty: none */
} pt2_blocker;

/* Converts a package to a release of PyTorch, within the limits that it was opened with. `release`
 * is "torch-2.6", "newest", "oldest" (the first release that supports the program), "schema 8.14",
 * or empty for the file's own. `losses` names the features that may be dropped, separated by
 * commas: "guards,metadata"; empty: none. Blockers are part of the result, not errors. */
PT2_API pt2_error* pt2_convert(const pt2_package* package, const char* release,
                               size_t release_length, const char* losses, size_t losses_length,
                               pt2_conversion** out);
PT2_API void pt2_conversion_free(pt2_conversion* conversion);
/* Returns the release that the package was converted to, "2.6". */
PT2_API const char* pt2_conversion_release(const pt2_conversion* conversion, size_t* length);
/* Returns the number of blockers. 0 if the release supports the program. */
PT2_API size_t pt2_conversion_blocker_count(const pt2_conversion* conversion);
PT2_API pt2_error* pt2_conversion_get_blocker(const pt2_conversion* conversion, size_t index,
                                              pt2_blocker* out);
/* Returns the number of features that were dropped because `losses` names them. */
PT2_API size_t pt2_conversion_loss_count(const pt2_conversion* conversion);
PT2_API pt2_error* pt2_conversion_get_loss(const pt2_conversion* conversion, size_t index,
                                           pt2_blocker* out);
/* Writes the converted file atomically: the file is complete or not written at all. `path` may be
 * the file that was opened. Error PT2_UNSUPPORTED if there are blockers. */
PT2_API pt2_error* pt2_conversion_save(const pt2_conversion* conversion, const char* path,
                                       size_t path_length);

/* --- models: immutable --- */

/* A program ready to run: its operators are resolved and its weights are attached. Threads may
 * share a model; each thread needs its own session. */
typedef struct pt2_model pt2_model;

/* Opens a file and makes a model of one program. Errors: those of pt2_package_open;
 * PT2_UNSUPPORTED, with the names of all operators that have no kernel. */
PT2_API pt2_error* pt2_model_load(const char* path, size_t path_length,
                                  const pt2_load_options* options, pt2_model** out);
/* As pt2_model_load, for a file in memory: see pt2_package_open_memory. */
PT2_API pt2_error* pt2_model_load_memory(const void* bytes, size_t byte_count, const char* name,
                                         size_t name_length, pt2_release release, void* user,
                                         const pt2_load_options* options, pt2_model** out);
/* Makes a model of a program of an opened package. The limits are those of `options`, not those
 * that the package was opened with. */
PT2_API pt2_error* pt2_model_from_package(const pt2_package* package,
                                          const pt2_load_options* options, pt2_model** out);
PT2_API void pt2_model_free(pt2_model* model);
/* Frees the memory and the threads that all sessions keep from finished calls for reuse. The next
 * call then costs as much as a call with inputs of new sizes. Returns the number of bytes freed.
 * May be called on any thread at any time. */
PT2_API uint64_t pt2_model_trim(const pt2_model* model);

/* An input or output of a model. */
typedef struct pt2_place {
  size_t size;
  const char* name; /* "x", "args[0]", "x.a[1]" */
  const char* type; /* "f32[batch 1..64, 3]", "int", "none" */
  int32_t is_tensor;
  int32_t is_keyword;   /* inputs: passed by keyword in Python */
  int32_t is_optional;  /* inputs: the program holds the value as a constant; NULL may be passed */
  pt2_dtype dtype;      /* tensors: the dtype; {0, 0}: unknown to this version */
  int32_t dims;         /* tensors: the number of dimensions and the length of the arrays */
  const int64_t* sizes; /* -1: the size depends on the inputs */
  const int64_t* minimum; /* least size of each dimension */
  const int64_t* maximum; /* greatest size of each dimension; INT64_MAX: no bound */
} pt2_place;

/* Inputs and outputs are flat: the leaves of Python's arguments and of its result, in order. */
PT2_API size_t pt2_model_input_count(const pt2_model* model);
PT2_API size_t pt2_model_output_count(const pt2_model* model);
/* Describe one input or output. Pointers in *out live as long as `model`. */
PT2_API pt2_error* pt2_model_get_input(const pt2_model* model, size_t index, pt2_place* out);
PT2_API pt2_error* pt2_model_get_output(const pt2_model* model, size_t index, pt2_place* out);
/* Gives the index of the input with this name. Error PT2_ARGUMENT if there is none. */
PT2_API pt2_error* pt2_model_find_input(const pt2_model* model, const char* name, size_t length,
                                        size_t* out);
/* Returns the number of arguments of forward. The leaves of the arguments are the inputs. */
PT2_API size_t pt2_model_argument_count(const pt2_model* model);
/* Return the name of an argument, and its pytree structure as JSON of torch.utils._pytree. NULL if
 * `index` is too large. */
PT2_API const char* pt2_model_argument_name(const pt2_model* model, size_t index, size_t* length);
PT2_API const char* pt2_model_argument_tree(const pt2_model* model, size_t index, size_t* length);
/* Returns the pytree structure of the result, as JSON. */
PT2_API const char* pt2_model_result_tree(const pt2_model* model, size_t* length);
/* Returns the number of parameters, buffers and constants. */
PT2_API size_t pt2_model_state_count(const pt2_model* model);
/* Returns the name of one in Python. */
PT2_API const char* pt2_model_state_name(const pt2_model* model, size_t index, size_t* length);

/* --- cancelling calls: any thread, at any time --- */

typedef struct pt2_stop pt2_stop;
PT2_API pt2_error* pt2_stop_create(pt2_stop** out);
/* Cancels the calls that have this handle in their options: running calls end soon, later calls end
 * at once. */
PT2_API void pt2_stop_request(pt2_stop* stop);
PT2_API void pt2_stop_free(pt2_stop* stop);

/* --- sessions: one at a time --- */

/* Runs a model repeatedly and keeps the state that the program changes (buffers). Overlapping calls
 * fail with PT2_ARGUMENT. A call that a callback of another call makes overlaps it. */
typedef struct pt2_session pt2_session;

typedef struct pt2_session_options {
  size_t size;
  uint32_t threads; /* most threads that compute a call; 0: all CPUs that the process may use */
} pt2_session_options;

typedef struct pt2_call_options {
  size_t size;
  const pt2_stop* stop; /* cancels the call; may be NULL */
  int64_t timeout_ns;   /* 0: no deadline */
  /* Called after each step of the planned engine. A result other than 0 cancels the call. */
  int32_t (*step)(uint64_t done, void* user);
  void* user;
} pt2_call_options;

PT2_API pt2_error* pt2_session_create(const pt2_model* model, const pt2_session_options* options,
                                      pt2_session** out);
/* Makes another session with its own copy of the present state. */
PT2_API pt2_error* pt2_session_fork(pt2_session* session, pt2_session** out);
PT2_API void pt2_session_free(pt2_session* session);
/* Seeds the random operators. The seed of a new session is 0. */
PT2_API pt2_error* pt2_session_seed(pt2_session* session, uint64_t seed);

/* Runs the program. `inputs` are in the order of pt2_model_get_input; NULL may stand for an
 * optional input. `outputs` receives `output_count` handles; `output_count` must be the number of
 * outputs of the model. After an error no output is written. The program changes an input tensor in
 * place, unless the tensor is read-only. */
PT2_API pt2_error* pt2_session_run(pt2_session* session, const pt2_value* const* inputs,
                                   size_t input_count, const pt2_call_options* options,
                                   pt2_value** outputs, size_t output_count);
/* As pt2_session_run, with the caller's memory for outputs. An entry of `outputs` that is not NULL
 * is a tensor with the dtype and the sizes of the output and any strides; the function fills it. A
 * NULL entry becomes the handle of a new result. An output may share memory with inputs, but not
 * with another output. */
PT2_API pt2_error* pt2_session_run_into(pt2_session* session, const pt2_value* const* inputs,
                                        size_t input_count, const pt2_call_options* options,
                                        pt2_value** outputs, size_t output_count);
/* Runs a program whose inputs and outputs are all tensors. Reads `inputs` from the caller's memory
 * and writes `outputs` to it. The session keeps no pointer to either after the call. */
PT2_API pt2_error* pt2_session_run_views(pt2_session* session, const pt2_tensor_view* inputs,
                                         size_t input_count, const pt2_tensor_view* outputs,
                                         size_t output_count, const pt2_call_options* options);

/* Gives the present value of a parameter, buffer or constant. The value shares the session's
 * memory: later runs may change it, but the caller must not. Error PT2_ARGUMENT if the name is
 * unknown. */
PT2_API pt2_error* pt2_session_get_state(pt2_session* session, const char* name, size_t length,
                                         pt2_value** out);
/* Copies elements into a parameter, buffer or constant, for later runs of this session. The view
 * must have its dtype and sizes. */
PT2_API pt2_error* pt2_session_set_state(pt2_session* session, const char* name, size_t length,
                                         const pt2_tensor_view* view);

typedef struct pt2_observed {
  size_t size;
  const char* name;       /* of the value in the graph, "linear_1" */
  const char* target;     /* of the node that computed it, "torch.ops.aten.linear.default" */
  const pt2_value* value; /* its state right after the node; borrowed for the call */
} pt2_observed;

/* Receives one computed value. A returned error ends the run; the library owns it. */
typedef pt2_error* (*pt2_observer)(const pt2_observed* observed, void* user);

/* Sets the callback that receives every value that later runs compute. NULL removes it. */
PT2_API pt2_error* pt2_session_observe(pt2_session* session, pt2_observer observer, void* user);
/* Runs the program as pt2_session_run does, and writes its input tensors and every tensor that it
 * computes into a `.npz` or `.safetensors` file (docs/traces.md). */
PT2_API pt2_error* pt2_session_trace(pt2_session* session, const pt2_value* const* inputs,
                                     size_t input_count, const char* path, size_t path_length);

/* --- text generation: one at a time --- */

/* Runs a language model token by token and keeps the state of earlier tokens (caches). The model is
 * a folder of Transformers' exporter, or one program that maps token ids to logits
 * (docs/generate.md). Tokens are numbers; the library has no tokenizer. */
typedef struct pt2_decoder pt2_decoder;

typedef struct pt2_decoder_options {
  size_t size;
  const char* limits; /* as in pt2_load_options */
  size_t limits_length;
  const pt2_operators* operators; /* NULL: only the operators of this build */
  int32_t engine;                 /* PT2_ENGINE_… */
  uint32_t threads;               /* as in pt2_session_options */
  int64_t cache_length; /* tokens that a fixed-size cache holds, if the program does not fix this
                           number; 0: 2048 */
} pt2_decoder_options;

typedef struct pt2_generate_options {
  size_t size;
  int64_t max_new_tokens; /* 0: the number in generation_config.json, or 64 without one */
  int32_t has_sampling;   /* 1: use the next four members; 0: use generation_config.json, or the
                             most likely token without one */
  double temperature;     /* divides the logits; 0: always the most likely token */
  int64_t top_k;          /* draw only from the `top_k` most likely tokens; 0: from all */
  double top_p; /* draw only from the fewest most likely tokens whose probabilities sum up to at
                   least `top_p`; 0: from all */
  uint64_t seed;
  const int64_t* stop_ids; /* NULL: the stop ids of generation_config.json */
  size_t stop_count;
  /* Receives each token as soon as it is known. A result other than 0 ends generation. */
  int32_t (*token)(int64_t token, void* user);
  void* user;
  /* The same for pt2_decoder_generate_batch, with the index of the prompt. A result other than 0
   * ends generation for all prompts. */
  int32_t (*token_of)(size_t prompt, int64_t token, void* user);
} pt2_generate_options;

typedef struct pt2_named_value {
  const char* name;
  size_t name_length;
  const pt2_value* value;
} pt2_named_value;

/* The reason why generation ended. */
enum {
  PT2_STOP_MAX_NEW_TOKENS = 0,
  PT2_STOP_ID = 1,         /* the last token is one of the stop ids */
  PT2_STOP_CACHE_FULL = 2, /* the program has no room for another token */
  PT2_STOP_CALLBACK = 3
};

/* Opens a language model. `path` is a folder or a file. Errors: those of pt2_model_load;
 * PT2_UNSUPPORTED if the programs are no language model. */
PT2_API pt2_error* pt2_decoder_open(const char* path, size_t path_length,
                                    const pt2_decoder_options* options, pt2_decoder** out);
PT2_API void pt2_decoder_free(pt2_decoder* decoder);
/* Feeds one or more tokens after those of earlier calls. *out receives the logits of the last
 * token: a float32 vector with one element for each token of the vocabulary. Errors: PT2_ARGUMENT
 * for ids that the program refuses; PT2_LIMIT if its cache is full. */
PT2_API pt2_error* pt2_decoder_feed(pt2_decoder* decoder, const int64_t* ids, size_t count,
                                    const pt2_call_options* options, pt2_value** out);
/* Resets the decoder, feeds the prompt and then each new token. *tokens receives the new tokens as
 * an int64 vector, which includes the stop id. *reason receives a PT2_STOP_… value; `reason` may be
 * NULL. */
PT2_API pt2_error* pt2_decoder_generate(pt2_decoder* decoder, const int64_t* prompt, size_t count,
                                        const pt2_generate_options* generate,
                                        const pt2_call_options* options, pt2_value** tokens,
                                        int32_t* reason);
/* As pt2_decoder_generate, for several prompts. The decoder computes prompts together if the
 * program takes more than one sequence. `ids` holds the prompts one after another; `counts` holds
 * the number of ids of each. `tokens` receives a handle for each prompt, `reasons` a reason;
 * `reasons` may be NULL. Afterwards the decoder holds no tokens to continue from. */
PT2_API pt2_error* pt2_decoder_generate_batch(pt2_decoder* decoder, const int64_t* ids,
                                              const size_t* counts, size_t prompts,
                                              const pt2_generate_options* generate,
                                              const pt2_call_options* options, pt2_value** tokens,
                                              int32_t* reasons);
/* Sets the inputs that the programs take beside tokens, by the names of the inputs. If the model
 * has an encoder, these are the encoder's inputs and the encoder runs now. Otherwise they are the
 * results of an encoder that the caller ran. Forgets all tokens and the inputs of earlier calls.
 * Every value must be a tensor; the decoder shares its memory. */
PT2_API pt2_error* pt2_decoder_give(pt2_decoder* decoder, const pt2_named_value* inputs,
                                    size_t count, const pt2_call_options* options);
/* Forgets all tokens, but keeps the inputs that pt2_decoder_give set. */
PT2_API pt2_error* pt2_decoder_reset(pt2_decoder* decoder);
/* Return the number of tokens fed since the last reset, and the number of tokens that fit.
 * INT64_MAX: the program sets no bound. Must not be called while another call uses the decoder. */
PT2_API int64_t pt2_decoder_position(const pt2_decoder* decoder);
PT2_API int64_t pt2_decoder_capacity(const pt2_decoder* decoder);

#ifdef __cplusplus
}
template <class T>
T pt2_init_struct() {
  T out{};
  out.size = sizeof(T);
  return out;
}
#endif

#endif /* PT2_C_PT2_H */
