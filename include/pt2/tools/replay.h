// Repeats recorded calls and compares the results, to check that a program gives PyTorch's numbers.
#ifndef PT2_TOOLS_REPLAY_H
#define PT2_TOOLS_REPLAY_H

#include <optional>
#include <string>
#include <vector>

#include "pt2/model.h"
#include "pt2/tools/compare.h"
#include "pt2/tools/recorded_calls.h"

namespace pt2 {

struct CallReport {
  std::vector<std::string> differences;  // empty if the call passed
  std::string refusal;                   // the error text of a call that fails as recorded
  std::optional<Error> error;            // of a call that failed, as recorded or not
  std::vector<std::string> remarks;      // notes about the result, one line each
  size_t compared = 0;
  double largest_error = 0;
  // Errors against float64, both of the value where our error is largest.
  std::optional<double> our_error;
  std::optional<double> torch_error;
  std::optional<double> sqnr;  // the lowest Comparison::sqnr of the values that have one
  // As Comparison::rows and Comparison::argmax_differs, over the outputs.
  int64_t rows = 0;
  int64_t argmax_differs = 0;

  bool passed() const { return differences.empty(); }
};

// Runs `call` on the session, seeded with 0, and compares outputs, changed state and changed inputs
// with the record. A call that PyTorch refused must fail with `invalid` or `argument`, because of
// its inputs. The errors `unsupported` and `limit` prove nothing. Recorded inputs are not changed.
CallReport replay(Session& session, const RecordedCall& call, const CompareOptions& options = {});

// Runs the inputs of `call` on the session, seeded with 0, and returns the results as a record:
// outputs, all buffers, changed inputs. The record also has the float64 values of `call` for
// outputs. replay() can compare another engine or another program with this record. The inputs are
// not changed. Takes the memory of the outputs and of copies of buffers. Errors: those of the
// session.
Result<RecordedCall> record_answers(Session& session, const RecordedCall& call);

// Compares `session` with `reference`: replay() of what record_answers() gives for `reference`. An
// engine may compute calls with inputs of known sizes otherwise, so `session` runs the call three
// times, from the same state. All calls together may hold the memory that one call may hold, and
// compute as much as one call of each session. Errors: those of `reference`, and `limit` of either;
// a repetition beyond the limits is left out.
Result<CallReport> replay_beside(Session& session, Session& reference, const RecordedCall& call,
                                 const CompareOptions& options = {});

}  // namespace pt2

#endif  // PT2_TOOLS_REPLAY_H
