// Outputs and inputs that are not regular files: a pipe, which also receives the report; standard
// output; links.
#include <sys/stat.h>

#include <fstream>

#include "command_runner.h"
#include "pt2/package.h"
#include "pt2/tensor_file.h"
#include "read_file.h"
#include "temporary_folder.h"
#include "tools/names.h"
#include "tools/table.h"
#include "tools/writing.h"

namespace pt2::test {
namespace {

std::string read_pipe(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(descriptor, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(descriptor);
  return text;
}

TEST(ConvertOutput, IntoThePipeOfItsReportIsTheArchiveAlone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::FILE* pipe_stream = fdopen(ends[1], "w");
  tools::Environment environment{.out = pipe_stream, .err = std::tmpfile()};
  const std::string path = "/proc/self/fd/" + std::to_string(ends[1]);
  std::filesystem::current_path(PT2_TEST_DATA);
  // The output fits into the buffer of a pipe.
  const std::vector<std::string> arguments = {
      "convert", "corpus/2.15.0/mlp.pt2", "-o", path, "--for", "2.9"};
  EXPECT_EQ(tools::run_command(arguments, environment), 0);
  std::fclose(pipe_stream);
  auto bytes = std::make_shared<const std::string>(read_pipe(ends[0]));
  const auto package =
      Package::open_bytes(std::as_bytes(std::span(*bytes)), bytes, "from the pipe");
  ASSERT_TRUE(package) << package.error().text();
  EXPECT_TRUE(package->warnings().empty());
  EXPECT_EQ(package->program().value()->torch_version, "2.9.1");
  EXPECT_TRUE(stream_text(environment.err).starts_with(path + ": for PyTorch 2.9"));
}

TEST(ChangedOutput, OnStandardOutputIsTheArchiveAlone) {
  for (const std::string verb : {"strip", "convert", "decompose", "as"}) {
    std::vector<std::string> arguments = {verb, "corpus/2.15.0/mlp.pt2", "-o", "-"};
    if (verb == "strip") arguments.emplace_back("--check");
    if (verb == "as") arguments = {"as", "hostile/stats-more-than-64-bits.txt", "-o", "-"};
    const CommandResult result = run_pt2(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    auto bytes = std::make_shared<const std::string>(result.out);
    const auto package = Package::open_bytes(std::as_bytes(std::span(*bytes)), bytes, verb);
    EXPECT_TRUE(package) << package.error().text();
    EXPECT_EQ(run_pt2(arguments, "", true).exit_code, 2);  // standard output is a terminal
    if (verb == "as") continue;                            // its --json is the program's
    arguments.emplace_back("--json");
    const CommandResult reported = run_pt2(arguments);
    EXPECT_EQ(reported.out.size(), result.out.size()) << verb;
    EXPECT_TRUE(reported.err.starts_with("{")) << verb;
    const std::string size = "\"bytes\": " + std::to_string(result.out.size());
    EXPECT_EQ(reported.err.find(size) != std::string::npos, verb == "strip") << verb;
  }
}

// If the output breaks a rule that the input keeps, libpt2 has a bug. Then `convert` and the verbs
// that change files must refuse to write the output.
TEST(ChangedOutput, BreaksNoRuleThatTheInputKeeps) {
  const std::string path = std::string(PT2_TEST_DATA) + "/corpus/2.15.0/mlp.pt2";
  const Package package = Package::open(path).value();
  PackageContents contents = package_contents(package).value();
  ASSERT_EQ(contents.programs.size(), 1u);
  SavedProgram& program = contents.programs[0];
  const auto same = tools::new_findings(package, program, Limits());
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE(same->empty());

  const std::string kept = "torch.ops.aten.relu.default", wrong = "torch.ops.aten.cumsum.default";
  const size_t at = program.json.find(kept);
  ASSERT_NE(at, std::string::npos);
  program.json.replace(at, kept.size(), wrong);
  const auto found = tools::new_findings(package, program, Limits());
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_FALSE(found->empty());

  const TemporaryFolder folder;
  tools::Environment environment{.out = std::tmpfile(), .err = std::tmpfile()};
  const tools::Writing writing{.source = {}, .output = folder.file("changed.pt2")};
  const auto code = tools::write_changed(writing, package, contents, {"a change"}, environment);
  ASSERT_TRUE(code) << code.error().text();
  EXPECT_EQ(*code, 3);
  EXPECT_FALSE(std::filesystem::exists(writing.output));
  EXPECT_EQ(stream_text(environment.out), "");
  EXPECT_TRUE(stream_text(environment.err)
                  .starts_with("pt2: the new program breaks rules that the old one keeps; nothing "
                               "was written\npt2: V601 error"));

  // Rules that the input breaks as well are no reason to refuse.
  ASSERT_TRUE(save_package(contents, folder.file("broken.pt2")));
  const Package broken = Package::open(folder.file("broken.pt2")).value();
  EXPECT_TRUE(tools::new_findings(broken, program, Limits()).value().empty());
}

// Fields of a newer schema are written back where the program keeps them, and a warning names the
// others.
TEST(ChangedOutput, NamesTheFieldsOfANewerSchemaThatItLost) {
  const std::string path = std::string(PT2_TEST_DATA) + "/negative/schema_unknown_field.pt2";
  PackageContents contents = package_contents(Package::open(path).value()).value();
  std::string& json = contents.programs.at(0).json;
  const std::string spec = "{\"parameter\": {";
  ASSERT_NE(json.find(spec), std::string::npos) << json;
  json.insert(json.find(spec) + spec.size(), "\"flavour\": 1, ");
  const TemporaryFolder folder;
  ASSERT_TRUE(save_package(contents, folder.file("newer.pt2")));
  const Package package = Package::open(folder.file("newer.pt2")).value();
  EXPECT_EQ(tools::lost_fields(package, contents.programs[0], Limits()).value(),
            std::vector<std::string>());

  const CommandResult edited = run_pt2({"edit", folder.file("newer.pt2"), "-o",
                                        folder.file("edited.pt2"), "--rename-input", "x=image"});
  EXPECT_EQ(edited.exit_code, 0) << edited.err;
  EXPECT_TRUE(edited.err.ends_with(
      "pt2: warning: the new program no longer has all fields of a newer schema: "
      "InputToParameterSpec.flavour\n"))
      << edited.err;
  const std::string changed = run_pt2({"json", folder.file("edited.pt2")}).out;
  for (const char* kept : {"\"colour\": \"red\"", "\"from_the_future\": {\"x\": [1]}"})
    EXPECT_NE(changed.find(kept), std::string::npos) << kept;
}

// A text, a page, a report or a part must not replace its own input: the model would be lost.
TEST(TextOutput, IsNeverTheFileThatIsRead) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string program = folder.file("model.pt2"), link = folder.file("link.pt2");
  const std::string other = std::string(PT2_TEST_DATA) + "/corpus/2.15.0/mlp.pt2";
  fs::copy_file(other, program);
  fs::create_hard_link(program, link);
  const std::string before = read_file(program);
  const std::string record = "models/model.json";
  const std::string parent = fs::path(program).parent_path().string();
  const std::vector<std::vector<std::string>> commands = {
      {"dis", program, "-o", program},
      {"dis", program, "-o", link},
      {"dis", program, "--plan", "-o", program},
      {"json", program, "-o", program},
      {"canon", program, "-o", program},
      {"draft", program, "-o", program},
      {"draft", program, "--external", "-o", program},
      {"cat", program, record, "-o", program},
      {"diff", program, other, "--html", program},
      {"diff", other, program, "--html", link},
      {"scan", other, program, "--sarif", program},
      {"unpack", program, "-o", parent}};
  for (const std::vector<std::string>& command : commands) {
    const CommandResult result = run_pt2(command);
    EXPECT_EQ(result.exit_code, 2) << command[0];
    EXPECT_EQ(result.out, "") << command[0];
    EXPECT_NE(result.err.find("the output is the file that is read"), std::string::npos)
        << command[0] << ": " << result.err;
    EXPECT_TRUE(read_file(program) == before) << command[0];
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(parent), {}), 2);
  EXPECT_EQ(run_pt2({"dis", "-", "-o", program}, program).exit_code, 2);
  EXPECT_TRUE(read_file(program) == before);
  // An output that is a whole .pt2 file may replace the input.
  EXPECT_EQ(run_pt2({"strip", program, "-o", program}).exit_code, 0);
}

TEST(RunOutput, OfResultsIsAFileOfTensorsAndNothingElse) {
  for (const std::string format : {"npz", "safetensors"}) {
    const CommandResult result =
        run_pt2({"run", "../../examples/digits.pt2", "-i", "image=../../examples/digit_5.npy", "-o",
                 "-", "--format", format});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.starts_with("PK"), format == "npz");
    const auto tensors = read_tensors(make_record(result.out));
    ASSERT_TRUE(tensors) << tensors.error().text();
    ASSERT_EQ(tensors->size(), 1u);
    EXPECT_EQ(tensors->front().first, "logits");
    EXPECT_EQ(tensors->front().second.sizes()[1], 10);
  }
}

TEST(RunOutput, HasLabelsThatFitItsScores) {
  const TemporaryFolder folder;
  const std::string path = folder.file("labels.txt");
  const auto run_with = [&](const std::string& text) {
    std::ofstream(path) << text;
    return run_pt2(
        {"run", "corpus/2.15.0/mlp.pt2", "-i", "x=random", "--top", "1", "--labels", path});
  };
  for (const char* fitting : {"a\nb\nc\nd", "a\nb\nc\nd\n", "a\nb\nc\nd\n\n"}) {
    const CommandResult result = run_with(fitting);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("  c\n"), std::string::npos) << result.out;
  }
  const CommandResult few = run_with("a\nb\n");
  EXPECT_EQ(few.exit_code, 2);
  EXPECT_EQ(few.out, "");
  EXPECT_NE(few.err.find("found 2 labels for 4 scores"), std::string::npos) << few.err;
}

