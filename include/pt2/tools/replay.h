// Makes recorded calls again and compares: does this program still give PyTorch's numbers?
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
  std::vector<std::string> differences;  // empty: passed
  std::string refusal;                   // of a call that fails as recorded: how
  std::vector<std::string> remarks;      // what to know about a verdict, a line each
  size_t compared = 0;
  double largest_error = 0;
  std::optional<double> our_error;  // against float64, of the value where it is largest
  std::optional<double> torch_error;
  std::optional<double> sqnr;  // Comparison::sqnr, the lowest of the values that have one
  // Of the outputs: does the largest element of each row lie where PyTorch has it (Comparison)?
  int64_t rows = 0;
  int64_t argmax_differs = 0;

  bool passed() const { return differences.empty(); }
};

// Runs `call` on the session, seeded with 0, and compares outputs, changed state and changed inputs
// with the record. A call that PyTorch refused must fail here too, because of what it is given
// (`invalid` or `argument`): what is not supported, or too much, shows nothing. Recorded inputs
// stay as they are.
CallReport replay(Session& session, const RecordedCall& call, const CompareOptions& options = {});

// What the session, seeded with 0, answers to the inputs of `call`, in the form of a record: its
// outputs, all buffers, the inputs that it changed. Values computed in float64 that `call` has for
// outputs are the record's, too. To compare another engine, or another program, with it by
// replay(). The inputs stay as they are; the memory is that of the outputs and copies of buffers.
// Errors: those of the session.
Result<RecordedCall> record_answers(Session& session, const RecordedCall& call);

// record_answers() of `reference`, which replay() compares with `session`. Both calls together may
// hold what one call may hold. Errors: those of `reference`.
Result<CallReport> replay_beside(Session& session, Session& reference, const RecordedCall& call,
                                 const CompareOptions& options = {});

}  // namespace pt2

#endif  // PT2_TOOLS_REPLAY_H
