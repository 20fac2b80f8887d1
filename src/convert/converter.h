// Shared by the parts of convert: a program on its way from one release to another.
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

// The state that the rewritings and checks of one program share.
class Converter {
 public:
  using LoadPayloads = std::function<Result<std::shared_ptr<const Payloads>>()>;

  Converter(Program converted, ConversionTarget wanted, const ConvertOptions& options,
            LoadPayloads load);

  Program program;
  const Release& source;  // the release that wrote it
  const int from;         // its schema version
  const ConversionTarget target;
  const int to;  // target.schema
  // By name: constants that schema 1 moved out of the program, and those that it moved into the
  // program.
  std::vector<SavedTensor> added_constants{};
  std::vector<std::string> removed_constants{};
  bool changed = false;  // set by a rewriting that changed something
  Pipeline pipeline;     // shared by the rewritings that are passes

  // Whether the conversion crosses a version on the way up, or on the way down.
  bool rises_to(int version) const { return from < version && version <= to; }
  bool falls_below(int version) const { return to < version && version <= from; }
  Result<std::shared_ptr<const Payloads>> payloads() const { return load_payloads_(); }
  // Adds to the blockers, or to the losses if the options accept this loss; true in the latter
  // case.
  bool block(Blocker blocker);

  std::vector<Blocker> blockers{};
  std::vector<Blocker> lost{};

 private:
  const std::set<std::string, std::less<>>& losses_;
  LoadPayloads load_payloads_;
};

// What torch.export says of a node of the outermost module: the module alone, as another node's
// stack names it. Empty where no node has one. O(nodes).
Metadata root_metadata(const Graph& graph);

// The first release that is `number` or later; null where there is none yet.
const Release* release_from(int number);

// The rewritings, one for each row of rewrites.def.
#define PT2_REWRITE(name, what, source) Result<void> rewrite_##name(Converter& converter);
#include "convert/rewrites.def"

}  // namespace pt2

#endif  // PT2_CONVERT_CONVERTER_H
