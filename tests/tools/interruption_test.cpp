// Kills `pt2 convert` at any moment while it replaces a file. The file must be entirely the old or
// entirely the new one.
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>

#include "command_runner.h"
#include "pt2/package.h"
#include "pt2/save.h"
#include "read_file.h"
#include "temporary_folder.h"

namespace pt2::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;

// Converts a program of 2.15 with a record of 2 MB for 2.8. `old_` and `wanted_` are the contents
// of the output file before and after the conversion.
class Interruption : public testing::Test {
 protected:
  void SetUp() override {
    const std::string small = PT2_TEST_DATA "/corpus/2.15.0/mlp.pt2";
    const Package package = Package::open(small).value();
    PackageContents contents = package_contents(package).value();
    contents.extra_files.push_back({"large.txt", make_record(std::string(2 << 20, 'x'))});
    ASSERT_TRUE(save_package(contents, source_));
    ASSERT_EQ(run_pt2({"convert", source_, "-o", output_, "--for", "2.8"}).exit_code, 0);
    wanted_ = read_file(output_);
    fs::copy_file(small, output_, fs::copy_options::overwrite_existing);
    old_ = read_file(output_);
    ASSERT_NE(old_, wanted_);
  }

  // Starts a process that calls `prepare` and then converts.
  template <class Prepare>
  pid_t start(Prepare prepare) const {
    const pid_t child = fork();
    if (child != 0) return child;
    prepare();
    const int code = run_pt2({"convert", source_, "-o", output_, "--for", "2.8"}, "").exit_code;
    _exit(code);
  }

  // Checks and then restores the output file. True if the conversion was complete.
  bool expect_whole_file() {
    const std::string found = read_file(output_);
    const bool is_new = found == wanted_;
    EXPECT_TRUE(is_new || found == old_) << found.size() << " bytes";
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      const std::string name = file.path().filename();
      EXPECT_TRUE(name == "in.pt2" || name == "out.pt2" || name == ".pt2-0.tmp") << name;
    }
    if (is_new) std::ofstream(output_, std::ios::binary) << old_;
    return is_new;
  }

  // The next conversion removes the temporary files of killed processes.
  void expect_nothing_stays() {
    ASSERT_EQ(run_pt2({"convert", source_, "-o", output_, "--for", "2.8"}).exit_code, 0);
    EXPECT_TRUE(expect_whole_file());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 2);
  }

  const TemporaryFolder folder_;
  const std::string source_ = folder_.file("in.pt2");
  const std::string output_ = folder_.file("out.pt2");
  std::string old_;
  std::string wanted_;
};

int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST_F(Interruption, ByKillingAtRandomMoments) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(wait_for(start([] {})), 0);
  const auto duration =
      std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - begin);
  expect_whole_file();
  std::mt19937 random(0);
  std::uniform_int_distribution<int64_t> moment(0, duration.count());
  size_t killed = 0;
  for (int round = 0; round < 200; ++round) {
    const pid_t child = start([] {});
    usleep(static_cast<useconds_t>(moment(random)));
    kill(child, SIGKILL);
    killed += WIFSIGNALED(wait_for(child)) ? 1 : 0;
    expect_whole_file();
  }
  EXPECT_GT(killed, 0u);
  expect_nothing_stays();
}

// A limit on the file's size makes the system kill the process at its first write, its second, …
TEST_F(Interruption, AtEveryWrite) {
  const size_t step = wanted_.size() / 20;
  for (size_t limit = 0; limit < wanted_.size(); limit += step) {
    SCOPED_TRACE(limit);
    const pid_t child = start([limit] {
      const rlimit size{limit, limit}, no_core{0, 0};
      std::signal(SIGXFSZ, SIG_DFL);
      setrlimit(RLIMIT_CORE, &no_core);
      setrlimit(RLIMIT_FSIZE, &size);
    });
    const int status = wait_for(child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
    EXPECT_FALSE(expect_whole_file());
  }
  expect_nothing_stays();
}

}  // namespace
}  // namespace pt2::test
