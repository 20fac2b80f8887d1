#include <fmt/format.h>

#include <memory>

#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct OptionRow {
  std::string name;  // "--json"
  std::string text;  // the first line of its description
};

// Returns the options in the verb's own help.
std::vector<OptionRow> options_of(const Verb& verb) {
  CommandLine line(verb.name, verb.summary, "");
  const Action action = verb.setup(line);
  std::vector<OptionRow> out;
  for (const OptionText& option : line.options())
    for (const std::string& name : option.names)
      out.push_back({name, option.text.substr(0, option.text.find('\n'))});
  return out;
}

std::string verb_names() {
  std::string out;
  for (const Verb& verb : verbs()) out += (out.empty() ? "" : " ") + std::string(verb.name);
  return out;
}

// Quotes text in single quotes for a shell.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash_script() {
  std::string out =
      "# pt2 completion bash > /etc/bash_completion.d/pt2\n"
      "_pt2() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '" +
      verb_names() +
      "' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Verb& verb : verbs()) {
    std::string names;
    for (const OptionRow& option : options_of(verb))
      names += (names.empty() ? "" : " ") + option.name;
    out += fmt::format("    {}) words='{}' ;;\n", verb.name, names);
  }
  // Bash itself completes the names of files, because it knows how to quote blanks in them.
  return out +
         "  esac\n"
         "  case \"$word\" in\n"
         "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=() ;;\n"
         "  esac\n"
         "}\n"
         "complete -o default -F _pt2 pt2\n";
}

std::string zsh_script() {
  std::string out =
      "#compdef pt2\n"
      "# pt2 completion zsh > ~/.zfunc/_pt2\n"
      "_pt2() {\n"
      "  local -a verbs options\n"
      "  verbs=(\n";
  const auto row = [](std::string_view name, std::string_view text) {
    std::string label(name);
    label += ":";
    label += text;
    return in_quotes(label);
  };
  for (const Verb& verb : verbs()) out += "    " + row(verb.name, verb.summary) + "\n";
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const Verb& verb : verbs()) {
    out += fmt::format("    {}) options=(", verb.name);
    for (const OptionRow& option : options_of(verb)) out += " " + row(option.name, option.text);
    out += " ) ;;\n";
  }
  // The file is the body of the function at its first call, and may be read with `source` as well.
  return out +
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then _describe option options; else _files; fi\n"
         "}\n"
         "if [[ $funcstack[1] == _pt2 ]]; then _pt2; else compdef _pt2 pt2; fi\n";
}

std::string fish_script() {
  std::string out = "# pt2 completion fish > ~/.config/fish/completions/pt2.fish\n";
  for (const Verb& verb : verbs())
    out += fmt::format("complete -c pt2 -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                       in_quotes(verb.summary));
  for (const Verb& verb : verbs())
    for (const OptionRow& option : options_of(verb)) {
      const bool is_long = option.name.starts_with("--");
      out += fmt::format("complete -c pt2 -n '__fish_seen_subcommand_from {}' -{} {} -d {}\n",
                         verb.name, is_long ? "l" : "s", option.name.substr(is_long ? 2 : 1),
                         in_quotes(option.text));
    }
  return out;
}

}  // namespace

Action setup_completion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  line.add_option("SHELL", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  return [shell](Environment& environment) -> Result<int> {
    print(environment.out, *shell == "bash"  ? bash_script()
                           : *shell == "zsh" ? zsh_script()
                                             : fish_script());
    return kOk;
  };
}

}  // namespace pt2::tools
