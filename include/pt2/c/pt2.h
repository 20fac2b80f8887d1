/* libpt2 for C99 and for every language that calls C: loads, checks, converts and runs the `.pt2`
 * files of PyTorch's torch.export.save. One header, one library (libpt2.so.1). docs/c.md has the
 * guide, examples/c programs that run.
 *
 *   pt2_model *model = NULL;
 *   pt2_session *session = NULL;
 *   pt2_error *error = pt2_model_load("m.pt2", 5, NULL, &model);
 *   if (!error) error = pt2_session_create(model, NULL, &session);
 *   if (!error) error = pt2_session_run_views(session, &image, 1, &scores, 1, NULL);
 *   if (error) fprintf(stderr, "%s\n", pt2_error_text(error, NULL));
 *
 * What holds for every function:
 * - What can fail returns an error that the caller frees (pt2_error_free); NULL is success. Then
 *   and only then the out parameters, which come last, are written. Nothing throws, aborts or keeps
 *   a state of its own: there is no function to begin or end with, and no thread-local error.
 * - Handles are opaque. A handle that a function gives out belongs to the caller, who frees it with
 *   the function of its type; NULL may be freed. Handles keep alive what they need: a model may be
 *   freed while its sessions live.
 * - NULL where a handle is wanted is an error PT2_ARGUMENT; functions that return no error give 0,
 *   NULL or an empty text then.
 * - Texts go in as pointer and length, in UTF-8, and need no zero at their end. Texts that come out
 *   are borrowed: they live as long as the handle that was asked, end with a zero, and have their
 *   length in *length where that is not NULL.
 * - Structs of options and of answers begin with their own size: PT2_INIT sets it and clears the
 *   rest, which stands for the defaults. NULL options are the defaults. A larger size than this
 *   version knows is an error unless the rest is zero, so that a newer program is told rather than
 *   misunderstood.
 * - Numbers of enumerations are int32_t with fixed values. Later versions add functions, values and
 *   members at the end of structs, and change nothing else.
 * - Threads: at each handle. "Immutable": any number of threads at once. "One at a time": calls for
 *   one handle must follow one another, on whatever threads; a session notices the opposite.
 * - Callbacks get the `user` pointer that they were registered with. They must return (no longjmp,
 *   no exception), and must not free the handle that calls them. */
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

/* "0.1.0"; static. */
PT2_API const char* pt2_version(void);
/* 1 when this build has the feature, 0 otherwise: "run", "verify", "convert", "dlpack",
 * "custom-operators", "trace", "decoder". Later versions know more names. */
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
  PT2_CANCELLED = 7,   /* stopped, or not done by its deadline */
  PT2_ARGUMENT = 8,    /* the caller asked for something that cannot be */
  PT2_NO_MEMORY = 9,   /* the machine has no more memory */
  PT2_INTERNAL = 10    /* a bug of the library, or of a callback */
};

/* PT2_OK for NULL. */
PT2_API int32_t pt2_error_code(const pt2_error* error);
/* "invalid"; static. */
PT2_API const char* pt2_error_name(const pt2_error* error);
/* What went wrong. */
PT2_API const char* pt2_error_message(const pt2_error* error, size_t* length);
/* Where: "model.pt2!models/model.json:.graph_module…", "input 'x'"; empty when there is none. */
PT2_API const char* pt2_error_place(const pt2_error* error, size_t* length);
/* "place: message". */
PT2_API const char* pt2_error_text(const pt2_error* error, size_t* length);
/* For callbacks that fail; never NULL. A code that does not exist becomes PT2_INTERNAL. */
PT2_API pt2_error* pt2_error_create(int32_t code, const char* message, size_t length);
PT2_API void pt2_error_free(pt2_error* error);

/* --- texts that the library makes: immutable --- */

typedef struct pt2_text pt2_text;
PT2_API const char* pt2_text_data(const pt2_text* text, size_t* length);
PT2_API void pt2_text_free(pt2_text* text);

/* --- tensors and other values --- */

