// One function per verb, in the file of its name.
#ifndef PT2_TOOLS_VERBS_H
#define PT2_TOOLS_VERBS_H

#include "tools/command.h"

namespace pt2::tools {

Action setup_info(CLI::App& app);
Action setup_ls(CLI::App& app);
Action setup_canon(CLI::App& app);
Action setup_cat(CLI::App& app);
Action setup_convert(CLI::App& app);
Action setup_decompose(CLI::App& app);
Action setup_json(CLI::App& app);
Action setup_dis(CLI::App& app);
Action setup_as(CLI::App& app);
Action setup_draft(CLI::App& app);
Action setup_verify(CLI::App& app);
Action setup_explain(CLI::App& app);
Action setup_scan(CLI::App& app);
Action setup_hash(CLI::App& app);
Action setup_completion(CLI::App& app);
Action setup_edit(CLI::App& app);
Action setup_weights(CLI::App& app);
Action setup_strip(CLI::App& app);
Action setup_pack(CLI::App& app);
Action setup_unpack(CLI::App& app);
Action setup_meta(CLI::App& app);
Action setup_stats(CLI::App& app);
Action setup_diff(CLI::App& app);
Action setup_ops(CLI::App& app);
Action setup_check(CLI::App& app);
Action setup_run(CLI::App& app);
Action setup_generate(CLI::App& app);
Action setup_test(CLI::App& app);
Action setup_bench(CLI::App& app);
Action setup_trace(CLI::App& app);
Action setup_graph(CLI::App& app);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VERBS_H
