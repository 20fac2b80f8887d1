#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "archive/unfinished_file.h"
#include "pt2/format/zip.h"
#include "read_file.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;
using test::read_file;

void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& file : fs::directory_iterator(folder)) names.insert(file.path().filename());
  return names;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Result<void> save(const std::string& path, std::string_view text) {
  PT2_TRY(const std::unique_ptr<FileSink> sink, FileSink::create(path));
  PT2_TRY_VOID(sink->write(bytes_of(text)));
  return sink->finish();
}

TEST(FileSink, ReplacesTheFileAtTheEndOrNotAtAll) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("x.pt2");
  write_file(path, "old");
  {
    const std::unique_ptr<FileSink> sink = FileSink::create(path).value();
    EXPECT_TRUE(sink->write(bytes_of("new")));
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_TRUE(save(path, "new"));
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"x.pt2"});
  EXPECT_EQ(FileSink::create(folder.file("absent/x.pt2")).error().code, ErrorCode::io);
}

TEST(FileSink, MakesAFileThatAppearsMeanwhileTheOldOne) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("x.pt2");
  const std::unique_ptr<FileSink> sink = FileSink::create(path).value();
  EXPECT_TRUE(sink->write(bytes_of("new")));
  write_file(path, "another");
  EXPECT_TRUE(sink->finish());
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"x.pt2"});
}

TEST(FileSink, KeepsThePermissionsOfTheFileItReplaces) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("x.pt2");
  write_file(path, "old");
  using fs::perms;
  const perms wanted = perms::owner_read | perms::owner_write | perms::group_write;
  fs::permissions(path, wanted);
  EXPECT_TRUE(save(path, ""));
  EXPECT_EQ(fs::status(path).permissions(), wanted);
  EXPECT_EQ(read_file(path), "");
}

TEST(FileSink, MakesNewFilesAsTheUserWantsThem) {
  const test::TemporaryFolder folder;
  const mode_t before = umask(027);
  EXPECT_TRUE(save(folder.file("x.pt2"), ""));
  umask(before);
  using fs::perms;
  EXPECT_EQ(fs::status(folder.file("x.pt2")).permissions(),
            perms::owner_read | perms::owner_write | perms::group_read);
}

TEST(FileSink, WritesIntoADeviceInsteadOfReplacingIt) {
  EXPECT_TRUE(save("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(FileSink, FollowsLinksThatLeadToAFile) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.file("real"));
  write_file(folder.file("real/x.pt2"), "old");
  fs::create_symlink("real/x.pt2", folder.file("link.pt2"));
  EXPECT_TRUE(save(folder.file("link.pt2"), "new"));
  EXPECT_EQ(fs::read_symlink(folder.file("link.pt2")), "real/x.pt2");
  EXPECT_EQ(read_file(folder.file("real/x.pt2")), "new");
  fs::remove(folder.file("real/x.pt2"));
  EXPECT_EQ(save(folder.file("link.pt2"), "new").error().text(),
            folder.file("link.pt2") + ": this is a link to a file that is not there");
  fs::create_symlink("loop.pt2", folder.file("loop.pt2"));
  EXPECT_EQ(save(folder.file("loop.pt2"), "new").error().code, ErrorCode::io);
  EXPECT_EQ(save(folder.path(), "new").error().text(), folder.path() + ": Is a directory");
  EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"link.pt2", "loop.pt2", "real"}));
  EXPECT_EQ(names_in(folder.file("real")), std::set<std::string>{});
}

// Removes the temporary file of a killed process, but not one that another process still writes.
TEST(UnfinishedFile, TakesAwayWhatNobodyWritesAnyMore) {
  for (const bool may_have_no_name : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("x.pt2");
    write_file(path, "old");
    write_file(folder.file(".pt2-0.tmp"), "abandoned");
    write_file(folder.file(".pt2-1.tmp"), "of another process");
    const int lock = open(folder.file(".pt2-1.tmp").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
    fs::create_symlink("x.pt2", folder.file(".pt2-2.tmp"));
    // The new files get the numbers 0 (abandoned) and 3 (unused).
    const auto first = UnfinishedFile::create(path, false).value();
    EXPECT_EQ(read_file(folder.file(".pt2-0.tmp")), "");
    {
      const auto second = UnfinishedFile::create(path, may_have_no_name).value();
      ASSERT_EQ(write(second->descriptor(), "new", 3), 3);
      EXPECT_TRUE(second->publish());
    }
    EXPECT_EQ(read_file(path), "new");
    ASSERT_EQ(write(first->descriptor(), "newer", 5), 5);
    EXPECT_TRUE(first->publish());
    EXPECT_EQ(read_file(path), "newer");
    EXPECT_EQ(names_in(folder.path()),
              (std::set<std::string>{".pt2-1.tmp", ".pt2-2.tmp", "x.pt2"}));
    EXPECT_EQ(read_file(folder.file(".pt2-1.tmp")), "of another process");
    close(lock);
  }
}

// Limits the size of files, to imitate a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(FileSink, LeavesTheOldFileWhereverWritingFails) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("x.pt2");
  const std::string old(5000, 'o'), text(20000, 'n');
  write_file(path, old);
  for (rlim_t limit = 0; limit < text.size(); limit += 1234) {
    const FileSizeLimit full(limit);
    const Result<void> saved = [&]() -> Result<void> {
      PT2_TRY(const std::unique_ptr<FileSink> sink, FileSink::create(path));
      for (size_t at = 0; at < text.size(); at += 1000)
        PT2_TRY_VOID(sink->write(bytes_of(std::string_view(text).substr(at, 1000))));
      return sink->finish();
    }();
    ASSERT_FALSE(saved) << limit;
    EXPECT_EQ(saved.error().text(), path + ": cannot write: File too large");
    EXPECT_EQ(read_file(path), old);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"x.pt2"});
  }
}

}  // namespace
}  // namespace pt2
