#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "package/read_budget.h"
#include "pt2/format/archive.h"
#include "pt2/format/npy.h"
#include "pt2/tensor_file.h"
#include "tools/source.h"
#include "tools/values/tensors.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct CatArguments {
  Source source;
  std::string record;
  std::string tensor;
  std::string output;
};

Result<int> cat_record(const CatArguments& options, Environment& environment) {
  PT2_TRY(const Archive archive, open_container(options.source));
  const Entry* entry = archive.find(options.record);
  if (entry == nullptr) entry = archive.zip().find(options.record);
  if (entry == nullptr)
    return Error{
        ErrorCode::argument,
        fmt::format("there is no record '{}'; 'pt2 ls' lists them", printable(options.record)),
        options.source.file};
  Result<Record> record = archive.zip().read(*entry);
  if (!record) return in_file(std::move(record).error(), options.source.file);
  if (options.output.empty()) {
    PT2_TRY_VOID(print_content(environment, record->text()));
  } else {
    PT2_TRY_VOID(write_file(options.output, record->bytes, {options.source.file}));
  }
  return kOk;
}

Result<int> cat_tensor(const CatArguments& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(const TensorList list, read_tensor_list(package, options.source.model, environment));
  const auto found = std::ranges::find(list.tensors, options.tensor, &ListedTensor::name);
  if (found == list.tensors.end())
    return Error{ErrorCode::argument,
                 fmt::format("there is no tensor '{}'; 'pt2 ls --tensors' lists them",
                             printable(options.tensor)),
                 options.source.file};
  const std::pair named(found->name, found->tensor);
  PT2_TRY_VOID(check_elements(std::span(&named, 1)));
  if (options.output.empty()) {
    StringSink npy;
    PT2_TRY_VOID(write_npy(found->tensor, npy));
    PT2_TRY_VOID(print_content(environment, npy.bytes()));
  } else {
    PT2_TRY_VOID(check_not_read(options.output, {options.source.file}));
    PT2_TRY_VOID(write_tensor_file(options.output, {{found->name, found->tensor}}));
  }
  return kOk;
}

}  // namespace

Action setup_cat(CommandLine& line) {
  auto options = std::make_shared<CatArguments>();
  add_source(line, options->source);
  line.add_option("RECORD", options->record, "a record, as 'pt2 ls' names it");
  line.add_option("--tensor", options->tensor, "a tensor instead of a record").type_name("NAME");
  line.add_option("-o,--output", options->output,
                  "write this file; a tensor as .npy, .npz or .safetensors\n"
                  "by its ending")
      .type_name("FILE");
  add_model_option(line, options->source);
  return [options](Environment& environment) -> Result<int> {
    if (options->output == "-") options->output.clear();
    if (options->record.empty() == options->tensor.empty())
      return Error{ErrorCode::argument, "expected either RECORD or --tensor NAME", ""};
    if (options->tensor.empty() && !options->source.model.empty())
      return usage_error("--model is for --tensor; the name of a record says whose it is");
    return options->tensor.empty() ? cat_record(*options, environment)
                                   : cat_tensor(*options, environment);
  };
}

}  // namespace pt2::tools