/* DLPack's pair of code and bits: {2, 32} is float32. Lanes are always 1. Codes: 0 int, 1 uint,
 * 2 float, 4 bfloat, 5 complex, 6 bool, 10 float8_e4m3fn, 11 float8_e4m3fnuz, 12 float8_e5m2,
 * 13 float8_e5m2fnuz, 14 float8_e8m0fnu. */
typedef struct pt2_dtype {
  uint8_t code;
  uint8_t bits;
} pt2_dtype;

/* Somebody's elements, where they are. Strides count elements and may be 0 but not negative; NULL
 * is row-major. `data` may be NULL where there are no elements. */
typedef struct pt2_tensor_view {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int32_t dims;
  pt2_dtype dtype;
  uint8_t read_only; /* 1: a program that writes to this input gets a copy */
} pt2_tensor_view;

/* One value. Immutable but for the elements of a tensor, which all handles of it share. */
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
  PT2_VALUE_OTHER = 8 /* a dtype, device or object: pt2_value_type says which */
};

/* Told that borrowed memory is not used any more; on any thread. */
typedef void (*pt2_release)(void* user);

/* A tensor over the caller's memory, without a copy. It must stay until `release` is called, which
 * happens once, when the last handle and result that see it are gone; with a NULL release, until
 * the caller has freed those. If the function fails, `release` is not called. */
PT2_API pt2_error* pt2_value_borrow(const pt2_tensor_view* view, pt2_release release, void* user,
                                    pt2_value** out);
/* A tensor with a row-major copy of the elements. */
PT2_API pt2_error* pt2_value_copy(const pt2_tensor_view* view, pt2_value** out);
/* A tensor over the memory of a DLPack tensor (major version 1, on the CPU), without a copy. Takes
 * `tensor` on success: its deleter is called when the last user is gone, on any thread. */
struct DLManagedTensorVersioned;
PT2_API pt2_error* pt2_value_from_dlpack(struct DLManagedTensorVersioned* tensor, pt2_value** out);
/* The tensor as a DLPack tensor that shares its memory and keeps it alive; the caller calls its
 * deleter. Error PT2_ARGUMENT for other kinds. */
PT2_API pt2_error* pt2_value_to_dlpack(const pt2_value* value,
                                       struct DLManagedTensorVersioned** out);
PT2_API pt2_error* pt2_value_none(pt2_value** out);
PT2_API pt2_error* pt2_value_int(int64_t number, pt2_value** out);
PT2_API pt2_error* pt2_value_float(double number, pt2_value** out);
PT2_API pt2_error* pt2_value_bool(int32_t truth, pt2_value** out);
PT2_API pt2_error* pt2_value_complex(double real, double imaginary, pt2_value** out);
PT2_API pt2_error* pt2_value_text(const char* text, size_t length, pt2_value** out);
/* A list of the same values; the items stay the caller's. */
PT2_API pt2_error* pt2_value_list(const pt2_value* const* items, size_t count, pt2_value** out);
/* Another handle of the same value. */
PT2_API pt2_error* pt2_value_share(const pt2_value* value, pt2_value** out);
PT2_API void pt2_value_free(pt2_value* value);

PT2_API int32_t pt2_value_kind(const pt2_value* value);
/* "f32[2, 3]", "int 3"; owned by the caller. */
PT2_API pt2_error* pt2_value_type(const pt2_value* value, pt2_text** out);
/* Error PT2_ARGUMENT for a value of another kind. Pointers of the view live as long as `value`. */
PT2_API pt2_error* pt2_value_get_tensor(const pt2_value* value, pt2_tensor_view* out);
PT2_API pt2_error* pt2_value_get_int(const pt2_value* value, int64_t* out);
PT2_API pt2_error* pt2_value_get_float(const pt2_value* value, double* out);
PT2_API pt2_error* pt2_value_get_bool(const pt2_value* value, int32_t* out);
PT2_API pt2_error* pt2_value_get_complex(const pt2_value* value, double* real, double* imaginary);
PT2_API pt2_error* pt2_value_get_text(const pt2_value* value, const char** out, size_t* length);
/* 0 for what is no list. */
PT2_API size_t pt2_value_count(const pt2_value* value);
/* A handle of an item, for the caller to free. */
PT2_API pt2_error* pt2_value_get_item(const pt2_value* value, size_t index, pt2_value** out);

