// The files of cases/ contain command lines and their output. PT2_REBASE=1 rewrites them; then the
// difference must be reviewed.
//
//   $ pt2 cat corpus/2.15.0/mlp.pt2 byteorder      "tty pt2": the output is a terminal
//   little                                         "< FILE" at the end: standard input
//   [no newline]
//   [stderr]                                       only if there is any
//   pt2: warning: …
//   [exit 0]
//
// Paths are relative to the test data. $OUT is an empty folder, $PLUGINS has the test plug-ins.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "command_runner.h"
#include "json_schema.h"
#include "read_file.h"
#include "temporary_folder.h"

namespace pt2::test {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string command;
  std::string expected;  // all output and the line with the exit code
};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(PT2_TOOLS_CASES)) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Case> read_cases(const fs::path& path) {
  std::vector<Case> cases;
  std::istringstream lines(read_file(path));
  bool complete = true;
  for (std::string line; std::getline(lines, line);) {
    // A command without output is new and waits for PT2_REBASE=1.
    const bool waits =
        !complete && cases.back().expected.find_first_not_of('\n') == std::string::npos;
    if ((complete || waits) && line.starts_with("$ ")) {
      cases.push_back({line.substr(2), ""});
      complete = false;
    } else if (!complete) {
      cases.back().expected += line + "\n";
      complete = line.starts_with("[exit ");
    }
  }
  return cases;
}

// Splits a command into words. 'Single quotes' keep blanks.
std::vector<std::string> split(const std::string& command) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (char c : command) {
    if (c == '\'') {
      quoted = !quoted;
      if (!open) words.emplace_back();
      open = true;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) words.emplace_back();
      open = true;
      words.back() += c;
    }
  }
  return words;
}

std::string section(const std::string& text) {
  if (text.empty() || text.ends_with('\n')) return text;
  return text + "\n[no newline]\n";
}

// Masks the numbers after `before`: rounding errors depend on the processor's kernels.
void mask_numbers(std::string& text, const std::string& before) {
  for (size_t at = text.find(before); at != text.npos; at = text.find(before, at + 1)) {
    const size_t start = at + before.size();
    text.replace(start, text.find_first_not_of("0123456789.e+-", start) - start, "*");
  }
}

// Masks all numbers, the units of times and the widths of columns.
std::string without_times(const std::string& text) {
  const std::string plain =
      std::regex_replace(text, std::regex("[0-9]+([.][0-9]+)?(e[-+][0-9]+)?"), "*");
  const std::string narrow = std::regex_replace(plain, std::regex("  +"), "  ");
  return std::regex_replace(narrow, std::regex(" (us|ms)\n"), " us\n");
}

// True if both words are numbers with equal suffixes ("0.25,") that differ by at most 0.1 %.
bool are_close(const std::string& a, const std::string& b) {
  char *a_end = nullptr, *b_end = nullptr;
  const double x = std::strtod(a.c_str(), &a_end), y = std::strtod(b.c_str(), &b_end);
  return a.find('.') != a.npos && a_end != a.c_str() && std::string(a_end) == b_end &&
         std::abs(x - y) <= 1e-3 * std::abs(y);
}

// True if texts are equal up to 0.1 % of numbers: kernels of other processors round differently.
bool is_alike(const std::string& found, const std::string& expected) {
  if (found == expected) return true;
  std::istringstream found_words(found), expected_words(expected);
  std::string a, b;
  while (true) {
    const bool has_a = static_cast<bool>(found_words >> a);
    const bool has_b = static_cast<bool>(expected_words >> b);
    if (has_a != has_b) return false;
    if (!has_a) return true;
    if (a != b && !are_close(a, b)) return false;
  }
}

// True if the verb's JSON has a schema. `as` prints the file's own format (docs/schema.md).
bool has_json_schema(const std::string& verb) { return verb != "as"; }

const JsonSchemas& json_schemas() {
  static const JsonSchemas schemas(PT2_JSON_SCHEMAS);
  return schemas;
}

// Checks that the output is empty, one valid JSON document, or one document per line.
void check_json(const std::string& command, const std::string& verb, const std::string& out) {
  const auto fault = [&](const std::string& text) {
    const auto json = parse_json(text);
    return json ? json_schemas().fault(verb, *json) : json.error().text();
  };
  if (out.empty() || fault(out).empty()) return;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);)
    ASSERT_EQ(fault(line), "") << command << "\n" << line.substr(0, 1000);
}

