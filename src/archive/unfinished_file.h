// A file that gets its name when it is complete. If the file system can create files without a name
// (O_TMPFILE), a killed process leaves nothing behind. Elsewhere, and while the file replaces
// another, its name is ".pt2-0.tmp" or the next free number in the same folder, and its writer
// holds a lock (flock) on it. A process that needs such a name removes a file that nobody locks. So
// at most one file stays behind for each process that was killed at the same time, and only until
// the next write.
#ifndef PT2_ARCHIVE_UNFINISHED_FILE_H
#define PT2_ARCHIVE_UNFINISHED_FILE_H

#include <memory>
#include <string>

#include "pt2/result.h"

namespace pt2 {

class UnfinishedFile {
 public:
  // Creates a file for `path`, which is a regular file or absent, and no link. The new file gets
  // the permissions of the old one, and its owner if the system allows. Error `io`. Tests pass
  // false to force a temporary name.
  static Result<std::unique_ptr<UnfinishedFile>> create(std::string path,
                                                        bool may_have_no_name = true);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  int descriptor() const { return descriptor_; }
  // Gives the file its name. A file that replaces another is synced to disk first, so that even a
  // power failure leaves one of the two. A new file is left to the system, as `cp` does. Error
  // `io`.
  Result<void> publish();

 private:
  UnfinishedFile(std::string path, std::string folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  bool open_without_name();
  Result<void> open_with_name();
  template <class Make>
  Result<void> make_name(Make make);
  Error io_error(std::string message) const;

  std::string path_;
  std::string folder_;
  std::string name_{};  // the temporary name; "" if there is none
  int descriptor_ = -1;
  bool replaces_ = false;
};

}  // namespace pt2

#endif  // PT2_ARCHIVE_UNFINISHED_FILE_H
