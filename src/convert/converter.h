// The state that the parts of convert share: a program that is converted between releases.
#ifndef PT2_CONVERT_CONVERTER_H
#define PT2_CONVERT_CONVERTER_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lower/pass.h"
#include "pt2/conversion.h"
#include "pt2/ir/program.h"

namespace pt2 {

using AddBlocker = std::function<void(Blocker)>;

// True if what the blocker loses may be lost.
bool is_accepted(const Blocker& blocker, const ConvertOptions& options);

// The state that the rewritings and checks of one program share.
class Converter {
 public:
  using LoadPayloads = std::function<Result<std::shared_ptr<const Payloads>>()>;

  Converter(Program converted, ConversionTarget wanted, const ConvertOptions& options,
            LoadPayloads load);

  Program program;
  const Release& source;  // the release that wrote the program
  const int from;         // the program's schema version
  const ConversionTarget target;
  const int to;  // target.schema
  // Constants, by name: those that a conversion from schema 1 moves out of the program, and those
  // that a conversion to schema 1 moves into it.
  std::vector<SavedTensor> added_constants{};
  std::vector<std::string> removed_constants{};
  bool changed = false;  // set by a rewriting that changed something
  Pipeline pipeline;     // shared by the rewritings that are passes

  // True if the conversion crosses `version` upwards, or downwards.
  bool rises_to(int version) const { return from < version && version <= to; }
  bool falls_below(int version) const { return to < version && version <= from; }
  Result<std::shared_ptr<const Payloads>> payloads() const { return load_payloads_(); }
  bool accepts(const Blocker& blocker) const { return is_accepted(blocker, options_); }
  // Adds the blocker to `lost` if the options accept its loss, else to `blockers`. True if
  // accepted.
  bool block(Blocker blocker);

  std::vector<Blocker> blockers{};
  std::vector<Blocker> lost{};

 private:
  const ConvertOptions& options_;
  LoadPayloads load_payloads_;
};

// Returns the first release that is `number` or later; null if there is none.
const Release* release_from(int number);

// The rewritings, one for each row of rewrites.def.
#define PT2_REWRITE(name, what, source) Result<void> rewrite_##name(Converter& converter);
#include "convert/rewrites.def"

}  // namespace pt2

#endif  // PT2_CONVERT_CONVERTER_H
