#include "c/every_function.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pt2/c/pt2.h"

static char failure[1024];

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      sprintf(failure, "line %d: %.200s does not hold", __LINE__, #condition); \
      return failure;                                                          \
    }                                                                          \
  } while (0)
#define SUCCEEDS(call)                                                                            \
  do {                                                                                            \
    pt2_error* error_ = (call);                                                                   \
    if (error_ != NULL) {                                                                         \
      sprintf(failure, "line %d: %.200s: %.500s", __LINE__, #call, pt2_error_text(error_, NULL)); \
      pt2_error_free(error_);                                                                     \
      return failure;                                                                             \
    }                                                                                             \
  } while (0)
#define FAILS(call, expected)                       \
  do {                                              \
    pt2_error* error_ = (call);                     \
    const int32_t code_ = pt2_error_code(error_);   \
    pt2_error_free(error_);                         \
    CHECK(code_ == (expected) && #call[0] != '\0'); \
  } while (0)
/* Runs a part of the test and returns its failure, if any. */
#define PART(call)                       \
  do {                                   \
    const char* failed_ = (call);        \
    if (failed_ != NULL) return failed_; \
  } while (0)

static const int64_t kImageSizes[] = {1, 1, 8, 8};
static const int64_t kScoreSizes[] = {1, 10};

static void count_call(void* user) { ++*(int*)user; }

static const char* check_library_and_errors(void) {
  size_t length = 0;
  pt2_error* error = pt2_error_create(PT2_LIMIT, "too much", 8);
  CHECK(strlen(pt2_version()) >= 5);
  CHECK(pt2_has("run", 3) == 1 && pt2_has("fly", 3) == 0);
  CHECK(pt2_error_code(error) == PT2_LIMIT && strcmp(pt2_error_name(error), "limit") == 0);
  CHECK(strcmp(pt2_error_message(error, &length), "too much") == 0 && length == 8);
  CHECK(strcmp(pt2_error_place(error, &length), "") == 0 && length == 0);
  CHECK(strcmp(pt2_error_text(error, NULL), "too much") == 0);
  pt2_error_free(error);
  CHECK(pt2_error_code(NULL) == PT2_OK);
  return NULL;
}

static const char* check_plain_values(void) {
  pt2_value *value = NULL, *list = NULL, *item = NULL;
  const pt2_value* items[2];
  pt2_text* type = NULL;
  int64_t number = 0;
  double real = 0, imaginary = 0;
  int32_t truth = 0;
  const char* text = NULL;
  size_t length = 0;
  SUCCEEDS(pt2_value_none(&value));
  CHECK(pt2_value_kind(value) == PT2_VALUE_NONE);
  pt2_value_free(value);
  SUCCEEDS(pt2_value_bool(7, &value));
  SUCCEEDS(pt2_value_get_bool(value, &truth));
  CHECK(truth == 1);
  pt2_value_free(value);
  SUCCEEDS(pt2_value_float(0.5, &value));
  SUCCEEDS(pt2_value_get_float(value, &real));
  CHECK(real == 0.5);
  pt2_value_free(value);
  SUCCEEDS(pt2_value_complex(1, 2, &value));
  SUCCEEDS(pt2_value_get_complex(value, &real, &imaginary));
  CHECK(real == 1 && imaginary == 2);
  pt2_value_free(value);
  SUCCEEDS(pt2_value_text("mean", 4, &value));
  SUCCEEDS(pt2_value_get_text(value, &text, &length));
  CHECK(length == 4 && strcmp(text, "mean") == 0);
  pt2_value_free(value);
  SUCCEEDS(pt2_value_int(3, &value));
  FAILS(pt2_value_get_text(value, &text, &length), PT2_ARGUMENT);
  SUCCEEDS(pt2_value_type(value, &type));
  CHECK(strcmp(pt2_text_data(type, NULL), "int 3") == 0);
  pt2_text_free(type);
  items[0] = items[1] = value;
  SUCCEEDS(pt2_value_list(items, 2, &list));
  pt2_value_free(value);
  SUCCEEDS(pt2_value_share(list, &value));
  pt2_value_free(list);
  CHECK(pt2_value_count(value) == 2);
  SUCCEEDS(pt2_value_get_item(value, 1, &item));
  SUCCEEDS(pt2_value_get_int(item, &number));
  CHECK(number == 3);
  FAILS(pt2_value_get_item(value, 2, &list), PT2_ARGUMENT);
  pt2_value_free(item);
  pt2_value_free(value);
  return NULL;
}

static const char* check_tensors(void) {
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {2, 2}, strides[] = {3, 1};
  const pt2_tensor_view view = {numbers, sizes, strides, 2, {2, 32}, 0};
  pt2_tensor_view seen;
  pt2_value *borrowed = NULL, *copied = NULL, *back = NULL;
  struct DLManagedTensorVersioned* exported = NULL;
  int released = 0;
  SUCCEEDS(pt2_value_borrow(&view, count_call, &released, &borrowed));
  SUCCEEDS(pt2_value_copy(&view, &copied));
  numbers[3] = 40;
  SUCCEEDS(pt2_value_get_tensor(copied, &seen));
  CHECK(seen.strides[0] == 2 && ((float*)seen.data)[2] == 4);
  pt2_value_free(copied);
  SUCCEEDS(pt2_value_to_dlpack(borrowed, &exported));
  pt2_value_free(borrowed);
  SUCCEEDS(pt2_value_from_dlpack(exported, &back));
  SUCCEEDS(pt2_value_get_tensor(back, &seen));
  CHECK(seen.data == numbers && seen.dims == 2 && seen.strides[0] == 3 && seen.read_only == 0);
  CHECK(seen.dtype.code == 2 && seen.dtype.bits == 32 && released == 0);
  pt2_value_free(back);
  CHECK(released == 1);
  return NULL;
}

static void count_line(const char* line, size_t length, void* user) {
  (void)line;
  *(int*)user += length > 0;
}

static const char* check_packages(const char* digits, const void* bytes, size_t byte_count) {
  pt2_package *package = NULL, *in_memory = NULL;
  pt2_model* model = NULL;
  pt2_text* text = NULL;
  size_t length = 0;
  int lines = 0, released = 0;
  pt2_load_options options = PT2_INIT(pt2_load_options);
  options.limits = "max_work=4000000000,max_json_depth=512";
  options.limits_length = strlen(options.limits);
  options.log = count_line;
  options.user = &lines;
  SUCCEEDS(pt2_package_open(digits, strlen(digits), &options, &package));
  SUCCEEDS(pt2_package_open_memory(bytes, byte_count, "digits", 6, count_call, &released, &options,
                                   &in_memory));
  CHECK(lines == 0 && pt2_package_program_count(in_memory) == 1);
  CHECK(strcmp(pt2_package_program_name(package, 0, &length), "model") == 0 && length == 5);
  SUCCEEDS(pt2_package_json(package, "", 0, 0, &text));
  CHECK(pt2_text_data(text, &length)[0] == '{' && length > 1000);
  pt2_text_free(text);
  SUCCEEDS(pt2_package_dis(package, "model", 5, 1, &text));
  CHECK(strstr(pt2_text_data(text, NULL), "conv") != NULL);
  pt2_text_free(text);
  SUCCEEDS(pt2_package_missing_operators(package, NULL, 0, NULL, &text));
  CHECK(strcmp(pt2_text_data(text, NULL), "") == 0);
  pt2_text_free(text);
  SUCCEEDS(pt2_model_from_package(in_memory, NULL, &model));
  pt2_package_free(package);
  pt2_package_free(in_memory);
  CHECK(released == 0);
  CHECK(pt2_model_trim(model) == 0);
  pt2_model_free(model);
  CHECK(released == 1);
  SUCCEEDS(pt2_model_load_memory(bytes, byte_count, "d", 1, count_call, &released, NULL, &model));
  pt2_model_free(model);
  CHECK(released == 2);
  FAILS(pt2_model_load_memory(bytes, 100, "d", 1, count_call, &released, NULL, &model),
        PT2_CORRUPT);
  CHECK(released == 2);
  return NULL;
}

static void note_progress(uint64_t done, uint64_t total, void* user) {
  *(int*)user += done <= total;
}

static const char* check_verification(const char* digits, const void* bytes, size_t byte_count) {
  pt2_findings* findings = NULL;
  pt2_finding finding = PT2_INIT(pt2_finding);
  int told = 0;
  pt2_verify_options options = PT2_INIT(pt2_verify_options);
  options.progress = note_progress;
  options.user = &told;
  SUCCEEDS(pt2_verify(digits, strlen(digits), &options, &findings));
  CHECK(pt2_findings_has_errors(findings) == 0 && pt2_findings_count(findings) == 0 && told > 0);
  pt2_findings_free(findings);
  options.up_to = 1 + PT2_LEVEL_CONTAINER;
  SUCCEEDS(pt2_verify_memory(bytes, byte_count / 2, "half", 4, &options, &findings));
  CHECK(pt2_findings_has_errors(findings) == 1 && pt2_findings_count(findings) >= 1);
  SUCCEEDS(pt2_findings_get(findings, 0, &finding));
  CHECK(finding.severity == PT2_ERROR && finding.rule[0] == 'V' && finding.text[0] != '\0');
  FAILS(pt2_findings_get(findings, 1000, &finding), PT2_ARGUMENT);
  pt2_findings_free(findings);
  return NULL;
}

static const char* check_conversion(const char* digits, const char* several, const char* scratch) {
  pt2_package* package = NULL;
  pt2_conversion* conversion = NULL;
  pt2_blocker blocker = PT2_INIT(pt2_blocker);
  char path[600];
  sprintf(path, "%.500sold.pt2", scratch);
  SUCCEEDS(pt2_package_open(digits, strlen(digits), NULL, &package));
  SUCCEEDS(pt2_convert(package, "torch-2.6", 9, "", 0, &conversion));
  CHECK(strcmp(pt2_conversion_release(conversion, NULL), "2.6") == 0);
  CHECK(pt2_conversion_blocker_count(conversion) == 0 &&
        pt2_conversion_loss_count(conversion) == 0);
  FAILS(pt2_conversion_get_loss(conversion, 0, &blocker), PT2_ARGUMENT);
  SUCCEEDS(pt2_conversion_save(conversion, path, strlen(path)));
  pt2_conversion_free(conversion);
  FAILS(pt2_convert(package, "torch-1.0", 9, "", 0, &conversion), PT2_ARGUMENT);
  pt2_package_free(package);
  SUCCEEDS(pt2_package_open(several, strlen(several), NULL, &package));
  SUCCEEDS(pt2_convert(package, "torch-2.5", 9, "", 0, &conversion));
  CHECK(pt2_conversion_blocker_count(conversion) >= 1);
  SUCCEEDS(pt2_conversion_get_blocker(conversion, 0, &blocker));
  CHECK(blocker.kind[0] != '\0' && blocker.text[0] != '\0' && blocker.loss != NULL);
  FAILS(pt2_conversion_save(conversion, path, strlen(path)), PT2_UNSUPPORTED);
  pt2_conversion_free(conversion);
  pt2_package_free(package);
  return NULL;
}

static const char* check_places(const pt2_model* model) {
  pt2_place place = PT2_INIT(pt2_place);
  size_t index = 99;
  CHECK(pt2_model_input_count(model) == 1 && pt2_model_output_count(model) == 1);
  SUCCEEDS(pt2_model_get_input(model, 0, &place));
  CHECK(strcmp(place.name, "image") == 0 && place.is_tensor == 1 && place.dims == 4);
  CHECK(place.sizes[0] == -1 && place.minimum[0] == 1 && place.maximum[0] == 1024);
  CHECK(place.sizes[3] == 8 && place.dtype.code == 2 && place.dtype.bits == 32);
  SUCCEEDS(pt2_model_get_output(model, 0, &place));
  CHECK(place.dims == 2 && place.sizes[1] == 10 && place.type[0] == 'f');
  SUCCEEDS(pt2_model_find_input(model, "image", 5, &index));
  CHECK(index == 0);
  FAILS(pt2_model_find_input(model, "sound", 5, &index), PT2_ARGUMENT);
  CHECK(pt2_model_argument_count(model) == 1);
  CHECK(strcmp(pt2_model_argument_name(model, 0, NULL), "image") == 0);
  CHECK(pt2_model_argument_tree(model, 0, NULL)[0] == '[');
  CHECK(pt2_model_result_tree(model, NULL)[0] == '[');
  CHECK(pt2_model_state_count(model) >= 8 && pt2_model_state_name(model, 0, &index) != NULL);
  return NULL;
}

static pt2_error* count_values(const pt2_observed* observed, void* user) {
  if (observed->name[0] != '\0' && observed->target[0] != '\0' && observed->value != NULL)
    ++*(int*)user;
  return NULL;
}

static int32_t stop_at_once(uint64_t done, void* user) {
  *(uint64_t*)user = done;
  return 1;
}

static const char* check_cancellation(pt2_session* session, const pt2_value* const* inputs) {
  pt2_stop* stop = NULL;
  pt2_value* output = NULL;
  uint64_t steps = 0;
  pt2_call_options options = PT2_INIT(pt2_call_options);
  options.step = stop_at_once;
  options.user = &steps;
  FAILS(pt2_session_run(session, inputs, 1, &options, &output, 1), PT2_CANCELLED);
  CHECK(steps == 1 && output == NULL);
  options.step = NULL;
  SUCCEEDS(pt2_stop_create(&stop));
  options.stop = stop;
  options.timeout_ns = INT64_MAX;
  SUCCEEDS(pt2_session_run(session, inputs, 1, &options, &output, 1));
  pt2_value_free(output);
  output = NULL;
  pt2_stop_request(stop);
  FAILS(pt2_session_run(session, inputs, 1, &options, &output, 1), PT2_CANCELLED);
  pt2_stop_free(stop);
  options.stop = NULL;
  options.timeout_ns = 1;
  FAILS(pt2_session_run(session, inputs, 1, &options, &output, 1), PT2_CANCELLED);
  return NULL;
}

static const char* check_state(pt2_session* session, const pt2_value* const* inputs,
                               const char* name) {
  pt2_session* fork = NULL;
  pt2_value *state = NULL, *copy = NULL, *output = NULL;
  pt2_tensor_view view;
  size_t i, count = 1;
  SUCCEEDS(pt2_session_get_state(session, name, strlen(name), &state));
  SUCCEEDS(pt2_value_get_tensor(state, &view));
  SUCCEEDS(pt2_value_copy(&view, &copy));
  pt2_value_free(state);
  SUCCEEDS(pt2_value_get_tensor(copy, &view));
  for (i = 0; i < (size_t)view.dims; ++i) count *= (size_t)view.sizes[i];
  memset(view.data, 0, count * sizeof(float));
  SUCCEEDS(pt2_session_fork(session, &fork));
  SUCCEEDS(pt2_session_seed(fork, 7));
  SUCCEEDS(pt2_session_set_state(fork, name, strlen(name), &view));
  SUCCEEDS(pt2_session_get_state(fork, name, strlen(name), &state));
  pt2_value_free(copy);
  SUCCEEDS(pt2_value_get_tensor(state, &view));
  CHECK(((float*)view.data)[0] == 0);
  SUCCEEDS(pt2_session_run(fork, inputs, 1, NULL, &output, 1));
  pt2_value_free(output);
  pt2_value_free(state);
  pt2_session_free(fork);
  FAILS(pt2_session_get_state(session, "nothing", 7, &state), PT2_ARGUMENT);
  return NULL;
}

static const char* check_sessions(pt2_model* model, const char* scratch) {
  float pixels[64], first[10], second[10];
  const pt2_tensor_view image = {pixels, kImageSizes, NULL, 4, {2, 32}, 1};
  const pt2_tensor_view scores[] = {{first, kScoreSizes, NULL, 2, {2, 32}, 0},
                                    {second, kScoreSizes, NULL, 2, {2, 32}, 0}};
  pt2_tensor_view seen;
  pt2_value *input = NULL, *output = NULL, *memory = NULL;
  const pt2_value* inputs[1];
  pt2_session* session = NULL;
  pt2_session_options options = PT2_INIT(pt2_session_options);
  char path[600];
  int values = 0, i;
  const char* state = pt2_model_state_name(model, 0, NULL);
  for (i = 0; i < 64; ++i) pixels[i] = (float)(i % 16);
  options.threads = 2;
  SUCCEEDS(pt2_session_create(model, &options, &session));
  SUCCEEDS(pt2_value_borrow(&image, NULL, NULL, &input));
  inputs[0] = input;
  SUCCEEDS(pt2_session_run(session, inputs, 1, NULL, &output, 1));
  SUCCEEDS(pt2_session_run_views(session, &image, 1, &scores[0], 1, NULL));
  SUCCEEDS(pt2_value_borrow(&scores[1], NULL, NULL, &memory));
  SUCCEEDS(pt2_session_run_into(session, inputs, 1, NULL, &memory, 1));
  SUCCEEDS(pt2_value_get_tensor(output, &seen));
  CHECK(memcmp(first, second, sizeof first) == 0 && memcmp(seen.data, first, sizeof first) == 0);
  pt2_value_free(output);
  pt2_value_free(memory);
  memory = NULL;
  SUCCEEDS(pt2_session_run_into(session, inputs, 1, NULL, &memory, 1));
  pt2_value_free(memory);
  PART(check_cancellation(session, inputs));
  PART(check_state(session, inputs, state));
  SUCCEEDS(pt2_session_observe(session, count_values, &values));
  SUCCEEDS(pt2_session_run(session, inputs, 1, NULL, &output, 1));
  pt2_value_free(output);
  CHECK(values > 3);
  sprintf(path, "%.500strace.npz", scratch);
  SUCCEEDS(pt2_session_trace(session, inputs, 1, path, strlen(path)));
  SUCCEEDS(pt2_session_observe(session, NULL, NULL));
  pt2_value_free(input);
  pt2_session_free(session);
  return NULL;
}

/* mylib::scale(Tensor x, float factor=2.0) -> Tensor, of contiguous float32 tensors. */
static pt2_error* scale(const pt2_value* const* arguments, size_t argument_count,
                        pt2_value** results, size_t result_count, void* user) {
  pt2_tensor_view in, out;
  double factor = 0;
  int64_t i, count = 1;
  pt2_error* error = NULL;
  (void)user;
  if (argument_count != 2 || result_count != 1)
    return pt2_error_create(PT2_INTERNAL, "another signature", 17);
  error = pt2_value_get_tensor(arguments[0], &in);
  if (error == NULL) error = pt2_value_get_float(arguments[1], &factor);
  if (error == NULL) error = pt2_value_copy(&in, &results[0]);
  if (error == NULL) error = pt2_value_get_tensor(results[0], &out);
  if (error != NULL) return error;
  for (i = 0; i < out.dims; ++i) count *= out.sizes[i];
  for (i = 0; i < count; ++i) ((float*)out.data)[i] *= (float)factor;
  return NULL;
}

static pt2_error* refuse(const pt2_value* const* arguments, size_t argument_count,
                         pt2_value** results, size_t result_count, void* user) {
  (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user;
  return pt2_error_create(PT2_UNSUPPORTED, "not today", 9);
}

static const char* check_operators(const char* custom) {
  static const char kScale[] = "mylib::scale(Tensor x, float factor=2.0) -> Tensor";
  static const char kSplit[] = "mylib::split_sign(Tensor x) -> (Tensor positive, Tensor negative)";
  static const char kAdd[] = "mylib::add_into(Tensor(a!) out, Tensor x, *, Scalar alpha=1) -> ()";
  pt2_operators* operators = NULL;
  pt2_model* model = NULL;
  int released = 0;
  pt2_load_options options = PT2_INIT(pt2_load_options);
  FAILS(pt2_model_load(custom, strlen(custom), NULL, &model), PT2_UNSUPPORTED);
  SUCCEEDS(pt2_operators_create(&operators));
  SUCCEEDS(pt2_operators_add(operators, kScale, strlen(kScale), scale, count_call, &released));
  FAILS(pt2_operators_add(operators, kScale, strlen(kScale), scale, count_call, &released),
        PT2_ARGUMENT);
  FAILS(pt2_operators_add(operators, "scale(", 6, scale, count_call, &released), PT2_ARGUMENT);
  SUCCEEDS(pt2_operators_add(operators, kSplit, strlen(kSplit), refuse, NULL, NULL));
  SUCCEEDS(pt2_operators_add(operators, kAdd, strlen(kAdd), refuse, NULL, NULL));
  options.operators = operators;
  SUCCEEDS(pt2_model_load(custom, strlen(custom), &options, &model));
  pt2_operators_free(operators);
  CHECK(released == 0);
  pt2_model_free(model);
  CHECK(released == 1);
  return NULL;
}

static int32_t stop_at_third(int64_t token, void* user) { return token >= 0 && ++*(int*)user == 3; }

static int32_t count_second(size_t prompt, int64_t token, void* user) {
  *(int*)user += prompt == 1 && token >= 0;
  return 0;
}

static const char* check_decoders(const char* folder) {
  static const int64_t kPrompt[] = {5, 7, 11};
  static const size_t kCounts[] = {2, 1};
  pt2_value* texts[2];
  int32_t reasons[2];
  pt2_named_value given = {"encoder_hidden_states", 21, NULL};
  pt2_decoder* decoder = NULL;
  pt2_value *tokens = NULL, *logits = NULL;
  pt2_tensor_view all, vocabulary;
  int32_t reason = -1;
  int told = 0;
  pt2_decoder_options options = PT2_INIT(pt2_decoder_options);
  pt2_generate_options generate = PT2_INIT(pt2_generate_options);
  CHECK(pt2_has("decoder", 7) == 1);
  FAILS(pt2_decoder_open("nowhere", 7, NULL, &decoder), PT2_IO);
  options.engine = 7;
  FAILS(pt2_decoder_open(folder, strlen(folder), &options, &decoder), PT2_ARGUMENT);
  options.engine = PT2_ENGINE_REFERENCE;
  options.threads = 1;
  SUCCEEDS(pt2_decoder_open(folder, strlen(folder), &options, &decoder));
  FAILS(pt2_decoder_generate(decoder, NULL, 3, NULL, NULL, &tokens, &reason), PT2_ARGUMENT);
  FAILS(pt2_decoder_generate(decoder, kPrompt, 0, NULL, NULL, &tokens, &reason), PT2_ARGUMENT);
  generate.max_new_tokens = 6;
  generate.stop_ids = kPrompt; /* with stop_count 0: an empty list, so no id stops */
  SUCCEEDS(pt2_decoder_generate(decoder, kPrompt, 3, &generate, NULL, &tokens, &reason));
  SUCCEEDS(pt2_value_get_tensor(tokens, &all));
  CHECK(reason == PT2_STOP_MAX_NEW_TOKENS && all.dims == 1 && all.sizes[0] == 6);
  CHECK(pt2_decoder_position(decoder) == 8 && pt2_decoder_capacity(decoder) >= 8);
  SUCCEEDS(pt2_decoder_reset(decoder));
  CHECK(pt2_decoder_position(decoder) == 0);
  SUCCEEDS(pt2_decoder_feed(decoder, kPrompt, 3, NULL, &logits));
  SUCCEEDS(pt2_value_get_tensor(logits, &vocabulary));
  /* Greedy: the first token is the most likely one. */
  for (int64_t i = 0; i < vocabulary.sizes[0]; ++i)
    CHECK(((const float*)vocabulary.data)[i] <=
          ((const float*)vocabulary.data)[((const int64_t*)all.data)[0]]);
  pt2_value_free(logits);
  pt2_value_free(tokens);
  generate.token = stop_at_third;
  generate.user = &told;
  SUCCEEDS(pt2_decoder_generate(decoder, kPrompt, 3, &generate, NULL, &tokens, &reason));
  SUCCEEDS(pt2_value_get_tensor(tokens, &all));
  CHECK(reason == PT2_STOP_CALLBACK && all.sizes[0] == 3 && told == 3);
  pt2_value_free(tokens);
  told = 0;
  generate.token = NULL;
  generate.token_of = count_second;
  SUCCEEDS(
      pt2_decoder_generate_batch(decoder, kPrompt, kCounts, 2, &generate, NULL, texts, reasons));
  for (size_t i = 0; i < 2; ++i) {
    SUCCEEDS(pt2_value_get_tensor(texts[i], &all));
    CHECK(reasons[i] == PT2_STOP_MAX_NEW_TOKENS && all.sizes[0] == 6);
    pt2_value_free(texts[i]);
  }
  CHECK(told == 6);
  FAILS(pt2_decoder_generate_batch(decoder, NULL, kCounts, 2, NULL, NULL, texts, NULL),
        PT2_ARGUMENT);
  FAILS(pt2_decoder_generate_batch(decoder, kPrompt, NULL, 2, NULL, NULL, texts, NULL),
        PT2_ARGUMENT);
  SUCCEEDS(pt2_decoder_give(decoder, NULL, 0, NULL));
  SUCCEEDS(pt2_value_int(1, &texts[0]));
  given.value = texts[0];
  FAILS(pt2_decoder_give(decoder, &given, 1, NULL), PT2_ARGUMENT);
  pt2_value_free(texts[0]);
  pt2_decoder_free(decoder);
  return NULL;
}

const char* pt2_call_every_function(const char* examples, const char* data, const char* scratch) {
  static char bytes[1 << 20];
  char digits[600], several[600], custom[600], decoder[600];
  size_t byte_count = 0;
  pt2_model* model = NULL;
  FILE* file = NULL;
  sprintf(digits, "%.500sdigits.pt2", examples);
  sprintf(several, "%.500scorpus/2.15.0/package_two.pt2", data);
  sprintf(custom, "%.500scustom.pt2", examples);
  sprintf(decoder, "%.500sdecoders/dynamic", data);
  file = fopen(digits, "rb");
  CHECK(file != NULL);
  byte_count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  PART(check_library_and_errors());
  PART(check_plain_values());
  PART(check_tensors());
  PART(check_packages(digits, bytes, byte_count));
  PART(check_verification(digits, bytes, byte_count));
  PART(check_conversion(digits, several, scratch));
  PART(check_operators(custom));
  PART(check_decoders(decoder));
  SUCCEEDS(pt2_model_load(digits, strlen(digits), NULL, &model));
  PART(check_places(model));
  PART(check_sessions(model, scratch));
  pt2_model_free(model);
  return NULL;
}
