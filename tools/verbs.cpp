#include "tools/verbs.h"

namespace pt2::tools {
namespace {

constexpr Verb kVerbs[] = {
    {"info", "what a file is: inputs, outputs, operators, parameters, who wrote it",
     "pt2 info model.pt2\n"
     "pt2 info model.pt2 --json\n"
     "pt2 info model.pt2 --modules           # the tree of modules\n"
     "pt2 info model.pt2 --releases          # who can load it, and why not the others\n"
     "pt2 info package.pt2 --model decoder   # one of several programs\n"
     "pt2 info - < model.pt2                 # from standard input",
     setup_info},
    {"ls", "the records of a file, or its tensors",
     "pt2 ls model.pt2                       # name, role, size and place of each record\n"
     "pt2 ls model.pt2 --tensors             # weights, constants and sample inputs\n"
     "pt2 ls model.pt2 --tensors --json      # with strides, storages and checksums",
     setup_ls},
    {"cat", "one record or one tensor, as it is",
     "pt2 cat model.pt2 models/model.json    # names as 'pt2 ls' prints them\n"
     "pt2 cat model.pt2 extra/labels.txt -o labels.txt\n"
     "pt2 cat model.pt2 --tensor fc1.weight -o fc1.npy",
     setup_cat},
    {"json", "the program's JSON, decoded and encoded again",
     "pt2 json model.pt2                     # byte for byte what the file holds\n"
     "pt2 json model.pt2 --pretty | less\n"
     "pt2 json model.pt2 --payload weights   # where each weight lies (files of PyTorch 2.9 on)",
     setup_json},
    {"canon", "the program in canonical form, as JSON: names, order and sources left out",
     "pt2 canon a.pt2 | cmp - <(pt2 canon b.pt2)   # the same program, whoever exported it?\n"
     "pt2 canon model.pt2 --content          # whatever order its nodes are in\n"
     "pt2 canon model.pt2 --pretty | less",
     setup_canon},
    {"dis", "a program as text, a line a node",
     "pt2 dis model.pt2\n"
     "pt2 dis model.pt2 --metadata > model.txt   # everything that the file says\n"
     "diff <(pt2 dis old.pt2) <(pt2 dis new.pt2)",
     setup_dis},
    {"as", "text of 'pt2 dis' back to a program",
     "pt2 as changed.txt -o changed.pt2 --weights model.pt2\n"
     "pt2 as changed.txt --json              # the program's JSON\n"
     "pt2 dis model.pt2 --metadata | pt2 as - --json   # what 'pt2 json model.pt2' prints",
     setup_as},
    {"convert", "the same program for another PyTorch release",
     "pt2 convert old.pt2 -o new.pt2 --for newest\n"
     "pt2 convert model.pt2 -o model-2.6.pt2 --for torch-2.6   # exit 4 and why, if 2.6 cannot "
     "have it\n"
     "pt2 convert model.pt2 -o small.pt2 --for oldest --lossy guards",
     setup_convert},
    {"decompose", "operators that PyTorch makes of others, written out: core ATen",
     "pt2 decompose model.pt2 -o core.pt2    # as run_decompositions() of PyTorch; exit 4 and why "
     "if\n"
     "                                       # something cannot be\n"
     "pt2 decompose model.pt2 -o some.pt2 --to core,aten.linear,aten.layer_norm   # these may stay",
     setup_decompose},
    {"draft", "to the early draft of the schema (JSON, docs/draft.md), or back to a .pt2",
     "pt2 draft model.pt2 -o model.draft.json\n"
     "pt2 draft model.pt2 -o model.draft.json --external   # tensors in model.draft.bin\n"
     "pt2 draft model.draft.json -o model.pt2              # schema 8.20",
     setup_draft},
    {"verify", "is it intact? every finding with the number of its rule",
     "pt2 verify model.pt2\n"
     "pt2 verify *.pt2 --json\n"
     "pt2 verify model.pt2 --level container # records and checksums only\n"
     "pt2 explain V103                       # what a finding means",
     setup_verify},
    {"explain", "what a rule of 'pt2 verify' means",
     "pt2 explain V103\n"
     "pt2 explain entry_checksum\n"
     "pt2 explain                            # all rules",
     setup_explain},
    {"ops", "the operators of a program, and whether they can run here",
     "pt2 ops model.pt2                      # each operator and how often it is called\n"
     "pt2 ops *.pt2 --missing                # exit 4 if any has no kernel; where it is called\n"
     "pt2 ops model.pt2 --missing --ops ./libmine.so   # with operators of your own\n"
     "pt2 ops                                # every operator of this build",
     setup_ops},
    {"check", "would it take these inputs? what each dimension may be",
     "pt2 check model.pt2                    # every dimension: number, range or expression; "
     "guards\n"
     "pt2 check model.pt2 -i x=f32:2x3       # exit 1 and the reason when they are refused\n"
     "pt2 check model.pt2 -i x=f32:2x3 -i n=5 --json",
     setup_check},
    {"run", "run a program",
     "pt2 run model.pt2 -i x=image.npy       # inputs by name; 'pt2 info' lists them\n"
     "pt2 run model.pt2 -i 0=a.npy -i n=3    # by position; numbers as they are\n"
     "pt2 run model.pt2 -i all.npz -o out.npz\n"
     "pt2 run model.pt2                      # the file's own sample inputs",
     setup_run},
    {"test", "does it give the recorded numbers?",
     "pt2 test model.pt2                     # calls recorded in model.safetensors\n"
     "pt2 test model.pt2 cases.safetensors --rtol 1e-4 --atol 1e-6\n"
     "pt2 test *.pt2                         # each with the .safetensors beside it\n"
     "pt2 test model.pt2 --first-divergence trace.safetensors   # which node goes wrong first?",
     setup_test},
    {"bench", "how long a call takes",
     "pt2 bench model.pt2 -i x=image.npy     # load, first call, percentiles of the others\n"
     "pt2 bench model.pt2 --threads 1 --profile   # where the time goes\n"
     "pt2 bench model.pt2 --json --seconds 5",
     setup_bench},
    {"trace", "every value that a run computes, by its name",
     "pt2 trace model.pt2 -i x=image.npy     # name, type, operator, source line and module\n"
     "pt2 trace model.pt2 -i x=image.npy -o trace.safetensors\n"
     "pt2 trace model.pt2 --nodes 'linear*' -o linear.npz   # the file's own sample inputs",
     setup_trace},
    {"graph", "a picture of the program: modules as boxes, to open and fold",
     "pt2 graph model.pt2 -o model.html      # one page, for any browser, without network\n"
     "pt2 graph model.pt2 -o model.svg --depth 2\n"
     "pt2 graph model.pt2 -o model.dot       # for Graphviz\n"
     "pt2 bench model.pt2 -i x=image.npy --profile --json > times.json\n"
     "pt2 graph model.pt2 -o model.html --profile times.json   # where the time goes\n"
     "pt2 trace model.pt2 -i x=image.npy -o trace.npz\n"
     "pt2 graph model.pt2 -o model.html --trace trace.npz      # where NaN comes from",
     setup_graph},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace pt2::tools
