// One function per verb, in the file of its name; the verbs for the shell are in tools/shell.
#ifndef PT2_TOOLS_VERBS_H
#define PT2_TOOLS_VERBS_H

#include "tools/command.h"

namespace pt2::tools {

Action setup_info(CommandLine& line);
Action setup_ls(CommandLine& line);
Action setup_canon(CommandLine& line);
Action setup_cat(CommandLine& line);
Action setup_convert(CommandLine& line);
Action setup_decompose(CommandLine& line);
Action setup_json(CommandLine& line);
Action setup_dis(CommandLine& line);
Action setup_as(CommandLine& line);
Action setup_draft(CommandLine& line);
Action setup_verify(CommandLine& line);
Action setup_explain(CommandLine& line);
Action setup_scan(CommandLine& line);
Action setup_hash(CommandLine& line);
Action setup_completion(CommandLine& line);
Action setup_man(CommandLine& line);
Action setup_edit(CommandLine& line);
Action setup_weights(CommandLine& line);
Action setup_strip(CommandLine& line);
Action setup_pack(CommandLine& line);
Action setup_unpack(CommandLine& line);
Action setup_meta(CommandLine& line);
Action setup_stats(CommandLine& line);
Action setup_diff(CommandLine& line);
Action setup_ops(CommandLine& line);
Action setup_check(CommandLine& line);
Action setup_run(CommandLine& line);
Action setup_generate(CommandLine& line);
Action setup_test(CommandLine& line);
Action setup_bench(CommandLine& line);
Action setup_trace(CommandLine& line);
Action setup_graph(CommandLine& line);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VERBS_H
