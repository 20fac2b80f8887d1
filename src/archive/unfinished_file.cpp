#include "archive/unfinished_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "base/platform/files.h"

namespace pt2 {
namespace {

// The most processes that may write into one folder at once.
constexpr int kMaxNames = 1000;

bool leads_to(const std::string& name, int descriptor) {
  const auto named = files::status_itself(name), opened = files::status(descriptor);
  return named && opened && named->is_same_file(*opened);
}

// Removes the file if no process holds its lock. Only the holder of a temporary file's lock may
// rename or remove it, so the name leads to the same file while this function holds the lock.
void remove_if_abandoned(const std::string& name) {
  const int descriptor = files::open_itself(name);
  if (descriptor < 0) return;
  if (files::lock(descriptor) && leads_to(name, descriptor)) files::remove(name);
  files::close(descriptor);
}

}  // namespace

Result<std::unique_ptr<UnfinishedFile>> UnfinishedFile::create(std::string path,
                                                               bool may_have_no_name) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  std::unique_ptr<UnfinishedFile> file(new UnfinishedFile(std::move(path), std::move(folder)));
  if (!may_have_no_name || !file->open_without_name()) PT2_TRY_VOID(file->open_with_name());
  file->replaces_ = files::status(file->path_).has_value();
  if (file->replaces_) files::take_permissions(file->descriptor_, file->path_);
  return file;
}

UnfinishedFile::~UnfinishedFile() {
  if (!name_.empty()) files::remove(name_);
  if (descriptor_ >= 0) files::close(descriptor_);
}

bool UnfinishedFile::open_without_name() {
  descriptor_ = files::create_nameless(folder_);
  if (descriptor_ < 0) return false;
  files::lock(descriptor_);
  return true;
}

Result<void> UnfinishedFile::open_with_name() {
  return make_name([this](const std::string& name) {
    const int descriptor = files::create(name);
    if (descriptor < 0) return false;
    // Before the lock is taken, another process may take the file for abandoned and lock or remove
    // it.
    const bool is_locked = files::lock(descriptor) || errno != EWOULDBLOCK;
    if (is_locked && leads_to(name, descriptor)) {
      descriptor_ = descriptor;
      return true;
    }
    files::close(descriptor);
    errno = EEXIST;
    return false;
  });
}

// `make` fails with errno EEXIST when the name is taken.
template <class Make>
Result<void> UnfinishedFile::make_name(Make make) {
  for (int i = 0; i < kMaxNames; ++i) {
    std::string name = fmt::format("{}/.pt2-{}.tmp", folder_, i);
    for (const bool is_first : {true, false}) {
      if (make(name)) {
        name_ = std::move(name);
        return {};
      }
      if (errno != EEXIST) return io_error("cannot write in its folder: " + files::reason());
      if (is_first) remove_if_abandoned(name);
    }
  }
  return io_error(fmt::format("{} files are being written into its folder", kMaxNames));
}

Result<void> UnfinishedFile::publish() {
  const bool has_no_name = name_.empty();
  const auto name_it = [this](const std::string& name) {
    return files::name_it(descriptor_, name);
  };
  if (has_no_name && !replaces_ && name_it(path_)) return {};
  // Some disks report only here that they are full.
  if (!files::sync(descriptor_)) return io_error("cannot write: " + files::reason());
  if (has_no_name) PT2_TRY_VOID(make_name(name_it));
  if (!files::rename(name_, path_)) return io_error("cannot rename to this: " + files::reason());
  name_.clear();
  files::sync_folder(folder_);
  return {};
}

Error UnfinishedFile::io_error(std::string message) const {
  return {ErrorCode::io, std::move(message), path_};
}

}  // namespace pt2
