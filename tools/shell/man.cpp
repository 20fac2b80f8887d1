#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "tools/names.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct Options {
  std::string verb;
  std::string folder;
};

// Escapes text for troff: no line becomes a request, and "-" stays a hyphen that shells accept.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string heading(std::string_view name, std::string_view summary) {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format(".TH {} 1 \"\" \"pt2 {}\" \"pt2\"\n.SH NAME\n{} \\- {}\n", escaped(upper),
                     escaped(kVersion), escaped(name), escaped(summary));
}

std::string page_name(const Verb& verb) { return fmt::format("pt2-{}", verb.name); }

// Keeps the help's line breaks, which suit a terminal: troff fills the lines.
std::string option_page(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + escaped(name);
  const std::string value = escaped(option.value);
  const std::string shown = names.empty() ? "" : "\\fB" + names + "\\fR";
  return fmt::format(".TP\n{}{}{}\n{}\n", shown, shown.empty() || value.empty() ? "" : " ",
                     value.empty() ? "" : "\\fI" + value + "\\fR", escaped(option.text));
}

std::string verb_page(const Verb& verb) {
  CommandLine line(verb.name, verb.summary, "");
  const Action action = verb.setup(line);
  std::string usage, arguments, options;
  for (OptionText& option : line.options()) {
    if (option.names.empty()) usage += fmt::format(" \\fI{}\\fR", escaped(option.value));
    (option.names.empty() ? arguments : options) += option_page(option);
  }
  return heading(page_name(verb), verb.summary) +
         fmt::format(".SH SYNOPSIS\n\\fBpt2 {}\\fR{} [\\fIoptions\\fR]\n", verb.name, usage) +
         (arguments.empty() ? "" : ".SH ARGUMENTS\n" + arguments) + ".SH OPTIONS\n" + options +
         fmt::format(
             ".SH EXAMPLES\n.nf\n{}\n.fi\n.SH EXIT STATUS\n{}.\n.SH SEE ALSO\n"
             "\\fBpt2\\fR(1)\n",
             escaped(verb.examples), escaped(kExitCodes));
}

std::string overview_page() {
  std::string out =
      heading("pt2", "open, check and run PyTorch's exported programs (.pt2)") +
      ".SH SYNOPSIS\n\\fBpt2\\fR \\fIVERB\\fR \\fIFILE\\fR... [\\fIoptions\\fR]\n.SH VERBS\n";
  const Verb* before = nullptr;
  for (const Verb& verb : verbs()) {
    if (before == nullptr || before->job != verb.job)
      out += fmt::format(".SS {}\n", escaped(job_name(verb.job)));
    out += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", escaped(page_name(verb)), escaped(verb.summary));
    before = &verb;
  }
  return out + fmt::format(".SH EXIT STATUS\n{}.\n", escaped(kExitCodes));
}

Result<void> write_page(const std::string& folder, std::string_view name, const std::string& page) {
  return write_file((std::filesystem::path(folder) / fmt::format("{}.1", name)).string(),
                    std::as_bytes(std::span(page)), {});
}

Result<void> write_pages(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);  // write_file reports a failure
  PT2_TRY_VOID(write_page(folder, "pt2", overview_page()));
  for (const Verb& verb : verbs())
    PT2_TRY_VOID(write_page(folder, page_name(verb), verb_page(verb)));
  return {};
}

Result<int> manual(const Options& options, Environment& environment) {
  if (options.folder == "-") return usage_error("-o: found '-', expected a folder for the pages");
  if (!options.folder.empty()) {
    PT2_TRY_VOID(write_pages(options.folder));
    return kOk;
  }
  const auto verb = std::ranges::find(verbs(), options.verb, &Verb::name);
  if (!options.verb.empty() && verb == verbs().end())
    return usage_error(fmt::format("there is no verb '{}'{}", options.verb,
                                   did_you_mean(meant_verb(options.verb))));
  print(environment.out, options.verb.empty() ? overview_page() : verb_page(*verb));
  return kOk;
}

}  // namespace

Action setup_man(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_option("VERB", options->verb, "whose page; the overview if not given");
  line.add_option("-o,--output", options->folder, "write all pages to this folder")
      .type_name("FOLDER");
  return [options](Environment& environment) { return manual(*options, environment); };
}

}  // namespace pt2::tools
