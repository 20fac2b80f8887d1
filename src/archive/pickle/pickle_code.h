// Finds the code that Python would run to read a pickle. None of it is run here.
#ifndef PT2_ARCHIVE_PICKLE_PICKLE_CODE_H
#define PT2_ARCHIVE_PICKLE_PICKLE_CODE_H

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pt2/format/pickle.h"
#include "pt2/format/zip.h"

namespace pt2 {

// A call that Python would make to build a value: "os.system('true')", and the opcode that asks for
// it.
struct ForeignCall {
  std::string text;
  uint64_t offset = 0;
};

struct PickleCode {
  std::vector<ForeignCall> calls;  // the first few
  // Texts that PyTorch evaluates as Python to make a value: sizes of tensors without elements.
  std::vector<ForeignCall> expressions;
  // Names outside PyTorch's modules that the pickle looks up, whether it calls them or not.
  std::vector<ForeignCall> names;
  // The reason and place where following the pickle stopped; later calls are unknown.
  std::optional<Error> stopped;
};

// Returns the calls of a pickle that was read in listing mode.
std::span<const ForeignCall> pickle_calls(const Pickle& pickle);
// Reads the pickle of a torch.save file. Errors as of read_torch_save.
Result<Record> read_saved_pickle(const Record& record, const Limits& limits);
// Finds the calls of one pickle stream, without its storages.
PickleCode find_pickle_code(std::span<const std::byte> bytes, const Limits& limits);
// Finds the calls of any file that torch.load reads: a torch.save file, or an older file, which has
// several pickles in a row before the data. An empty record has no calls.
PickleCode find_saved_code(const Record& record, const Limits& limits);

}  // namespace pt2

#endif  // PT2_ARCHIVE_PICKLE_PICKLE_CODE_H
