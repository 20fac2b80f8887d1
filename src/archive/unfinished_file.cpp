#include "archive/unfinished_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef __wasi__
#include <sys/file.h>
#endif

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace pt2 {
namespace {

// The most processes that may write into one folder at once.
constexpr int kMaxNames = 1000;

// A path to the open file that linkat accepts without privileges.
std::string descriptor_path(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

// False with errno EWOULDBLOCK where another process holds the lock.
bool lock(int descriptor) {
#ifdef __wasi__  // where no other process is
  return descriptor >= 0;
#else
  return flock(descriptor, LOCK_EX | LOCK_NB) == 0;
#endif
}

bool leads_to(const std::string& name, int descriptor) {
  struct stat named {
  }, opened{};
  return lstat(name.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// Only the holder of a temporary file's lock may rename or remove the file. So as long as this
// function holds the lock, the name leads to the same file.
void remove_if_abandoned(const std::string& name) {
  const int descriptor = open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  if (lock(descriptor) && leads_to(name, descriptor)) unlink(name.c_str());
  close(descriptor);
}

// A rename reaches the disk with its folder. Not every file system can sync folders.
void sync_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

Result<std::unique_ptr<UnfinishedFile>> UnfinishedFile::create(std::string path,
                                                               bool may_have_no_name) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  std::unique_ptr<UnfinishedFile> file(new UnfinishedFile(std::move(path), std::move(folder)));
  if (!may_have_no_name || !file->open_without_name()) PT2_TRY_VOID(file->open_with_name());
  file->take_permissions();
  return file;
}

UnfinishedFile::~UnfinishedFile() {
  if (!name_.empty()) unlink(name_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
}

bool UnfinishedFile::open_without_name() {
#ifdef O_TMPFILE
  descriptor_ = open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return false;
  // Without /proc the file could not be given a name.
  if (access(descriptor_path(descriptor_).c_str(), F_OK) == 0) {
    lock(descriptor_);
    return true;
  }
  close(descriptor_);
  descriptor_ = -1;
#endif
  return false;
}

Result<void> UnfinishedFile::open_with_name() {
  return make_name([this](const std::string& name) {
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return false;
    // Until it was locked, another process could take the file for abandoned and lock or remove it.
    const bool is_locked = lock(descriptor) || errno != EWOULDBLOCK;
    if (is_locked && leads_to(name, descriptor)) {
      descriptor_ = descriptor;
      return true;
    }
    close(descriptor);
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
      if (errno != EEXIST)
        return io_error("cannot write in its folder: " + std::generic_category().message(errno));
      if (is_first) remove_if_abandoned(name);
    }
  }
  return io_error(fmt::format("{} files are being written into its folder", kMaxNames));
}

void UnfinishedFile::take_permissions() {
  struct stat old {};
  replaces_ = stat(path_.c_str(), &old) == 0;
  if (!replaces_) return;
#ifndef __wasi__  // where files have neither owners nor modes
  // Only the superuser may give files away; otherwise the process that replaces the file owns it.
  [[maybe_unused]] const int ignored = fchown(descriptor_, old.st_uid, old.st_gid);
  fchmod(descriptor_, old.st_mode & 0777);
#endif
}

Result<void> UnfinishedFile::publish() {
  const bool has_no_name = name_.empty();
  const auto link_as = [this](const std::string& name) {
    return linkat(AT_FDCWD, descriptor_path(descriptor_).c_str(), AT_FDCWD, name.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
  };
  if (has_no_name && !replaces_ && link_as(path_)) return {};
  // Some disks report only here that they are full.
  if (fsync(descriptor_) != 0)
    return io_error("cannot write: " + std::generic_category().message(errno));
  if (has_no_name) PT2_TRY_VOID(make_name(link_as));
  if (rename(name_.c_str(), path_.c_str()) != 0)
    return io_error("cannot rename to this: " + std::generic_category().message(errno));
  name_.clear();
  sync_folder(folder_);
  return {};
}

Error UnfinishedFile::io_error(std::string message) const {
  return {ErrorCode::io, std::move(message), path_};
}

}  // namespace pt2