/* --- custom operators: one at a time; loading a model copies what is registered by then --- */

typedef struct pt2_operators pt2_operators;

/* Computes an operator. `arguments` are in the order of its signature, defaults filled in, and
 * borrowed for the call; `results` takes `result_count` handles, which the library then owns. An
 * error, which the library takes too, ends the run. Called on any thread, on several at once. */
typedef pt2_error* (*pt2_kernel)(const pt2_value* const* arguments, size_t argument_count,
                                 pt2_value** results, size_t result_count, void* user);

PT2_API pt2_error* pt2_operators_create(pt2_operators** out);
/* `schema` is what torch.library.define takes, "mylib::scale(Tensor x, float f) -> Tensor".
 * `release`, if not NULL, is called with `user` once no model needs the kernel any more; not if the
 * function fails. Error PT2_ARGUMENT with the column in its place for a text that is no signature;
 * for an operator that is registered already. */
PT2_API pt2_error* pt2_operators_add(pt2_operators* operators, const char* schema, size_t length,
                                     pt2_kernel kernel, pt2_release release, void* user);
PT2_API void pt2_operators_free(pt2_operators* operators);

/* --- opened files: immutable --- */

typedef struct pt2_package pt2_package;

/* Told what a person may want to read, a line without a line break, borrowed for the call. */
typedef void (*pt2_log)(const char* line, size_t length, void* user);

enum { PT2_ENGINE_PLANNED = 0, PT2_ENGINE_REFERENCE = 1 };

typedef struct pt2_load_options {
  size_t size;
  /* Which program of a file with several; empty: the only one, or the one called "model". */
  const char* program;
  size_t program_length;
  /* Safety limits other than the defaults: "max_work=1000,max_json_depth=64"; the names are those
   * of `pt2 --limit`. */
  const char* limits;
  size_t limits_length;
  const pt2_operators* operators; /* NULL: those of the build alone */
  int32_t engine;
  pt2_log log; /* told what opening found odd; NULL: nobody */
  void* user;
} pt2_load_options;

/* Reads the directory and the programs; weights stay in the mapped file. */
PT2_API pt2_error* pt2_package_open(const char* path, size_t path_length,
                                    const pt2_load_options* options, pt2_package** out);
/* The same for bytes in memory, which are not copied: as for pt2_value_borrow. `name` is used in
 * messages. */
PT2_API pt2_error* pt2_package_open_memory(const void* bytes, size_t byte_count, const char* name,
                                           size_t name_length, pt2_release release, void* user,
                                           const pt2_load_options* options, pt2_package** out);
PT2_API void pt2_package_free(pt2_package* package);
PT2_API size_t pt2_package_program_count(const pt2_package* package);
/* NULL beyond the last. */
PT2_API const char* pt2_package_program_name(const pt2_package* package, size_t index,
                                             size_t* length);
/* The JSON of a program, byte for byte as the file has it; with line breaks if `pretty`. An empty
 * name as in pt2_load_options. */
PT2_API pt2_error* pt2_package_json(const pt2_package* package, const char* program,
                                    size_t program_length, int32_t pretty, pt2_text** out);
/* The program as text to read, a line a node (docs/text.md); with stack traces if `metadata`. */
PT2_API pt2_error* pt2_package_dis(const pt2_package* package, const char* program,
                                   size_t program_length, int32_t metadata, pt2_text** out);
/* Targets of the operators that cannot be computed here, a line each; an empty text: it runs.
 * `operators` may be NULL. */
PT2_API pt2_error* pt2_package_missing_operators(const pt2_package* package, const char* program,
                                                 size_t program_length,
                                                 const pt2_operators* operators, pt2_text** out);

/* --- verification --- */

/* What `pt2 verify` finds: immutable. */
typedef struct pt2_findings pt2_findings;

