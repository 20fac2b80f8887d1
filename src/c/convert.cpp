#include "c/packages.h"
#include "pt2/conversion.h"

namespace pt2::c {

// A blocker with the texts that C callers borrow.
struct Reason {
  Blocker blocker;
  std::string first_release;
};

namespace {

std::vector<Reason> reasons(const std::vector<Blocker>& blockers) {
  std::vector<Reason> out;
  for (const Blocker& blocker : blockers)
    out.push_back({blocker, blocker.first == nullptr ? "" : release_name(*blocker.first)});
  return out;
}

}  // namespace
}  // namespace pt2::c

struct pt2_conversion {
  pt2::Conversion conversion;
  std::string release;
  std::vector<pt2::c::Reason> blockers;
  std::vector<pt2::c::Reason> losses;
};

namespace pt2::c {
namespace {

void add_losses(std::string_view text, ConvertOptions& options) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    options.losses.emplace(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

Result<void> get_reason(const std::vector<Reason>& from, const char* what, size_t index,
                        pt2_blocker* out) {
  if (index >= from.size())
    return argument_error("there is no " + std::string(what) + " " + std::to_string(index));
  const Reason& reason = from[index];
  const BlockerInfo& info = reason.blocker.info();
  return answer({.kind = info.name.data(),
                 .loss = info.loss.data(),
                 .text = reason.blocker.text.c_str(),
                 .place = reason.blocker.where.c_str(),
                 .node = reason.blocker.node.name.c_str(),
                 .first_release = reason.first_release.c_str()},
                out);
}

}  // namespace
}  // namespace pt2::c

using namespace pt2::c;
using pt2::Result;

pt2_error* pt2_convert(const pt2_package* package, const char* release, size_t release_length,
                       const char* losses, size_t losses_length, pt2_conversion** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(package, "package"));
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const std::string_view target, read_text(release, release_length, "release"));
    PT2_TRY(const std::string_view accepted, read_text(losses, losses_length, "losses"));
    pt2::ConvertOptions options{.limits = package->limits};
    add_losses(accepted, options);
    const bool oldest = target == "oldest";
    if (!oldest && !target.empty()) {
      PT2_TRY(options.target, pt2::conversion_target(target));
    }
    PT2_TRY(pt2::Conversion made, oldest ? pt2::convert_for_oldest(*package->package, options)
                                         : pt2::convert(*package->package, options));
    auto conversion = std::make_unique<pt2_conversion>();
    conversion->release = pt2::release_name(*made.target.release);
    conversion->blockers = reasons(made.blockers);
    conversion->losses = reasons(made.lost);
    conversion->conversion = std::move(made);
    *out = conversion.release();
    return {};
  });
}

void pt2_conversion_free(pt2_conversion* conversion) { delete conversion; }

const char* pt2_conversion_release(const pt2_conversion* conversion, size_t* length) {
  return give(conversion == nullptr ? std::string_view() : conversion->release, length);
}

size_t pt2_conversion_blocker_count(const pt2_conversion* conversion) {
  return conversion == nullptr ? 0 : conversion->blockers.size();
}

pt2_error* pt2_conversion_get_blocker(const pt2_conversion* conversion, size_t index,
                                      pt2_blocker* out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(conversion, "conversion"));
    return get_reason(conversion->blockers, "blocker", index, out);
  });
}

size_t pt2_conversion_loss_count(const pt2_conversion* conversion) {
  return conversion == nullptr ? 0 : conversion->losses.size();
}

pt2_error* pt2_conversion_get_loss(const pt2_conversion* conversion, size_t index,
                                   pt2_blocker* out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(conversion, "conversion"));
    return get_reason(conversion->losses, "loss", index, out);
  });
}

pt2_error* pt2_conversion_save(const pt2_conversion* conversion, const char* path,
                               size_t path_length) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(conversion, "conversion"));
    PT2_TRY(const Source target, file_source(path, path_length));
    if (!conversion->blockers.empty())
      return pt2::Error{pt2::ErrorCode::unsupported,
                        "the program cannot be converted for PyTorch " + conversion->release +
                            ": " + conversion->blockers[0].blocker.line(),
                        ""};
    return pt2::save_package(conversion->conversion.contents, std::string(target.name));
  });
}
