/* C99 calls every function of the C interface once as it is meant. */
#ifndef PT2_TESTS_C_EVERY_FUNCTION_H
#define PT2_TESTS_C_EVERY_FUNCTION_H

#ifdef __cplusplus
extern "C" {
#endif

/* Folders with their slash at the end. NULL, or what did not hold and where. */
const char* pt2_call_every_function(const char* examples, const char* data, const char* scratch);

#ifdef __cplusplus
}
#endif

#endif /* PT2_TESTS_C_EVERY_FUNCTION_H */