/* Told how many bytes are done of how many, on any thread, one at a time. */
typedef void (*pt2_progress)(uint64_t done, uint64_t total, void* user);

enum { PT2_LEVEL_CONTAINER = 0, PT2_LEVEL_SCHEMA = 1, PT2_LEVEL_GRAPH = 2, PT2_LEVEL_FULL = 3 };

typedef struct pt2_verify_options {
  size_t size;
  int32_t up_to;      /* 0: everything; else 1 + the level to stop after */
  uint32_t threads;   /* for the checksums; 0 is 1 */
  const char* limits; /* as in pt2_load_options */
  size_t limits_length;
  pt2_progress progress;
  void* user;
} pt2_verify_options;

enum { PT2_WARNING = 0, PT2_ERROR = 1 };

typedef struct pt2_finding {
  size_t size;
  int32_t severity;
  int32_t code;     /* the kind of failure where reading stopped; else PT2_INVALID */
  const char* rule; /* "V103" */
  const char* name; /* "entry_checksum" */
  const char* place;
  const char* text;
  const char* node; /* the node that it is about; empty: none */
} pt2_finding;

/* Every fault of the file, however broken it is. Errors are those of the call alone. */
PT2_API pt2_error* pt2_verify(const char* path, size_t path_length,
                              const pt2_verify_options* options, pt2_findings** out);
/* The same for bytes in memory, which need to stay for the call only. */
PT2_API pt2_error* pt2_verify_memory(const void* bytes, size_t byte_count, const char* name,
                                     size_t name_length, const pt2_verify_options* options,
                                     pt2_findings** out);
PT2_API void pt2_findings_free(pt2_findings* findings);
PT2_API size_t pt2_findings_count(const pt2_findings* findings);
/* 1 when one of them is an error, 0 when the file is good. */
PT2_API int32_t pt2_findings_has_errors(const pt2_findings* findings);
/* Texts live as long as `findings`. */
PT2_API pt2_error* pt2_findings_get(const pt2_findings* findings, size_t index, pt2_finding* out);

/* --- conversion for another release of PyTorch --- */

/* What converting gave: immutable. */
typedef struct pt2_conversion pt2_conversion;

typedef struct pt2_blocker {
  size_t size;
  const char* kind;          /* "operator_name" */
  const char* loss;          /* what to name in `losses` to do without; empty: nothing helps */
  const char* text;          /* "torch.ops.aten.rms_norm.default is not there before 2.4" */
  const char* place;         /* in the file */
  const char* node;          /* empty: none */
  const char* first_release; /* the first that could take it; empty: none */
} pt2_blocker;

/* `release` is "torch-2.6", "newest", "oldest" (the first that can have it), "schema 8.14", or
 * empty for the file's own. `losses` names what may be left out, separated by commas: "guards,
 * metadata"; empty: nothing. Errors do not include blockers. */
PT2_API pt2_error* pt2_convert(const pt2_package* package, const char* release,
                               size_t release_length, const char* losses, size_t losses_length,
                               pt2_conversion** out);
PT2_API void pt2_conversion_free(pt2_conversion* conversion);
/* "2.6". */
PT2_API const char* pt2_conversion_release(const pt2_conversion* conversion, size_t* length);
/* Why the release cannot have the program; 0 when it can. */
PT2_API size_t pt2_conversion_blocker_count(const pt2_conversion* conversion);
PT2_API pt2_error* pt2_conversion_get_blocker(const pt2_conversion* conversion, size_t index,
                                              pt2_blocker* out);
/* What was left out because `losses` names it. */
PT2_API size_t pt2_conversion_loss_count(const pt2_conversion* conversion);
PT2_API pt2_error* pt2_conversion_get_loss(const pt2_conversion* conversion, size_t index,
                                           pt2_blocker* out);
/* Writes the file, whole or not at all; it may be the one that was opened. Error PT2_UNSUPPORTED
 * when there are blockers. */
PT2_API pt2_error* pt2_conversion_save(const pt2_conversion* conversion, const char* path,
                                       size_t path_length);

/* --- models: immutable --- */

