#include "tools/verbs.h"

#include <algorithm>
#include <array>

namespace pt2::tools {
namespace {

constexpr Verb kVerbs[] = {
    {"info", Job::look, "what a file is: inputs, outputs, operators, parameters, who wrote it",
     "pt2 info model.pt2\n"
     "pt2 info model.pt2 --json\n"
     "pt2 info model.pt2 --modules           # the tree of modules\n"
     "pt2 info model.pt2 --releases          # who can load it, and why not the others\n"
     "pt2 info package.pt2 --model decoder   # one of several programs\n"
     "pt2 info llama/                        # a folder of Transformers' exporter\n"
     "pt2 info - < model.pt2                 # from standard input",
     setup_info},
    {"ls", Job::look, "the records of a file, or its tensors",
     "pt2 ls model.pt2                       # name, role, size and place of each record\n"
     "pt2 ls model.pt2 --tensors             # weights, constants and sample inputs\n"
     "pt2 ls model.pt2 --tensors --json      # with strides, storages and checksums",
     setup_ls},
    {"cat", Job::look, "one record or one tensor, as it is",
     "pt2 cat model.pt2 models/model.json    # names as 'pt2 ls' prints them\n"
     "pt2 cat model.pt2 extra/labels.txt -o labels.txt\n"
     "pt2 cat model.pt2 --tensor fc1.weight -o fc1.npy",
     setup_cat},
    {"json", Job::look, "the program's JSON, decoded and encoded again",
     "pt2 json model.pt2                     # byte for byte what the file holds\n"
     "pt2 json model.pt2 --pretty | less\n"
     "pt2 json model.pt2 --payload weights   # where each weight lies (files of PyTorch 2.9 on)",
     setup_json},
    {"dis", Job::look, "a program as text, a line for each node",
     "pt2 dis model.pt2\n"
     "pt2 dis model.pt2 --metadata -o model.txt  # everything that the file says\n"
     "pt2 dis model.pt2 --plan                   # in which steps it is computed\n"
     "diff <(pt2 dis old.pt2) <(pt2 dis new.pt2)",
     setup_dis},
    {"stats", Job::look,
     "parameters, bytes, multiply-adds, memory: of one file, or a table of many",
     "pt2 stats model.pt2\n"
     "pt2 stats model.pt2 --modules          # and of each module\n"
     "pt2 stats models/                      # a line for each file",
     setup_stats},
    {"hash", Job::look, "hashes of a file, of what its program computes, and of its weights",
     "pt2 hash model.pt2                     # three SHA-256\n"
     "pt2 hash --program models/ | sort      # which files are one program\n"
     "pt2 hash --weights a.pt2 b.pt2",
     setup_hash},
    {"diff", Job::look, "what differs between two files: nodes, sizes, guards, weights",
     "pt2 diff old.pt2 new.pt2               # exit 1 when they differ\n"
     "pt2 diff old.pt2 new.pt2 --semantic    # not names, sources and releases\n"
     "pt2 diff old.pt2 new.pt2 --html page.html\n"
     "pt2 diff old.pt2 new.pt2 --run -i x=image.npy   # which node's value differs first?\n"
     "git config diff.pt2.command 'pt2 diff --git'   # with '*.pt2 diff=pt2' in .gitattributes\n"
     "git config diff.pt2.textconv 'pt2 dis'         # or lines of text",
     setup_diff},
    {"graph", Job::look, "a picture of the program: modules as boxes, to open and fold",
     "pt2 graph model.pt2 -o model.html      # one page, for any browser, without network\n"
     "pt2 graph model.pt2 -o model.svg --depth 2\n"
     "pt2 graph model.pt2 -o model.dot       # for Graphviz\n"
     "pt2 bench model.pt2 -i x=image.npy --profile --json > times.json\n"
     "pt2 graph model.pt2 -o model.html --profile times.json   # where the time goes\n"
     "pt2 graph new.pt2 -o new.html --diff old.pt2             # what has changed\n"
     "pt2 trace model.pt2 -i x=image.npy -o trace.npz\n"
     "pt2 graph model.pt2 -o model.html --trace trace.npz      # where NaN comes from",
     setup_graph},
    {"verify", Job::check, "is it intact? every finding with the number of its rule",
     "pt2 verify model.pt2\n"
     "pt2 verify models/ -q                  # a folder; files with errors alone\n"
     "pt2 verify model.pt2 --level container # records and checksums only\n"
     "pt2 verify model.pt2 --sha256 SUMS     # is it the file that sha256sum saw?\n"
     "pt2 explain V103                       # what a finding means",
     setup_verify},
    {"scan", Job::check,
     "could opening it do harm? code in pickles, expressions and libraries; zip tricks",
     "pt2 scan model.pt2                     # exit 1 when opening it could run code\n"
     "pt2 scan --strict --sarif scan.sarif models/\n"
     "pt2 explain S004                       # what a finding means, and what to do",
     setup_scan},
    {"check", Job::check, "would it take these inputs? what each dimension may be",
     "pt2 check model.pt2                    # every dimension: number, range or expression; "
     "guards\n"
     "pt2 check model.pt2 -i x=f32:2x3       # exit 1 and the reason when they are refused\n"
     "pt2 check model.pt2 -i x=f32:2x3 -i n=5 --json",
     setup_check},
    {"ops", Job::check, "the operators of a program, and whether they can run here",
     "pt2 ops model.pt2                      # each operator and how often it is called\n"
     "pt2 ops *.pt2 --missing                # exit 4 if any has no kernel; where it is called\n"
     "pt2 ops model.pt2 --missing --ops ./libmine.so   # with operators of your own\n"
     "pt2 ops                                # every operator of this build",
     setup_ops},
    {"explain", Job::check, "what a rule, a blocker, a kind of error, a limit or an operator is",
     "pt2 explain V103\n"
     "pt2 explain S004\n"
     "pt2 explain tree_class                 # a blocker of 'pt2 convert'\n"
     "pt2 explain corrupt                    # a kind of error\n"
     "pt2 explain aten.add                   # signatures of an operator\n"
     "pt2 explain                            # all rules",
     setup_explain},
    {"run", Job::run, "run a program on your inputs, or on its own",
     "pt2 run model.pt2 -i x=image.npy       # inputs by name; 'pt2 info' lists them\n"
     "pt2 run model.pt2 -i 0=a.npy -i n=3    # by position; numbers as they are\n"
     "pt2 run model.pt2 -i all.npz -o out.npz\n"
     "pt2 run model.pt2 -i request.json --cast   # JSON by name; arrays of other dtypes converted\n"
     "pt2 run a.pt2 -i x.npy -o - | pt2 run b.pt2 -i -   # results by name to the next program\n"
     "pt2 run model.pt2                      # the file's own sample inputs",
     setup_run},
    {"generate", Job::run, "generate tokens with a language model, one after another",
     "pt2 generate llama/ --ids 1,2,3 --max-new 32      # a folder of Transformers' exporter\n"
     "pt2 generate llama/ --ids 1,2,3 --temperature 0.8 --top-p 0.9 --seed 7\n"
     "pt2 generate llama/ --ids 1,2,3 --greedy --stop 2 --json",
     setup_generate},
    {"test", Job::run, "does it give the numbers that were recorded?",
     "pt2 test model.pt2                     # calls recorded in model.safetensors\n"
     "pt2 test model.pt2 cases.safetensors --rtol 1e-4 --atol 1e-6\n"
     "pt2 test *.pt2                         # each with the .safetensors beside it\n"
     "pt2 test model.pt2 --engine both       # is what is fast right? no records needed\n"
     "pt2 test model.pt2 --first-divergence trace.safetensors   # which node goes wrong first?",
     setup_test},
    {"bench", Job::run, "how long a call takes",
     "pt2 bench model.pt2 -i x=image.npy     # load, first call, percentiles of the others\n"
     "pt2 bench model.pt2 --threads 1 --profile   # where the time goes\n"
     "pt2 bench model.pt2 --json --seconds 5",
     setup_bench},
    {"trace", Job::run, "list or save every value that a run computes, by its name",
     "pt2 trace model.pt2 -i x=image.npy     # name, type, operator, source line and module\n"
     "pt2 trace model.pt2 -i x=image.npy -o trace.safetensors\n"
     "pt2 trace model.pt2 --nodes 'linear*' -o linear.npz   # the file's own sample inputs",
     setup_trace},
    {"edit", Job::change,
     "give a program other sizes, names, results or arguments, or cut out a part",
     "pt2 edit model.pt2 -o fixed.pt2 --dim x.0=1\n"
     "pt2 edit model.pt2 -o batched.pt2 --dim x.0=batch:1..64\n"
     "pt2 edit model.pt2 -o head.pt2 --from image --to relu_3\n"
     "pt2 edit model.pt2 -o encoder.pt2 --module encoder\n"
     "pt2 edit model.pt2 -o more.pt2 --expose relu_3 --rename-input x=image\n"
     "pt2 edit model.pt2 -o other.pt2 --set dropout.p=0.1",
     setup_edit},
    {"weights", Job::change, "list, export, replace, cast or share weights",
     "pt2 weights ls model.pt2               # types, ranges, NaN, shared memory, unused bytes\n"
     "pt2 weights export model.pt2 -o w.safetensors\n"
     "pt2 weights set model.pt2 finetuned.safetensors -o new.pt2\n"
     "pt2 weights cast model.pt2 --to bfloat16 -o small.pt2 --check\n"
     "pt2 weights share model.pt2 -o small.pt2",
     setup_weights},
    {"strip", Job::change, "leave out what no run needs: unused weights, traces, example inputs",
     "pt2 strip model.pt2 -o small.pt2       # weights that no node uses\n"
     "pt2 strip model.pt2 -o public.pt2 --metadata --example-inputs",
     setup_strip},
    {"pack", Job::change, "several programs in one file, equal weights once",
     "pt2 pack prefill=a.pt2 decode=b.pt2 -o both.pt2\n"
     "pt2 pack llama/ -o llama.pt2           # a folder of Transformers' exporter",
     setup_pack},
    {"unpack", Job::change, "each program of a file to a file of its own",
     "pt2 unpack both.pt2 -o folder\n"
     "pt2 unpack both.pt2 --model decode -o folder",
     setup_unpack},
    {"meta", Job::change, "records of your own in a file: labels, a licence",
     "pt2 meta get model.pt2                 # which there are\n"
     "pt2 meta get model.pt2 labels.json\n"
     "pt2 meta set model.pt2 licence=MIT labels.json@labels.json -o model.pt2",
     setup_meta},
    {"as", Job::change, "the text of 'pt2 dis' back to a program",
     "pt2 as changed.txt -o changed.pt2 --weights model.pt2\n"
     "pt2 as changed.txt --json              # the program's JSON\n"
     "pt2 dis model.pt2 --metadata | pt2 as - --json   # what 'pt2 json model.pt2' prints",
     setup_as},
    {"convert", Job::convert, "the same program for another PyTorch release",
     "pt2 convert old.pt2 -o new.pt2 --for newest\n"
     "pt2 convert model.pt2 -o model-2.6.pt2 --for torch-2.6   # exit 4 and why, if that cannot "
     "be\n"
     "pt2 convert model.pt2 -o small.pt2 --for oldest --lossy guards",
     setup_convert},
    {"decompose", Job::convert, "replace composite operators by those they are made of: core ATen",
     "pt2 decompose model.pt2 -o core.pt2    # as run_decompositions() of PyTorch; exit 4 and why "
     "if\n"
     "                                       # something cannot be\n"
     "pt2 decompose model.pt2 -o some.pt2 --to core,aten.linear,aten.layer_norm   # these may stay",
     setup_decompose},
    {"canon", Job::convert,
     "the program in canonical form, as JSON: without names, order and sources",
     "pt2 canon a.pt2 | cmp - <(pt2 canon b.pt2)   # the same program, whoever exported it?\n"
     "pt2 canon model.pt2 --content          # whatever order its nodes are in\n"
     "pt2 canon model.pt2 --pretty | less",
     setup_canon},
    {"draft", Job::convert,
     "to the early draft of the schema (JSON, docs/draft.md), or back to a .pt2",
     "pt2 draft model.pt2 -o model.draft.json\n"
     "pt2 draft model.pt2 -o model.draft.json --external   # tensors in model.draft.bin\n"
     "pt2 draft model.draft.json -o model.pt2              # schema 8.20",
     setup_draft},
    {"completion", Job::shell, "a script for your shell that completes verbs and options",
     "pt2 completion bash > /etc/bash_completion.d/pt2\n"
     "pt2 completion zsh > ~/.zfunc/_pt2\n"
     "pt2 completion fish > ~/.config/fish/completions/pt2.fish",
     setup_completion},
    {"man", Job::shell, "manual pages",
     "pt2 man run | man -l -                 # of a verb\n"
     "pt2 man -o share/man/man1              # pt2.1, and a page for each verb",
     setup_man},
};

#ifdef PT2_VERBS
// In a build with only these verbs, the linker omits the code of the others.
constexpr std::string_view kChosen[] = {PT2_VERBS};
constexpr auto kHere = [] {
  std::array<Verb, std::size(kChosen)> here{};
  std::ranges::copy_if(kVerbs, here.begin(), [](const Verb& verb) {
    return std::ranges::find(kChosen, verb.name) != std::end(kChosen);
  });
  return here;
}();
static_assert(kHere.back().setup != nullptr, "PT2_VERBS names a verb that there is not");
#else
constexpr std::span<const Verb> kHere = kVerbs;
#endif

}  // namespace

std::span<const Verb> verbs() { return kHere; }

std::string_view job_name(Job job) {
  switch (job) {
    case Job::look:
      return "What is in a file";
    case Job::check:
      return "Is it sound, does it fit";
    case Job::run:
      return "Run it";
    case Job::change:
      return "Change it";
    case Job::convert:
      return "Other forms and releases";
    case Job::shell:
      return "For the shell";
  }
  return "";
}

}  // namespace pt2::tools
