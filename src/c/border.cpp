#include "c/border.h"

#include <algorithm>

#include "base/printable.h"

namespace pt2::c {
namespace {

constinit pt2_error kNoMemory = {
    .code = PT2_NO_MEMORY, .message = "out of memory", .place = "", .text = "out of memory"};

constexpr const char* kNames[] = {"ok",
#define PT2_ERROR(name, exit_code, meaning) #name,
#include "pt2/error.def"
                                  "no_memory", "internal"};

// The error codes of C are those of C++ plus 1.
static_assert(PT2_IO == 1 + static_cast<int>(ErrorCode::io));
static_assert(PT2_LIMIT == 1 + static_cast<int>(ErrorCode::limit));
static_assert(PT2_ARGUMENT == 1 + static_cast<int>(ErrorCode::argument));
static_assert(std::size(kNames) == PT2_INTERNAL + 1);

// A larger size belongs to no struct of options, but to memory that was never set.
constexpr size_t kMaxStruct = 4096;

}  // namespace

pt2_error* no_memory() noexcept { return &kNoMemory; }

// The text may quote a file, and callers print it as it is, so unprintable characters are escaped.
pt2_error* make_error(int32_t code, std::string_view text, std::string_view where) noexcept {
  try {
    const std::string message = printable_message(text), place = printable_line(where);
    auto storage = std::make_unique<std::string>(place);
    storage->push_back('\0');
    if (!place.empty()) storage->append(place).append(": ");
    storage->append(message);
    auto error = std::make_unique<pt2_error>();
    const std::string_view all = *storage;
    error->code = code;
    error->place = all.substr(0, place.size());
    error->text = all.substr(place.size() + 1);
    error->message = all.substr(all.size() - message.size());
    error->storage = storage.release();
    return error.release();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

pt2_error* make_error(const Error& error) noexcept {
  return make_error(1 + static_cast<int32_t>(error.code), error.message, error.where);
}

Error take_error(pt2_error* error) {
  const std::unique_ptr<pt2_error, void (*)(pt2_error*)> owner(error, pt2_error_free);
  // C++ has no codes for PT2_NO_MEMORY and PT2_INTERNAL.
  const ErrorCode code = error->code >= PT2_IO && error->code <= PT2_ARGUMENT
                             ? static_cast<ErrorCode>(error->code - 1)
                             : ErrorCode::invalid;
  return {code, std::string(error->message), std::string(error->place)};
}

Result<void> expect(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return argument_error("'" + std::string(name) + "' is NULL");
}

Result<std::string_view> read_text(const char* text, size_t length, const char* name) {
  if (length > 0) PT2_TRY_VOID(expect(text, name));
  return std::string_view(text == nullptr ? "" : text, length);
}

Result<void> read_struct(const void* given, void* out, size_t first, size_t known) {
  size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  // The members of every version end at a multiple of this, so that none is cut in two.
  if (size < first || size > kMaxStruct || size % sizeof(size) != 0)
    return argument_error("found options of " + std::to_string(size) +
                          " bytes; begin with PT2_INIT");
  const char* bytes = static_cast<const char*>(given);
  for (size_t i = known; i < size; ++i)
    if (bytes[i] != 0)
      return argument_error("the options have members that this version does not know");
  std::memcpy(out, given, std::min(size, known));
  return {};
}

Result<Limits> read_limits(const char* text, size_t length) {
  PT2_TRY(std::string_view rest, read_text(text, length, "limits"));
  Limits limits;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    PT2_TRY_VOID(set_limit(limits, rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return limits;
}

}  // namespace pt2::c

using pt2::c::give;

const char* pt2_version(void) { return PT2_VERSION; }

int32_t pt2_has(const char* feature, size_t length) {
  constexpr std::string_view kFeatures[] = {
      "run", "verify", "convert", "dlpack", "custom-operators", "trace", "decoder"};
  if (feature == nullptr) return 0;
  for (const std::string_view each : kFeatures)
    if (each == std::string_view(feature, length)) return 1;
  return 0;
}

int32_t pt2_error_code(const pt2_error* error) { return error == nullptr ? PT2_OK : error->code; }

const char* pt2_error_name(const pt2_error* error) { return pt2::c::kNames[pt2_error_code(error)]; }

const char* pt2_error_message(const pt2_error* error, size_t* length) {
  return give(error == nullptr ? "" : error->message, length);
}

const char* pt2_error_place(const pt2_error* error, size_t* length) {
  return give(error == nullptr ? "" : error->place, length);
}

const char* pt2_error_text(const pt2_error* error, size_t* length) {
  return give(error == nullptr ? "" : error->text, length);
}

pt2_error* pt2_error_create(int32_t code, const char* message, size_t length) {
  if (code <= PT2_OK || code > PT2_INTERNAL) code = PT2_INTERNAL;
  return pt2::c::make_error(code, {message == nullptr ? "" : message, message ? length : 0}, "");
}

void pt2_error_free(pt2_error* error) {
  if (error == nullptr || error->storage == nullptr) return;
  delete error->storage;
  delete error;
}

const char* pt2_text_data(const pt2_text* text, size_t* length) {
  return give(text == nullptr ? std::string_view() : text->text, length);
}

void pt2_text_free(pt2_text* text) { delete text; }