/* A program ready to run: operators resolved, weights attached. Share it between threads, with a
 * session for each. */
typedef struct pt2_model pt2_model;

/* Errors: those of opening; PT2_UNSUPPORTED, naming every operator that cannot be computed. */
PT2_API pt2_error* pt2_model_load(const char* path, size_t path_length,
                                  const pt2_load_options* options, pt2_model** out);
/* As pt2_package_open_memory. */
PT2_API pt2_error* pt2_model_load_memory(const void* bytes, size_t byte_count, const char* name,
                                         size_t name_length, pt2_release release, void* user,
                                         const pt2_load_options* options, pt2_model** out);
/* Limits are those of the options, not of the opened package. */
PT2_API pt2_error* pt2_model_from_package(const pt2_package* package,
                                          const pt2_load_options* options, pt2_model** out);
PT2_API void pt2_model_free(pt2_model* model);
/* Gives back what ended calls left for the next ones, of all sessions: memory of values and
 * threads. The next call is as one with inputs of new sizes. Returns the bytes. For any thread, at
 * any time. */
PT2_API uint64_t pt2_model_trim(const pt2_model* model);

typedef struct pt2_place {
  size_t size;
  const char* name; /* "x", "args[0]", "x.a[1]" */
  const char* type; /* "f32[batch 1..64, 3]", "int", "none" */
  int32_t is_tensor;
  int32_t is_keyword;     /* of an input: passed by keyword in Python */
  int32_t is_optional;    /* of an input: a constant of the program, whatever is given */
  pt2_dtype dtype;        /* of a tensor; {0, 0}: one that is not known here */
  int32_t dims;           /* of a tensor; the arrays have as many entries */
  const int64_t* sizes;   /* -1 where the size depends on the inputs */
  const int64_t* minimum; /* least and greatest size; INT64_MAX: no bound */
  const int64_t* maximum;
} pt2_place;

/* Inputs and outputs are flat: the leaves of Python's arguments and of its result, in order. */
PT2_API size_t pt2_model_input_count(const pt2_model* model);
PT2_API size_t pt2_model_output_count(const pt2_model* model);
/* Pointers in *out live as long as `model`. */
PT2_API pt2_error* pt2_model_get_input(const pt2_model* model, size_t index, pt2_place* out);
PT2_API pt2_error* pt2_model_get_output(const pt2_model* model, size_t index, pt2_place* out);
/* The position of the input that is called so; PT2_ARGUMENT when there is none. */
PT2_API pt2_error* pt2_model_find_input(const pt2_model* model, const char* name, size_t length,
                                        size_t* out);
/* The arguments of forward, whose leaves are the inputs. */
PT2_API size_t pt2_model_argument_count(const pt2_model* model);
/* Name of an argument and the structure of its leaves: torch.utils._pytree's JSON. NULL beyond the
 * last. */
PT2_API const char* pt2_model_argument_name(const pt2_model* model, size_t index, size_t* length);
PT2_API const char* pt2_model_argument_tree(const pt2_model* model, size_t index, size_t* length);
/* The structure of the result. */
PT2_API const char* pt2_model_result_tree(const pt2_model* model, size_t* length);
/* Parameters, buffers and constants, by their names in Python. */
PT2_API size_t pt2_model_state_count(const pt2_model* model);
PT2_API const char* pt2_model_state_name(const pt2_model* model, size_t index, size_t* length);

/* --- giving calls up: any thread, at any time --- */

typedef struct pt2_stop pt2_stop;
PT2_API pt2_error* pt2_stop_create(pt2_stop** out);
/* Calls with this handle among their options end soon, and those that begin later at once. */
PT2_API void pt2_stop_request(pt2_stop* stop);
PT2_API void pt2_stop_free(pt2_stop* stop);

/* --- sessions: one at a time --- */

/* Runs a model again and again and keeps what the program changes. Two calls at once, one of them
 * perhaps made by a callback of the other, are an error PT2_ARGUMENT. */
typedef struct pt2_session pt2_session;

typedef struct pt2_session_options {
  size_t size;
  uint32_t threads; /* that may compute a call; 0: as many as the process may keep busy */
} pt2_session_options;

