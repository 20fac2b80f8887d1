#include "pt2/format/draft.h"
#include "pt2/save.h"

namespace pt2 {

Result<DraftFile> package_draft(const Package& package, const DraftOptions& options,
                                DraftReport& report, std::string_view model) {
  PT2_TRY(const Program* program, package.program(model));
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, package.payloads(model));
  const auto find_state = [&](const InputSpec& spec) -> std::optional<DraftState> {
    const PayloadTensor* payload = payloads->bound_to(spec);
    // A fake tensor in a small file can have any size, and all its zeros would be written.
    if (payload == nullptr || payload->is_fake) return std::nullopt;
    return DraftState{payload->tensor, payload->requires_grad};
  };
  return to_draft(*program, find_state, options, report);
}

}  // namespace pt2
