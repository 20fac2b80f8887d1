#include "tools/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/json.h"
#include "base/memory_account.h"
#include "base/platform.h"
#include "base/platform/files.h"
#include "base/printable.h"
#include "pt2/format/schema_json.h"
#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "tools/names.h"
#include "tools/source.h"

namespace pt2::tools {
namespace {

std::string indented(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    out += "  " + std::string(lines.substr(0, end)) + "\n";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

std::string overview() {
  std::string out =
      "pt2: open, check and run PyTorch's exported programs (.pt2)\n\n"
      "Usage: pt2 VERB FILE... [OPTIONS]\n\n";
  const Verb* before = nullptr;
  for (const Verb& verb : verbs()) {
    if (before == nullptr || before->job != verb.job)
      out += fmt::format("{}{}:\n", before == nullptr ? "" : "\n", job_name(verb.job));
    out += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
    before = &verb;
  }
  return out + fmt::format(
                   "\n'pt2 VERB --help' shows options and examples; 'pt2 --version' the version.\n"
                   "Exit codes: {}.\n",
                   kExitCodes);
}

std::string version() {
  return fmt::format("pt2 {} (export schema up to {}.{})\n", kVersion, schema::kNewestVersion / 100,
                     schema::kNewestVersion % 100);
}

// Options that are valid without a verb.
constexpr std::string_view kOwnOptions[] = {"--help", "--version"};

int unknown_verb(std::span<const std::string> arguments, std::string_view name,
                 Environment& environment) {
  const auto is_verb = [](const std::string& text) {
    return std::ranges::find(verbs(), text, &Verb::name) != verbs().end();
  };
  const auto named = std::ranges::find_if(arguments, is_verb);
  if (name.starts_with('-') && named != arguments.end()) {
    print(environment.err,
          fmt::format("pt2: options follow the verb: pt2 {} FILE... {}\nSee 'pt2 {} --help'.\n",
                      *named, printable(name, 40), *named));
    return kUsage;
  }
  const bool is_option = name.starts_with('-');
  std::string meant(is_option ? verb_that_means(name) : meant_verb(name));
  if (name.ends_with(".pt2")) meant = fmt::format("pt2 info {}", printable(name, 40));
  if (meant.empty() && is_option)
    meant = nearest_name(name, kOwnOptions, [](std::string_view option) { return option; });
  const std::string text =
      fmt::format("pt2: there is no {} '{}'", is_option ? "option" : "verb", printable(name, 40));
  print(environment.err, text + did_you_mean(meant) + "\nSee 'pt2 --help'.\n");
  return kUsage;
}

// A file may contain names of a million letters for operators or nodes, which no reader needs
// whole.
constexpr size_t kMostShownWord = 200, kMostShownLine = 4096;

// Applies `change` to each part between separators.
template <class Change>
std::string with_parts(std::string_view text, char separator, Change&& change) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (begin > 0) out += separator;
    out += change(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Returns a message with bounded words and lines, safe to print on a terminal.
std::string shown_message(std::string_view text) {
  const auto shown_word = [](std::string_view word) {
    return bounded(std::string(word), kMostShownWord);
  };
  const auto shown_line = [&](std::string_view line) {
    return bounded(with_parts(line, ' ', shown_word), kMostShownLine);
  };
  return printable_message(with_parts(text, '\n', shown_line));
}

int report_usage_error(const Verb& verb, std::string_view text, Environment& environment) {
  print(environment.err, fmt::format("pt2 {}: {}\nSee 'pt2 {} --help'.\n", verb.name,
                                     shown_message(text), verb.name));
  return kUsage;
}

// Colour codes of ECMA-48 (ISO 6429).
constexpr std::string_view kColourCodes[] = {"31", "32", "33", "1"};

int report(const Verb& verb, const Error& error, Environment& environment) {
  if (error.code == ErrorCode::argument && error.where.empty())
    return report_usage_error(verb, error.message, environment);
  print_error(environment, error);
  return exit_code(error.code);
}

int run_verb(const Verb& verb, std::vector<std::string> arguments, Environment& environment) {
  CommandLine line("pt2 " + std::string(verb.name), verb.summary,
                   "Examples:\n" + indented(verb.examples));
  const Action action = verb.setup(line);
  const bool as_json = std::ranges::find(arguments, "--json") != arguments.end();
  const auto parsed = line.parse(std::move(arguments));
  if (!parsed) {
    if (as_json) print_json_error(environment, parsed.error());
    return report_usage_error(verb, parsed.error().message, environment);
  }
  if (*parsed == CommandLine::Parsed::help) {
    print(environment.out, line.help());
    return kOk;
  }
  const Result<int> code = within_memory([&] { return action(environment); });
  if (!code && as_json) print_json_error(environment, code.error());
  return code ? *code : report(verb, code.error(), environment);
}

int dispatch(std::span<const std::string> arguments, Environment& environment) {
  if (arguments.empty()) {
    print(environment.err, overview());
    return kUsage;
  }
  const std::string& name = arguments[0];
  const bool wants_help = name == "--help" || name == "-h" || name == "help";
  if (wants_help && arguments.size() == 1) {
    print(environment.out, overview());
    return kOk;
  }
  if (name == "--version") {
    print(environment.out, version());
    return kOk;
  }
  const std::string& verb_name = wants_help ? arguments[1] : name;
  const auto verb = std::ranges::find(verbs(), verb_name, &Verb::name);
  if (verb == verbs().end()) return unknown_verb(arguments, verb_name, environment);
  if (wants_help) return run_verb(*verb, {"--help"}, environment);
  return run_verb(*verb, {arguments.begin() + 1, arguments.end()}, environment);
}

}  // namespace

const std::string_view kVersion = PT2_VERSION;

Environment standard_environment() {
  prepare_standard_streams();
  // https://no-color.org, and terminals without colours.
  const char *no_colour = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return {.out = stdout,
          .err = stderr,
          .out_is_terminal = files::is_terminal(stdout),
          .err_is_terminal = files::is_terminal(stderr),
          .plain = (no_colour != nullptr && *no_colour != 0) ||
                   (terminal != nullptr && std::string_view(terminal) == "dumb")};
}

std::string meant_verb(std::string_view typed) {
  const std::string_view means = verb_that_means(typed);
  return means.empty() ? nearest_name(typed, verbs(), [](const Verb& verb) { return verb.name; })
                       : std::string(means);
}

int run_command(std::span<const std::string> arguments, Environment& environment) {
  const int code = dispatch(arguments, environment);
  // Reports a full disk, which must not look like success.
  if (std::fflush(environment.out) == 0 && !std::ferror(environment.out)) return code;
  const std::string reason = files::reason();
  print(environment.err, fmt::format("pt2: io: standard output: {}\n", reason));
  return exit_code(ErrorCode::io);
}

void print(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
}

Result<void> check_not_read(const std::string& output, const std::vector<std::string>& read) {
  const auto written = files::status(output);
  if (!written || !written->is_regular) return {};
  for (const std::string& file : read)
    if (const auto source = files::status(input_path(file));
        source && source->is_same_file(*written))
      return Error{ErrorCode::argument,
                   "the output is the file that is read, of which nothing would be left; give it "
                   "another name",
                   output};
  return {};
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes,
                        const std::vector<std::string>& read) {
  if (path == "-")
    return usage_error("found '-', expected the name of a file: standard output has the report");
  PT2_TRY_VOID(check_not_read(path, read));
  PT2_TRY(const std::unique_ptr<FileSink> sink, FileSink::create(path));
  PT2_TRY_VOID(sink->write(bytes));
  return sink->finish();
}

Result<void> write_text(Environment& environment, const std::string& output, std::string text,
                        const std::vector<std::string>& read) {
  if (!output.empty() && output != "-")
    return write_file(output, std::as_bytes(std::span(text)), read);
  if (environment.out_is_terminal && !text.ends_with('\n')) text += '\n';
  return print_content(environment, text);
}

Result<void> print_content(Environment& environment, std::string_view content) {
  const auto is_text = [](std::string_view bytes) {
    std::string letters(bytes);
    std::erase_if(letters, [](char c) { return c == '\n' || c == '\t' || c == '\r'; });
    return printable_line(letters) == letters;
  };
  if (environment.out_is_terminal && !is_text(content))
    return usage_error(
        "the content is binary or has control characters, and standard output is a terminal; "
        "redirect it to a file");
  print(environment.out, content);
  return {};
}

void print_warning(Environment& environment, std::string_view text) {
  print(environment.err, fmt::format("pt2: warning: {}\n", printable_line(text)));
}

std::string limit_remedy(ErrorCode code, std::string_view message) {
  if (code != ErrorCode::limit) return "";
  std::string options;
  size_t count = 0;
  for (const LimitInfo& limit : limit_infos()) {
    if (message.find(limit.name) == message.npos) continue;
    options += fmt::format("{}--limit {}=N", count++ == 0 ? "" : " and ", limit.name);
  }
  if (count == 0) return "";
  return fmt::format("{} {}, for a file that you trust", options,
                     count == 1 ? "raises it" : "raise them");
}

std::string error_text(const Error& error) {
  const Error shown(error.code, shown_message(error.message),
                    bounded(printable_line(shown_place(error.where)), kMostShownLine));
  return fmt::format("{}: {}", error_code_name(error.code), shown.text());
}

void print_error(Environment& environment, const Error& error) {
  print(environment.err, fmt::format("pt2: {}\n", error_text(error)));
  if (const std::string remedy = limit_remedy(error.code, error.message); !remedy.empty())
    print(environment.err, fmt::format("pt2: {}\n", remedy));
}

void print_json_error(Environment& environment, const Error& error) {
  JsonWriter json;
  json.begin_object();
  json.key("error");
  json.begin_object();
  const auto member = [&](std::string_view key, std::string_view text) {
    json.key(key);
    json.string(text);
  };
  member("kind", error_code_name(error.code));
  member("text", error.message);
  member("where", shown_place(error.where));
  member("means", error_code_meaning(error.code));
  json.key("exit");
  json.integer(exit_code(error.code));
  json.end_object();
  json.end_object();
  print(environment.out, json.text() + "\n");
}

void print_warnings(Environment& environment, const Diagnostics& warnings) {
  for (const Diagnostic& warning : warnings.all())
    print_warning(environment, fmt::format("{} {}: {}", rule_code(warning.rule),
                                           shown_place(warning.where), warning.text));
}

std::string coloured(const Environment& environment, Colour colour, std::string_view text) {
  if (!environment.out_is_terminal || environment.plain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kColourCodes[static_cast<size_t>(colour)], text);
}

}  // namespace pt2::tools
