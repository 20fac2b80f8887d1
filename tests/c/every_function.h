/* Calls every function of the C interface once with valid arguments, from C99. */
#ifndef PT2_TESTS_C_EVERY_FUNCTION_H
#define PT2_TESTS_C_EVERY_FUNCTION_H

#ifdef __cplusplus
extern "C" {
#endif

/* Folders end with a slash. Returns NULL, or the check that failed and its place. */
const char* pt2_call_every_function(const char* examples, const char* data, const char* scratch);

#ifdef __cplusplus
}
#endif

#endif /* PT2_TESTS_C_EVERY_FUNCTION_H */