typedef struct pt2_call_options {
  size_t size;
  const pt2_stop* stop; /* NULL: nobody stops it */
  int64_t timeout_ns;   /* 0: no deadline */
  /* Asked after each step of the planned engine; anything but 0 gives the call up. */
  int32_t (*step)(uint64_t done, void* user);
  void* user;
} pt2_call_options;

PT2_API pt2_error* pt2_session_create(const pt2_model* model, const pt2_session_options* options,
                                      pt2_session** out);
/* Another session with a state of its own, which is now as this one's. */
PT2_API pt2_error* pt2_session_fork(pt2_session* session, pt2_session** out);
PT2_API void pt2_session_free(pt2_session* session);
/* Seeds the random operators; 0 at first. */
PT2_API pt2_error* pt2_session_seed(pt2_session* session, uint64_t seed);

/* Runs the program. `inputs` are in the order of pt2_model_get_input; NULL stands for an optional
 * one. `outputs` takes `output_count` handles, which must be the number of the model's outputs;
 * after an error none is written. Inputs that the program changes are written in place, unless they
 * are read-only. */
PT2_API pt2_error* pt2_session_run(pt2_session* session, const pt2_value* const* inputs,
                                   size_t input_count, const pt2_call_options* options,
                                   pt2_value** outputs, size_t output_count);
/* The same where the caller has memory for results: an entry of `outputs` that is not NULL is a
 * tensor of the output's dtype and sizes, in any strides, and is filled; NULL becomes the result.
 * The memory may be that of inputs, but not that of another output. */
PT2_API pt2_error* pt2_session_run_into(pt2_session* session, const pt2_value* const* inputs,
                                        size_t input_count, const pt2_call_options* options,
                                        pt2_value** outputs, size_t output_count);
/* The shortest form, for programs of tensors alone: reads the caller's memory and fills it. Nothing
 * is kept after the call. */
PT2_API pt2_error* pt2_session_run_views(pt2_session* session, const pt2_tensor_view* inputs,
                                         size_t input_count, const pt2_tensor_view* outputs,
                                         size_t output_count, const pt2_call_options* options);

/* The present value of a parameter, buffer or constant. It shares the session's memory: later runs
 * may change it, and nobody else may. PT2_ARGUMENT when there is none. */
PT2_API pt2_error* pt2_session_get_state(pt2_session* session, const char* name, size_t length,
                                         pt2_value** out);
/* Copies elements into it, for later runs of this session. Dtype and sizes must be the same. */
PT2_API pt2_error* pt2_session_set_state(pt2_session* session, const char* name, size_t length,
                                         const pt2_tensor_view* view);

typedef struct pt2_observed {
  size_t size;
  const char* name;       /* of the value in the graph, "linear_1" */
  const char* target;     /* of the node that made it, "torch.ops.aten.linear.default" */
  const pt2_value* value; /* as it is right after the node; borrowed for the call */
} pt2_observed;

/* An error, which the library takes, ends the run. */
typedef pt2_error* (*pt2_observer)(const pt2_observed* observed, void* user);

/* Is told every value that later runs compute; NULL ends that. */
PT2_API pt2_error* pt2_session_observe(pt2_session* session, pt2_observer observer, void* user);
/* Runs as pt2_session_run and writes inputs and every value into a `.npz` or `.safetensors` file
 * (docs/traces.md). */
PT2_API pt2_error* pt2_session_trace(pt2_session* session, const pt2_value* const* inputs,
                                     size_t input_count, const char* path, size_t path_length);

/* --- text generation: one at a time --- */

/* Runs a language model token by token and keeps what earlier tokens left behind: a folder of
 * Transformers' exporter, or one program that takes token ids and gives logits (docs/generate.md).
 * Tokens are numbers; texts are a tokenizer's business. */
typedef struct pt2_decoder pt2_decoder;

