// Random edits of programs that PyTorch exported. After an accepted edit the program is valid and
// computes the values of the original. A refused edit leaves it unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "base/mapped_file.h"
#include "lower/written_memory.h"
#include "pt2/ir/edit_program.h"
#include "pt2/model.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/save.h"
#include "pt2/tools/compare.h"
#include "pt2/tools/recorded_calls.h"
#include "pt2/verify.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

// A program with inputs and their results.
struct Subject {
  PackageContents contents;
  Program program;
  std::vector<std::string> names;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
};

Result<std::vector<Value>> run(const PackageContents& contents, const Program& program,
                               const std::vector<Value>& inputs) {
  PackageContents changed = contents;
  changed.programs[0].json = program_json(program);
  StringSink sink;
  PT2_TRY_VOID(save_package(changed, sink));
  const auto bytes = std::make_shared<const std::string>(sink.take());
  PT2_TRY(Package package, Package::open_bytes(std::as_bytes(std::span(*bytes)), bytes, "edited"));
  PT2_TRY(const Model model,
          Model::from_package(std::make_shared<const Package>(std::move(package))));
  return model.run(inputs);
}

std::optional<Subject> subject_of(const fs::path& path) {
  const fs::path calls_path = fs::path(path).replace_extension(".safetensors");
  const auto package = Package::open(path.string());
  if (!package || !fs::exists(calls_path) || package->models().size() != 1) return std::nullopt;
  const auto file = MappedFile::open(calls_path.string());
  const auto safetensors = read_safetensors({file.value()->bytes(), file.value()});
  const auto calls = read_recorded_calls(safetensors.value());
  const auto contents = package_contents(*package);
  if (!calls || !contents || contents->programs[0].names_its_payloads) return std::nullopt;
  Subject subject{.contents = *contents, .program = **package->program()};
  subject.names = user_input_names(subject.program);
  for (const RecordedCall& call : calls->calls) {
    if (call.error || call.random || call.inputs.size() != subject.names.size()) continue;
    subject.inputs = call.inputs;
    auto outputs = run(subject.contents, subject.program, subject.inputs);
    // Skips programs that write to memory or cannot run (operators of a plug-in).
    if (!outputs || writes(subject.program.graph) ||
        !subject.program.signature.user_inputs_to_mutate().empty())
      return std::nullopt;
    subject.outputs = *std::move(outputs);
    return subject;
  }
  return std::nullopt;
}

std::vector<std::string> faults_of(const Program& program) {
  std::vector<std::string> out;
  const Diagnostics findings =
      verify_program(program, "", Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all())
    if (finding.severity() == Severity::error) out.push_back(finding.line());
  return out;
}

class RandomEdits {
 public:
  RandomEdits(const Subject& subject, uint64_t seed) : subject_(subject), random_(seed) {
    for (const NodeId id : subject.program.graph.nodes())
      for (const Argument& output : subject.program.graph.node(id).outputs)
        if (const auto* value = output.get_if<ValueId>())
          if (subject.program.graph.value(*value).tensor() != nullptr)
            values_.push_back(subject.program.graph.value(*value).name);
  }

  int legal = 0, illegal = 0;

  void run_all() {
    expose_and_extract();
    rename();
    fix_or_free();
    refuse();
  }

 private:
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  // Returns the inputs of a part of the program. `computed` holds those that were values inside the
  // program, by their names. The others are inputs of the program.
  std::vector<Value> inputs_for(const Program& part,
                                const std::map<std::string, Value>& computed) const {
    std::vector<Value> out;
    for (const std::string& name : user_input_names(part)) {
      const auto found = computed.find(name);
      auto known = std::ranges::find(subject_.names, name);
      const std::vector<ArgumentSpec> specs = subject_.program.signature.user_inputs();
      const auto spec = std::ranges::find(specs, name, &ArgumentSpec::name);
      if (known == subject_.names.end() && spec != specs.end())
        known = subject_.names.begin() + (spec - specs.begin());
      if (found != computed.end())
        out.push_back(found->second);
      else if (known != subject_.names.end())
        out.push_back(subject_.inputs[static_cast<size_t>(known - subject_.names.begin())]);
      else
        ADD_FAILURE() << "an input of its own: " << name;
    }
    return out;
  }