// The folder has a cyclic link, a dangling link and a pipe, from which reading would never end.
TEST(Folders, HoldMoreThanFiles) {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  const fs::path root = folder.path();
  fs::copy_file(fs::path(PT2_TEST_DATA) / "corpus/2.15.0/mlp.pt2", root / "a.pt2");
  fs::create_directory(root / "below");
  fs::create_directory_symlink(root, root / "below/circle");
  fs::create_symlink(root / "nothing", root / "b.pt2");
  ASSERT_EQ(mkfifo((root / "below/c.pt2").c_str(), 0600), 0);
  const CommandResult result = run_pt2({"scan", root.string()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, root.string() + "/a.pt2: nothing found\n");
  EXPECT_EQ(result.err, "");
  const CommandResult kernel = run_pt2({"scan", "/proc/self/fdinfo"});
  EXPECT_EQ(kernel.exit_code, 2);
}

TEST(VerifyOutput, IsTheFirstFindingsOfARuleUnlessAllAreWanted) {
  const TemporaryFolder folder;
  const std::string text = folder.file("a.txt"), file = folder.file("a.pt2");
  {
    std::ofstream out(text);
    out << "program schema 8.20 {\n  torch \"2.15.0\"\n  dialect \"TRAINING\"\n  opset aten 10\n"
           "  graph(%x: f32[3]) {\n    %v0: f32[4] = aten.relu.default(self=%x)\n";
    for (int i = 0; i < 25; ++i) out << "    %w" << i << ": f32[4] = aten.relu.default(self=%x)\n";
    out << "    return %v0\n  }\n}\n";
  }
  ASSERT_EQ(run_pt2({"as", text, "-o", file}).exit_code, 0);
  const auto lines = [](const std::string& printed, std::string_view part) {
    size_t count = 0;
    for (size_t at = 0; (at = printed.find(part, at)) != printed.npos; ++at) ++count;
    return count;
  };
  const CommandResult few = run_pt2({"verify", file}), all = run_pt2({"verify", file, "--all"});
  EXPECT_EQ(few.exit_code, 1);
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_EQ(lines(few.out, "V609 error"), 20u) << few.out;
  EXPECT_EQ(lines(few.out, "V609: 6 more of these; --all prints them\n"), 1u) << few.out;
  EXPECT_EQ(lines(all.out, "V609 error"), 26u) << all.out;
  for (const CommandResult& result : {few, all})
    EXPECT_TRUE(result.out.ends_with(": 27 errors, 0 warnings\n")) << result.out;
}

TEST(Pattern, IsTakenForAllOfAName) {
  struct Row {
    const char *name, *pattern;
    bool is_match;
  };
  constexpr Row kRows[] = {
      {"add_1", "add_1", true},  {"add_1", "add", false},   {"add", "add_1", false},
      {"add_1", "add*", true},   {"add_1", "*", true},      {"", "*", true},
      {"", "?", false},          {"add_1", "a?d_?", true},  {"add_12", "a?d_?", false},
      {"abcabd", "*abd", true},  {"abcabd", "a*c*d", true}, {"abcabd", "a*c*e", false},
      {"a*b", "a*b", true},      {"layer.0", "*.?", true},  {"layer.10", "*.?", false},
      {"add_1", "add_1**", true}};
  for (const Row& row : kRows)
    EXPECT_EQ(tools::matches(row.name, row.pattern), row.is_match)
        << row.name << " " << row.pattern;
  EXPECT_FALSE(tools::matches(std::string(5000, 'a'), "*a*a*a*a*a*a*a*a*a*a*b"));
}

// A file of megabytes may consist of one name.
TEST(ErrorText, CutsWordsThatNobodyReads) {
  const std::string name(100'000, 'r');
  const Error error(ErrorCode::unsupported,
                    "no kernel for " + name + " (node " + name + "):\n  and " + name,
                    "m.pt2:." + name);
  const std::string cut = std::string(200, 'r') + "...";
  const std::string text = tools::error_text(error);
  EXPECT_LT(text.size(), 5000u);
  EXPECT_TRUE(text.ends_with("no kernel for " + cut + " (node " + cut + "\n  and " + cut))
      << text.substr(text.size() - 700);
  const std::string many = [] {
    std::string words;
    for (int i = 0; i < 100'000; ++i) words += "r ";
    return words;
  }();
  EXPECT_LT(tools::error_text({ErrorCode::unsupported, many, ""}).size(), 5000u);
}

// One name of a million letters must not make thousands of rows as long.
TEST(Table, IsNotAsWideAsItsLongestName) {
  tools::TextTable table({{"name"}, {"use"}});
  table.add({std::string(100'000, 'n'), "long"});
  for (int i = 0; i < 1000; ++i) table.add({"n", "short"});
  const std::string text = table.text();
  EXPECT_LT(text.size(), 500'000u);
  EXPECT_NE(text.find("nnn  long\nn   "), text.npos);
}

// Files may contain names like the second and the sixth, but the command must not write them.
TEST(MetaNames, AreOfPrintableFiles) {
  const TemporaryFolder folder;
  for (const std::string name : {"", "a/", "a//b", "/a", "a\\b", "x\ny", "\x1b[31m", "\xff"}) {
    const CommandResult result =
        run_pt2({"meta", "set", "corpus/2.15.0/mlp.pt2", name + "=x", "-o", folder.file("o.pt2")});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_TRUE(result.err.starts_with("pt2 meta: the name '")) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("o.pt2"))) << name;
  }
}

// A list of files would be split at the blanks of their names, and a script that zsh loads at the
// first call must complete that call.
TEST(Completion, EndsAsTheShellExpects) {
  EXPECT_TRUE(run_pt2({"completion", "bash"}).out.ends_with("complete -o default -F _pt2 pt2\n"));
  EXPECT_NE(run_pt2({"completion", "zsh"}).out.find("== _pt2 ]]; then _pt2; else compdef"),
            std::string::npos);
}

}  // namespace
}  // namespace pt2::test