typedef struct pt2_decoder_options {
  size_t size;
  const char* limits; /* as in pt2_load_options */
  size_t limits_length;
  const pt2_operators* operators; /* NULL: those of the build alone */
  int32_t engine;
  uint32_t threads;     /* as in pt2_session_options */
  int64_t cache_length; /* tokens in caches of a fixed size, where the program leaves it open; 0:
                           2048 */
} pt2_decoder_options;

typedef struct pt2_generate_options {
  size_t size;
  int64_t max_new_tokens; /* 0: those of generation_config.json, else 64 */
  int32_t has_sampling;   /* 1: the next four count; 0: generation_config.json, else greedy */
  double temperature;     /* logits are divided by it; 0: always the most likely token */
  int64_t top_k;          /* of the most likely tokens alone; 0: of all */
  double top_p;           /* of the fewest that are at least so likely together; 0: of all */
  uint64_t seed;
  const int64_t* stop_ids; /* NULL: those of generation_config.json */
  size_t stop_count;
  /* Told each token as soon as it is known; anything but 0 ends. */
  int32_t (*token)(int64_t token, void* user);
  void* user;
  /* The same with the number of the prompt, of pt2_decoder_generate_batch; ends all. */
  int32_t (*token_of)(size_t prompt, int64_t token, void* user);
} pt2_generate_options;

typedef struct pt2_named_value {
  const char* name;
  size_t name_length;
  const pt2_value* value;
} pt2_named_value;

/* Why generation ended. */
enum {
  PT2_STOP_MAX_NEW_TOKENS = 0,
  PT2_STOP_ID = 1,         /* the last token is one of the stop ids */
  PT2_STOP_CACHE_FULL = 2, /* the program has no room for another token */
  PT2_STOP_CALLBACK = 3
};

/* `path` is a folder or a file. Errors: those of loading a model; PT2_UNSUPPORTED for programs that
 * are no language model. */
PT2_API pt2_error* pt2_decoder_open(const char* path, size_t path_length,
                                    const pt2_decoder_options* options, pt2_decoder** out);
PT2_API void pt2_decoder_free(pt2_decoder* decoder);
/* Continues with one token or more after those of earlier calls. *out is the logits of the last:
 * float32, one for each token of the vocabulary. PT2_ARGUMENT for ids that the program refuses,
 * PT2_LIMIT where its cache is full. */
PT2_API pt2_error* pt2_decoder_feed(pt2_decoder* decoder, const int64_t* ids, size_t count,
                                    const pt2_call_options* options, pt2_value** out);
/* Forgets all tokens, feeds the prompt and then each new token. *tokens is a vector of int64: the
 * new ones, a stop id among them. `reason` may be NULL. */
PT2_API pt2_error* pt2_decoder_generate(pt2_decoder* decoder, const int64_t* prompt, size_t count,
                                        const pt2_generate_options* generate,
                                        const pt2_call_options* options, pt2_value** tokens,
                                        int32_t* reason);
/* The same of several prompts, which are computed together as far as the program takes more than
 * one sequence. `ids` has them one behind the other, `counts` how many ids each has. `tokens` takes
 * a handle for each prompt, and so does `reasons`, which may be NULL. Nothing is left to go on
 * from. */
PT2_API pt2_error* pt2_decoder_generate_batch(pt2_decoder* decoder, const int64_t* ids,
                                              const size_t* counts, size_t prompts,
                                              const pt2_generate_options* generate,
                                              const pt2_call_options* options, pt2_value** tokens,
                                              int32_t* reasons);
/* Gives what the programs take beside tokens, by the names of inputs: what an encoder reads, which
 * runs now, or what it made of it where there is none. Forgets all tokens and what was given
 * before. The values are copied as handles are: tensors share memory with what they were made of.
 */
PT2_API pt2_error* pt2_decoder_give(pt2_decoder* decoder, const pt2_named_value* inputs,
                                    size_t count, const pt2_call_options* options);
/* Forgets all tokens, and nothing that was given. */
PT2_API pt2_error* pt2_decoder_reset(pt2_decoder* decoder);
/* Tokens that were fed, and how many fit; INT64_MAX: the program sets no bound. Not while another
 * call uses the decoder. */
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