  void expect_runs(const Program& program, const std::vector<Value>& inputs,
                   const std::vector<Value>& expected) {
    EXPECT_EQ(faults_of(program), faults_of(subject_.program));
    const auto found = run(subject_.contents, program, inputs);
    ASSERT_TRUE(found.has_value()) << found.error().text();
    ASSERT_EQ(found->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(compare((*found)[i], expected[i]).equal())
          << i << ": " << compare((*found)[i], expected[i]).difference;
    ++legal;
  }

  // Returns the value that the whole program computes.
  std::optional<Value> exposed(const std::string& name) {
    Program program = subject_.program;
    if (!add_output(program, name)) return std::nullopt;  // the program's result is no tuple
    const auto outputs = run(subject_.contents, program, subject_.inputs);
    EXPECT_TRUE(outputs.has_value() ||
                outputs.error().message.find("dual number") != std::string::npos)
        << outputs.error().text();
    if (!outputs) return std::nullopt;
    std::vector<Value> expected = subject_.outputs;
    expected.push_back(outputs->back());
    expect_runs(program, subject_.inputs, expected);
    return outputs->back();
  }

  void expose_and_extract() {
    if (values_.empty()) return;
    const std::string end = values_[pick(values_.size())];
    const auto expected = exposed(end);
    if (!expected) return;
    const std::vector<std::string> to{end};
    Program part = subject_.program;
    const auto taken = extract(part, {}, to);
    if (!taken) {  // part of a vmap region
      EXPECT_EQ(taken.error().code, ErrorCode::unsupported) << taken.error().text();
      return;
    }
    expect_runs(part, inputs_for(part, {}), {*expected});
    const std::string start = values_[pick(values_.size())];
    const auto given = exposed(start);
    Program middle = subject_.program;
    if (given && extract(middle, std::vector<std::string>{start}, to))
      expect_runs(middle, inputs_for(middle, {{start, *given}}), {*expected});
  }

  void rename() {
    if (subject_.names.empty()) return;
    const size_t place = pick(subject_.names.size());
    Program program = subject_.program;
    if (rename_input(program, subject_.names[place], "another_name"))
      expect_runs(program, subject_.inputs, subject_.outputs);
  }

  void fix_or_free() {
    const std::vector<ArgumentSpec> specs = subject_.program.signature.user_inputs();
    for (size_t i = 0; i < specs.size(); ++i) {
      const auto* tensor = subject_.inputs[i].get_if<Tensor>();
      if (tensor == nullptr || specs[i].kind != ArgumentSpec::Kind::tensor) continue;
      for (size_t dim = 0; dim < tensor->sizes().size(); ++dim) {
        const int64_t size = tensor->sizes()[dim];
        Program fixed = subject_.program;
        if (fix_dim(fixed, subject_.names[i], dim, size))
          expect_runs(fixed, subject_.inputs, subject_.outputs);
        Program freed = subject_.program;
        if (size > 1 && free_dim(freed, subject_.names[i], dim, "any_size", {1, 64}))
          expect_runs(freed, subject_.inputs, subject_.outputs);
      }
    }
  }

  template <class Edit>
  void expect_refused(Edit edit) {
    Program program = subject_.program;
    const Result<void> done = edit(program);
    ASSERT_FALSE(done.has_value());
    EXPECT_TRUE(done.error().code == ErrorCode::argument ||
                done.error().code == ErrorCode::unsupported)
        << done.error().text();
    EXPECT_FALSE(done.error().message.empty());
    EXPECT_EQ(program_json(program), program_json(subject_.program));
    ++illegal;
  }

  void refuse() {
    const std::string ghost = "ghost_" + std::to_string(pick(1000));
    const std::vector<std::string> nothing{}, ghosts{ghost};
    expect_refused([&](Program& program) { return add_output(program, ghost); });
    expect_refused([&](Program& program) { return extract(program, ghosts, ghosts); });
    expect_refused([&](Program& program) { return extract(program, nothing, nothing); });
    expect_refused([&](Program& program) { return set_argument(program, ghost + ".self", "1"); });
    expect_refused([&](Program& program) { return fix_dim(program, ghost, 0, 1); });
    expect_refused([&](Program& program) { return rename_input(program, ghost, "x"); });
    if (!subject_.names.empty()) {
      const std::string& name = subject_.names[pick(subject_.names.size())];
      expect_refused([&](Program& program) { return rename_input(program, name, "class"); });
      expect_refused([&](Program& program) { return fix_dim(program, name, 99, 1); });
      expect_refused([&](Program& program) { return fix_dim(program, name, 0, -1); });
      expect_refused([&](Program& program) {
        return free_dim(program, name, 99, "n", SymRange{1, 64});
      });
    }
    if (values_.empty()) return;
    const std::string& value = values_[pick(values_.size())];
    expect_refused([&](Program& program) { return rename_output(program, ghost, value); });
    expect_refused(
        [&](Program& program) { return set_argument(program, value + ".no_argument", "1"); });
    expect_refused([&](Program& program) {
      return extract(program, std::vector<std::string>{value, ghost}, ghosts);
    });
  }

  const Subject& subject_;
  std::mt19937_64 random_;
  std::vector<std::string> values_;
};

TEST(RandomEdits, AreSoundOrRefused) {
  int legal = 0, illegal = 0;
  for (const char* release : {"2.1.2", "2.6.0", "2.9.1", "2.15.0"})
    for (const auto& entry : fs::directory_iterator(fs::path(PT2_TEST_DATA) / "corpus" / release)) {
      if (entry.path().extension() != ".pt2") continue;
      const auto subject = subject_of(entry.path());
      if (!subject) continue;
      for (uint64_t seed = 0; seed < 2; ++seed) {
        SCOPED_TRACE(entry.path().string() + ", seed " + std::to_string(seed));
        RandomEdits edits(*subject, seed);
        edits.run_all();
        legal += edits.legal;
        illegal += edits.illegal;
      }
    }
  EXPECT_GT(legal, 200);
  EXPECT_GT(illegal, 200);
}

}  // namespace
}  // namespace pt2