// Returns the first lines of a text, as `head` does.
std::string first_lines(const std::string& text, size_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end);
}

std::string run_case(const std::string& command, const std::string& out_folder) {
  std::string line = command;
  replace_all(line, "$OUT", out_folder);
  replace_all(line, "$PLUGINS", PT2_TEST_PLUGINS);
  std::vector<std::string> words = split(line);
  const bool is_terminal = words[0] == "tty";
  if (is_terminal) words.erase(words.begin());
  EXPECT_EQ(words[0], "pt2") << command;
  size_t shown_lines = std::string::npos;
  if (words.size() > 4 && words[words.size() - 3] == "|" && words[words.size() - 2] == "head") {
    shown_lines = std::stoul(words.back().substr(1));
    words.resize(words.size() - 3);
  }
  std::string input;
  if (words.size() > 2 && words[words.size() - 2] == "<") {
    input = words.back();
    words.resize(words.size() - 2);
  }
  const CommandResult result = run_pt2({words.begin() + 1, words.end()}, input, is_terminal);
  const std::string verb = words.size() > 1 ? words[1] : "";
  if (std::ranges::count(words, "--json") > 0 && has_json_schema(verb))
    check_json(command, verb, result.out);
  const bool has_times =
      line.starts_with("pt2 bench corpus") || std::ranges::count(words, "--time") > 0;
  std::string text =
      section(has_times ? without_times(result.out) : first_lines(result.out, shown_lines));
  if (!result.err.empty())
    text += "[stderr]\n" +
            section(has_times && result.exit_code == 0 ? without_times(result.err) : result.err);
  text += "[exit " + std::to_string(result.exit_code) + "]\n";
  replace_all(text, out_folder, "$OUT");
  replace_all(text, PT2_TEST_PLUGINS, "$PLUGINS");
  mask_numbers(text, "largest error ");
  mask_numbers(text, "\"largest_error\": ");
  // Spell escape sequences of colours readably.
  replace_all(text, "\x1b[", "\\e[");
  return text;
}

TEST(Command, PrintsWhatTheCasesShow) {
  const bool rebase = std::getenv("PT2_REBASE") != nullptr;
  for (const fs::path& path : case_files()) {
    const test::TemporaryFolder out_folder;
    std::string actual;
    for (const Case& each : read_cases(path)) {
      const std::string text = run_case(each.command, out_folder.path());
      if (!rebase) {
        EXPECT_TRUE(is_alike(text, each.expected))
            << path.filename() << ": $ " << each.command << "\nfound:\n"
            << text << "expected:\n"
            << each.expected;
      }
      actual += (actual.empty() ? "$ " : "\n$ ") + each.command + "\n" + text;
    }
    if (rebase) std::ofstream(path, std::ios::binary) << actual;
  }
}

// The ```text blocks of these pages of docs/ contain commands and their output. The output ends at
// an empty line before the next command, or at the end of the block.
class CommandPage : public testing::TestWithParam<const char*> {
 protected:
  const std::string path_ = std::string(PT2_DOCS) + "/" + GetParam();
};
INSTANTIATE_TEST_SUITE_P(Docs, CommandPage, testing::Values("command.md", "text.md", "verbs.md"),
                         [](const auto& page) {
                           const std::string name = page.param;
                           return name.substr(0, name.find('.'));
                         });

TEST_P(CommandPage, ShowsWhatIsPrinted) {
  const std::string page = read_file(path_);
  const test::TemporaryFolder out_folder;
  std::string actual, command, shown;
  bool in_block = false;
  std::istringstream lines(page);
  const auto finish = [&] {
    if (command.empty()) return;
    std::string text = run_case(command, out_folder.path());
    text.resize(text.rfind("[exit "));
    while (shown.ends_with("\n\n")) shown.pop_back();
    EXPECT_TRUE(std::getenv("PT2_REBASE") != nullptr || is_alike(text, shown))
        << "$ " << command << "\nfound:\n"
        << text << "shown:\n"
        << shown;
    actual += "$ " + command + "\n" + text;
    command.clear();
    shown.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (in_block && line.starts_with("$ pt2 ")) {
      const bool first = command.empty();
      finish();
      if (!first) actual += "\n";
      command = line.substr(2);
    } else if (in_block && line == "```") {
      finish();
      in_block = false;
      actual += line + "\n";
    } else if (in_block) {
      shown += line + "\n";
    } else {
      in_block = line == "```text";
      actual += line + "\n";
    }
  }
  if (std::getenv("PT2_REBASE") != nullptr) std::ofstream(path_, std::ios::binary) << actual;
}

