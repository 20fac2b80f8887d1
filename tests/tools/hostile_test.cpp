// Hostile files in data/hostile, which try to exhaust resources, crash or mislead, with the
// expected answer for each. Also a command for every row of limits.def that exceeds the limit.
#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "command_runner.h"
#include "temporary_folder.h"

namespace pt2::test {
namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Splits a command into words; $OUT, $NPY, $NPZ and $SAFETENSORS become files in `folder`.
std::vector<std::string> words_of(const std::string& command, const std::string& folder = "") {
  std::vector<std::string> words;
  std::istringstream stream(command);
  for (std::string word; stream >> word;) {
    if (word == "$OUT") word = folder + "/out.pt2";
    if (word == "$NPY") word = folder + "/out.npy";
    if (word == "$NPZ") word = folder + "/out.npz";
    if (word == "$SAFETENSORS") word = folder + "/out.safetensors";
    words.push_back(word);
  }
  return words;
}

// hostile.sh limits the release build to 10 s and 1 GB. Sanitizers take about ten times the time
// and more memory, so here only time is limited.
constexpr double kSeconds = 100;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Hostile, EveryFileEndsAsItShould) {
  const TemporaryFolder folder;
  std::ifstream cases(PT2_TEST_DATA "/hostile/cases.txt");
  size_t count = 0;
  for (std::string line; std::getline(cases, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> parts;
    std::istringstream stream(line);
    for (std::string part; std::getline(stream, part, '|');) parts.push_back(trimmed(part));
    ASSERT_GE(parts.size(), 2u) << line;
    const bool writes = parts[0].find(" -o ") != std::string::npos;
    if (writes) std::filesystem::remove(folder.file("out.pt2"));
    const double start = processor_seconds();
    const CommandResult result = run_pt2(words_of(parts[0], folder.path()));
    EXPECT_LT(processor_seconds() - start, kSeconds) << line;
    EXPECT_EQ(result.exit_code, std::stoi(parts[1])) << line << "\n" << result.err;
    const std::string expected = parts.size() > 2 ? parts[2] : "";
    EXPECT_NE((result.out + result.err).find(expected), std::string::npos)
        << line << "\n"
        << result.out << result.err;
    ++count;
  }
  EXPECT_GT(count, 20u);
}

struct LimitCase {
  std::string limit;
  std::string setting;
  std::string command;
};
const LimitCase kLimitCases[] = {
    {"max_entries", "1", "info corpus/2.15.0/mlp.pt2"},
    {"max_name_bytes", "1", "info corpus/2.15.0/mlp.pt2"},
    {"max_inflated_bytes", "1", "info negative/zip_deflated_program.pt2"},
    {"max_inflate_ratio", "200", "info negative/zip_bomb.pt2"},
    {"max_json_ratio", "20", "info hostile/json-ratio.pt2"},
    {"max_program_ratio", "200", "info hostile/json-of-empty-lists.pt2"},
    {"max_stream_bytes", "1000", "info /dev/zero"},
    {"max_json_bytes", "1", "info corpus/2.15.0/mlp.pt2"},
    {"max_guard_bytes", "1", "info corpus/2.15.0/dim_auto.pt2"},
    {"max_json_depth", "1", "info corpus/2.15.0/mlp.pt2"},
    {"max_pickle_opcodes", "1", "run corpus/2.3.1/mlp.pt2"},
    {"max_pickle_depth", "0", "run corpus/2.15.0/mlp.pt2"},
    {"max_pickle_memory", "1", "run corpus/2.3.1/mlp.pt2"},
    {"max_pickle_ratio", "1000", "run hostile/pickle-of-empty-lists.pt2"},
    {"max_fake_bytes", "1", "run hostile/run-fake-buffer-copied.pt2"},
    {"max_tensor_bytes", "1", "run corpus/2.15.0/mlp.pt2"},
    {"max_tensor_ratio", "0", "run hostile/run-scratch-embedding-backward.pt2"},
    {"max_work", "1", "run corpus/2.15.0/mlp.pt2"},
    {"max_loop_rounds", "1", "run corpus/2.15.0/map_op.pt2"},
    {"max_new_nodes", "1", "run corpus/2.15.0/forward_derivatives.pt2"},
};

void expect_hit(const LimitCase& row) {
  const CommandResult result =
      run_pt2(words_of(row.command + " --limit " + row.limit + "=" + row.setting));
  EXPECT_EQ(result.exit_code, 5) << row.command << "\n" << result.out << result.err;
  EXPECT_NE((result.out + result.err).find(row.limit), std::string::npos)
      << row.command << "\n"
      << result.out << result.err;
}

TEST(Hostile, EveryLimitIsHitAndNamed) {
  std::vector<std::string> limits;
#define PT2_LIMIT(name, type, value, text) limits.emplace_back(#name);
#include "pt2/limits.def"
  ASSERT_EQ(limits.size(), std::size(kLimitCases));
  for (size_t i = 0; i < limits.size(); ++i) {
    EXPECT_EQ(kLimitCases[i].limit, limits[i]);
    expect_hit(kLimitCases[i]);
  }
}

}  // namespace
}  // namespace pt2::test