// Returns all commands `pt2 …` in a page, in blocks of code and in `code` spans, up to a comment or
// to a character with a meaning for the shell.
std::vector<std::string> commands_of(const std::string& page) {
  static const std::regex kInBlock("(?:^|[ '\"])(pt2 [a-z]+(?![a-z:,])(?:(?!  | #|[;>}\"]|' ).)*)");
  static const std::regex kInText("`(pt2 [a-z][^`]*)`");
  std::vector<std::string> commands;
  bool in_block = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) in_block = !in_block;
    const std::regex& command = in_block || line.starts_with("    ") ? kInBlock : kInText;
    for (std::sregex_iterator each(line.begin(), line.end(), command), end; each != end; ++each)
      commands.push_back(each->str(1).substr(0, each->str(1).find(" |")));
  }
  return commands;
}

TEST(Command, PagesShowVerbsAndOptionsThatThereAre) {
  const fs::path docs = PT2_DOCS;
  std::vector<fs::path> pages = {docs / "../README.md", docs / "../examples/README.md"};
  for (const auto& file : fs::recursive_directory_iterator(docs))
    if (file.path().extension() == ".md") pages.push_back(file.path());
  size_t count = 0;
  for (const fs::path& path : pages)
    for (const std::string& command : commands_of(read_file(path))) {
      const std::vector<std::string> words = split(command);
      const auto verb = std::ranges::find_if(
          tools::verbs(), [&](const auto& each) { return each.name == words[1]; });
      if (verb == tools::verbs().end()) {
        ADD_FAILURE() << path << ": no verb: " << command;
        continue;
      }
      ++count;
      tools::CommandLine line(verb->name, verb->summary, "");
      const tools::Action action = verb->setup(line);
      std::set<std::string> known = {"-h", "--help"};
      for (const tools::OptionText& option : line.options())
        known.insert(option.names.begin(), option.names.end());
      for (const std::string& word : words) {
        if (word.size() < 2 || word[0] != '-' || std::isdigit(word[1])) continue;
        EXPECT_TRUE(known.contains(word.substr(0, word.find('='))))
            << path << ": no option " << word << ": " << command;
      }
    }
  EXPECT_GT(count, 100u);
}

TEST(Command, APageShowsThreeCommandsOfEveryVerb) {
  std::map<std::string, std::set<std::string>> shown;
  std::istringstream lines(read_file(std::string(PT2_DOCS) + "/verbs.md"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("$ pt2 ")) shown[split(line)[2]].insert(line);
  for (const tools::Verb& verb : tools::verbs()) {
    EXPECT_GE(shown[std::string(verb.name)].size(), 3u) << verb.name;
  }
}

// Some case uses every verb with every option.
TEST(Command, CasesUseEveryOptionOfEveryVerb) {
  std::map<std::string, std::set<std::string>> used;
  for (const fs::path& path : case_files())
    for (const Case& each : read_cases(path)) {
      std::vector<std::string> words = split(each.command);
      if (words[0] == "tty") words.erase(words.begin());
      if (words.size() < 2) continue;
      for (const std::string& word : words) used[words[1]].insert(word.substr(0, word.find('=')));
    }
  for (const tools::Verb& verb : tools::verbs()) {
    tools::CommandLine line(verb.name, verb.summary, "");
    const tools::Action action = verb.setup(line);
    const auto& words = used[std::string(verb.name)];
    for (const tools::OptionText& option : line.options())
      EXPECT_TRUE(
          option.names.empty() ||
          std::ranges::any_of(option.names, [&](const auto& name) { return words.contains(name); }))
          << "no case uses pt2 " << verb.name << " " << option.names[0];
    EXPECT_EQ(json_schemas().has(std::string(verb.name)),
              has_json_schema(std::string(verb.name)) &&
                  std::ranges::any_of(line.options(),
                                      [](const tools::OptionText& option) {
                                        return std::ranges::count(option.names, "--json") > 0;
                                      }))
        << verb.name;
  }
}

}  // namespace
}  // namespace pt2::test
